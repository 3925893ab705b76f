#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ordo/time.hpp>

namespace ordo {

/// Times that can be written: the years 0 to 9999.
inline constexpr Time kFirstTime = std::chrono::sys_days{std::chrono::year{0} / 1 / 1};
inline constexpr Time kLastTime = std::chrono::sys_days{std::chrono::year{10000} / 1 / 1} - Duration{1};

/// What is longer, in a setting, is cut to it: the clocks of the system can still count it.
inline constexpr Duration kLongestDuration = std::chrono::hours{24 * 36500};

/// Within the times that can be written.
Time written_time(Time time);
/// The same of `time + delay`, however long that is.
Time time_after(Time time, Duration delay);
/// A timeout that was stored: longer than nothing, and within kLongestDuration.
Duration written_timeout(Duration timeout);

/// RFC 3339 in UTC: "2025-03-09T07:05:00Z", with as many decimals of a second as it has, up to six. Times of
/// other years are shown as the first or last one that can be written.
std::string format_time(Time time);

/// An RFC 3339 time with any offset; decimals past the sixth are dropped. Throws Error{invalid_argument}.
Time parse_time(std::string_view text);

/// The same, or "+10s": that long after `now`. Throws Error{invalid_argument}.
Time parse_time(std::string_view text, Time now);

/// For texts and JSON.
inline double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Unix seconds, rounded to microseconds. Throws Error{invalid_argument} outside the years 0 to 9999.
Time time_of_unix_seconds(double seconds);

/// The same; nothing outside.
std::optional<Time> time_of_seconds(double seconds);

/// At most kLongestDuration; nothing for what is not longer than nothing, or no number.
std::optional<Duration> timeout_of_seconds(double seconds);

/// "250ms", "30s", "1.5h", "1h30m"; units us, ms, s, m, h, d. Throws Error{invalid_argument} that says what
/// is wrong.
Duration parse_duration(std::string_view text);
/// The same; nothing: it is none, and `why` says so.
std::optional<Duration> read_duration(std::string_view text, std::string& why);

/// In the largest unit that divides it: "90s", "24h", "7d", "0s".
std::string format_duration(Duration time);

}  // namespace ordo
