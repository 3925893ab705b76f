#include "cli/wall_time.h"

#include <gtest/gtest.h>

#include <ordo/error.hpp>

#include "base/time_text.h"
#include "base/zone.h"

namespace ordo::cli {
namespace wall_time_test {

const cctz::time_zone kUtc = cctz::utc_time_zone();
const Time kThursday = parse_time("2026-11-26T10:30:00Z");

std::string at(std::string_view text, Time now = kThursday) { return time_text(text, now, kUtc); }

std::string why_not(std::string_view text) {
  try {
    return "taken as " + at(text);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(WallTime, is_a_day_a_time_and_a_zone) {
  EXPECT_EQ(at("tomorrow 09:00 Europe/Berlin"), "2026-11-27T08:00:00Z");
  EXPECT_EQ(at("2026-11-26 09:00 Europe/Berlin"), "2026-11-26T08:00:00Z");
  EXPECT_EQ(at("2026-11-26 09:00:30"), "2026-11-26T09:00:30Z");
  EXPECT_EQ(at("yesterday 23:59"), "2026-11-25T23:59:00Z");
  EXPECT_EQ(at("today  06:00  America/New_York"), "2026-11-26T11:00:00Z");
}

TEST(WallTime, today_is_that_of_the_zone) {
  EXPECT_EQ(at("today 09:00 Pacific/Kiritimati", parse_time("2026-11-26T12:00:00Z")), "2026-11-26T19:00:00Z");
}

TEST(WallTime, a_weekday_is_the_next_one_that_is_to_come) {
  EXPECT_EQ(at("mon 06:00"), "2026-11-30T06:00:00Z");
  EXPECT_EQ(at("thu 10:31"), "2026-11-26T10:31:00Z");
  EXPECT_EQ(at("thu 10:30"), "2026-12-03T10:30:00Z");
  EXPECT_EQ(at("wed 12:00"), "2026-12-02T12:00:00Z");
}

TEST(WallTime, knows_clocks_that_jump) {
  EXPECT_EQ(at("2027-03-28 02:30 Europe/Berlin"), "2027-03-28T01:00:00Z");  // left out: as they jump
  EXPECT_EQ(at("2026-10-25 02:30 Europe/Berlin"), "2026-10-25T00:30:00Z");  // twice: the first
}

TEST(WallTime, leaves_other_texts_as_they_are) {
  for (const auto* text : {"+10s", "-1h", "1763739365", "2026-11-26T09:00:00Z", "", "monday", "noon"})
    EXPECT_EQ(at(text), text);
}

TEST(WallTime, says_what_is_wrong) {
  EXPECT_EQ(why_not("mon"),
            "'mon': a time of a clock is a day, a time and perhaps a zone: \"tomorrow 09:00 Europe/Berlin\"");
  EXPECT_EQ(why_not("mon 9:00"), "'mon 9:00': '9:00' is no time of a day such as 09:00");
  EXPECT_EQ(why_not("mon 24:00"), "'mon 24:00': '24:00' is no time of a day such as 09:00");
  EXPECT_EQ(why_not("2026-02-29 09:00"), "'2026-02-29 09:00': there is no day '2026-02-29'");
  EXPECT_EQ(why_not("mon 09:00 Berlin"),
            "'mon 09:00 Berlin': this system has no zone 'Berlin'; names are like Europe/Berlin");
}

TEST(ShownTime, is_near_or_a_day_and_a_clock) {
  const auto shown = [](std::string_view time) { return shown_time(parse_time(time), kThursday, kUtc); };
  EXPECT_EQ(shown("2026-11-26T10:30:00Z"), "0 s ago");
  EXPECT_EQ(shown("2026-11-26T10:30:59Z"), "in 59 s");
  EXPECT_EQ(shown("2026-11-26T10:33:10Z"), "in 3 m");
  EXPECT_EQ(shown("2026-11-26T09:31:00Z"), "59 m ago");
  EXPECT_EQ(shown("2026-11-26T14:02:00Z"), "today 14:02");
  EXPECT_EQ(shown("2026-11-25T14:02:00Z"), "yesterday 14:02");
  EXPECT_EQ(shown("2026-11-27T14:02:00Z"), "tomorrow 14:02");
  EXPECT_EQ(shown("2026-12-02T14:02:00Z"), "Wed 14:02");
  EXPECT_EQ(shown("2026-12-03T14:02:00Z"), "2026-12-03 14:02");
}

}  // namespace wall_time_test
}  // namespace ordo::cli
