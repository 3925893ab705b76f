// What must hold of schedules, whoever owns their shards, and however often a tick was appended.
#include <algorithm>

#include "simulation/checkers.h"

namespace ordo::simulation {

void TickChecker::add(PeriodicOptions schedule) {
  std::string why;
  auto ticks = *domain::Ticks::of(schedule, why);
  auto name = schedule.name;
  schedules_.emplace(std::move(name), Watched{std::move(schedule), std::move(ticks), {}, {}, {}});
}

// A run that was cut off may start again; another entry of the same tick may not.
void TickChecker::started(const SeenRun& run) {
  for (const auto& job : run.jobs) {
    for (const auto seq : job.seqs) {
      const auto& entry = history_.entries.at(seq);
      if (!entry.is_tick()) continue;
      const auto first = schedules_.at(entry.schedule).started.try_emplace(entry.tick, entry.origin).first;
      if (first->second != entry.origin)
        history_.world().fail("tick {} runs as entry {} and as entry {}", entry.name.id, first->second,
                              entry.origin);
      look_at_earlier(schedules_.at(entry.schedule), entry);
    }
  }
}

// Those that Missed::all catches up pass the jobs of earlier ones.
void TickChecker::look_at_earlier(const Watched& schedule, const SeenEntry& entry) const {
  if (schedule.options.overlap != Overlap::skip || schedule.options.missed == Missed::all) return;
  for (const auto& [seq, other] : history_.entries) {
    const bool is_earlier = other.is_tick() && other.schedule == entry.schedule && other.tick < entry.tick;
    if (is_earlier && other.live && history_.was_started(seq))
      history_.world().fail("tick {} starts while that of {} is not over", entry.name.id, other.name.id);
  }
}

bool TickChecker::has_job(const std::string& schedule, const store::Delta& delta) const {
  return std::ranges::any_of(history_.entries, [&](const auto& each) {
    const auto& [seq, entry] = each;
    const bool is_there = entry.live || std::ranges::find(delta.erase, seq) != delta.erase.end();
    // Also one that was brought back from the dead.
    return is_there && domain::is_payload(entry.type) && domain::is_job_of(schedule, entry.name.id);
  });
}

void TickChecker::erased(const SeenEntry& entry, bool has_ended, const store::Delta& delta) {
  auto& schedule = schedules_.at(entry.schedule);
  if (has_ended) {
    ++history_.totals.ticks;
    schedule.ended.insert(entry.tick);
    return;
  }
  ++history_.totals.refused;
  const auto counts = *domain::decode_counts(delta.counts);
  const auto record = counts.schedules.find(entry.schedule);
  const bool may_be =
      record != counts.schedules.end() && (record->second.paused || entry.tick <= record->second.last);
  if (!may_be)
    history_.world().fail("tick {} (entry {}) is erased without a reason", entry.name.id, entry.seq);
}

void TickChecker::committed(const store::Delta& delta) {
  for (const auto& [name, record] : domain::decode_counts(delta.counts).or_empty().schedules) {
    auto& [options, ticks, before, started, ended] = schedules_.at(name);
    if (before) {
      const auto passed = ticks.count(before->last, record.last);
      if (record.last < before->last || record.ticks != before->ticks + passed ||
          record.pushed < before->pushed) {
        history_.world().fail("schedule {} had {} ticks and {} pushed, and has {} and {}, of {} that came",
                              name, before->ticks, before->pushed, record.ticks, record.pushed, passed);
      }
      const auto missed = [](const domain::ScheduleRecord& of) { return of.ticks - of.pushed - of.skipped; };
      if (options.missed == Missed::all && missed(record) > missed(*before) && passed <= domain::kMostMissed)
        history_.world().fail("schedule {} has passed over ticks that are to be pushed", name);
      const bool may_skip = options.overlap == Overlap::skip && has_job(name, delta);
      if (record.skipped < before->skipped || (record.skipped > before->skipped && !may_skip))
        history_.world().fail("schedule {} has skipped {} ticks, after {}", name, record.skipped,
                              before->skipped);
      history_.totals.passed += (record.ticks - record.pushed) - (before->ticks - before->pushed);
    }
    before = record;
  }
}

bool TickChecker::are_past(Time time) const {
  for (const auto& [name, schedule] : schedules_) {
    if (!schedule.record || schedule.record->last < time) return false;
  }
  return true;
}

void TickChecker::look_at_the_end() const {
  for (const auto& [name, schedule] : schedules_) {
    if (schedule.record->pushed == schedule.ended.size()) continue;
    history_.world().fail("schedule {} has pushed {} ticks, and {} have come to an end", name,
                          schedule.record->pushed, schedule.ended.size());
  }
}

}  // namespace ordo::simulation
