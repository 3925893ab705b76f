#include "base/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <ordo/error.hpp>

#include "base/shorten.h"

namespace ordo {
namespace {

using std::chrono::days;
using std::chrono::sys_days;

struct Unit {
  std::string_view name;
  std::int64_t us;
};
constexpr std::array kUnits = {Unit{"us", 1},         Unit{"ms", 1'000},        Unit{"s", 1'000'000},
                               Unit{"m", 60'000'000}, Unit{"h", 3'600'000'000}, Unit{"d", 86'400'000'000}};

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::invalid_argument, message); }

/// Takes pieces off the front of a text.
struct Scanner {
  std::string_view rest;

  bool take(std::string_view any_of) {
    if (rest.empty() || any_of.find(rest[0]) == std::string_view::npos) return false;
    rest.remove_prefix(1);
    return true;
  }
  /// Exactly `count` digits within [low, high].
  std::optional<int> number(std::size_t count, int low, int high) {
    int value = 0;
    if (rest.size() < count) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_decimal(rest[i])) return std::nullopt;
      value = value * 10 + (rest[i] - '0');
    }
    rest.remove_prefix(count);
    return value >= low && value <= high ? std::optional(value) : std::nullopt;
  }
  std::string_view digits() {
    std::size_t count = 0;
    while (count < rest.size() && is_decimal(rest[count])) ++count;
    const auto found = rest.substr(0, count);
    rest.remove_prefix(count);
    return found;
  }
};

/// "5" and "0005" after a decimal point, in millionths.
std::int64_t millionths(std::string_view digits) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < 6; ++i) value = value * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return value;
}

std::optional<Time> scan_time(std::string_view text) {
  Scanner in{text};
  const auto year = in.number(4, 0, 9999);
  if (!year || !in.take("-")) return std::nullopt;
  const auto month = in.number(2, 1, 12);
  if (!month || !in.take("-")) return std::nullopt;
  const auto day = in.number(2, 1, 31);
  if (!day || !in.take("Tt ")) return std::nullopt;
  const auto hour = in.number(2, 0, 23);
  if (!hour || !in.take(":")) return std::nullopt;
  const auto minute = in.number(2, 0, 59);
  if (!minute || !in.take(":")) return std::nullopt;
  const auto second = in.number(2, 0, 60);  // 60: a leap second
  if (!second) return std::nullopt;
  Duration fraction{0};
  if (in.take(".")) {
    const auto digits = in.digits();
    if (digits.empty()) return std::nullopt;
    fraction = Duration{millionths(digits)};
  }
  std::chrono::minutes offset{0};
  if (!in.take("Zz")) {
    const bool west = in.rest.starts_with('-');
    if (!in.take("+-")) return std::nullopt;
    const auto hours = in.number(2, 0, 23);
    if (!hours || !in.take(":")) return std::nullopt;
    const auto minutes = in.number(2, 0, 59);
    if (!minutes) return std::nullopt;
    offset = std::chrono::minutes{(*hours * 60 + *minutes) * (west ? -1 : 1)};
  }
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!in.rest.empty() || !date.ok()) return std::nullopt;
  const Time time = sys_days{date} + std::chrono::hours{*hour} + std::chrono::minutes{*minute} +
                    std::chrono::seconds{*second} + fraction - offset;
  return time >= kFirstTime && time <= kLastTime ? std::optional(time) : std::nullopt;
}

/// A time that lacks only its zone would be another instant for everybody who reads it.
const char* hint_of(std::string_view text) {
  return scan_time(std::string(text) + 'Z') ? "; its zone is missing: append Z or +01:00" : "";
}

}  // namespace

Time written_time(Time time) { return std::clamp(time, kFirstTime, kLastTime); }

Duration written_timeout(Duration timeout) { return std::clamp(timeout, Duration{1}, kLongestDuration); }

Time time_after(Time time, Duration delay) {
  time = written_time(time);
  if (delay > kLastTime - time) return kLastTime;
  return delay < kFirstTime - time ? kFirstTime : time + delay;
}

