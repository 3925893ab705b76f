#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <cctz/time_zone.h>

#include <ordo/job.hpp>
#include <ordo/time.hpp>

namespace ordo::domain {

/// A span of time: from the first instant up to, and without, the last.
struct Span {
  Time from{};
  Time until{};

  bool operator==(const Span&) const = default;
};

/// The windows of a queue or a job with their zones: open while one of them is (rules: scheduling §6.2).
///
/// Immutable. Reads of the zone's rules are cached for the process; the rules are those of the system.
class Windows {
 public:
  Windows() = default;
  /// Nothing: a zone is not known to this system.
  static std::optional<Windows> of(const std::vector<Window>& windows);

  /// Always open.
  bool empty() const { return windows_.empty(); }
  bool is_open(Time at) const;
  /// The next instant at which one of them may open, or a clock jumps; Time::max(): there is none.
  Time next_start(Time after) const;
  /// ... may close.
  Time next_end(Time after) const;
  /// The next instant at which the clock of one of their zones is put forward or back; Time::max(): none.
  Time next_jump(Time after) const;

 private:
  struct Zoned {
    Window window;
    cctz::time_zone zone;
  };
  bool is_open(const Zoned& zoned, Time at) const;
  Time next(Time after, std::chrono::seconds Window::*boundary) const;

  std::vector<Zoned> windows_;
};

/// The first span, from `now` on, in which all of them are open, and of which `least` is left for a start;
/// one that goes on for long is cut after eight days. Nothing: there is none within ten years.
std::optional<Span> next_opening(std::span<const Windows* const> all, Time now, Duration least = {});

/// When windows are open, for who asks at every start: looked up anew once the time leaves what is known.
class WindowClock {
 public:
  WindowClock() = default;
  /// `least`: so much of a window must be left for a start.
  explicit WindowClock(Windows windows, Duration least) : windows_(std::move(windows)), least_(least) {}

  const Windows& windows() const { return windows_; }
  /// The span in which something may start next, which has begun if that is now; nothing: never.
  std::optional<Span> at(Time now);

 private:
  Time opened(Time now) const;

  Windows windows_;
  Duration least_{};
  bool known_ = false;
  Time asked_{};
  std::optional<Span> span_;
};

}  // namespace ordo::domain
