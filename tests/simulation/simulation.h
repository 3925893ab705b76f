#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulation/sim_client.h"
#include "simulation/sim_node.h"
#include "simulation/sim_reshard.h"

namespace ordo::simulation {

// From here on some jobs wait for responses: the seeds that found something stay what they were.
constexpr std::uint64_t kFirstSeedOfWaits = 10'000'000;
// Likewise, and some jobs are unique.
constexpr std::uint64_t kFirstSeedOfUnique = 20'000'000;
// Likewise, and some queues have throttlers.
constexpr std::uint64_t kFirstSeedOfThrottlers = 30'000'000;
// Likewise, and what the store has as states of jobs turns into garbage.
constexpr std::uint64_t kFirstSeedOfGarbage = 40'000'000;
/// From here on processes die of batches, and are killed at their timeout.
constexpr std::uint64_t kFirstSeedOfPoison = 50'000'000;
/// From here on the store's clock leaps by days, and starts are held to rates.
constexpr std::uint64_t kFirstSeedOfLeaps = 60'000'000;
/// Likewise, and runs give penalties, some rates have bursts, and responses are kept for longer.
constexpr std::uint64_t kFirstSeedOfPenalties = 70'000'000;

/// A cluster in one thread: nodes and producers that live and die by chance, then quiet, then everything must
/// be done.
class Simulation {
 public:
  Simulation(std::uint64_t seed, bool print);
  ~Simulation();

  /// What went wrong; empty: nothing.
  std::string run();

  std::uint64_t trace_hash() const { return world_.trace_hash(); }
  std::uint64_t steps() const { return world_.steps(); }
  History::Totals totals() {
    history_.totals.setbacks = store_.setbacks();
    return history_.totals;
  }

 private:
  void choose_queues();
  void choose_rates();
  void start_node();
  NodePlan plan_node();
  void break_something();
  void leap();
  void end_leaps();
  void set_wrong(Duration by);
  void bury_the_dead();
  void turmoil();
  void calm_down();
  void settle();
  void look_at_the_end();
  bool clients_are_done() const;
  bool may_all_run() const;
  bool store_is_empty();
  bool counts_are_zero();
  SimNode* some_node();
  void remove(const SimNode* node, const char* why);

  World world_;
  SimClock store_clock_{world_, Duration{}};
  store::memory::MemoryStore store_{store_clock_};
  std::vector<QueueOptions> queues_;
  History history_{world_, store_, queues_};
  Checkers checkers_{history_};
  WorkPlan work_;
  StoreFaults faults_;
  NodeOptions node_options_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<std::unique_ptr<SimClient>> clients_;
  std::vector<PeriodicOptions> schedules_;
  Time calm_at_{};
  Random schedule_dice_;  // of their own: kept seeds stay what they are
  void choose_schedules();
  bool pause_schedules();
  std::unique_ptr<SimReshard> reshard_;
  int reshards_ = 0;
  bool reshards_sometimes_ = false;
  void forget_leases();
  void spoil_a_state();
  void look_at_reshard();
  void start_reshard(const std::string& queue);
  void finish_reshards();
  bool is_resharded();

  bool mixed_kinds_ = false;
  std::size_t most_questions_ = 100;
  bool unlike_leases_ = false;
  bool are_hostile_ = false;  ///< producers
  bool has_garbage_ = false;  ///< of the disk's making
  Random garbage_dice_;
  bool has_leaps_ = false;  ///< of the store's clock
  Random leap_dice_;
  bool has_newer_ = false;     ///< nodes and producers of the next version
  bool known_deaths_ = false;  ///< the store sees at once that a process has ended
  int started_ = 0;
};

}  // namespace ordo::simulation
