#include "domain/awaiting.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace ordo::domain {

void Awaiting::enter(Job& job) {
  ORDO_ASSERT(job.place != Place::awaiting);
  auto& waits = *job.waits();
  job.place = Place::awaiting;
  jobs_.emplace(job.arrival(), &job);
  if (waits.answered() != nullptr) {
    ready_[{job.kind, job.risk}].emplace(std::pair{waits.awaits.retry_at, job.arrival()}, &job);
  } else if (!waits.is_closing) {
    deadlines_.emplace(std::pair{waits.awaits.deadline, job.arrival()}, &job);
  }
}

void Awaiting::leave(Job& job) {
  ORDO_ASSERT(job.place == Place::awaiting);
  auto& waits = *job.waits();
  deadlines_.erase({waits.awaits.deadline, job.arrival()});
  const auto of = ready_.find({job.kind, job.risk});
  if (of != ready_.end()) {
    of->second.erase({waits.awaits.retry_at, job.arrival()});
    if (of->second.empty()) ready_.erase(of);
  }
  if (waits.is_closing) {
    const auto closing = closing_.find(waits.awaits.wait);
    if (closing != closing_.end()) closing->second.job = nullptr;
    waits.is_closing = false;
  }
  leave_line(job);
  let_turn_go(job);
  if (const auto commit = std::exchange(waits.unlocks, 0); commit != 0) {
    auto& jobs = unlocking_.at(commit);
    jobs.erase(job.arrival());
    if (jobs.empty()) unlocking_.erase(commit);
  }
  job.place = Place::running;
  jobs_.erase(job.arrival());
}

Job* Awaiting::ready(Time now, const Admission& admission) {
  const auto admits = [&](std::uint16_t kind, Risk risk) {
    return admission.admits(kinds_[kind].name, kinds_[kind].served) && admission.admits(risk);
  };
  // Others are asked for what is lent, or for marked jobs alone: they change nobody's turn.
  const bool decides = admission.normal && admission.kinds == nullptr;
  for (auto at = called_.begin(); decides && at != called_.end();) {
    Job& job = *(at++)->second;
    if (admits(job.kind, job.risk) && job.waits()->awaits.retry_at <= now) continue;
    let_turn_go(job);
    at = called_.begin();  // it may be another's turn here
  }
  const Times::value_type* first = nullptr;
  for (auto next = ready_.begin(); next != ready_.end();) {
    const auto of = next++;
    if (!admits(of->first.first, of->first.second)) continue;
    const auto* own = decides ? first_in_turn(of->second, now) : first_free(of->second, now);
    if (own != nullptr && (first == nullptr || own->first < first->first)) first = own;
    if (of->second.empty()) ready_.erase(of);
  }
  return first == nullptr ? nullptr : first->second;
}

// Who is before it and finds its lock taken goes to that line.
const Awaiting::Times::value_type* Awaiting::first_in_turn(Times& jobs, Time now) {
  while (!jobs.empty() && jobs.begin()->first.first <= now) {
    const auto next = jobs.begin();
    Job& job = *next->second;
    if (may_have_lock(job)) return &*next;
    let_turn_go(job);
    job.waits()->ticket = Gates::line_up(*job.demand, *this, job);
    ++locked_;
    jobs.erase(next);
  }
  return nullptr;
}

const Awaiting::Times::value_type* Awaiting::first_free(const Times& jobs, Time now) {
  constexpr int kLooked = 100;
  auto left = kLooked;
  for (const auto& next : jobs) {
    if (next.first.first > now || left-- == 0) break;
    if (may_have_lock(*next.second)) return &next;
    next.second->demand->lock->watchers.insert(shard_);
  }
  return nullptr;
}

bool Awaiting::may_have_lock(const Job& job) {
  if (job.has_lock || job.demand == nullptr || job.demand->lock == nullptr) return true;
  const auto& demand = *job.demand;
  return demand.has_lock_free() || (job.waits()->is_called && demand.lock->holders < demand.space->slots);
}

void Awaiting::take_lock(Job& job) {
  if (std::exchange(job.waits()->is_called, false)) {
    called_.erase(job.arrival());
    Gates::starts(*job.demand);
  }
  if (job.has_lock || job.demand == nullptr || job.demand->lock == nullptr) return;
  gates_->hold(*job.demand);
  job.has_lock = true;
}

void Awaiting::called(Job& job) {
  auto& waits = *job.waits();
  waits.ticket = 0;
  --locked_;
  waits.is_called = true;
  called_.emplace(job.arrival(), &job);
  ready_[{job.kind, job.risk}].emplace(std::pair{waits.awaits.retry_at, job.arrival()}, &job);
}

void Awaiting::let_turn_go(Job& job) {
  if (!std::exchange(job.waits()->is_called, false)) return;
  called_.erase(job.arrival());
  gates_->passes_on(*job.demand);
}

void Awaiting::let_turns_go() {
  while (!called_.empty()) let_turn_go(*called_.begin()->second);
}

void Awaiting::leave_line(Job& job) {
  const auto ticket = std::exchange(job.waits()->ticket, 0);
  if (ticket == 0) return;
  Gates::leave_line(*job.demand, ticket);
  --locked_;
}

void Awaiting::leave_lines() {
  for (auto& [arrival, job] : jobs_) leave_line(*job);
  let_turns_go();
}

void Awaiting::unlock(Job& job) {
  job.waits()->unlocks = next_commit_;
  unlocking_[next_commit_].emplace(job.arrival(), &job);
}

std::vector<Job*> Awaiting::take_unlocked() {
  std::vector<Job*> jobs;
  while (!unlocking_.empty() && unlocking_.begin()->first < next_commit_) {
    for (auto& [arrival, job] : unlocking_.begin()->second) {
      job->waits()->unlocks = 0;
      jobs.push_back(job);
    }
    unlocking_.erase(unlocking_.begin());
  }
  return jobs;
}

std::optional<Time> Awaiting::next(Time now) const {
  auto next = deadlines_.empty() ? Time::max() : deadlines_.begin()->first.first;
  for (const auto& [of, jobs] : ready_) {
    const auto at = jobs.begin()->first.first;
    if (at > now) next = std::min(next, at);  // the others wait for a thread
  }
  return next == Time::max() ? std::nullopt : std::optional(next);
}

void Awaiting::close_overdue(Time now) {
  while (!deadlines_.empty() && deadlines_.begin()->first.first <= now) {
    Job& job = *deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    auto& waits = *job.waits();
    waits.is_closing = true;
    auto& closing = closing_[waits.awaits.wait];
    closing.key = waits.awaits.key;
    closing.job = &job;
    closes_.push_back({waits.awaits.wait, waits.awaits.key});
  }
}

void Awaiting::close(const OpenWait& wait) {
  const auto [closing, is_new] = closing_.try_emplace(wait.wait);
  closing->second.key = wait.key;
  if (wait.expected != 0) closing->second.entries.push_back(wait.expected);
  if (is_new) closes_.push_back({wait.wait, wait.key});
}

Awaiting::Closed Awaiting::closed(const std::string& wait) {
  auto node = closing_.extract(wait);
  if (node.empty()) return {};
  return {node.mapped().job, std::move(node.mapped().entries)};
}

void Awaiting::close_again(const std::string& wait) {
  const auto found = closing_.find(wait);
  if (found != closing_.end()) closes_.push_back({wait, found->second.key});
}

}  // namespace ordo::domain
