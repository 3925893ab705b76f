#include "client/waits_for.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "domain/gates.h"

namespace ordo {
namespace {

constexpr std::size_t kNamedHolders = domain::kToldHolders;

bool is_share(const LimitView& limit, const QueueOptions& rules) {
  return limit.name == rules.name &&
         (limit.partition == domain::kUnlisted || rules.shares.contains(limit.partition));
}

bool concerns(const LimitView& limit, const std::string& partition, bool critical,
              const QueueOptions& rules) {
  if (critical) return limit.name == domain::critical_name(rules.name);
  const bool is_own = limit.name == rules.name || limit.name == domain::penalty_name(rules.name);
  if (!is_own) return std::ranges::find(rules.limits, limit.name) != rules.limits.end();
  if (limit.name != rules.name) return limit.partition == partition;
  if (limit.partition == domain::kUnlisted) return !rules.shares.contains(partition);
  return limit.partition.empty() || limit.partition == partition;
}

bool refuses(const LimitView& limit, Decimal weight, const QueueOptions& rules) {
  if (limit.rate) return limit.free_at.has_value();
  const bool is_full = limit.used.millionths() + weight.millionths() > limit.limit.millionths();
  // Others may pass their share, or one alone the whole: only the owner knows whether this one may.
  const bool may_pass = (rules.borrow && is_share(limit, rules)) || rules.oversize == Oversize::alone;
  return is_full && (!may_pass || limit.waiting > 0);
}

class Reasons {
 public:
  void add(Gate what, std::string name, std::optional<Time> until = {}, std::vector<std::string> held_by = {},
           std::vector<std::string> stuck = {}) {
    list_.push_back({what, std::move(name), std::move(held_by), until, std::move(stuck), {}});
  }
  void add_code(std::string kind, std::vector<std::string> why) {
    list_.push_back({.what = Gate::code, .name = std::move(kind), .why = std::move(why)});
  }
  std::vector<WaitsFor> take() { return std::move(list_); }

