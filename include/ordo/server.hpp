#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/admin.hpp>
#include <ordo/client.hpp>
#include <ordo/events.hpp>
#include <ordo/log.hpp>
#include <ordo/options.hpp>
#include <ordo/version.hpp>
#include <ordo/worker.hpp>

namespace ordo {

/// Moments of a node's life. All are optional; what they throw is logged.
struct ServerHooks {
  std::function<void()> on_start{};  ///< the store is open, no job has started
  std::function<void()> on_stop{};
  /// An error outside a worker ended a thread of the node, which calls this. The node takes no more jobs,
  /// asks its runs to stop, and leaves when they have; no job is lost. stop() may be called here.
  std::function<void(const std::exception_ptr&)> last_words{};
  /// The node lost its leases, and runs in threads still ignore their stop request 10 s later. The node takes
  /// no shards until they return. `ordo work` exits; the default does nothing: the fence keeps the late runs
  /// from writing.
  std::function<void()> on_lease_lost{};
};

/// The code of a queue's kinds; an empty kind stands for the one named like the queue.
using KindWorkers = std::map<std::string, std::unique_ptr<Worker>, std::less<>>;

/// What Server::change_queues() is to change.
struct QueueChange {
  struct Queue {
    QueueOptions options{};
    KindWorkers workers{};  ///< empty: those that it has
  };
  std::vector<Queue> serve{};         ///< new queues, and other rules or code for those that are served
  std::vector<std::string> remove{};  ///< served no more
  std::vector<NamedLimit> limits{};   ///< further ones; those that there are stay as they are
  std::vector<std::string> order{};   ///< in which queues are listed from now on; others come behind them
  std::optional<std::vector<PeriodicOptions>> periodic{};  ///< stated from now on
};

/// A node: runs the jobs of the queues it has workers for.
///
///   ordo::Server server(config);
///   server.add("orders", ordo::make_worker<ordo::Json>([](const auto& job) { ... }));
///   server.start();
///   ...
///   server.stop();
///
/// Public calls are thread-safe. A Server is set up (add, only, use, subscribe, set_hooks, set_log,
/// on_lease_renewed), started once and stopped once; a call at the wrong time throws Error{invalid_argument}
/// and changes nothing, and so does one that would wait for itself: start, stop, drain and wait in the
/// callback of a push_async, and stop, drain and wait in a run. Installs no signal handlers, prints nothing.
/// After a fork the child's copy throws Error{invalid_argument}.
class Server {
 public:
  explicit Server(Config config);
  /// Stops as stop(Stop::now), and waits for runs that ignore it: they keep their leases, and what they did
  /// counts. Must not be called by a run, a handler or a hook of this server: it is not freed then.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The code of one kind (default: the queue's name) of a queue. A queue the config does not name gets the
  /// defaults. Throws Error{invalid_argument} for a second worker of the same kind, a bad name, or after
  /// start().
  void add(std::string_view queue, std::unique_ptr<Worker> worker, std::string_view kind = {});

  /// Serves one more queue, at any time until stop(): defines it in the store and takes part in its work, as
  /// if the config had named it and its workers had been added. Returns when this node knows it; its first
  /// job may start a moment later. Waits for the store. Not in the callback of a push.
  ///
  /// Throws Error{invalid_argument} for a queue that is served, a bad option, or one that the store has with
  /// another number of shards; Error{unavailable} without the store. Nothing is changed then.
  void add_queue(QueueOptions options, KindWorkers workers);
  void add_queue(QueueOptions options, std::unique_ptr<Worker> worker);

  /// Serves it no more: takes none of its jobs from now on, gives its shards away and returns when its
  /// running jobs have ended and its workers are destroyed (or the server has stopped). The queue and its
  /// jobs stay in the store. False: it is not served. Throws Error{invalid_argument} in a run of this server
  /// and in the callback of a push.
  bool remove_queue(std::string_view name);

  /// Changes all of that at once, or nothing: throws as add_queue() does. Does not wait for running jobs,
  /// which go on by the rules and with the code that they were started with. A queue's shards are
  /// taken over anew, by the new rules: nothing of it starts here for that moment. Before start(): the
  /// config.
  void change_queues(QueueChange change);

  /// Whether it has workers of that queue.
  bool serves(std::string_view queue) const;
  /// ... and one of that kind of jobs.
  bool serves(std::string_view queue, std::string_view kind) const;

  /// Workers of other queues that are added later are left out. Empty: none is left out.
  void only(std::vector<std::string> queues);

  /// Wraps every run; the first added is the outermost.
  void use(ServerMiddleware middleware);
  void subscribe(EventFilter filter, EventHandler handler);
  void set_hooks(ServerHooks hooks);
  void set_log(LogSink sink);
  /// `listener` is told, at start and every heartbeat, for how long from now the leases last. Must not block.
  void on_lease_renewed(std::function<void(Duration)> listener);

  /// Opens the store, registers the node and starts its threads. Throws Error: nothing runs then, and it may
  /// be called again. Throws Error{invalid_argument} if the server was started before.
  void start();

  enum class Stop {
    graceful,  ///< take no more, let runs finish for shutdown_timeout, put the rest back, release the shards
    now,       ///< put everything back at once
  };
  /// Returns when the node has left; at once if it never started or has been stopped. Calling it with `now`
  /// from another thread cuts a graceful stop short. In on_stop it returns at once; in on_start it throws.
  ///
  /// Afterwards nothing of the program's is called any more: events are told first. But for runs that ignore
  /// their stop: they go on, with their leases, until they return.
  void stop(Stop mode = Stop::graceful);

  /// As a graceful stop() that takes at most `time`, and a moment, whatever runs do: those that go on are
  /// asked to stop when half of it, or all but 3 s, is over. A store that does not answer, and handlers of
  /// events, are waited for some seconds more. Returns how many batches go on still.
  std::size_t stop_for(Duration time);

  /// Whether it was started, and has neither been stopped nor failed. No server runs in the child of a fork.
  bool running() const;

  /// Takes no more jobs; keeps its shards and lets runs finish. Throws Error{invalid_argument} before
  /// start().
  void quiet();

  /// Blocks until no job of an unpaused queue served here is due, running or in back-off, in the whole store,
  /// or stop() was called (then false). Throws Error{invalid_argument} before start().
  bool drain();

  /// Blocks until stop() was called and has ended, or the node failed; throws what last_words was told.
  /// Throws Error{invalid_argument} before start().
  void wait();

  /// Share the server's store.
  Client client();
  Admin admin();

  /// This node's generated id; empty before start() and in the child of a fork.
  std::string node_id() const;

  /// Workers added so far.
  std::size_t worker_count() const;

 private:
  class Impl;
  Impl& impl();

  std::unique_ptr<Impl> impl_;
};

}  // namespace ordo
