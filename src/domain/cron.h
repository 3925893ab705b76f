#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include <ordo/time.hpp>

namespace ordo::domain {

/// A cron expression in a zone: the instants at which it ticks (docs/periodic.md tells its text).
///
/// A fixed time that the zone's clock leaves out ticks once, when the clock has jumped; one that comes twice,
/// the first time. With `*` (or `?`, `*/n`, or all values) in its minutes or hours it ticks at every instant
/// that fits, as Debian's cron does. Immutable.
class Cron {
 public:
  /// Nothing: it is none, or it never ticks within ten years; `why` says so.
  static std::optional<Cron> parse(std::string_view text, const std::string& tz, std::string& why);

  /// The first tick after that; Time::max(): none within ten years.
  Time next(Time after) const;
  /// How many ticks there are after `from`, up to `until`.
  std::uint64_t count(Time from, Time until) const;

 private:
  struct Fields {
    std::uint64_t seconds = 0, minutes = 0, hours = 0, days = 0, months = 0, weekdays = 0;  // bits
    std::array<std::uint8_t, 7> nth{};  // of each weekday, from Sunday: bit n, it is the nth of its month
    std::uint8_t last = 0;              // weekdays: bit n, it is the last of its month
    bool last_day = false;              // of the month
    bool any_day = true, any_weekday = true;
    bool any_time = true;  // hours or minutes go on with the clock
  };
  struct Parser;

  bool has(const cctz::civil_day& day) const;
  std::optional<cctz::civil_second> match(const cctz::civil_second& from) const;
  std::optional<cctz::civil_second> clock_from(const cctz::civil_second& from) const;
  Time next_fixed(Time after) const;
  Time next_of_any_time(Time after) const;

  Fields fields_;
  cctz::time_zone zone_;
};

}  // namespace ordo::domain
