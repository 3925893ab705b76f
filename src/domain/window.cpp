#include "domain/window.h"

#include <algorithm>
#include <array>

#include <cctz/civil_time.h>

#include "base/saturate.h"
#include "base/zone.h"

namespace ordo::domain {
namespace {

using std::chrono::seconds;

constexpr Duration kHorizon = std::chrono::hours{24 * 3653};
constexpr Duration kLongOpen = std::chrono::hours{24 * 8};

constexpr Duration kPattern = std::chrono::hours{24 * 8};  // a week, and a window that began in it

bool has_day(std::uint8_t days, cctz::weekday day) { return (days >> static_cast<int>(day) & 1) != 0; }

}  // namespace

std::optional<Windows> Windows::of(const std::vector<Window>& windows) {
  Windows all;
  for (const auto& window : windows) {
    const auto zone = load_zone(window.tz);
    if (!zone) return std::nullopt;
    all.windows_.push_back({window, *zone});
  }
  return all;
}

bool Windows::is_open(const Zoned& zoned, Time at) const {
  const auto& window = zoned.window;
  const auto civil = cctz::convert(whole(at), zoned.zone);
  const cctz::civil_day day(civil);
  const seconds clock{civil - cctz::civil_second(day)};
  const bool starts_today = has_day(window.days, cctz::get_weekday(day));
  if (window.start < window.end) return starts_today && clock >= window.start && clock < window.end;
  // Over midnight: it belongs to the day on which it starts.
  const bool started_yesterday = has_day(window.days, cctz::get_weekday(day - 1));
  return (starts_today && clock >= window.start) || (started_yesterday && clock < window.end);
}

bool Windows::is_open(Time at) const {
  return windows_.empty() ||
         std::ranges::any_of(windows_, [&](const auto& zoned) { return is_open(zoned, at); });
}

// Where the clock jumps over a boundary it is passed at the jump, and where it is put back, twice.
Time Windows::next(Time after, seconds Window::*boundary) const {
  auto found = Time::max();
  const auto look = [&](cctz::time_point<seconds> at) {
    if (Time(at) > after) found = std::min(found, Time(at));
  };
  for (const auto& [window, zone] : windows_) {
    const cctz::civil_day today(cctz::convert(whole(after), zone));
    for (int ahead = -1; ahead <= 2; ++ahead) {
      const auto instants = zone.lookup(cctz::civil_second(today + ahead) + (window.*boundary).count());
      look(instants.pre);
      look(instants.post);
    }
    found = std::min(found, jump_after(zone, after));
  }
  return found;
}

Time Windows::next_start(Time after) const { return next(after, &Window::start); }
Time Windows::next_end(Time after) const { return next(after, &Window::end); }

Time Windows::next_jump(Time after) const {
  auto found = Time::max();
  for (const auto& [window, zone] : windows_) found = std::min(found, jump_after(zone, after));
  return found;
}

// Between two jumps of a clock a week is like the one before it.
std::optional<Span> next_opening(std::span<const Windows* const> all, Time now, Duration least) {
  const auto is_open = [&](Time at) {
    return std::ranges::all_of(all, [&](const Windows* windows) { return windows->is_open(at); });
  };
  const auto next = [&](Time after, Time (Windows::*what)(Time) const) {
    auto at = Time::max();
    for (const auto* windows : all) at = std::min(at, (windows->*what)(after));
    return at;
  };
  const auto horizon = saturating_add(now, kHorizon);
  auto period = now, jump = next(now, &Windows::next_jump);
  for (auto from = now; from < horizon;) {
    while (from >= jump) {
      period = jump;
      jump = next(period, &Windows::next_jump);
    }
    if (from - period > kPattern) {
      from = jump;
      continue;
    }
    if (!is_open(from)) {
      from = next(from, &Windows::next_start);
      continue;
    }
    const auto long_after = saturating_add(from, kLongOpen);
    auto until = from;
    do {
      until = std::min(next(until, &Windows::next_end), long_after);
    } while (until < long_after && is_open(until));
    // What is as long as the shortest that will do is not met but in its first instant.
    if (until - from > least || (from == now && until - from == least)) return Span{from, until};
    from = until;
  }
  return std::nullopt;
}

std::optional<Span> WindowClock::at(Time now) {
  if (windows_.empty()) return Span{Time::min(), Time::max()};
  if (!known_ || now < asked_ || (span_ && (now >= span_->until || span_->until - now < least_))) {
    known_ = true;
    asked_ = now;
    const std::array windows{&std::as_const(windows_)};
    span_ = next_opening(windows, now, least_);
    if (span_ && span_->from == now) span_->from = opened(now);
  }
  return span_;
}

// When the span began that goes on; one of over a week, a week ago.
Time WindowClock::opened(Time now) const {
  const std::array windows{&windows_};
  for (auto at = saturating_sub(now, kPattern);;) {
    const auto span = next_opening(windows, at);
    if (!span || span->until > now) return span ? std::min(span->from, now) : now;
    at = span->until;
  }
}

}  // namespace ordo::domain