 private:
  std::vector<WaitsFor> list_;
};

/// The jobs of those runs that do not stop and that `has` names; three at most.
template <class Has>
std::vector<std::string> stuck_with(const QueueGates& gates, Has has) {
  std::vector<std::string> ids;
  for (const auto& run : gates.stuck) {
    if (ids.size() < kNamedHolders && has(run)) ids.push_back(run.id);
  }
  return ids;
}

/// Those that count in the limit. Of which partition a run is nobody has told.
std::vector<std::string> stuck_in(const LimitView& limit, const QueueGates& gates) {
  if (limit.rate || limit.is_penalty || !limit.partition.empty()) return {};
  return stuck_with(gates, [&](const StuckRun& run) {
    if (run.queue == limit.name) return true;
    const auto named = gates.limits_of.find(run.queue);
    return named != gates.limits_of.end() &&
           std::ranges::find(named->second, limit.name) != named->second.end();
  });
}

/// The ids of some that have it, those of the job's own queue first.
std::vector<std::string> holders_of(const std::vector<GateHolder>& held_by, const JobView& job) {
  std::vector<std::string> ids;
  for (const bool is_own : {true, false}) {
    for (const auto& holder : held_by) {
      if (ids.size() < kNamedHolders && (holder.queue == job.queue) == is_own) ids.push_back(holder.id);
    }
  }
  return ids;
}

void add_lock(Reasons& reasons, const JobView& job, const std::string& key, const QueueOptions& rules,
              const QueueGates& gates) {
  const bool is_known = domain::has_locks(rules) || !rules.lock_name.empty();
  if (!is_known) return reasons.add(Gate::lock, key);  // nobody can have it: its queue has no locks
  const auto& name = domain::lock_name_of(rules);
  const auto held = std::ranges::find_if(
      gates.locks, [&](const LockView& lock) { return lock.name == name && lock.key == key; });
  if (held == gates.locks.end() || held->held_by.empty()) return;
  if (held->held_by.size() < rules.lock_slots && held->waiting == 0) return;
  const auto is_own = [&](const auto& holder) { return holder.queue == job.queue && holder.id == job.id; };
  if (std::ranges::any_of(held->held_by, is_own)) return;
  auto stuck = stuck_with(gates, [&](const StuckRun& run) {
    return std::ranges::any_of(held->held_by, [&](const GateHolder& holder) {
      return holder.queue == run.queue && holder.id == run.id;
    });
  });
  reasons.add(Gate::lock, key, {}, holders_of(held->held_by, job), std::move(stuck));
}

std::string shown_name(const std::string& name, const std::string& partition) {
  return partition.empty() ? name : name + ": " + partition;
}

/// What its owner tells of jobs that ask the same; null: nothing.
const domain::BlockedJobs* blocked_with(const JobView& job, const JobGates& asks, Decimal weight,
                                        const QueueGates& gates) {
  if (job.run_at > gates.now) return nullptr;
  const auto found = gates.blocked.find(
      {asks.keys.partition.value_or(""), weight.millionths(), job.critical.value_or(false)});
  return found != gates.blocked.end() ? &found->second : nullptr;
}

const LimitView* limit_of(const domain::BlockedJobs& blocked, const QueueGates& gates) {
  const auto found = std::ranges::find_if(gates.limits, [&](const LimitView& limit) {
    return limit.name == blocked.by && limit.partition == blocked.by_partition &&
           limit.rate.has_value() == blocked.by_rate;
  });
  return found != gates.limits.end() ? &*found : nullptr;
}

/// What only the owner knows: a share that may be passed, room that is kept.
void add_blocked(Reasons& reasons, const JobView& job, const domain::BlockedJobs& blocked,
                 const QueueGates& gates) {
  std::optional<Time> until;
  if (blocked.by_rate && blocked.until != Time::max()) until = blocked.until;
  std::vector<std::string> holders;
  if (const auto* limit = limit_of(blocked, gates)) holders = holders_of(limit->held_by, job);
  reasons.add(blocked.by_rate ? Gate::rate : Gate::limit, shown_name(blocked.by, blocked.by_partition), until,
              std::move(holders));
}

void add_limits(Reasons& reasons, const JobView& job, const JobGates& asks, const QueueOptions& rules,
                const QueueGates& gates) {
  const auto weight = job.weight.value_or(rules.weight);
  const auto* blocked = blocked_with(job, asks, weight, gates);
  for (const bool is_rate : {false, true}) {
    bool is_named = blocked == nullptr || blocked->by_rate != is_rate;
    for (const auto& limit : gates.limits) {
      if (limit.rate.has_value() != is_rate) continue;
      if (!concerns(limit, asks.keys.partition.value_or(""), job.critical.value_or(false), rules)) continue;
      if (!refuses(limit, weight, rules)) continue;
      is_named = is_named || (limit.name == blocked->by && limit.partition == blocked->by_partition);
      reasons.add(is_rate ? Gate::rate : Gate::limit, shown_name(limit.name, limit.partition), limit.free_at,
                  holders_of(limit.held_by, job), stuck_in(limit, gates));
    }
    if (!is_named) add_blocked(reasons, job, *blocked, gates);
  }
}

void add_suspect(Reasons& reasons, const JobView& job, const JobGates& asks, const QueueGates& gates) {
  const auto found = gates.marked_runs.find(asks.place.first);
  if (found == gates.marked_runs.end() || job.run_at > gates.now) return;
  const auto& gate = found->second;
  if (job.crashes > 0) {
    if (gate.refuses_suspects) reasons.add(Gate::suspect, {}, {}, gate.marked);
  } else if (gate.refuses_witnesses && asks.place.second <= gate.witness_through) {
    reasons.add(Gate::suspect, {}, {}, gate.suspects);
  }
}

}  // namespace

const QueueOptions& QueueGates::rules_of(const std::string& kind) {
  const auto known = rules_.find(kind);
  return known != rules_.end() ? known->second
                               : rules_.emplace(kind, options_of(options_, kind)).first->second;
}

std::vector<WaitsFor> waits_for(const JobView& job, const JobGates& asks, const QueueOptions& rules,
                                const QueueGates& gates) {
  Reasons reasons;
  if (job.state == JobStatus::running || job.state == JobStatus::dead) return {};
  if (!asks.response.empty()) {
    reasons.add(Gate::response, asks.response, asks.response_until);
    return reasons.take();
  }
  if (gates.paused) reasons.add(Gate::pause, job.queue);
  if (!gates.coded.has(job.queue, job.kind))
    reasons.add_code(job.kind, gates.coded.why_not(job.queue, job.kind));
  if (!gates.gathers.empty()) reasons.add(Gate::group, gates.gathers);
  const auto next = job.state == JobStatus::awaiting ? asks.response_again : job.run_at;
  if (next > gates.now) reasons.add(Gate::time, {}, next);
  if (job.state == JobStatus::awaiting) {  // it is not admitted anew
    if (asks.keys.lock && rules.lock_span == LockSpan::run)
      add_lock(reasons, job, *asks.keys.lock, rules, gates);
    return reasons.take();
  }
  if (!job.starts_at || *job.starts_at > std::max(gates.now, job.run_at))
    reasons.add(Gate::window, {}, job.starts_at);
  if (!asks.behind.empty()) {
    reasons.add(Gate::key, job.key, {}, {asks.behind}, stuck_with(gates, [&](const StuckRun& run) {
                  return run.queue == job.queue && run.key == job.key && run.id == asks.behind;
                }));
  }
  if (asks.keys.lock) add_lock(reasons, job, *asks.keys.lock, rules, gates);
  add_limits(reasons, job, asks, rules, gates);
  if (const auto refused = gates.throttled.find(asks.place); refused != gates.throttled.end()) {
    const bool is_known = refused->second != Time::max();
    reasons.add(Gate::throttler, job.queue, is_known ? std::optional(refused->second) : std::nullopt);
  }
  add_suspect(reasons, job, asks, gates);
  return reasons.take();
}

}  // namespace ordo
