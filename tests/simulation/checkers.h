#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/schedule.h"
#include "runtime/engine.h"
#include "simulation/dead_checker.h"
#include "simulation/history.h"
#include "simulation/payload_checker.h"
#include "simulation/penalty_checker.h"
#include "simulation/rate_checker.h"
#include "simulation/response_checker.h"
#include "simulation/row_checker.h"
#include "simulation/unique_checker.h"

namespace ordo::simulation {

/// No two runs of one key overlap, as far as their nodes obeyed their leases; on one node never.
class OverlapChecker {
 public:
  explicit OverlapChecker(History& history) : history_(history) {}
  void started(const SeenRun& run);

 private:
  History& history_;
};

/// Starts of a key come in order: nothing that sorts earlier is passed over, nothing overtakes a job that has
/// its key.
class OrderChecker {
 public:
  explicit OrderChecker(History& history) : history_(history) {}
  void started(const SeenRun& run, Time now);

 private:
  void look_at_waiting(const SeenRun& run, const SeenJob& job, Time now);
  void look_at_holders(const SeenRun& run, const SeenJob& job, Time now);
  bool may_have_expired(const SeenJob& holder, const std::optional<domain::JobState>& state) const;
  bool may_come_first(const SeenRun& run, const SeenJob& job, const SeenJob& holder, Time now) const;

  History& history_;
};

/// Nothing starts before its time, and with other payloads than those that were pushed.
class StartChecker {
 public:
  explicit StartChecker(History& history) : history_(history) {}
  void started(const SeenRun& run, const runtime::Assignment& assignment, Time now);

 private:
  void look_at_time(const SeenRun& run, const SeenJob& job, Time now);
  void look_at_payloads(const SeenRun& run, const SeenJob& job, const BatchJob& delivered);
  void look_at_lost(const SeenRun& run, const SeenJob& job) const;
  void look_at_window(const SeenRun& run, Time now);
  void look_at_company(const SeenRun& run, const SeenJob& job, Time now) const;
  void look_at_attempt(const SeenRun& run, const SeenJob& job) const;

  History& history_;
};

/// No more run than limits and locks admit, as far as their nodes obeyed their leases.
class GateChecker {
 public:
  explicit GateChecker(History& history) : history_(history) {}
  void started(const SeenRun& run);

 private:
  std::string lock_of(const SeenRun& run, const SeenJob& job) const;

  History& history_;
};

/// Each tick of a schedule is pushed once, or passed over and counted.
class TickChecker {
 public:
  explicit TickChecker(History& history) : history_(history) {}
  void add(PeriodicOptions schedule);
  void started(const SeenRun& run);
  void erased(const SeenEntry& entry, bool has_ended, const store::Delta& delta);
  void committed(const store::Delta& delta);
  /// All have a tick of that time or later behind them.
  bool are_past(Time time) const;
  /// Everything has come to its end.
  void look_at_the_end() const;

 private:
  struct Watched {
    PeriodicOptions options;
    domain::Ticks ticks;
    std::optional<domain::ScheduleRecord> record;  // as written last
    std::map<Time, Seq> started;                   // by tick: the entry
    std::set<Time> ended;
  };
  void look_at_earlier(const Watched& schedule, const SeenEntry& entry) const;
  bool has_job(const std::string& schedule, const store::Delta& delta) const;

  History& history_;
  std::map<std::string, Watched> schedules_;
};

/// Nothing leaves the log without a reason: a run that ended well, a death, a cancel, an equal payload that
/// stays.
class LossChecker {
 public:
  LossChecker(History& history, TickChecker& ticks, PayloadChecker& payloads)
      : history_(history), ticks_(ticks), payloads_(payloads) {}
  void committed(const std::string& node, const store::Delta& delta);

