#include "domain/limiter.h"

#include <algorithm>
#include <optional>
#include <utility>

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
    const Time from = next_start();
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

Time Limiter::next_start() const {
  if (is_penalty) return closed_until;
  auto from = Time::min();
  if (starts.count() >= rate.limit) from = time_after(starts.when_below(rate.limit), rate.per);
  if (is_spaced() && spaced_until != Time::min())
    from = std::max(from, time_after(spaced_until, interval() - depth()));
  return from;
}

void Limiter::charge(Time now, Duration grain) {
  if (is_penalty) return;
  starts.add(now, 1, grain);
  if (is_spaced()) spaced_until = time_after(std::max(spaced_until, now), interval());
}

void Limiter::shift(Duration by) {
  starts.shift(by);
  for (auto* time : {&spaced_until, &closed_until, &closed_at}) {
    if (*time != Time::min()) *time = time_after(*time, by);
  }
}

void Limiter::refund(Time at) {
  if (is_penalty) return;
  starts.take_back(at);
  if (is_spaced() && spaced_until != Time::min()) spaced_until -= interval();
}

void Limiter::move_start(Time from, Time to, Duration grain) {
  if (is_penalty || to == from) return;
  starts.take_back(from);
  starts.add(to, 1, grain);
  if (is_spaced() && spaced_until != Time::min()) spaced_until = std::max(spaced_until, to + interval());
}

void Limiter::exhaust(Time at) {
  if (is_penalty || rate.per > kShortRate) return;
  const RateRecord all{{}, at, time_after(at, rate.per), {{at, rate.limit}}};
  restore(all);
  if (is_spaced()) spaced_until = std::max(spaced_until, time_after(at, depth()));
}

bool Limiter::is_over(Time now) const {
  if (is_penalty) return closed_until <= now;
  return (starts.empty() || time_after(starts.last(), rate.per) <= now) && spaced_until <= now;
}

std::optional<RateRecord> Limiter::record(std::string of, Time now) {
  look_at_clock(now);
  if (is_over(now)) return std::nullopt;
  if (is_penalty) return RateRecord{std::move(of), closed_at, closed_until, {}};
  if (starts.empty()) return std::nullopt;
  return RateRecord{std::move(of), starts.last(), time_after(starts.last(), rate.per), starts.list(rate.per)};
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
