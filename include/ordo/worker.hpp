#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/codec.hpp>
#include <ordo/job.hpp>
#include <ordo/time.hpp>

namespace ordo {

/// One job as a run receives it.
struct BatchJob {
  std::string id{};
  std::string key{};
  std::vector<Payload> payloads{};  ///< in (score, arrival) order; never empty
  std::int32_t retry_count = -1;    ///< -1 on the first attempt
  std::uint64_t fence =
      0;  ///< rises with every owner of the shard: pass it on to systems that can compare it
};

/// What became of one job of a run.
struct Outcome {
  enum class Kind : std::uint8_t { done, failed, snoozed, discarded, put_back };
  Kind kind = Kind::done;
  std::string text{};  ///< of failed: the error; of discarded: why; of put_back: why it could not start here
  FailureKind failure = FailureKind::handler;
  Duration snooze{};

  static Outcome done() { return {}; }
  static Outcome fail(std::string error, FailureKind kind = FailureKind::handler) {
    return {Kind::failed, std::move(error), kind, {}};
  }
  static Outcome snoozed_for(Duration time) { return {Kind::snoozed, {}, {}, time}; }
  static Outcome discard(std::string why) { return {Kind::discarded, std::move(why), {}, {}}; }
  static Outcome put_back() { return {Kind::put_back, {}, {}, {}}; }
  /// The run never started, for a reason of this node's and not of the job's (a program that is missing, no
  /// more processes): no attempt is counted, and the job waits where it was. This node takes no more of the
  /// kind than still run, and tries again after pauses of up to 30 s; nodes that can run it are lent the
  /// jobs.
  static Outcome not_started(std::string why) { return {Kind::put_back, std::move(why), {}, {}}; }
  bool is_not_started() const { return kind == Kind::put_back && !text.empty(); }
};

/// One run: an ordered list of due jobs of one queue and kind, no two of the same key.
///
/// A worker looks at `jobs()` and may report results per job by its index; when perform returns, jobs without
/// one are done; when it throws, jobs without one have failed. Used by one thread at a time; lives as long as
/// the run.
class Batch {
 public:
  Batch(std::string_view queue, std::string_view kind, std::vector<BatchJob> jobs, Duration timeout,
        unsigned thread, std::stop_token stop)
      : queue_(queue),
        kind_(kind),
        jobs_(std::move(jobs)),
        timeout_(timeout),
        thread_(thread),
        stop_(std::move(stop)) {}

  const std::string& queue() const { return queue_; }
  const std::string& kind() const { return kind_; }
  const std::vector<BatchJob>& jobs() const { return jobs_; }

  void done(std::size_t job) { report(job, Outcome::done()); }
  void fail(std::size_t job, std::string error) { report(job, Outcome::fail(std::move(error))); }
  /// Runs again after `time`; retry_count stays.
  void snooze(std::size_t job, Duration time) { report(job, Outcome::snoozed_for(time)); }
  /// Ends the job: counted as processed, in no dead set.
  void discard(std::size_t job, std::string why) { report(job, Outcome::discard(std::move(why))); }
  /// The last report of a job counts. Throws std::out_of_range.
  void report(std::size_t job, Outcome outcome);

  /// Asked when the run should end early: timeout, cancel, node stop, lost lease. A worker that ignores it
  /// keeps its keys blocked until it returns.
  const std::stop_token& stop() const { return stop_; }
  /// Of this attempt, from its start.
  Duration timeout() const { return timeout_; }
  /// Which thread of the pool runs this: 0..threads - 1.
  unsigned thread() const { return thread_; }

  /// The last report of each job: was it made before the run was asked to stop? Such a report counts,
  /// whatever ends the run.
  const std::vector<bool>& reported_in_time() const { return in_time_; }

  /// One outcome per job; `missing` for those that have none yet. Leaves the batch without reports.
  std::vector<Outcome> take_outcomes(const Outcome& missing);

 private:
  std::string queue_;
  std::string kind_;
  std::vector<BatchJob> jobs_;
  std::vector<std::pair<std::size_t, Outcome>> reports_;
  std::vector<bool> in_time_;
  Duration timeout_;
  unsigned thread_;
  std::stop_token stop_;
};

/// The code of one kind of jobs. One object serves all threads of the pool: perform must be thread-safe.
class Worker {
 public:
  virtual ~Worker() = default;

  /// Runs a batch. Throwing fails the jobs that have no result yet.
  virtual void perform(Batch& batch) = 0;

  /// The error text kept for an exception out of perform. Default: its message.
  virtual std::string format_error(std::exception_ptr error);

  /// Stored form of the error texts of this worker's failures, and back. Default: as it is. At most 16 KiB
  /// are kept. load_error also sees texts of Ordo itself (a timeout), which were not dumped.
  virtual std::string dump_error(const std::string& error) { return error; }
  virtual std::string load_error(const std::string& stored) { return stored; }

  /// Called once per run in which something died, after it is durable, in one thread for all handlers of the
  /// node. What it throws is logged. Behind one that hangs 1,000,000 calls wait, and more are dropped.
  virtual void retries_exhausted(const std::vector<JobView>& dead) { static_cast<void>(dead); }
};

/// A run's body as middlewares see it; `next` runs the rest and throws what it throws. A middleware that does
/// not call `next` fails the run.
using ServerMiddleware = std::function<void(Batch& batch, const std::function<void()>& next)>;

/// One job with typed payloads, for `make_worker`.
template <class T>
struct TypedJob {
  const BatchJob& job;
  std::vector<T> payloads{};  ///< decoded, in (score, arrival) order
  std::stop_token stop{};

  /// The only payload, or the last one.
  const T& payload() const { return payloads.back(); }
};

/// Makes a worker of a function `Outcome(const TypedJob<T>&)` or `void(const TypedJob<T>&)`; it is called for
/// each job of a batch in turn. What it throws fails that job alone. T goes through Codec<T>.
template <class T, class Function>
std::unique_ptr<Worker> make_worker(Function function) {
  class Typed final : public Worker {
   public:
    explicit Typed(Function function) : function_(std::move(function)) {}

    void perform(Batch& batch) override {
      for (std::size_t i = 0; i < batch.jobs().size(); ++i) {
        try {
          batch.report(i, run(batch, batch.jobs()[i]));
        } catch (...) {
          batch.fail(i, format_error(std::current_exception()));
        }
      }
    }

   private:
    Outcome run(Batch& batch, const BatchJob& job) {
      TypedJob<T> typed{job, {}, batch.stop()};
      typed.payloads.reserve(job.payloads.size());
      for (const auto& payload : job.payloads) typed.payloads.push_back(Codec<T>::decode(payload.bytes));
      if constexpr (std::is_void_v<std::invoke_result_t<Function&, const TypedJob<T>&>>) {
        function_(std::as_const(typed));
        return Outcome::done();
      } else {
        return function_(std::as_const(typed));
      }
    }

    Function function_;
  };
  return std::make_unique<Typed>(std::move(function));
}

/// Makes a worker of a function `void(Batch&)`.
std::unique_ptr<Worker> make_worker(std::function<void(Batch&)> function);

}  // namespace ordo
