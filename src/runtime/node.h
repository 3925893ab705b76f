#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ordo/error.hpp>
#include <ordo/events.hpp>
#include <ordo/log.hpp>
#include <ordo/options.hpp>
#include <ordo/worker.hpp>

#include "base/clock.h"
#include "runtime/bell.h"
#include "runtime/node_end.h"
#include "runtime/node_parts.h"
#include "runtime/node_threads.h"
#include "runtime/outage.h"
#include "runtime/pools.h"
#include "runtime/user_calls.h"

namespace ordo::runtime {

/// What a node runs and whom it tells.
struct NodePlan {
  NodeOptions options;
  std::vector<QueueOptions> queues;       ///< those with workers, in the listed order
  std::vector<PeriodicOptions> periodic;  ///< that it states as long as it lives
  std::vector<std::string> sources;       ///< that its process has, to be told
  UserCalls::Workers workers;
  std::vector<NamedLimit> limits;  ///< those that queues name
  Performer perform;
  std::vector<std::pair<EventFilter, EventHandler>> subscribers;
  LogSink log;
  std::function<void()> on_lease_lost;
  std::function<void(Duration)> on_lease_renewed;
  std::function<void(const std::exception_ptr&)> on_failure;  ///< called once, on the thread that failed
};

/// What a node is to serve from now on: see ServedChange.
struct NodeChange {
  struct Queue {
    QueueOptions options;
    std::map<std::string, std::shared_ptr<Worker>> workers;  ///< by kind
    std::shared_ptr<std::unique_ptr<Pool>> pool;             ///< of its own; prepare() makes it
  };
  std::vector<Queue> serve;
  std::vector<std::string> leave;
  std::vector<NamedLimit> limits;
  std::vector<std::string> order;
  std::optional<std::vector<PeriodicOptions>> periodic;
  std::function<void(const std::string& queue)> over;  ///< must not block
};

/// One node: gives its parts and pools their threads, and ends them. Decides nothing.
///
/// Threads: engine, follower, keeper, heartbeat, fetcher, notifier, responses where the store has an inbox of
/// them, and those of the pools.
class Node {
 public:
  static constexpr Duration kStopGrace = std::chrono::seconds{3};  ///< for runs that were asked to stop

  /// Registers the node. Throws what the store throws; nothing runs then. The store and the workers must
  /// outlive it.
  Node(NodePlan plan, store::Store& store, Clock& clock);
  /// Returns when every thread has ended: a run that never returns keeps it, and its leases last as long.
  ~Node();

  const std::string& id() const { return parts_->id(); }

  /// What may fail of a change, before it. Throws Error: invalid_argument for a queue that the store has with
  /// other shards, unavailable without the store or threads.
  void prepare(NodeChange& change);
  /// One at a time.
  void change(NodeChange change);
  /// Takes no more jobs.
  void quiet() { parts_->quiet(); }

  /// Lets runs finish for `patience`, asks the rest to stop and waits `grace` for that, gives the shards
  /// back, leaves and ends the threads: nothing of the user's is called any more. Returns how many batches
  /// did not end: their shards stay owned, and the threads go on, until they do and the node is destroyed.
  std::size_t stop(Duration patience, Duration grace = kStopGrace);
  /// Cuts the patience of a stop() on another thread short.
  void hurry();

  /// Blocks until stop() is called or asked for from elsewhere, or a thread has failed; throws its error.
  void wait();
  /// Another process wishes that it stops.
  bool asked_to_stop() const { return end_.state().asked_to_stop; }
  bool stopping() const { return end_.state().stopping; }
  /// Throws the error of a thread that has failed.
  void check() const;
  /// A thread of it has failed: it takes nothing more, and leaves when its runs have ended.
  bool failed() const { return end_.state().failed(); }
  /// Whether the calling thread is one of the node's, those of runs aside.
  bool is_own_thread() const { return threads_.is_own(); }

 private:
  Node(NodePlan plan, store::Store& store, Clock& clock, std::string id);
  PartsPlan parts_plan(std::string id) const;
  void say(LogLevel level, const std::string& text) const { plan_.log(level, text); }
  PartsHooks parts_hooks();
  void start_threads();
  void engine_loop(const std::stop_token& stop);
  void follower_loop(const std::stop_token& stop);
  void keeper_loop(const std::stop_token& stop);
  void heartbeat_loop(const std::stop_token& stop);
  void fetcher_loop(const std::stop_token& stop);
  void responses_loop(const std::stop_token& stop);
  void sweeper_loop(const std::stop_token& stop);
  bool guard_store(const char* what, const std::stop_token& stop, const std::function<void()>& step);
  bool guard(const char* what, const std::stop_token& stop, const std::function<void()>& step);
  void pause_behind_error(const std::stop_token& stop) const;
  void fail(const std::string& what);
  void end_runs_without_engine();
  void let_go();
  void note_work();
  void leave_soon();
  void leave();
  void wake_threads();

  NodePlan plan_;
  store::Store& store_;
  Clock& clock_;
  NodeEnd end_;
  Bell keeper_bell_;
  Outage outage_;
  NodeThreads threads_;
  UserCalls calls_;
  Pools pools_;
  std::unique_ptr<NodeParts> parts_;
};

}  // namespace ordo::runtime
