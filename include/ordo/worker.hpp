#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ordo/codec.hpp>
#include <ordo/error.hpp>
#include <ordo/job.hpp>
#include <ordo/time.hpp>
#include <ordo/token.hpp>

namespace ordo {

/// What somebody outside has answered to a job that waits for it (docs/responses.md).
struct Response {
  std::string key{};         ///< what the job waited for
  std::string body{};        ///< opaque bytes
  std::string message_id{};  ///< as it was sent; empty: none was

  bool operator==(const Response&) const = default;
};

/// One job as a run receives it.
struct BatchJob {
  std::string id{};
  std::string key{};
  std::vector<Payload> payloads{};  ///< in (score, arrival) order; never empty
  std::int32_t retry_count = -1;    ///< -1 on the first attempt
  std::uint64_t fence =
      0;  ///< rises with every owner of the shard: pass it on to systems that can compare it
  std::optional<Response> response{};  ///< this run is its on_response, and it has no other job
};

/// What became of one job of a run.
struct Outcome {
  enum class Kind : std::uint8_t { done, failed, snoozed, discarded, put_back, waiting };
  Kind kind = Kind::done;
  /// Of failed: the error; of discarded: why; of put_back: why it could not start here; of waiting: the key.
  std::string text{};
  FailureKind failure = FailureKind::handler;
  Duration snooze{};      ///< of waiting: the timeout
  std::string wait_id{};  ///< of waiting, Ordo's own: the wait's id
  Time deadline{};        ///< likewise: when it ends
  /// Of any: nothing more of the job's partition value starts for so long after this end, or of its queue
  /// where that has no partition; at most 24 h. Only in a queue that has limits or locks; critical jobs pass.
  Duration penalty{};
  /// Ordo's own: the run received so many of the job's payloads, the first ones; nothing: all. 0: the first
  /// one fits into no run.
  std::optional<std::uint32_t> delivered{};

  [[nodiscard]] static Outcome done() { return {}; }
  [[nodiscard]] static Outcome fail(std::string error, FailureKind kind = FailureKind::handler) {
    return {Kind::failed, std::move(error), kind, {}};
  }
  [[nodiscard]] static Outcome snoozed_for(Duration time) { return {Kind::snoozed, {}, {}, time}; }
  [[nodiscard]] static Outcome discard(std::string why) { return {Kind::discarded, std::move(why), {}, {}}; }
  /// The job waits for the response to `key` (Client::respond), without a thread, for at most `timeout` and
  /// what is left of the attempt's own. Then Worker::on_response runs; without a response the attempt has
  /// failed, of kind timeout. One job of a queue waits for a key at a time; a second one fails.
  [[nodiscard]] static Outcome wait(std::string key, Duration timeout = Duration::max()) {
    return {Kind::waiting, std::move(key), {}, timeout};
  }
  [[nodiscard]] static Outcome put_back() { return {Kind::put_back, {}, {}, {}}; }
  /// The run never started, for a reason of this node's and not of the job's (a program that is missing, no
  /// more processes): no attempt is counted, and the job waits where it was. This node takes no more of the
  /// kind than still run, and tries again after pauses of up to 30 s; nodes that can run it are lent the
  /// jobs.
  [[nodiscard]] static Outcome not_started(std::string why) {
    return {Kind::put_back, std::move(why), {}, {}};
  }
  /// Ordo's own: the process that ran the job and others died (`because`: crash), or was killed at their
  /// timeout (timeout). None of them has failed: the job goes back with its retry_count, and runs alone.
  [[nodiscard]] static Outcome put_back_alone(FailureKind because) {
    return {Kind::put_back, {}, because, {}};
  }
  [[nodiscard]] bool is_put_back_alone() const {
    return kind == Kind::put_back && (failure == FailureKind::crash || failure == FailureKind::timeout);
  }
  [[nodiscard]] bool is_not_started() const { return kind == Kind::put_back && !text.empty(); }
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
  /// The last report of a job counts. Throws std::out_of_range; for an unknown kind Error{invalid_argument}.
  void report(std::size_t job, Outcome outcome);

  /// What the jobs call has had enough ("429, not before T"): nothing more of their partition values starts
  /// until then, as if each of their outcomes had that penalty (Outcome::penalty). The longest counts.
  void limit_penalty(Time until);
  void limit_penalty(Duration time) { penalty_ = std::max(penalty_, time); }

