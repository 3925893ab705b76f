#include "domain/renumber.h"

#include <algorithm>

#include "base/assert.h"

namespace ordo::domain {

Entry settled(Entry entry, Time at) {
  switch (entry.type) {
    case EntryType::push:
    case EntryType::revive:
    case EntryType::tick:
    case EntryType::handed_back:
      if ((!entry.score || !entry.run_at) && !entry.came) entry.came = at;
      break;
    case EntryType::edit:
      for (auto& edited : entry.edits) edited.seq = 0;
      break;
    case EntryType::run_now:
    case EntryType::resume_ticks:
      if (!entry.run_at && !entry.came) entry.came = at;
      break;
    case EntryType::cancel:
    case EntryType::ended:
    case EntryType::pause_ticks:
    case EntryType::expected:
    case EntryType::response:
    case EntryType::freed:
    case EntryType::kill:
    case EntryType::handed_over:
      break;
  }
  return entry;
}

Numbering::Numbering(std::vector<Seq> old) {
  std::sort(old.begin(), old.end());
  old.erase(std::unique(old.begin(), old.end()), old.end());
  places_.reserve(old.size());
  for (const Seq each : old) places_.push_back({.old = each});
}

void Numbering::pass(Seq old, Seq number) {
  ORDO_ASSERT(number > last_);
  for (; next_ < places_.size() && places_[next_].old <= old; ++next_) {
    auto& place = places_[next_];
    place.is_entry = place.old == old;
    place.number = place.is_entry ? number : last_;
  }
  last_ = number;
}

const Numbering::Place* Numbering::find(Seq old) const {
  const auto at = std::lower_bound(places_.begin(), places_.end(), old,
                                   [](const Place& place, Seq wanted) { return place.old < wanted; });
  return at != places_.end() && at->old == old ? &*at : nullptr;
}

std::optional<Seq> Numbering::of(Seq old) const {
  const auto* place = find(old);
  return place != nullptr && place->is_entry ? std::optional(place->number) : std::nullopt;
}

Seq Numbering::up_to(Seq old) const {
  const auto* place = find(old);
  ORDO_ASSERT(place != nullptr);
  const bool is_behind_all = static_cast<std::size_t>(place - places_.data()) >= next_;
  return is_behind_all ? last_ : place->number;
}

void add_references(std::vector<Seq>& numbers, Seq first, const JobState& state) {
  numbers.push_back(first);
  numbers.push_back(state.through);
  for (const auto& rank : state.scores) {
    numbers.push_back(rank.entry);
    numbers.push_back(rank.newest);
  }
  if (state.awaits) numbers.push_back(state.awaits.last);
}

void add_references(std::vector<Seq>& numbers, const ScheduleRecords& schedules) {
  for (const auto& [name, record] : schedules) numbers.push_back(record.through);
}

JobState renumbered(JobState state, const Numbering& numbering) {
  state.through = numbering.up_to(state.through);
  std::vector<PayloadRank> scores;
  for (const auto& [entry, score, newest] : state.scores) {
    const auto number = numbering.of(entry);
    if (number) scores.push_back({*number, score, newest == 0 ? 0 : numbering.up_to(newest)});
  }
  state.scores = std::move(scores);
  if (state.awaits) state.awaits.last = numbering.of(state.awaits.last).value_or(0);
  return state;
}

ScheduleRecords renumbered(ScheduleRecords schedules, const Numbering& numbering) {
  for (auto& [name, record] : schedules) record.through = numbering.up_to(record.through);
  return schedules;
}

}  // namespace ordo::domain
