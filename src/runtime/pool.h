#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <ordo/worker.hpp>

#include "base/clock.h"
#include "runtime/inbox.h"
#include "runtime/run.h"

namespace ordo::runtime {

/// Runs one assignment's code; middlewares included. Throws what the worker throws.
using Performer = std::function<void(Worker&, Batch&)>;

/// What a run calls: on_response if its job has a response, else perform.
void call_worker(Worker& worker, Batch& batch);

/// Runs a batch: one outcome per job, whatever is thrown. Error texts are in their stored form.
std::vector<Outcome> perform_batch(const Performer& perform, Worker& worker, Batch& batch);

/// Threads that run jobs. Each run's end goes to the inbox.
///
/// A thread may have several short runs handed to it at once; should one turn out long, an idle thread takes
/// the others over, or the engine takes them back. Thread-safe; see RunSink.
class Pool {
 public:
  Pool(std::size_t threads, Inbox& inbox, Clock& clock, Performer perform);
  /// Waits for the runs that go on; those never started are dropped (they are still queued in the store).
  ~Pool();

  std::size_t threads() const { return threads_.size(); }
  void look(std::vector<std::size_t>& room) const;
  void submit(int thread, std::vector<Assignment> runs);
  std::vector<RunName> recall(const std::function<bool(const Assignment&)>& which);
  std::vector<RunName> recall_overdue();
  Duration overdue_in() const;

  /// No run is being executed.
  bool idle() const { return busy_.load() == 0; }

 private:
  void stop();
  std::size_t prefetch() const;
  Duration busy_for(std::size_t thread) const;
  void take_back(std::deque<Assignment>& queue, const std::function<bool(const Assignment&)>& which,
                 std::vector<RunName>& names);
  void loop(std::size_t thread);
  bool next(std::size_t thread, std::vector<Assignment>& runs);
  bool steal(std::size_t thread, std::vector<Assignment>& runs);
  void execute(std::size_t thread, Assignment& run);

  Inbox& inbox_;
  Clock& clock_;
  Performer perform_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Assignment> shared_;                   // for any thread
  std::vector<std::deque<Assignment>> own_;         // for one thread alone
  std::vector<std::deque<Assignment>> prefetched_;  // handed to a thread, not started
  std::size_t sleeping_ = 0;
  bool stopping_ = false;
  std::atomic<std::int64_t> usual_us_{1000};  // what a run usually takes
  std::atomic<std::size_t> busy_{0};
  std::atomic<std::size_t> waiting_{0};                // in the three kinds of queues
  std::vector<std::atomic<std::int64_t>> started_us_;  // of each thread's run, steady; 0: it has none
  std::vector<std::jthread> threads_;
};

}  // namespace ordo::runtime
