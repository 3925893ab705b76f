// What a run's body uses: the reports of a batch, the default texts of errors.

#include <ordo/worker.hpp>

#include <stdexcept>
#include <typeinfo>

#include <ordo/error.hpp>

namespace ordo {
namespace {

class FunctionWorker final : public Worker {
 public:
  explicit FunctionWorker(std::function<void(Batch&)> function) : function_(std::move(function)) {}

  void perform(Batch& batch) override { function_(batch); }

 private:
  std::function<void(Batch&)> function_;
};

}  // namespace

void Batch::report(std::size_t job, Outcome outcome) {
  if (job >= jobs_.size()) {
    throw std::out_of_range("the batch has no job " + std::to_string(job) + ", only " +
                            std::to_string(jobs_.size()));
  }
  reports_.emplace_back(job, std::move(outcome));
  in_time_.resize(jobs_.size());
  in_time_[job] = !stop_.stop_requested();
}

std::vector<Outcome> Batch::take_outcomes(const Outcome& missing) {
  std::vector<Outcome> outcomes(jobs_.size(), missing);
  for (auto& [job, outcome] : reports_) outcomes[job] = std::move(outcome);
  reports_.clear();
  return outcomes;
}

std::string Worker::format_error(std::exception_ptr error) {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& thrown) {
    const std::string message = thrown.what();
    return message.empty() ? typeid(thrown).name() : message;
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

std::unique_ptr<Worker> make_worker(std::function<void(Batch&)> function) {
  if (!function) throw Error(ErrorKind::invalid_argument, "make_worker() needs a function");
  return std::make_unique<FunctionWorker>(std::move(function));
}

}  // namespace ordo
