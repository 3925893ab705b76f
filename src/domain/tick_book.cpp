#include "domain/tick_book.h"

#include <algorithm>

#include "base/saturate.h"

namespace ordo::domain {
namespace {

constexpr Duration kFarAhead = std::chrono::hours{1};

ScheduleRecord& at(ScheduleRecords& records, std::string_view schedule) {
  const auto found = records.find(schedule);
  return found != records.end() ? found->second : records[std::string(schedule)];
}

}  // namespace

const ScheduleRecord* TickBook::find(std::string_view schedule) const {
  const auto found = records_.find(schedule);
  return found == records_.end() ? nullptr : &found->second;
}

bool TickBook::admits(const Entry& entry, Seq seq) {
  auto& record = at(records_, entry.tick->schedule);
  if (seq <= record.through) return true;
  if (record.key.empty()) record.key = entry.key;
  record.through = seq;
  if (record.paused || entry.tick->at <= record.last) return false;
  record.last = record.ticked = entry.tick->at;
  record.ticks = std::max(record.ticks + 1, entry.tick->number);
  ++record.pushed;
  record.held_by.clear();
  return true;
}

// A clock that was far ahead has left a last tick that is yet to come: who resumes does not wait for it.
void TickBook::control(const Entry& entry, Time came) {
  auto& record = at(records_, entry.id);
  if (record.key.empty()) record.key = entry.key;
  const bool resumes = entry.type == EntryType::resume_ticks;
  const auto asked = entry.run_at.value_or(came);
  const bool is_far_ahead = record.last > saturating_add(asked, kFarAhead);
  if (resumes && is_far_ahead) record.last = asked;
  if (resumes && record.paused) record.last = std::max(record.last, asked);
  record.paused = !resumes;
}

bool TickBook::state(std::string_view schedule, std::string_view key, std::uint64_t text, Time now) {
  const auto* known = find(schedule);
  if (known != nullptr && known->text == text && known->key == key) return false;
  auto& record = at(records_, schedule);
  // Of one that only entries have spoken of, the times are those of whoever pushed them.
  const bool is_same = record.text == text || (record.text == 0 && record.last != Time::min());
  if (!is_same) record.last = std::max(record.last, now);
  record.text = text;
  record.key = key;
  return true;
}

void TickBook::pass(std::string_view schedule, Time last, std::uint64_t ticks) {
  auto& record = at(records_, schedule);
  record.last = std::max(record.last, last);
  record.ticks += ticks;
}

void TickBook::skip(std::string_view schedule, Time last, std::uint64_t ticks, std::string_view job) {
  pass(schedule, last, ticks);
  auto& record = at(records_, schedule);
  record.skipped += ticks;
  record.held_by = job;
}

void TickBook::forget(std::string_view schedule) {
  const auto found = records_.find(schedule);
  if (found != records_.end() && !found->second.paused) records_.erase(found);
}

}  // namespace ordo::domain
