#include "domain/limiter.h"

#include <algorithm>
#include <optional>

#include "base/time_text.h"

namespace ordo::domain {

std::optional<Time> Limiter::refuses(Amount weight, Time now, const void* who) {
  if (is_penalty) {
    full_at = std::min(full_at, time_after(now, kMostPenalty));  // a clock was ahead that day
    return full_at <= now ? std::nullopt : std::optional(full_at);
  }
  if (type == Type::rate) {
    // A clock that was put back leaves the bucket empty at most.
    full_at = std::min(full_at, time_after(now, depth()));
    const Time from = next_start();
    return from <= now ? std::nullopt : std::optional(from);
  }
  if (alone && weight > limit && used == 0) return std::nullopt;
  const Amount reserved = kept_for != nullptr && kept_for != who ? kept : 0;
  return used + weight + reserved <= limit ? std::nullopt : std::optional(Time::max());
}

Time Limiter::next_start() const {
  return full_at == Time::min() || is_penalty ? full_at : time_after(full_at, interval() - depth());
}

void Limiter::charge(Time now) {
  if (!is_penalty) full_at = time_after(std::max(full_at, now), interval());
}

void Limiter::refund() {
  if (full_at != Time::min() && !is_penalty) full_at -= interval();
}

}  // namespace ordo::domain