std::string format_time(Time time) {
  time = written_time(time);
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                 clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (const auto fraction = clock.subseconds().count(); fraction != 0) {
    text += fmt::format(".{:06}", fraction);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + 'Z';
}

Time parse_time(std::string_view text) {
  const auto time = scan_time(text);
  if (!time)
    fail(fmt::format("\"{}\" is no RFC 3339 time such as \"2025-03-09T07:05:00Z\"{}", shortened(text),
                     hint_of(text)));
  return *time;
}

Time parse_time(std::string_view text, Time now) {
  if (text.starts_with('+')) {
    const auto delay = parse_duration(text.substr(1));
    if (delay > kLastTime - now) fail(fmt::format("\"{}\" ends after the year 9999", shortened(text)));
    return now + delay;
  }
  const auto time = scan_time(text);
  if (!time) {
    fail(fmt::format(
        "\"{}\" is neither an RFC 3339 time such as \"2025-03-09T07:05:00Z\" nor a delay such as \"+10s\"{}",
        shortened(text), hint_of(text)));
  }
  return *time;
}

std::optional<Time> time_of_seconds(double seconds) {
  const double us = seconds * 1e6;
  const auto first = static_cast<double>(kFirstTime.time_since_epoch().count());
  const auto end = static_cast<double>(kLastTime.time_since_epoch().count() + 1);  // exact, unlike the last
  if (!(us >= first && us < end)) return std::nullopt;
  return Time{Duration{std::llround(us)}};
}

Time time_of_unix_seconds(double seconds) {
  const auto time = time_of_seconds(seconds);
  if (time) return *time;
  const char* hint = "";
  if (time_of_seconds(seconds / 1e3)) {
    hint = "; divide milliseconds by 1000";
  } else if (time_of_seconds(seconds / 1e6)) {
    hint = "; divide microseconds by 1000000";
  }
  fail(fmt::format("{} is no time: Unix seconds of the years 0 to 9999 are{}", seconds, hint));
}

std::optional<Duration> timeout_of_seconds(double seconds) {
  if (!(seconds > 0)) return std::nullopt;
  const double longest = std::chrono::duration<double>(kLongestDuration).count();
  const Duration timeout{std::llround(std::min(seconds, longest) * 1e6)};
  return timeout > Duration{0} ? std::optional(timeout) : std::nullopt;
}

std::optional<Duration> read_duration(std::string_view text, std::string& why) {
  Scanner in{text};
  std::int64_t total = 0;
  const auto refuse = [&](std::string what) {
    why = std::move(what);
    return std::nullopt;
  };
  const auto too_long = [&] { return refuse(fmt::format("\"{}\" is too long a time", shortened(text))); };
  do {
    const auto whole = in.digits();
    const auto decimals = in.take(".") ? in.digits() : std::string_view{};
    if (whole.empty()) {
      return refuse(
          fmt::format("\"{}\" is no time span: write a number and a unit, such as \"30s\"", shortened(text)));
    }
    std::size_t letters = 0;
    while (letters < in.rest.size() && !is_decimal(in.rest[letters])) ++letters;
    const auto name = in.rest.substr(0, letters);
    in.rest.remove_prefix(letters);
    const Unit* unit = nullptr;
    for (const auto& known : kUnits) {
      if (known.name == name) unit = &known;
    }
    if (unit == nullptr) {
      return refuse(name.empty()
                        ? fmt::format("\"{}\" has no unit: write \"{}s\" for seconds (us, ms, s, m, h, d)",
                                      shortened(text), shortened(text))
                        : fmt::format("\"{}\" has an unknown unit \"{}\": they are us, ms, s, m, h, d",
                                      shortened(text), shortened(name)));
    }
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), count);
    std::int64_t part = 0;
    if (error != std::errc{} || __builtin_mul_overflow(count, unit->us, &part)) return too_long();
    const std::int64_t fraction = millionths(decimals) * unit->us / 1'000'000;
    if (__builtin_add_overflow(part, fraction, &part) || __builtin_add_overflow(total, part, &total))
      return too_long();
  } while (!in.rest.empty());
  return Duration{total};
}

Duration parse_duration(std::string_view text) {
  std::string why;
  if (const auto duration = read_duration(text, why)) return *duration;
  fail(why);
}

std::string format_duration(Duration time) {
  const auto us = time.count();
  if (us == 0) return "0s";
  for (std::size_t i = kUnits.size(); i-- > 1;) {
    if (us % kUnits[i].us == 0) return fmt::format("{}{}", us / kUnits[i].us, kUnits[i].name);
  }
  return fmt::format("{}us", us);
}

}  // namespace ordo
