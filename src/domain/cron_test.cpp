#include "domain/cron.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/time_text.h"

namespace ordo::domain {
namespace cron_test {

using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Cron of(const std::string& text, const std::string& tz = "UTC") {
  std::string why;
  const auto cron = Cron::parse(text, tz, why);
  EXPECT_TRUE(cron) << text << ": " << why;
  return *cron;
}

std::vector<std::string> ticks(const std::string& text, const std::string& after, std::size_t count,
                               const std::string& tz = "UTC") {
  const auto cron = of(text, tz);
  std::vector<std::string> found;
  for (auto at = parse_time(after); found.size() < count;) {
    at = cron.next(at);
    found.push_back(at == Time::max() ? "never" : format_time(at));
    if (at == Time::max()) break;
  }
  return found;
}

std::string why_not(const std::string& text, const std::string& tz = "UTC") {
  std::string why;
  EXPECT_FALSE(Cron::parse(text, tz, why)) << text;
  return why;
}

TEST(Cron, ticks_by_its_fields) {
  struct Vector {
    const char* text;
    const char* after;
    std::vector<std::string> expected;
  };
  // 2026-03-02 is a Monday.
  for (const auto& [text, after, expected] : {
           Vector{
               "0 5 * * mon-fri", "2026-03-05T12:00:00Z", {"2026-03-06T05:00:00Z", "2026-03-09T05:00:00Z"}},
           Vector{"*/20 * * * *",
                  "2026-03-02T10:00:00Z",
                  {"2026-03-02T10:20:00Z", "2026-03-02T10:40:00Z", "2026-03-02T11:00:00Z"}},
           Vector{"5/20 8 * * *",
                  "2026-03-02T10:00:00Z",
                  {"2026-03-03T08:05:00Z", "2026-03-03T08:25:00Z", "2026-03-03T08:45:00Z",
                   "2026-03-04T08:05:00Z"}},
           Vector{"10-14/2,30 8 * * *",
                  "2026-03-02T08:11:00Z",
                  {"2026-03-02T08:12:00Z", "2026-03-02T08:14:00Z", "2026-03-02T08:30:00Z",
                   "2026-03-03T08:10:00Z"}},
           Vector{"30 15 10 * * *", "2026-03-02T10:15:29Z", {"2026-03-02T10:15:30Z", "2026-03-03T10:15:30Z"}},
           Vector{
               "*/30 * * * * *", "2026-03-02T10:15:29.5Z", {"2026-03-02T10:15:30Z", "2026-03-02T10:16:00Z"}},
           Vector{
               "0 0 1 jan,JUL *", "2026-03-02T00:00:00Z", {"2026-07-01T00:00:00Z", "2027-01-01T00:00:00Z"}},
           Vector{"0 0 29 2 *", "2026-03-02T00:00:00Z", {"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
           // one of the two days is enough where both are given ...
           Vector{"0 0 13 * fri",
                  "2026-03-02T00:00:00Z",
                  {"2026-03-06T00:00:00Z", "2026-03-13T00:00:00Z", "2026-03-20T00:00:00Z"}},
           Vector{"0 0 10 * fri", "2026-03-07T00:00:00Z", {"2026-03-10T00:00:00Z", "2026-03-13T00:00:00Z"}},
           // ... and both are needed where one is any
           Vector{"0 0 */10 * mon", "2026-03-02T00:00:00Z", {"2026-05-11T00:00:00Z", "2026-06-01T00:00:00Z"}},
           Vector{"0 0 * * 7", "2026-03-02T00:00:00Z", {"2026-03-08T00:00:00Z", "2026-03-15T00:00:00Z"}},
           Vector{"0 0 ? * 0", "2026-03-02T00:00:00Z", {"2026-03-08T00:00:00Z"}},
           Vector{"0 0 * * fri-mon",
                  "2026-03-02T00:00:00Z",
                  {"2026-03-06T00:00:00Z", "2026-03-07T00:00:00Z", "2026-03-08T00:00:00Z",
                   "2026-03-09T00:00:00Z", "2026-03-13T00:00:00Z"}},
           Vector{"0 0 * * 5-7",
                  "2026-03-02T00:00:00Z",
                  {"2026-03-06T00:00:00Z", "2026-03-07T00:00:00Z", "2026-03-08T00:00:00Z",
                   "2026-03-13T00:00:00Z"}},
           Vector{"0 0 L * *", "2026-02-10T00:00:00Z", {"2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"}},
           Vector{"0 0 1,L 2 *", "2028-02-01T00:00:00Z", {"2028-02-29T00:00:00Z"}},
           Vector{"0 0 * * friL", "2026-03-02T00:00:00Z", {"2026-03-27T00:00:00Z", "2026-04-24T00:00:00Z"}},
           Vector{"0 0 * * mon#1,mon#3",
                  "2026-03-02T00:00:00Z",
                  {"2026-03-16T00:00:00Z", "2026-04-06T00:00:00Z"}},
           Vector{"0 0 * * 5#5", "2026-03-02T00:00:00Z", {"2026-05-29T00:00:00Z", "2026-07-31T00:00:00Z"}},
           Vector{"@hourly", "2026-03-02T10:30:00Z", {"2026-03-02T11:00:00Z"}},
           Vector{"@Daily", "2026-03-02T10:30:00Z", {"2026-03-03T00:00:00Z"}},
           Vector{"@weekly", "2026-03-02T10:30:00Z", {"2026-03-08T00:00:00Z"}},
           Vector{"@monthly", "2026-03-02T10:30:00Z", {"2026-04-01T00:00:00Z"}},
           Vector{"@yearly", "2026-03-02T10:30:00Z", {"2027-01-01T00:00:00Z"}},
           // docs/periodic.md
           Vector{"*/20 8-17 * * *", "2026-03-02T08:00:00Z", {"2026-03-02T08:20:00Z"}},
           Vector{"5/20 * * * *", "2026-03-02T08:05:00Z", {"2026-03-02T08:25:00Z"}},
           Vector{"0,30 9 1 jan,jul *", "2026-07-01T09:00:00Z", {"2026-07-01T09:30:00Z"}},
           Vector{"*/10 * * * * *", "2026-03-02T08:00:00Z", {"2026-03-02T08:00:10Z"}},
           Vector{"0 9 * * friL", "2026-03-02T00:00:00Z", {"2026-03-27T09:00:00Z"}},
           Vector{"0 9 * * mon#1,mon#3", "2026-03-02T12:00:00Z", {"2026-03-16T09:00:00Z"}},
           Vector{"  0  12 * * *  ", "2026-03-02T10:30:00Z", {"2026-03-02T12:00:00Z"}},
       }) {
    EXPECT_EQ(ticks(text, after, expected.size()), expected) << text;
  }
}

// Rules §6.3. New York leaves out 02:00 to 03:00 on 2025-03-09, and has 01:00 to 02:00 twice on 2025-11-02.
TEST(Cron, ticks_once_where_the_clock_jumps) {
  const auto in_new_york = [](const std::string& text, const std::string& after, std::size_t count) {
    return ticks(text, after, count, "America/New_York");
  };
  EXPECT_THAT(in_new_york("30 2 * * *", "2025-03-08T12:00:00Z", 2),
              ElementsAre("2025-03-09T07:00:00Z", "2025-03-10T06:30:00Z"));
  EXPECT_THAT(in_new_york("0,15,30,45 2 * * *", "2025-03-09T00:00:00Z", 2),
              ElementsAre("2025-03-09T07:00:00Z", "2025-03-10T06:00:00Z"));
  EXPECT_THAT(in_new_york("0 2,3 * * *", "2025-03-09T00:00:00Z", 2),
              ElementsAre("2025-03-09T07:00:00Z", "2025-03-10T06:00:00Z"));
  EXPECT_THAT(in_new_york("30 1 * * *", "2025-11-01T12:00:00Z", 2),
              ElementsAre("2025-11-02T05:30:00Z", "2025-11-03T06:30:00Z"));
  EXPECT_THAT(in_new_york("30 1 * * *", "2025-11-02T05:30:00Z", 1), ElementsAre("2025-11-03T06:30:00Z"));
  EXPECT_THAT(in_new_york("30 1 * * *", "2025-11-02T06:10:00Z", 1), ElementsAre("2025-11-03T06:30:00Z"));
  // `*` minutes or hours tick at every instant that fits.
  EXPECT_THAT(in_new_york("*/15 2 * * *", "2025-03-09T00:00:00Z", 2),
              ElementsAre("2025-03-10T06:00:00Z", "2025-03-10T06:15:00Z"));
  for (const auto* text : {"*/30 0-6 * * *", "?/30 0-6 * * *"}) {
    EXPECT_THAT(in_new_york(text, "2025-11-02T04:30:00Z", 5),
                ElementsAre("2025-11-02T05:00:00Z", "2025-11-02T05:30:00Z", "2025-11-02T06:00:00Z",
                            "2025-11-02T06:30:00Z", "2025-11-02T07:00:00Z"));
  }
  EXPECT_THAT(in_new_york("0-59 1 * * *", "2025-11-02T05:59:00Z", 1), ElementsAre("2025-11-02T06:00:00Z"));
  EXPECT_THAT(in_new_york("30 * * * *", "2025-03-09T06:00:00Z", 3),
              ElementsAre("2025-03-09T06:30:00Z", "2025-03-09T07:30:00Z", "2025-03-09T08:30:00Z"));
  EXPECT_THAT(in_new_york("30 * * * *", "2025-11-02T05:00:00Z", 3),
              ElementsAre("2025-11-02T05:30:00Z", "2025-11-02T06:30:00Z", "2025-11-02T07:30:00Z"));
  EXPECT_THAT(in_new_york("30 0-23 * * *", "2025-11-02T05:30:00Z", 1), ElementsAre("2025-11-02T06:30:00Z"));
  EXPECT_THAT(in_new_york("0 */2 * * *", "2025-03-09T04:00:00Z", 2),
              ElementsAre("2025-03-09T05:00:00Z", "2025-03-09T08:00:00Z"));
  // Lord Howe jumps by half an hour, Apia left out a whole day.
  EXPECT_THAT(ticks("15 2 * * *", "2025-10-04T12:00:00Z", 2, "Australia/Lord_Howe"),
              ElementsAre("2025-10-04T15:30:00Z", "2025-10-05T15:15:00Z"));
  EXPECT_THAT(ticks("0 5 30 12 *", "2011-12-01T00:00:00Z", 1, "Pacific/Apia"),
              ElementsAre("2011-12-30T10:00:00Z"));
  EXPECT_THAT(ticks("0 9 * * *", "2026-03-02T00:00:00Z", 1, "Asia/Kolkata"),
              ElementsAre("2026-03-02T03:30:00Z"));
}

TEST(Cron, refuses_what_it_cannot_be) {
  EXPECT_THAT(why_not(""), HasSubstr("0 fields"));
  EXPECT_THAT(why_not("* * * *"), HasSubstr("4 fields; it takes 5"));
  EXPECT_THAT(why_not("60 * * * *"), HasSubstr("'60' is nothing that its minutes can be; they are 0 to 59"));
  EXPECT_THAT(why_not("* 24 * * *"), HasSubstr("hours"));
  EXPECT_THAT(why_not("* * 0 * *"), HasSubstr("days of the month"));
  EXPECT_THAT(why_not("* * * 13 *"), HasSubstr("or jan to dec"));
  EXPECT_THAT(why_not("* * * * frx"), HasSubstr("or sun to sat"));
  EXPECT_THAT(why_not("* * * * 8"), HasSubstr("days of the week"));
  EXPECT_THAT(why_not("* * * * fri#6"), HasSubstr("fri#6"));
  EXPECT_THAT(why_not("22-2 * * * *"), HasSubstr("22-59,0-2"));
  EXPECT_THAT(why_not("*/0 * * * *"), HasSubstr("step"));
  EXPECT_THAT(why_not("*/x * * * *"), HasSubstr("step"));
  EXPECT_THAT(why_not("1,,2 * * * *"), HasSubstr("minutes"));
  EXPECT_THAT(why_not("1, * * * *"), HasSubstr("minutes"));
  EXPECT_THAT(why_not("-1 * * * *"), HasSubstr("minutes"));
  EXPECT_THAT(why_not("1- * * * *"), HasSubstr("minutes"));
  EXPECT_THAT(why_not("@reboot"), HasSubstr("not known"));
  EXPECT_THAT(why_not("0 0 30 2 *"), HasSubstr("never ticks within ten years"));
  EXPECT_THAT(why_not("0 0 31 4,6,9,11 *"), HasSubstr("never"));
  EXPECT_THAT(why_not("* * * * *", "Europe/Nowhere"), HasSubstr("Europe/Nowhere"));
  EXPECT_THAT(why_not("* * * * *", "../etc/passwd"), HasSubstr("not known"));
}

TEST(Cron, counts_as_many_as_there_are) {
  const auto from = parse_time("2025-03-01T00:00:00Z");
  for (const auto* text :
       {"0 0 * * *", "30 2 * * *", "*/20 * * * *", "0 */6 * * mon", "0 0 L * *", "15,45 1-3 * * *"}) {
    for (const auto* tz : {"UTC", "America/New_York", "Australia/Lord_Howe"}) {
      const auto cron = of(text, tz);
      for (int step = 0; step < 40; ++step) {
        const auto begin = from + hours{step * 37}, end = begin + hours{step * 301};
        std::uint64_t walked = 0;
        for (auto at = cron.next(begin); at <= end; at = cron.next(at)) ++walked;
        EXPECT_EQ(cron.count(begin, end), walked) << text << " " << tz << " " << step;
      }
    }
  }
  EXPECT_EQ(of("* * * * * *").count(parse_time("2016-01-01T00:00:00Z"), parse_time("2026-01-01T00:00:00Z")),
            315'619'200U);
}

}  // namespace cron_test
}  // namespace ordo::domain
