#include "base/time_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include <ordo/error.hpp>

namespace ordo {
namespace time_text_test {

using namespace std::chrono_literals;

std::string error_of(void (*parse)(std::string_view), std::string_view text) {
  try {
    parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "(none)";
}

TEST(TimeText, times_are_written_as_rfc_3339) {
  const std::vector<std::pair<std::int64_t, std::string>> cases = {
      {0, "1970-01-01T00:00:00Z"},
      {1, "1970-01-01T00:00:00.000001Z"},
      {1'250'000, "1970-01-01T00:00:01.25Z"},
      {-1, "1969-12-31T23:59:59.999999Z"},
      {1'741'503'900'000'000, "2025-03-09T07:05:00Z"},
      {253'402'300'799'999'999, "9999-12-31T23:59:59.999999Z"},
  };
  for (const auto& [us, text] : cases) {
    EXPECT_EQ(format_time(Time{Duration{us}}), text);
    EXPECT_EQ(parse_time(text), Time{Duration{us}}) << text;
  }
}

TEST(TimeText, times_beyond_what_can_be_written_are_the_last_or_first) {
  constexpr const char* kFirst = "0000-01-01T00:00:00Z";
  constexpr const char* kLast = "9999-12-31T23:59:59.999999Z";
  EXPECT_EQ(format_time(Time::max()), kLast);
  EXPECT_EQ(format_time(Time::min()), kFirst);
  EXPECT_EQ(format_time(kLastTime), kLast);
  EXPECT_EQ(format_time(kFirstTime), kFirst);
  for (const Time time : {Time::min(), kFirstTime, Time{}, kLastTime, Time::max()}) {
    EXPECT_EQ(time_after(time, Duration::max()), kLastTime);
    EXPECT_EQ(time_after(time, Duration::min()), kFirstTime);
    EXPECT_EQ(time_after(time, Duration::zero()), written_time(time));
  }
  EXPECT_EQ(time_after(Time{}, 10s), Time{10s});
  EXPECT_EQ(time_after(kLastTime, -1s), kLastTime - 1s);
}

TEST(TimeText, other_forms_are_read) {
  const Time want = parse_time("2025-03-09T07:05:00Z");
  for (const char* text :
       {"2025-03-09t07:05:00z", "2025-03-09 07:05:00Z", "2025-03-09T07:05:00.0000009Z",
        "2025-03-09T09:05:00+02:00", "2025-03-08T23:35:00-07:30", "2025-03-09T07:04:60Z"}) {
    EXPECT_EQ(parse_time(text), want) << text;
  }
}

TEST(TimeText, what_is_no_time_is_refused) {
  for (const char* text : {"", "now", "2025-03-09", "2025-03-09T07:05Z", "2025-03-09T07:05:00",
                           "2025-13-09T07:05:00Z", "2025-02-29T07:05:00Z", "2025-03-09T24:00:00Z",
                           "2025-03-09T07:05:61Z", "2025-03-09T07:05:00.Z", "2025-03-09T07:05:00Zx",
                           "2025-03-09T07:05:00+2:00", "9999-12-31T23:59:59-00:01", "-025-03-09T07:05:00Z"}) {
    EXPECT_THROW(parse_time(text), Error) << text;
  }
  for (const double seconds : {1e15, -1e15, 1e300, -1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(time_of_unix_seconds(seconds), Error) << seconds;
  }
  EXPECT_THROW(time_of_unix_seconds(std::numeric_limits<double>::quiet_NaN()), Error);
}

TEST(TimeText, delays_count_from_now) {
  const Time now = parse_time("2025-03-09T07:05:00Z");
  EXPECT_EQ(parse_time("+10s", now), now + 10s);
  EXPECT_EQ(parse_time("2025-03-09T07:05:01Z", now), now + 1s);
  EXPECT_THROW(parse_time("+10", now), Error);
  EXPECT_THROW(parse_time("+3650000d", now), Error);
  EXPECT_THROW(parse_time("10s", now), Error);
  EXPECT_EQ(time_of_unix_seconds(1'741'503'900.25), now + 250ms);
}

TEST(TimeText, durations_have_units) {
  const std::vector<std::pair<std::string, Duration>> cases = {
      {"2us", 2us},
      {"250ms", 250ms},
      {"30s", 30s},
      {"10m", 10min},
      {"24h", 24h},
      {"7d", 168h},
      {"0s", 0s},
      {"1.5h", 90min},
      {"0.25ms", 250us},
      {"1h30m", 90min},
      {"1.s", 1s},
      {"0.5us", 0us},
      {"36500d", 24h * 36500},
      {"1d12h0.5s", 36h + 500ms},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(parse_duration(text), want) << text;
  for (const char* text : {"2us", "250ms", "30s", "10m", "23h", "7d", "0s", "90s"}) {
    EXPECT_EQ(format_duration(parse_duration(text)), text);
  }
}

TEST(TimeText, numbers_of_seconds_are_within_the_years_or_nothing) {
  EXPECT_EQ(time_of_seconds(253402300799), std::chrono::floor<std::chrono::seconds>(kLastTime));
  EXPECT_FALSE(time_of_seconds(253402300800)) << "the year 10000";
  EXPECT_EQ(timeout_of_seconds(1e300), kLongestDuration);
}

TEST(TimeText, bad_durations_say_what_is_wrong) {
  const auto error = [](std::string_view text) {
    return error_of([](std::string_view bad) { parse_duration(bad); }, text);
  };
  EXPECT_EQ(error("10"), "\"10\" has no unit: write \"10s\" for seconds (us, ms, s, m, h, d)");
  EXPECT_EQ(error("10x"), "\"10x\" has an unknown unit \"x\": they are us, ms, s, m, h, d");
  EXPECT_EQ(error("abc"), "\"abc\" is no time span: write a number and a unit, such as \"30s\"");
  EXPECT_EQ(error("-1s"), "\"-1s\" is no time span: write a number and a unit, such as \"30s\"");
  EXPECT_EQ(error(""), "\"\" is no time span: write a number and a unit, such as \"30s\"");
  EXPECT_LT(error(std::string(100'000, '1')).size(), 600U) << "what was given is not quoted whole";
  for (const char* text : {"99999999999999999999s", "9999999999999d", "106751991d106751991d", "1 s", "1s "}) {
    EXPECT_NE(error(text), "(none)") << text;
  }
}

}  // namespace time_text_test
}  // namespace ordo
