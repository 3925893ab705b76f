#include "domain/schedule.h"

#include <algorithm>
#include <functional>

#include <ordo/error.hpp>

#include "base/bytes.h"
#include "base/fnv.h"
#include "base/saturate.h"
#include "base/time_text.h"
#include "domain/archive.h"
#include "domain/entry.h"
#include "domain/option_bounds.h"

namespace ordo::domain {
namespace {

constexpr Duration kShortSpan = std::chrono::minutes{15};

constexpr FieldTag kSchedule = 2;  // each of a list

// Rounded down, before 1970 too.
std::int64_t multiple_at(Time at, Duration every) {
  const auto since = at.time_since_epoch().count(), step = every.count();
  return since / step - (since % step < 0 ? 1 : 0);
}

}  // namespace

std::optional<Ticks> Ticks::of(const PeriodicOptions& schedule, std::string& why) {
  Ticks ticks;
  if (schedule.cron.empty() == !schedule.every) {
    why = schedule.every ? "has both cron and every; keep one of them"
                         : "needs cron, like \"0 5 * * mon-fri\", or every, like \"15m\"";
    return std::nullopt;
  }
  if (!schedule.every) {
    ticks.cron_ = Cron::parse(schedule.cron, schedule.tz, why);
    if (ticks.cron_) return ticks;
    why = "cron: " + why;
    return std::nullopt;
  }
  ticks.every_ = *schedule.every;
  if (ticks.every_ >= kLeastEvery && ticks.every_ <= kMostEvery && ticks.every_ % kLeastEvery == Duration{0})
    return ticks;
  why = "every = " + format_duration(ticks.every_) + " is not of whole seconds, from 1s to 365d";
  return std::nullopt;
}

Time Ticks::next(Time after) const {
  if (cron_) return cron_->next(after);
  return Time{(multiple_at(after, every_) + 1) * every_};
}

std::uint64_t Ticks::count(Time from, Time until) const {
  if (until <= from) return 0;
  if (cron_) return cron_->count(from, until);
  return static_cast<std::uint64_t>(multiple_at(until, every_) - multiple_at(from, every_));
}

// They are looked for in a span that is doubled until it has enough.
std::vector<Time> Ticks::newest(Time from, Time until, std::size_t most) const {
  for (auto span = kShortSpan;; span += span) {
    const bool is_all = saturating_sub(until, from) <= span;
    std::vector<Time> found;
    for (auto at = next(is_all ? from : until - span); at <= until; at = next(at)) found.push_back(at);
    if (found.size() < most && !is_all) continue;
    if (found.size() > most) found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(most));
    return found;
  }
}

DueTicks due_ticks(const Ticks& ticks, Missed policy, Time last, Time now, std::optional<Duration> expires) {
  DueTicks due;
  const auto all = ticks.count(last, now);
  if (all == 0) return due;
  const auto alive = std::max(last, expires ? saturating_sub(now, *expires) : last);
  const auto in_time = std::max(saturating_sub(now, kLateTick), alive);
  due.push = ticks.newest(policy == Missed::all ? alive : in_time, now, kMostMissed);
  if (due.push.empty() && policy == Missed::once) due.push = ticks.newest(alive, now, 1);
  if (due.push.empty()) due.passed = ticks.newest(last, now, 1).back();
  due.missed = all - due.push.size();
  if (due.push.size() > kTicksOfAnAppend) due.push.resize(kTicksOfAnAppend);
  return due;
}

std::string_view key_of(const PeriodicOptions& schedule) {
  return schedule.key.empty() ? schedule.name : schedule.key;
}

std::string_view kind_of(const PeriodicOptions& schedule) {
  return schedule.kind.empty() ? schedule.queue : schedule.kind;
}

std::string job_id_of(std::string_view schedule, Time tick) {
  return std::string(schedule) + "@" + format_time(tick);
}

// Run by hand, it has an id without punctuation behind the name.
bool is_job_of(std::string_view schedule, std::string_view id) {
  if (!id.starts_with(schedule)) return false;
  const auto rest = id.substr(schedule.size());
  return rest.starts_with('@') && rest.find(':') != std::string_view::npos;
}

std::uint64_t text_of(const PeriodicOptions& schedule) {
  auto hash = fnv1a({});
  const auto add = [&](std::string_view text) { hash = fnv1a("\xFF", fnv1a(text, hash)); };
  if (schedule.every) {
    add(std::to_string(schedule.every->count()));
  } else {
    add(schedule.cron);
    add(schedule.tz);
  }
  return hash == 0 ? 1 : hash;
}

std::string encode_tick(const PeriodicOptions& schedule, Time at, std::uint64_t number) {
  const auto id = job_id_of(schedule.name, at);
  Entry entry;
  entry.type = EntryType::tick;
  entry.kind = kind_of(schedule);
  entry.key = key_of(schedule);
  entry.id = id;
  entry.score = score_of(at);
  entry.run_at = at;
  entry.options.priority = schedule.priority;
  entry.payload = schedule.payload;
  entry.tick = {schedule.name, at, number};
  return encode(entry);
}

namespace {

template <class Fields>
void schedule_fields(Fields& f, In<Fields, PeriodicOptions>& schedule) {
  f.text(2, schedule.name);
  f.text(3, schedule.queue);
  f.text(4, schedule.cron);
  f.maybe(5, schedule.every);
  f.text(6, schedule.tz);
  f.text(7, schedule.payload);
  f.text(8, schedule.kind);
  f.text(9, schedule.key);
  f.maybe(10, schedule.priority);
  f.number(11, schedule.missed, Missed::once);
  f.number(12, schedule.overlap, Overlap::skip);
}

// Nothing: a newer version means something else by it.
std::optional<PeriodicOptions> read_schedule(std::string_view bytes) {
  PeriodicOptions schedule;
  const auto unknown = take_fields(bytes, [&](FieldTag tag, std::string_view value) {
    FieldReader field(tag, value, "schedule");
    schedule_fields(field, schedule);
    return field.known;
  });
  const bool is_known = unknown.empty() && schedule.missed <= Missed::all &&
                        schedule.overlap <= Overlap::queue && !schedule.name.empty();
  return is_known ? std::optional(std::move(schedule)) : std::nullopt;
}

}  // namespace

std::string encode(const std::vector<PeriodicOptions>& schedules) {
  std::string all;
  for (const auto& schedule : schedules) {
    FieldWriter one;
    schedule_fields(one, schedule);
    all += field(kSchedule, one.bytes);
  }
  return all;
}

std::vector<PeriodicOptions> decode_schedules(std::string_view bytes) {
  std::vector<PeriodicOptions> schedules;
  const auto read = read_record<int>([&] {
    take_fields(bytes, [&](FieldTag tag, std::string_view value) {
      if (tag != kSchedule) return false;
      if (auto schedule = read_schedule(value)) schedules.push_back(*std::move(schedule));
      return true;
    });
    return 0;
  });
  return read ? schedules : std::vector<PeriodicOptions>{};
}

std::map<std::string, PeriodicOptions> in_force(std::vector<Statement> statements) {
  std::ranges::sort(statements, std::greater{});
  std::map<std::string, PeriodicOptions> schedules;
  for (const auto& statement : statements) {
    for (auto& schedule : decode_schedules(statement.schedules)) {
      auto name = schedule.name;
      schedules.try_emplace(std::move(name), std::move(schedule));
    }
  }
  return schedules;
}

}  // namespace ordo::domain
