#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/inbox.h"
#include "runtime/run.h"
#include "simulation/history.h"
#include "simulation/world.h"

namespace ordo::simulation {

/// How the jobs of a simulation behave.
struct WorkPlan {
  Duration longest{};      ///< of a run
  bool ends_well = false;  ///< all of them, at once
  bool kills = false;      ///< some take their node with them
  bool waits = false;      ///< some wait for responses
  std::uint64_t one_in_killers =
      0;                          ///< of so many ids one is a killer's: each of its runs takes its node along
  bool breaks_processes = false;  ///< some take the process of their batch with them, or pass its timeout
  bool loses_programs = false;    ///< now and then a node cannot start those of one kind
  bool penalizes = false;         ///< some close their partition value for a while
};

/// The pools of a node: runs take simulated time and end by chance.
class SimPool final : public runtime::RunSink {
 public:
  SimPool(World& world, Clock& clock, History& history, const WorkPlan& plan,
          std::vector<std::size_t> threads, std::size_t prefetch);

  runtime::Inbox* inbox = nullptr;
  /// Sees each assignment as it is handed over.
  std::function<void(const runtime::Assignment&)> on_submit;
  std::function<void(const runtime::RunName&)> on_recall;
  std::function<void()> on_end;
  std::function<void()> on_kill;
  std::string node;

  std::size_t threads(std::size_t pool) const override { return threads_[pool].size(); }
  void look(std::size_t pool, std::vector<std::size_t>& room) const override;
  void submit(std::size_t pool, int thread, std::vector<runtime::Assignment> runs) override;
  std::vector<runtime::RunName> recall(std::size_t pool,
                                       const std::function<bool(const runtime::Assignment&)>& which) override;
  std::vector<runtime::RunName> recall_overdue(std::size_t pool) override;
  Duration overdue_in(std::size_t pool) const override;

  /// Starts and ends what is due; when it wants to go on.
  Duration step();
  /// Runs that were asked to stop: most do so soon. True: step() is due.
  bool look_at_stops();
  std::size_t active() const;

 private:
  enum class End { as_planned, throws, stopped, kills, not_started };
  struct Run {
    runtime::Assignment assignment;
    int thread = -1;
    Duration started{};
    Duration ends_at{};
    End end = End::as_planned;
    bool hears_stop = false;
    bool heard = false;
  };
  struct Thread {
    std::unique_ptr<Run> run;
  };

  bool is_overdue(const Thread& thread) const;
  std::vector<runtime::RunName> take_back(std::size_t pool, const std::function<bool(const Run&)>& which);
  std::unique_ptr<Run> next(std::size_t pool, std::size_t thread);
  void start(Thread& thread, std::unique_ptr<Run> run);
  bool is_killer(const std::string& id) const;
  bool is_missing(const runtime::Assignment& assignment);
  void end(std::unique_ptr<Run> run);
  std::optional<FailureKind> broken(const Run& run);
  Outcome outcome(const Run& run);
  Outcome outcome_of(const Run& run, const BatchJob& job);
  Duration penalty_of(const Run& run);

  World& world_;
  Clock& clock_;
  History& history_;
  const WorkPlan& plan_;
  std::size_t prefetch_;
  std::size_t ending_ = 0;
  Random breaks_{19};
  Random penalties_{23};
  Random waits_{17};  // chances of its own: kept seeds stay
  std::vector<std::vector<Thread>> threads_;
  std::vector<std::deque<std::unique_ptr<Run>>> waiting_;
  std::map<std::pair<std::size_t, std::string>, Duration> missing_until_;  // of programs, by queue and kind
};

}  // namespace ordo::simulation
