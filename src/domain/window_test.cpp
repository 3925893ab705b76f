#include "domain/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/time_text.h"
#include "base/window_text.h"

namespace ordo::domain {
namespace window_test {

using std::chrono::hours;
using std::chrono::minutes;

Windows of(const std::vector<std::string>& texts) {
  std::vector<Window> windows;
  for (const auto& text : texts) windows.push_back(parse_window(text));
  return *Windows::of(windows);
}

/// "from" or "from/until", "now/…" while they are open, "never".
std::string next(const std::vector<std::string>& texts, const std::string& now, Duration least = {}) {
  const auto windows = of(texts);
  const auto at = parse_time(now);
  const auto span = next_opening(std::array{&windows}, at, least);
  if (!span) return "never";
  return (span->from == at ? "now" : format_time(span->from)) + "/" + format_time(span->until);
}

TEST(Window, opens_by_the_wall_clock_of_its_zone) {
  struct Vector {
    std::vector<std::string> windows;
    const char* now;
    const char* expected;
  };
  for (const auto& [windows, now, expected] : {
           // rules §6.2
           Vector{{"05:00-07:00", "22:00-23:00"},
                  "2025-06-02T12:00:00Z",
                  "2025-06-02T22:00:00Z/2025-06-02T23:00:00Z"},
           Vector{{"22:00-02:00"}, "2025-06-02T01:30:00Z", "now/2025-06-02T02:00:00Z"},
           Vector{{"22:00-02:00"}, "2025-06-02T03:00:00Z", "2025-06-02T22:00:00Z/2025-06-03T02:00:00Z"},
           Vector{{"05:00-07:00"}, "2025-06-02T06:30:00Z", "now/2025-06-02T07:00:00Z"},
           Vector{{"05:00-07:00"}, "2025-06-02T08:00:00Z", "2025-06-03T05:00:00Z/2025-06-03T07:00:00Z"},
           Vector{{"02:15-02:45 America/New_York"},
                  "2025-03-09T06:00:00Z",
                  "2025-03-10T06:15:00Z/2025-03-10T06:45:00Z"},
           Vector{{"01:15-01:45 America/New_York"},
                  "2025-11-02T05:00:00Z",
                  "2025-11-02T05:15:00Z/2025-11-02T05:45:00Z"},
           Vector{{"01:15-01:45 America/New_York"},
                  "2025-11-02T05:45:00Z",
                  "2025-11-02T06:15:00Z/2025-11-02T06:45:00Z"},
           Vector{{"23:00-01:00 mon"}, "2025-06-03T00:30:00Z", "now/2025-06-03T01:00:00Z"},
           Vector{{"23:00-01:00 mon"}, "2025-06-04T00:30:00Z", "2025-06-09T23:00:00Z/2025-06-10T01:00:00Z"},
           // a start that the clock jumps over is at the jump; an end, too
           Vector{{"02:15-04:00 America/New_York"},
                  "2025-03-09T06:00:00Z",
                  "2025-03-09T07:00:00Z/2025-03-09T08:00:00Z"},
           Vector{{"01:00-02:30 America/New_York"}, "2025-03-09T06:30:00Z", "now/2025-03-09T07:00:00Z"},
           // put back at 02:00, the clock shows the hour from one to two again
           Vector{{"00:30-01:30 America/New_York"}, "2025-11-02T05:29:59Z", "now/2025-11-02T05:30:00Z"},
           Vector{{"00:30-01:30 America/New_York"},
                  "2025-11-02T05:30:00Z",
                  "2025-11-02T06:00:00Z/2025-11-02T06:30:00Z"},
           // what touches is one
           Vector{{"20:00-24:00", "00:00-04:00"}, "2025-06-02T21:00:00Z", "now/2025-06-03T04:00:00Z"},
           Vector{{"22:00-00:00 sun"}, "2025-06-02T00:00:00Z", "2025-06-08T22:00:00Z/2025-06-09T00:00:00Z"},
           Vector{{"10:00:15-10:00:16"}, "2025-06-02T10:00:15.999999Z", "now/2025-06-02T10:00:16Z"},
           Vector{{"10:00:15-10:00:16"}, "2025-06-02T10:00:16Z", "2025-06-03T10:00:15Z/2025-06-03T10:00:16Z"},
           Vector{{"09:00-17:00 Asia/Kathmandu mon-fri"},
                  "2025-06-07T00:00:00Z",
                  "2025-06-09T03:15:00Z/2025-06-09T11:15:00Z"},
           // daylight saving long after 2037
           Vector{{"12:00-13:00 Europe/Berlin"},
                  "2061-07-01T00:00:00Z",
                  "2061-07-01T10:00:00Z/2061-07-01T11:00:00Z"},
       }) {
    EXPECT_EQ(next(windows, now), expected) << now << " in " << windows.front();
  }
}

TEST(Window, all_day_is_open_for_long) {
  EXPECT_EQ(next({"00:00-24:00"}, "2025-06-02T12:00:00Z"), "now/2025-06-10T12:00:00Z");
}

TEST(Window, has_to_be_left_for_as_long_as_asked) {
  EXPECT_EQ(next({"05:00-07:00"}, "2025-06-02T06:30:00Z", minutes{30}), "now/2025-06-02T07:00:00Z");
  EXPECT_EQ(next({"05:00-07:00"}, "2025-06-02T06:30:01Z", minutes{30}),
            "2025-06-03T05:00:00Z/2025-06-03T07:00:00Z");
  EXPECT_EQ(next({"05:00-07:00"}, "2025-06-02T06:30:00Z", hours{3}), "never");
  EXPECT_EQ(next({"05:00-07:00"}, "2025-06-02T04:30:00Z", hours{2}), "never") << "nobody starts in no time";
  EXPECT_EQ(next({"05:00-07:00", "12:00-16:00 sat"}, "2025-06-02T06:30:00Z", hours{3}),
            "2025-06-07T12:00:00Z/2025-06-07T16:00:00Z");
}

std::string both(const std::vector<std::string>& a, const std::vector<std::string>& b,
                 const std::string& now) {
  const auto first = of(a), second = of(b);
  const auto span = next_opening(std::array{&first, &second}, parse_time(now));
  return span ? format_time(span->from) + "/" + format_time(span->until) : "never";
}

TEST(Window, of_a_queue_and_of_a_job_hold_together) {
  EXPECT_EQ(both({"05:00-07:00", "22:00-23:30"}, {"06:00-22:15"}, "2025-06-02T12:00:00Z"),
            "2025-06-02T22:00:00Z/2025-06-02T22:15:00Z");
  EXPECT_EQ(both({"05:00-07:00"}, {"07:00-08:00"}, "2025-06-02T12:00:00Z"), "never");
  EXPECT_EQ(both({"00:00-24:00 mon"}, {"00:00-24:00 tue"}, "2025-06-02T12:00:00Z"), "never");
  EXPECT_EQ(both({"00:00-24:00 mon"}, {"00:00-04:00 Pacific/Auckland tue"}, "2025-06-02T12:00:00Z"),
            "2025-06-02T12:00:00Z/2025-06-02T16:00:00Z")
      << "it is Tuesday there already";
  // Only while New York's summer has begun and Berlin's has not.
  EXPECT_EQ(both({"13:30-14:00 Europe/Berlin"}, {"08:30-08:59 America/New_York"}, "2025-06-02T12:00:00Z"),
            "2025-10-26T12:30:00Z/2025-10-26T12:59:00Z");
}

TEST(Window, that_never_opens_is_soon_known) {
  // Eight windows each: by days of ten years it would be a million steps.
  std::vector<std::string> odd, even;
  for (int hour = 0; hour < 16; hour += 2) {
    const auto clock = [](int h) { return (h < 10 ? "0" : "") + std::to_string(h) + ":00"; };
    odd.push_back(clock(hour) + "-" + clock(hour + 1) + " Europe/Berlin");
    even.push_back(clock(hour + 1) + "-" + clock(hour + 2) + " Europe/Berlin");
  }
  EXPECT_EQ(both(odd, even, "2025-06-02T12:00:00Z"), "never");
}

TEST(Window, of_an_unknown_zone_is_none) {
  EXPECT_FALSE(Windows::of({parse_window("05:00-07:00 Europe/Moskau")}));
}

TEST(WindowClock, says_when_the_span_began_that_goes_on) {
  WindowClock clock(of({"05:00-07:00"}), minutes{30});
  EXPECT_EQ(clock.at(parse_time("2025-06-02T06:00:00Z"))->from, parse_time("2025-06-02T05:00:00Z"));
  EXPECT_EQ(clock.at(parse_time("2025-06-02T06:30:00Z"))->from, parse_time("2025-06-02T05:00:00Z"));
  EXPECT_EQ(clock.at(parse_time("2025-06-02T06:30:01Z"))->from, parse_time("2025-06-03T05:00:00Z"));
  EXPECT_EQ(clock.at(parse_time("2025-06-02T05:10:00Z"))->from, parse_time("2025-06-02T05:00:00Z"))
      << "it went back";
  EXPECT_EQ(clock.at(parse_time("2025-06-02T04:00:00Z"))->from, parse_time("2025-06-02T05:00:00Z"));
}

}  // namespace window_test
}  // namespace ordo::domain