 private:
  void note_lent(const store::Delta& delta);
  bool may_end(const SeenRun& run, const store::Delta& delta) const;
  bool has_expired(const SeenEntry& entry) const;
  bool has_ended(const SeenEntry& entry, const store::Delta& delta) const;
  bool is_justified(const SeenEntry& entry, const store::Delta& delta) const;
  bool ended_by_run(const SeenEntry& entry, const store::Delta& delta) const;
  bool is_duplicate(const SeenEntry& entry, const store::Delta& delta) const;
  void note_merged(const SeenEntry& entry);
  bool died(const SeenEntry& entry, const store::Delta& delta) const;
  void look_at_control(const SeenEntry& control) const;
  void look_at_attempts(const store::Delta& delta) const;
  void look_at_killed(const domain::DeadPayload& dead, ShardId shard) const;
  void look_at_unreadable(const store::Delta& delta) const;
  void settle_runs(const store::Delta& delta);

  History& history_;
  TickChecker& ticks_;
  PayloadChecker& payloads_;
  Time expired_by_{};  // what may have expired for the node that wrote the delta looked at
  std::vector<domain::DeadPayload> dead_;  // of that
  std::set<Seq> erased_;
};

/// A suspect runs beside no other marked run of its node, until its mark is shared; a death of its node
/// beside others counts for none that had a crash before, and kills none.
class PoisonChecker {
 public:
  explicit PoisonChecker(History& history) : history_(history) {}
  void started(const SeenRun& run);
  void committed(const store::Delta& delta);

 private:
  struct Company {
    domain::Mark mark = domain::Mark::none;
    bool is_suspect = false;
  };
  Company company_of(const SeenRun& run) const;
  std::optional<domain::JobState> state_before(Seq first) const;
  bool has_returned(Seq first) const;

  History& history_;
};

/// What leaves the log for good is kept by the same delta, and nothing that is kept goes before its time.
class KeptChecker {
 public:
  explicit KeptChecker(History& history) : history_(history) {}
  void committed(const std::string& node, const store::Delta& delta);

 private:
  void look_at_ages(const std::string& node, const store::Delta& delta);
  bool is_there_still(const SeenEntry& entry) const;

  History& history_;
  std::map<std::pair<ShardId, std::uint64_t>, Time> newest_;  // of the records of each block
};

/// Only the last one who was granted a shard changes it.
class FenceChecker {
 public:
  explicit FenceChecker(History& history) : history_(history) {}
  void granted(const std::string& node, const store::Grant& grant);
  void released(ShardId shard, const store::Lease& lease);
  void committed(const std::string& node, const store::Delta& delta);

 private:
  struct Holder {
    std::string node;
    store::Lease lease;
    std::uint64_t batch = 0;
    bool released = false;
  };
  History& history_;
  std::map<ShardId, Holder> holders_;
};

/// What a reader of the store would count is never too low.
class CountsChecker {
 public:
  explicit CountsChecker(History& history) : history_(history) {}
  void look();

 private:
  History& history_;
};

/// A shard rebuilt from the store equals the one in its owner's memory.
class RebuildChecker {
 public:
  explicit RebuildChecker(History& history) : history_(history) {}
  void look(const runtime::OwnedShard& shard, const std::string& owner);

 private:
  void look_at_keys(const runtime::OwnedShard& shard,
                    const std::vector<std::pair<Seq, domain::JobState>>& states) const;

  History& history_;
};

struct Checkers {
  explicit Checkers(History& history)
      : overlap(history),
        order(history),
        start(history),
        gates(history),
        rates(history),
        penalties(history, rates),
        ticks(history),
        payloads(history),
        loss(history, ticks, payloads),
        poison(history),
        kept(history),
        dead(history),
        fence(history),
        counts(history),
        rebuild(history),
        responses(history),
        rows(history),
        unique(history) {}
  OverlapChecker overlap;
  OrderChecker order;
  StartChecker start;
  GateChecker gates;
  RateChecker rates;
  PenaltyChecker penalties;
  TickChecker ticks;
  PayloadChecker payloads;
  LossChecker loss;
  PoisonChecker poison;
  KeptChecker kept;
  DeadChecker dead;
  FenceChecker fence;
  CountsChecker counts;
  RebuildChecker rebuild;
  ResponseChecker responses;
  RowChecker rows;
  UniqueChecker unique;
};

}  // namespace ordo::simulation
