// The schedules of a shard: which of their ticks bring a job, and what else is written of them.
#include "domain/schedule.h"
#include "domain/shard.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kMostLooked = 1000;  // jobs of a key, in each delta

}  // namespace

void Shard::apply_tick(const LoggedEntry& logged, Time now) {
  if (ticks_.admits(logged.entry, logged.seq)) {
    apply_payload(logged, now);
  } else {
    changes_.erase(logged.seq);
  }
}

// Where it starts is not to be forgotten: the next owner would start it anew.
void Shard::state_schedule(std::string_view name, std::string_view key, std::uint64_t text, Time now) {
  if (ticks_.state(name, key, text, now)) changes_.note_lent();
}

void Shard::pass_ticks(std::string_view schedule, Time last, std::uint64_t ticks) {
  ticks_.pass(schedule, last, ticks);
  changes_.note_lent();
}

void Shard::forget_schedule(std::string_view name) {
  ticks_.forget(name);
  changes_.note_lent();
}

// The one that came first, of several.
const Job* Shard::job_of_tick(std::string_view schedule) const {
  const auto* record = ticks_.find(schedule);
  const Job* found = nullptr;
  if (record == nullptr) return found;
  each_named({}, record->key, [&](const Job& job, const std::string&) {
    if (job.key() != record->key || !is_job_of(schedule, job.id())) return;
    if (found == nullptr || job.arrival() < found->arrival()) found = &job;
  });
  return found;
}

void Shard::skip_ticks(std::string_view schedule, Time last, std::uint64_t ticks, Time now) {
  const Job* holder = job_of_tick(schedule);
  ticks_.skip(schedule, last, ticks, holder != nullptr ? holder->id() : std::string_view{});
  changes_.note_lent();
  if (holder == nullptr || holder->retry_count() < 0 || holder->chosen_time || holder->run_at <= last) return;
  for (Job* job : table_.find_all(holder->kind, holder->id(), holder->key())) {
    const bool is_queued = job->place != Place::running && job->place != Place::awaiting;
    if (job != holder || !is_queued) continue;
    move(*job, {.run_at = last, .starts_over = false}, now);
    changes_.write_state(*job);
  }
}

void Shard::note_tick_jobs() {
  ticks_.note_jobs([&](std::string_view name, ScheduleRecord& record) {
    if (table_.looks_for({}, record.key) > kMostLooked) return;
    const Job* job = job_of_tick(name);
    if (job == nullptr) record.held_by.clear();
    const bool fails = job != nullptr && job->retry_count() >= 0;
    record.failing = fails ? job->id() : std::string_view{};
    record.failures = fails ? static_cast<std::uint32_t>(job->retry_count()) + 1 : 0;
  });
}

}  // namespace ordo::domain
