#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ordo/error.hpp>
#include <ordo/events.hpp>
#include <ordo/options.hpp>
#include <ordo/worker.hpp>

#include "base/clock.h"
#include "runtime/engine.h"
#include "runtime/fetcher.h"
#include "runtime/follower.h"
#include "runtime/lease_keeper.h"
#include "runtime/notifier.h"
#include "runtime/pool.h"

namespace ordo::runtime {

/// What a node runs and whom it tells.
struct NodePlan {
  NodeOptions options;
  std::vector<QueueOptions> queues;  ///< those with workers, in the listed order
  std::map<std::pair<std::string, std::string>, Worker*> workers;  ///< by queue and kind
  Performer perform;
  std::vector<std::pair<EventFilter, EventHandler>> subscribers;
  std::function<void(LogLevel, const std::string&)> log;
  std::function<void()> on_lease_lost;
  std::function<void(Duration)> on_lease_renewed;
  std::function<void(const std::exception_ptr&)> on_failure;  ///< called once, on the thread that failed
};

/// One node: builds engine, follower, keeper and pools, and owns all threads. Decides nothing.
///
/// Threads: engine, follower, leases (heartbeats have their own), fetcher, notifier, and those of the pools.
class Node {
 public:
  static constexpr Duration kStopGrace = std::chrono::seconds{3};  ///< for runs that were asked to stop

  /// Registers the node. Throws what the store throws; nothing runs then. The store and the workers must
  /// outlive it.
  Node(NodePlan plan, store::Store& store, Clock& clock);
  /// Returns when every thread has ended: a run that never returns keeps it, and its leases last as long.
  ~Node();

  const std::string& id() const { return id_; }

  /// Takes no more jobs.
  void quiet();

  /// Lets runs finish for `patience`, asks the rest to stop and waits `grace` for that, gives the shards
  /// back, leaves and ends the threads: nothing of the user's is called any more. Returns how many batches
  /// did not end: their shards stay owned, and the threads go on, until they do and the node is destroyed.
  std::size_t stop(Duration patience, Duration grace = kStopGrace);
  /// Cuts the patience of a stop() on another thread short.
  void hurry();

  /// Blocks until stop() is called or asked for from elsewhere, or a thread has failed; throws its error.
  void wait();
  /// Another process wishes that it stops.
  bool asked_to_stop() const { return asked_to_stop_.load(); }
  bool stopping() const { return stopping_.load(); }
  /// Throws the error of a thread that has failed.
  void check();
  /// A thread of it has failed: it takes nothing more, and leaves when its runs have ended.
  bool failed() const { return failed_.load(); }
  /// Whether the calling thread is one of the node's, those of runs aside.
  bool is_own_thread() const;

 private:
  class Sink;

  void build_engine();
  void start_threads();
  void engine_loop(const std::stop_token& stop);
  void follower_loop(const std::stop_token& stop);
  void keeper_loop(const std::stop_token& stop);
  void notifier_loop(const std::stop_token& stop);
  void call_user(const std::function<void()>& call);
  void guard(const char* what, const std::function<void()>& body);
  void fail(const char* what);
  void end_runs_without_engine();
  void leave_soon();
  void leave();
  void let_go();
  void ask_runs_to_stop();
  void end_threads();
  void request_stop(std::size_t first, std::size_t end);
  bool guard_store(const char* what, const std::stop_token& stop, const std::function<void()>& step);
  void poke_keeper();
  void wake_all();
  void publish(std::vector<Event> events);
  bool wait_until(Duration at_most, const std::function<bool()>& done);

  NodePlan plan_;
  store::Store& store_;
  Clock& clock_;
  std::string id_;
  LeaseClock lease_;
  Notifier notifier_;
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<Fetcher> fetcher_;
  std::unique_ptr<LeaseKeeper> keeper_;
  std::vector<std::unique_ptr<Pool>> pools_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool poked_ = false;
  bool hurry_ = false;
  std::exception_ptr failure_;
  std::atomic<bool> stopping_{false}, asked_to_stop_{false};
  std::atomic<bool> released_{false};  // stop() has reached the engine
  std::atomic<bool> leaving_{false}, left_{false}, failed_{false};
  std::atomic<bool> engine_over_{false}, keeper_over_{false};  // their threads do nothing any more
  std::atomic<std::size_t> runs_{0}, shards_{0};
  std::atomic<std::size_t> live_{0};  // threads whose bodies go on

  std::atomic<bool> tells_loss_{false};
  std::jthread loss_teller_;           // of its own: a handler of events may be what does not return
  std::vector<std::jthread> threads_;  // the notifier's is the last: it tells what the others have left
};

}  // namespace ordo::runtime
