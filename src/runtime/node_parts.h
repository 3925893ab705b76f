#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ordo/events.hpp>
#include <ordo/log.hpp>
#include <ordo/options.hpp>
#include <ordo/worker.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "runtime/engine.h"
#include "runtime/fetcher.h"
#include "runtime/follower.h"
#include "runtime/heartbeat.h"
#include "runtime/lease_keeper.h"
#include "runtime/response_inbox.h"
#include "runtime/row_sweeper.h"

namespace ordo::runtime {

/// What has a thread of its own, or is an actor of a simulation.
enum class Part : std::uint8_t { engine, fetcher, keeper };

/// What a node is.
struct PartsPlan {
  using Workers = std::map<std::pair<std::string, std::string>, Worker*>;

  std::string id;
  NodeFacts facts;                   ///< of its process; what it serves is added
  std::vector<QueueOptions> queues;  ///< those with workers, in the listed order
  Workers workers;                   ///< by queue and kind
  std::vector<NamedLimit> limits{};  ///< those that queues name
};

/// What a node serves from now on.
struct ServedChange {
  struct Queue {
    QueueOptions options;
    std::map<std::string, Worker*> workers;  ///< by kind
    std::function<std::size_t()> pool{};  ///< makes one of its own known to the sink, on the engine's thread
  };
  std::vector<Queue> serve;              ///< new ones, and those that have other rules or code now
  std::vector<std::string> leave;        ///< served no more
  std::vector<NamedLimit> limits;        ///< that no queue has named yet
  std::vector<std::string> order;        ///< in which the config lists all that are served then
  std::optional<std::string> schedules;  ///< other ones (domain/schedule.h)
  /// The runs that a queue had before it left or changed are over. On the engine's thread.
  std::function<void(const std::string& queue)> over{};
};

/// Whom the parts tell, beside each other. Called on their threads; must not block.
struct PartsHooks {
  /// It has something to do. The engine and the fetcher are woken by what they wait on, the keeper is not.
  std::function<void(Part)> poke{};
  LogSink log{};
  std::function<void(std::vector<Event>)> events{};
  std::function<void(const std::string& queue, std::vector<JobView>)> died{};  ///< see EngineHooks
  std::function<void()> lease_lost{};                                          ///< likewise
  std::function<void(Duration)> renewed{};                                     ///< see HeartbeatHooks
  std::function<void()> asked_to_stop{};
};

/// The threads of each pool: the node's, then those of queues that have some of their own.
std::vector<std::size_t> pool_sizes(const NodeOptions& options, const std::vector<QueueOptions>& queues);

/// The parts of a node, as they know each other: in production, in tests of workers, in the simulation. Who
/// has them gives them threads, or lets them go in turn.
class NodeParts {
 public:
  NodeParts(const NodeOptions& options, PartsPlan plan, store::Store& store, Clock& clock, Random& random,
            RunSink& sink, PartsHooks hooks);

  const std::string& id() const { return id_; }
  LeaseClock& lease() { return lease_; }
  Engine& engine() { return engine_; }
  const Engine& engine() const { return engine_; }
  Follower& follower() { return follower_; }
  Fetcher& fetcher() { return fetcher_; }
  Heartbeat& heartbeat() { return heartbeat_; }
  LeaseKeeper& keeper() { return keeper_; }
  ResponseInbox& responses() { return responses_; }
  RowSweeper& sweeper() { return sweeper_; }

  // --- any thread ---

  /// One at a time. The queues are in the store.
  void change(ServedChange change);
  /// Takes no more jobs.
  void quiet();
  /// Claims and starts nothing, and gives every shard back. `done`: the engine is at it; on its thread.
  void let_go(std::function<void()> done);
  void ask_runs_to_stop();

 private:
  EngineHooks engine_hooks();
  HeartbeatHooks heartbeat_hooks();
  KeeperHooks keeper_hooks();
  Duration stated_clock(std::optional<Duration> before) const;
  void change_engine(ServedChange& news);
  template <class Write>
  void post(Write write);
  void poke(Part part) const;
  void say(LogLevel level, const std::string& line) const;
  void publish(std::vector<Event> events) const;

  const std::string id_;
  const NodeOptions& options_;
  store::Store& store_;
  Clock& clock_;
  const PartsHooks hooks_;
  PartsPlan plan_;  // what it serves now
  LeaseClock lease_;
  Engine engine_;
  Follower follower_;
  Fetcher fetcher_;
  ResponseInbox responses_;
  RowSweeper sweeper_;
  Heartbeat heartbeat_;
  LeaseKeeper keeper_;
};

}  // namespace ordo::runtime
