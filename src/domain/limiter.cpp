#include "domain/limiter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/saturate.h"
#include "base/time_text.h"

namespace ordo::domain {

std::optional<Time> Limiter::refuses(Amount weight, Time now, const void* who) {
  if (is_penalty) {
    look_at_clock(now);
    return closed_until <= now ? std::nullopt : std::optional(closed_until);
  }
  if (type == Type::rate) {
    look_at_clock(now);
    const Time from = next_start(now);
    return from <= now ? std::nullopt : std::optional(from);
  }
  if (alone && weight > limit && used == 0) return std::nullopt;
  const Amount reserved = kept_for != nullptr && kept_for != who ? kept : 0;
  return used + weight + reserved <= limit ? std::nullopt : std::optional(Time::max());
}

// A clock that was put back leaves a rate used up at most.
void Limiter::look_at_clock(Time now) {
  if (is_penalty) {
    closed_until = std::min(cut_end(closed_until, closed_at, now), time_after(now, kMostPenalty));
    closed_at = std::min(closed_at, now);
    return;
  }
  starts.cut(now);
  starts.forget(saturating_sub(now, rate.per));
  if (spaced_until != Time::min()) spaced_until = std::min(spaced_until, time_after(now, depth()));
}

// What is to come may come at any time from now on, so nothing is wrong if it counts as if it came now.
Time Limiter::next_start(Time now) const {
  if (is_penalty) return closed_until;
  auto from = Time::min();
  const auto coming = static_cast<std::uint32_t>(to_come.size());
  if (starts.count() + coming >= rate.limit) {
    const bool is_full = coming >= rate.limit;
    from = time_after(is_full ? now : starts.when_below(rate.limit - coming), rate.per);
  }
  if (is_spaced() && (spaced_until != Time::min() || coming > 0)) {
    const auto until =
        coming == 0 ? spaced_until : time_after(std::max(spaced_until, now), interval() * coming);
    from = std::max(from, time_after(until, interval() - depth()));
  }
  return from;
}

void Limiter::charge(Time now, Duration grain) {
  if (is_penalty) return;
  starts.add(now, 1, grain);
  if (is_spaced()) spaced_until = time_after(std::max(spaced_until, now), interval());
}

void Limiter::shift(Duration by) {
  starts.shift(by);
  for (auto& chosen : to_come) chosen = time_after(chosen, by);
  for (auto* time : {&spaced_until, &closed_until, &closed_at}) {
    if (*time != Time::min()) *time = time_after(*time, by);
  }
}

void Limiter::refund(Time at) {
  if (is_penalty) return;
  starts.take_back(at);
  const bool was_last = starts.empty() || starts.last() <= at;  // else later ones are spaced without it
  if (was_last && is_spaced() && spaced_until != Time::min()) spaced_until -= interval();
}

void Limiter::postpone(Time at) {
  if (is_penalty) return;
  refund(at);
  to_come.push_back(at);
}

void Limiter::start_postponed(Time chosen, Time now, Duration grain) {
  if (is_penalty) return;
  drop_postponed(chosen);
  charge(now, grain);
}

// A clock that has leapt meanwhile may have told another time: then any of them will do.
void Limiter::drop_postponed(Time chosen) {
  if (is_penalty) return;
  ORDO_ASSERT(!to_come.empty());
  const auto found = std::ranges::find(to_come, chosen);
  to_come.erase(found == to_come.end() ? to_come.begin() : found);
}

void Limiter::exhaust(Time at) {
  if (is_penalty || rate.per > kShortRate) return;
  const RateRecord all{{}, at, time_after(at, rate.per), {{at, rate.limit}}};
  restore(all);
  if (is_spaced()) spaced_until = std::max(spaced_until, time_after(at, depth()));
}

bool Limiter::is_over(Time now) const {
  if (is_penalty) return closed_until <= now;
  return to_come.empty() && (starts.empty() || time_after(starts.last(), rate.per) <= now) &&
         spaced_until <= now;
}

std::optional<RateRecord> Limiter::record(std::string of, Time now) {
  look_at_clock(now);
  if (is_over(now)) return std::nullopt;
  if (is_penalty) return RateRecord{std::move(of), closed_at, closed_until, {}};
  if (starts.empty() && to_come.empty()) return std::nullopt;
  auto seen = starts.list(rate.per);
  for (const auto chosen : to_come) {
    const bool is_told = chosen <= now && chosen > saturating_sub(now, rate.per);
    seen.push_back({is_told ? chosen : now, 1});
  }
  if (!to_come.empty()) std::ranges::sort(seen, {}, &Starts::at);
  const auto last = seen.back().at;
  return RateRecord{std::move(of), last, time_after(last, rate.per), std::move(seen)};
}

// How they were spaced follows from what is left of them, and where that is too little `limit` holds.
void Limiter::restore(const RateRecord& record) {
  starts.unite(record.starts, rate.per);
  if (is_spaced()) {
    for (const auto& [at, count] : record.starts)
      spaced_until = time_after(std::max(spaced_until, at), interval() * std::int64_t{count});
  }
}

}  // namespace ordo::domain
