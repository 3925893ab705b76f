#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/node_parts.h"
#include "simulation/checkers.h"
#include "simulation/faulty_store.h"
#include "simulation/sim_pool.h"

namespace ordo::simulation {

struct NodePlan {
  std::string id;
  NodeOptions options;
  std::vector<QueueOptions> queues;
  std::vector<std::pair<std::string, std::string>> kinds;  ///< (queue, kind) it has code for
  StoreFaults faults;
  std::size_t prefetch = 1;
  std::size_t most_questions = 100;  ///< to a throttler in a tick
  bool compares = true;              ///< with rebuilds: all payloads are in memory
  std::string schedules;             ///< that it states
  std::uint16_t level = 1;           ///< of the stored formats that it knows
  bool dies_with_lease = false;      ///< as `ordo work` does when runs outlive the leases
  bool sweeps = false;               ///< rows that are over, as all do
};

/// One node: the parts that runtime::Node has, with actors of the world for its threads.
class SimNode {
 public:
  SimNode(NodePlan plan, World& world, History& history, Checkers& checkers, const WorkPlan& work);
  ~SimNode();

  const std::string& id() const { return plan_.id; }
  Duration lease() const { return plan_.options.lease; }

  /// Stops the process for a while (SIGSTOP, a machine that swaps).
  void pause(Duration time);
  bool is_paused() const;
  /// It has sent something of the shard, and does not know yet what became of it.
  bool is_committing(ShardId shard) const;
  void cut_off(Duration time) { store_->cut_off(world_.now() + time); }
  void heal() { store_->heal(); }
  /// Starts a clean stop.
  void stop();
  bool stopping() const { return stopping_; }
  bool is_newer() const { return plan_.faults.newer; }
  /// Its process has ended by itself, or is to be ended.
  bool wants_to_die() const { return dying_; }
  bool has_left() const { return left_; }
  /// The process dies now.
  void kill();
  /// The store has changed.
  void woken();
  /// Time has moved.
  void look_at_lease();
  void note(const char* what);
  void describe() const;
  /// Called when this node has changed the store.
  void on_change(std::function<void()> call) { store_->on_change = std::move(call); }

 private:
  void build();
  runtime::PartsHooks parts_hooks();
  std::vector<Actor*> actors() const;
  runtime::Engine& engine() const { return parts_->engine(); }
  runtime::LeaseClock& leases() const { return parts_->lease(); }
  void tick_engine();
  void tick_follower();
  void tick_fetcher();
  void tick_heartbeat();
  void tick_keeper();
  void tick_sweeper();
  void tick_stop();
  void saw_submit(const runtime::Assignment& assignment);
  void saw_borrowed(std::unique_ptr<SeenRun> run, const runtime::Assignment& assignment,
                    const domain::LentRun& lent);
  void saw_start(std::unique_ptr<SeenRun> run, const runtime::Assignment& assignment, Time chosen);
  void look_at_group(ShardId shard);
  void note_taken();
  void cut_runs();
  void let_go_of_zombies();
  void stall();
  void poke(Actor* actor);

  NodePlan plan_;
  World& world_;
  History& history_;
  Checkers& checkers_;
  SimClock clock_;
  const std::shared_ptr<FaultyStore> store_;
  SimPool pool_;
  std::unique_ptr<runtime::NodeParts> parts_;
  Actor* engine_actor_ = nullptr;
  Actor* follower_actor_ = nullptr;
  Actor* fetcher_actor_ = nullptr;
  Actor* heartbeat_actor_ = nullptr;
  Actor* keeper_actor_ = nullptr;
  Actor* pool_actor_ = nullptr;
  Actor* sweeper_actor_ = nullptr;
  Actor* stop_actor_ = nullptr;

  struct Taken {
    Seq through = 0;
    Time now{};
  };
  std::map<std::tuple<ShardId, std::uint64_t, std::uint64_t>, Taken>
      taken_;                                                            // runs that are not handed over yet
  std::map<std::pair<ShardId, std::uint64_t>, std::uint64_t> last_run_;  // by shard and epoch
  std::map<ShardId, std::pair<std::uint64_t, std::uint64_t>> compared_;  // token and batch

  std::uint64_t wakes_ = 0;
  bool joined_ = false, has_ticked_ = false;
  bool stopping_ = false, released_ = false, asked_ = false, leaving_ = false, left_ = false, dying_ = false;
  Duration stop_by_{};
};

}  // namespace ordo::simulation