  /// Registers that the job is going to wait for `key` (1..255 bytes), and returns once that is durable: a
  /// response that comes from then on, while the run still goes on or before its next attempt, is kept for
  /// the job. To be called before the request is sent. Blocks for the store. Throws
  /// Error{invalid_argument}: another job waits for the key; Error{unavailable}: the store gave no answer;
  /// said again for the same key, it goes on where it was.
  ///
  /// The token answers this attempt's wait as the key does, in the hands of strangers, too: it cannot be
  /// guessed, and who has it learns neither queue nor key (Client::respond). It is over with the attempt: the
  /// next one gets another.
  ResponseToken expect(std::size_t job, std::string_view key);
  using Expect = std::function<ResponseToken(std::size_t job, std::string_view key)>;
  void set_expect(Expect expect) { expect_ = std::move(expect); }  ///< Ordo's own
  /// Ordo's own: the job was given its first `payloads` only, see Outcome::delivered.
  void set_delivered(std::size_t job, std::uint32_t payloads) { delivered_.emplace_back(job, payloads); }

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
  std::vector<std::pair<std::size_t, std::uint32_t>> delivered_;
  std::vector<bool> in_time_;
  Duration timeout_;
  unsigned thread_;
  std::stop_token stop_;
  Expect expect_;
  Duration penalty_{};
};

/// The code of one kind of jobs. One object serves all threads of the pool: perform must be thread-safe.
class Worker {
 public:
  virtual ~Worker() = default;

  /// Runs a batch. Throwing fails the jobs that have no result yet.
  virtual void perform(Batch& batch) = 0;

  /// Runs when the response has come that the one job of the batch waited for; reports like perform. A
  /// failure is tried again by the rules of the kind, with the same response and a count of its own; when
  /// that is exhausted, the attempt has failed (response_error), and perform is retried as ever. Default:
  /// throws.
  virtual void on_response(Batch& batch, const Response& response);

  /// The error text kept for an exception out of perform. Default: its message.
  virtual std::string format_error(std::exception_ptr error);

  /// Stored form of the error texts of this worker's failures, and back. Default: as it is. At most 16 KiB
  /// are kept. load_error also sees texts of Ordo itself (a timeout), which were not dumped.
  virtual std::string dump_error(const std::string& error) { return error; }
  virtual std::string load_error(const std::string& stored) { return stored; }

  /// Called once per run in which something died, after it is durable, in one thread for all handlers of the
  /// node. What is not kept (`"dead": false` of Sidekiq) has the state discarded. What it throws is logged.
  /// Behind one that hangs 1,000,000 calls wait, and more are dropped.
  virtual void retries_exhausted(const std::vector<JobView>& dead) { static_cast<void>(dead); }
};

/// A run's body as middlewares see it; `next` runs the rest and throws what it throws. A middleware that does
/// not call `next` fails the run.
using ServerMiddleware = std::function<void(Batch& batch, const std::function<void()>& next)>;

/// One job with typed payloads, for `make_worker`. Lives as long as the run.
template <class T>
struct TypedJob {
  const BatchJob& raw;        ///< as it came, with the bytes and scores of its payloads
  std::vector<T> payloads{};  ///< decoded, in (score, arrival) order
  std::stop_token stop{};     ///< Batch::stop()
  const std::string& id = raw.id;
  const std::string& key = raw.key;
  std::int32_t retry_count = raw.retry_count;  ///< -1 on the first attempt
  std::uint64_t fence = raw.fence;             ///< BatchJob::fence

  /// The only payload, or the last one.
  const T& payload() const { return payloads.back(); }
};

/// Makes a worker of a function `Outcome(const TypedJob<T>&)` or `void(const TypedJob<T>&)`; it is called for
/// each job of a batch in turn. What it throws fails that job alone. Throws Error{invalid_argument} for an
/// empty one. T goes through Codec<T>.
template <class T, class Function>
[[nodiscard]] std::unique_ptr<Worker> make_worker(Function function) {
  constexpr bool can_be_empty = std::is_pointer_v<Function> || (std::is_constructible_v<bool, Function&> &&
                                                                !std::is_convertible_v<Function&, bool>);
  if constexpr (can_be_empty) {
    if (!function) throw Error(ErrorKind::invalid_argument, "make_worker() needs a function");
  }
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
[[nodiscard]] std::unique_ptr<Worker> make_worker(std::function<void(Batch&)> function);
/// ... and of one for responses.
[[nodiscard]] std::unique_ptr<Worker> make_worker(std::function<void(Batch&)> perform,
                                                  std::function<void(Batch&, const Response&)> on_response);

}  // namespace ordo
