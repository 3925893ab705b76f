#include "domain/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/time_text.h"
#include "domain/entry.h"

namespace ordo::domain {
namespace schedule_test {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const Time kNow = parse_time("2026-03-02T10:00:30Z");

Ticks of(const PeriodicOptions& schedule) {
  std::string why;
  const auto ticks = Ticks::of(schedule, why);
  EXPECT_TRUE(ticks) << why;
  return *ticks;
}
Ticks every(Duration interval) { return of({.every = interval}); }
Ticks at(const std::string& cron) { return of({.cron = cron}); }

std::vector<std::string> texts(const std::vector<Time>& times) {
  std::vector<std::string> all;
  for (const auto time : times) all.push_back(format_time(time));
  return all;
}

std::string why_not(const PeriodicOptions& schedule) {
  std::string why;
  EXPECT_FALSE(Ticks::of(schedule, why));
  return why;
}

TEST(Schedule, an_interval_counts_from_the_epoch) {
  EXPECT_EQ(format_time(every(minutes{15}).next(kNow)), "2026-03-02T10:15:00Z");
  EXPECT_EQ(format_time(every(minutes{15}).next(parse_time("2026-03-02T10:15:00Z"))), "2026-03-02T10:30:00Z");
  EXPECT_EQ(format_time(every(days{7}).next(kNow)), "2026-03-05T00:00:00Z");
  EXPECT_EQ(format_time(every(seconds{7}).next(Time{})), "1970-01-01T00:00:07Z");
  EXPECT_EQ(format_time(every(minutes{15}).next(Time{} - seconds{1})), "1970-01-01T00:00:00Z");
  EXPECT_EQ(every(minutes{15}).count(kNow - hours{10}, kNow), 40U);
  EXPECT_EQ(every(minutes{15}).count(kNow, kNow - hours{1}), 0U);
}

TEST(Schedule, takes_one_of_cron_and_every) {
  EXPECT_THAT(why_not({}), HasSubstr("needs cron"));
  EXPECT_THAT(why_not({.cron = "@daily", .every = hours{1}}), HasSubstr("both"));
  EXPECT_THAT(why_not({.cron = "* *"}), HasSubstr("cron: '* *' has 2 fields"));
  EXPECT_THAT(why_not({.cron = "@daily", .tz = "Nowhere"}), HasSubstr("Nowhere"));
  EXPECT_THAT(why_not({.every = milliseconds{1500}}), HasSubstr("whole seconds"));
  EXPECT_THAT(why_not({.every = Duration{0}}), HasSubstr("whole seconds"));
  EXPECT_THAT(why_not({.every = days{366}}), HasSubstr("365d"));
}

TEST(Schedule, the_newest_are_found_however_they_are_spread) {
  for (const auto& ticks :
       {every(seconds{1}), every(hours{6}), at("* * 3 1 *"), at("*/7 9-17 * * mon-fri")}) {
    for (const auto back : {Duration(seconds{20}), Duration(hours{5}), Duration(days{100})}) {
      std::vector<Time> all;
      for (auto tick = ticks.next(kNow - back); tick <= kNow; tick = ticks.next(tick)) all.push_back(tick);
      EXPECT_EQ(ticks.count(kNow - back, kNow), all.size());
      for (const std::size_t most : {1U, 10U, 1000U}) {
        const auto skipped = static_cast<std::ptrdiff_t>(all.size() - std::min(all.size(), most));
        EXPECT_EQ(ticks.newest(kNow - back, kNow, most), std::vector<Time>(all.begin() + skipped, all.end()));
      }
    }
  }
}

// Rules §6.3.
TEST(Schedule, what_is_late_is_pushed_as_its_policy_says) {
  const auto quarters = every(minutes{15});
  for (const auto policy : {Missed::skip, Missed::once, Missed::all}) {
    const auto none = due_ticks(quarters, policy, parse_time("2026-03-02T10:00:00Z"), kNow);
    EXPECT_TRUE(none.push.empty());
    EXPECT_EQ(none.passed, Time{});
    const auto one = due_ticks(quarters, policy, parse_time("2026-03-02T09:45:00Z"), kNow);
    EXPECT_THAT(texts(one.push), ElementsAre("2026-03-02T10:00:00Z"));
    EXPECT_EQ(one.missed, 0U);
  }
  // One of them is in time.
  const auto last = parse_time("2026-03-02T09:15:00Z");
  EXPECT_THAT(texts(due_ticks(quarters, Missed::skip, last, kNow).push), ElementsAre("2026-03-02T10:00:00Z"));
  EXPECT_EQ(due_ticks(quarters, Missed::skip, last, kNow).missed, 2U);
  EXPECT_THAT(texts(due_ticks(quarters, Missed::once, last, kNow).push), ElementsAre("2026-03-02T10:00:00Z"));
  EXPECT_EQ(due_ticks(quarters, Missed::once, last, kNow).missed, 2U);
  EXPECT_THAT(due_ticks(quarters, Missed::all, last, kNow).push, SizeIs(3));
  // None is.
  const auto late = kNow + minutes{10};
  const auto skipped = due_ticks(quarters, Missed::skip, last, late);
  EXPECT_TRUE(skipped.push.empty());
  EXPECT_EQ(skipped.missed, 3U);
  EXPECT_EQ(format_time(skipped.passed), "2026-03-02T10:00:00Z");
  const auto once = due_ticks(quarters, Missed::once, last, late);
  EXPECT_THAT(texts(once.push), ElementsAre("2026-03-02T10:00:00Z"));
  EXPECT_EQ(once.missed, 2U);
  EXPECT_EQ(due_ticks(quarters, Missed::all, last, late).missed, 0U);
}

// Rules §6.3: no job comes to life that would be dead at once.
TEST(Schedule, what_would_have_expired_is_passed_over) {
  const auto quarters = every(minutes{15});
  const auto last = parse_time("2026-03-02T08:00:00Z");
  const auto late = kNow + minutes{10};
  const auto all = due_ticks(quarters, Missed::all, last, late, minutes{30});
  EXPECT_EQ(all.push, quarters.newest(late - minutes{30}, late, 1000));
  EXPECT_EQ(all.missed, quarters.count(last, late) - all.push.size());
  EXPECT_GT(all.missed, 0U);
  EXPECT_THAT(due_ticks(quarters, Missed::once, last, late, minutes{30}).push, SizeIs(1));
  const auto none = due_ticks(quarters, Missed::once, last, late, minutes{1});
  EXPECT_TRUE(none.push.empty());
  EXPECT_EQ(none.missed, quarters.count(last, late));
  EXPECT_EQ(none.passed, quarters.newest(last, late, 1).back());
}

TEST(Schedule, jobs_of_ticks_are_told_from_those_that_somebody_has_run) {
  EXPECT_TRUE(is_job_of("nightly", job_id_of("nightly", kNow)));
  EXPECT_FALSE(is_job_of("night", job_id_of("nightly", kNow)));
  EXPECT_FALSE(is_job_of("nightly", "nightly@01ARZ3NDEKTSV4RRFFQ69G5FAV"));
  EXPECT_FALSE(is_job_of("nightly", "nightly"));
}

TEST(Schedule, all_pushes_the_newest_thousand_a_hundred_at_a_time) {
  const auto ticks = every(seconds{1});
  auto last = kNow - hours{1};
  auto due = due_ticks(ticks, Missed::all, last, kNow);
  EXPECT_EQ(due.missed, 2600U);
  EXPECT_EQ(due.push.front(), kNow - seconds{999});
  std::size_t pushed = 0;
  while (!due.push.empty()) {
    EXPECT_THAT(due.push, SizeIs(kTicksOfAnAppend));
    pushed += due.push.size();
    last = due.push.back();
    due = due_ticks(ticks, Missed::all, last, kNow);
    EXPECT_EQ(due.missed, 0U);
  }
  EXPECT_EQ(pushed, 1000U);
  EXPECT_EQ(last, kNow);
  // What is in time is pushed whatever the policy.
  EXPECT_THAT(due_ticks(ticks, Missed::skip, kNow - minutes{5}, kNow).push, SizeIs(60));
  EXPECT_EQ(due_ticks(ticks, Missed::skip, kNow - minutes{5}, kNow).missed, 240U);
}

TEST(Schedule, its_text_says_when_it_ticks_and_nothing_else) {
  const PeriodicOptions daily{.name = "a", .queue = "q", .cron = "@daily"};
  auto other = daily;
  other.name = "b";
  other.payload = "p";
  other.missed = Missed::all;
  EXPECT_EQ(text_of(daily), text_of(other));
  other.tz = "Europe/Moscow";
  EXPECT_NE(text_of(daily), text_of(other));
  EXPECT_NE(text_of({.every = hours{1}}), text_of({.every = hours{2}}));
}

TEST(Schedule, a_tick_is_an_entry_with_a_job_of_its_own) {
  const auto bytes =
      encode_tick({.name = "nightly", .queue = "reports", .cron = "@daily", .payload = "p", .priority = 7},
                  parse_time("2026-03-02T00:00:00Z"), 3);
  const auto entry = decode_entry(bytes);
  ASSERT_TRUE(entry) << entry.why();
  EXPECT_EQ(entry->type, EntryType::tick);
  EXPECT_EQ(entry->kind, "reports");
  EXPECT_EQ(entry->key, "nightly");
  EXPECT_EQ(entry->id, "nightly@2026-03-02T00:00:00Z");
  EXPECT_EQ(entry->payload, "p");
  EXPECT_EQ(entry->options.priority, 7);
  EXPECT_EQ(entry->run_at, parse_time("2026-03-02T00:00:00Z"));
  ASSERT_TRUE(entry->tick);
  EXPECT_EQ(*entry->tick, (Tick{"nightly", parse_time("2026-03-02T00:00:00Z"), 3}));
  EXPECT_TRUE(entry->fields.empty());
  EXPECT_EQ(encode(*entry), bytes);
}

TEST(Schedule, nodes_tell_them_each_other) {
  const std::vector<PeriodicOptions> schedules = {
      {.name = "nightly",
       .queue = "reports",
       .cron = "0 5 * * mon-fri",
       .tz = "Europe/Moscow",
       .payload = "p",
       .kind = "sum",
       .key = "k",
       .priority = -3,
       .missed = Missed::all},
      {.name = "often", .queue = "reports", .every = minutes{15}, .missed = Missed::skip}};
  EXPECT_EQ(decode_schedules(encode(schedules)), schedules);
  EXPECT_TRUE(decode_schedules("").empty());
  EXPECT_TRUE(decode_schedules("no list").empty());
}

}  // namespace schedule_test
}  // namespace ordo::domain
