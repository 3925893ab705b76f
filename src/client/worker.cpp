// What a run's body uses: the reports of a batch, the default texts of errors.

#include <ordo/worker.hpp>

#include <algorithm>
#include <stdexcept>
#include <typeinfo>

#include <ordo/error.hpp>

#include "base/clock.h"

#include "base/check_function.h"
#include "base/shorten.h"

namespace ordo {
namespace {

class FunctionWorker final : public Worker {
 public:
  using OnResponse = std::function<void(Batch&, const Response&)>;
  explicit FunctionWorker(std::function<void(Batch&)> function, OnResponse on_response = {})
      : function_(std::move(function)), on_response_(std::move(on_response)) {}

  void perform(Batch& batch) override { function_(batch); }
  void on_response(Batch& batch, const Response& response) override {
    on_response_ ? on_response_(batch, response) : Worker::on_response(batch, response);
  }

 private:
  std::function<void(Batch&)> function_;
  OnResponse on_response_;
};

}  // namespace

void Batch::report(std::size_t job, Outcome outcome) {
  if (job >= jobs_.size()) {
    throw std::out_of_range("the batch has no job " + std::to_string(job) + ", only " +
                            std::to_string(jobs_.size()));
  }
  if (outcome.kind > Outcome::Kind::waiting)
    throw Error(ErrorKind::invalid_argument, "the outcome that was reported is of an unknown kind");
  if (outcome.failure > FailureKind::unreadable)
    throw Error(ErrorKind::invalid_argument, "the failure that was reported is of a kind that no run has");
  reports_.emplace_back(job, std::move(outcome));
  in_time_.resize(jobs_.size());
  in_time_[job] = !stop_.stop_requested();
}

void Batch::limit_penalty(Time until) {
  const auto now = system_clock().wall();
  limit_penalty(until <= now ? Duration{0} : until - now);
}

ResponseToken Batch::expect(std::size_t job, std::string_view key) {
  if (job >= jobs_.size()) {
    throw std::out_of_range("the batch has no job " + std::to_string(job) + ", only " +
                            std::to_string(jobs_.size()));
  }
  if (!expect_) {
    throw Error(ErrorKind::unsupported,
                "cannot expect a response to " + in_quotes(key) + ": the batch is in no run of a node");
  }
  return expect_(job, key);
}

std::vector<Outcome> Batch::take_outcomes(const Outcome& missing) {
  std::vector<Outcome> outcomes(jobs_.size(), missing);
  for (auto& [job, outcome] : reports_) outcomes[job] = std::move(outcome);
  for (auto& outcome : outcomes) outcome.penalty = std::max(outcome.penalty, penalty_);
  for (const auto& [job, payloads] : delivered_) outcomes[job].delivered = payloads;
  reports_.clear();
  delivered_.clear();
  return outcomes;
}

void Worker::on_response(Batch& batch, const Response& response) {
  throw Error(ErrorKind::unsupported, "the worker of " + in_quotes(batch.kind()) +
                                          " has no on_response, which the response to " +
                                          in_quotes(response.key) + " is for: give it one");
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
  check_function("make_worker()", function);
  return std::make_unique<FunctionWorker>(std::move(function));
}

std::unique_ptr<Worker> make_worker(std::function<void(Batch&)> perform,
                                    std::function<void(Batch&, const Response&)> on_response) {
  if (!perform || !on_response) throw Error(ErrorKind::invalid_argument, "make_worker() needs its functions");
  return std::make_unique<FunctionWorker>(std::move(perform), std::move(on_response));
}

}  // namespace ordo
