#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time_text.h"
#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_window_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;

const Time kNoon = parse_time("2025-06-02T12:00:00Z");  // a Monday

std::vector<Window> windows(const std::vector<std::string>& texts) {
  std::vector<Window> all;
  for (const auto& text : texts) all.push_back(parse_window(text));
  return all;
}

QueueOptions with(const std::vector<std::string>& texts) {
  auto options = plain();
  options.windows = windows(texts);
  return options;
}

Time at(const std::string& clock) { return parse_time("2025-06-02T" + clock + ":00Z"); }

TEST(ShardWindow, a_queue_starts_nothing_outside_and_all_of_it_inside) {
  Harness shard(with({"05:00-07:00", "22:00-23:00"}), kNoon);
  shard.push({.id = "1"});
  shard.push({.id = "2", .key = "1"});
  EXPECT_FALSE(shard.has_due());
  EXPECT_FALSE(shard.shard().has_due(shard.now())) << "it may sleep";
  EXPECT_EQ(shard.shard().next_due(shard.now()), at("22:00"));
  EXPECT_EQ(shard.counts().blocked_by_window, 2U);
  EXPECT_EQ(shard.counts().due, 2U);
  EXPECT_EQ(shard.counts().oldest, at("22:00")) << "it is late from then on";
  shard.run_until(at("22:10"));
  EXPECT_EQ(shard.due_since(), at("22:00"));
  EXPECT_EQ(shard.counts().blocked_by_window, 0U);
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("1", "2"));
  shard.push({.id = "3"});
  shard.run_until(at("23:00"));
  EXPECT_FALSE(shard.has_due());
}

TEST(ShardWindow, who_comes_out_too_late_goes_to_the_next_opening_with_its_retry_count) {
  auto options = with({"05:00-13:00"});
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = hours{1}};
  Harness shard(options, kNoon);
  shard.push({.id = "1", .key = "k"});
  shard.end(*shard.take(), Outcome::fail("no"));
  shard.push({.id = "2", .key = "k"});
  shard.commit();
  shard.run_until(at("13:30"));
  EXPECT_FALSE(shard.has_due());
  EXPECT_EQ(shard.job("1").retry_count, 0);
  EXPECT_EQ(shard.job("1").run_at, at("13:00")) << "nothing is written while it waits";
  shard.run_until(parse_time("2025-06-03T05:00:00Z"));
  EXPECT_EQ(shard.take()->jobs[0].id, "1") << "it kept its key";
}

TEST(ShardWindow, of_a_job_and_of_its_queue_hold_together) {
  Harness shard(with({"05:00-15:00"}), kNoon);
  shard.push({.id = "1", .windows = {"13:00-14:00 mon", "16:00-17:00"}});
  shard.push({.id = "2", .windows = {"14:00-16:00"}});
  shard.push({.id = "3"});
  shard.push({.id = "never", .windows = {"16:00-17:00"}});
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("3"));
  EXPECT_EQ(shard.shard().next_due(shard.now()), at("13:00"));
  EXPECT_EQ(shard.counts().blocked_by_window, 3U);
  shard.run_until(at("13:00"));
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("1"));
  shard.run_until(at("14:59"));
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("2"));
  EXPECT_EQ(shard.shard().next_due(shard.now()), std::nullopt);
}

TEST(ShardWindow, a_job_that_waits_for_its_own_leaves_its_key_to_others) {
  Harness shard(plain(), kNoon);
  shard.push({.id = "1", .key = "k", .windows = {"13:00-14:00"}});
  shard.push({.id = "2", .key = "k"});
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("2"));
  // It was open, and closes before anything has started.
  shard.push({.id = "3", .key = "k"});
  shard.run_until(at("13:00"));
  EXPECT_EQ(shard.shard().due_since(shard.now(), {}), kNoon);
  shard.run_until(at("14:00"));
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("3"));
}

TEST(ShardWindow, a_kind_may_have_its_own) {
  auto options = with({"05:00-07:00"});
  options.kinds = {{.kind = "always", .windows = std::vector<Window>{}},
                   {.kind = "late", .windows = windows({"13:00-14:00"})}};
  Harness shard(options, kNoon);
  shard.push({.id = "1", .key = "k"});
  shard.push({.id = "2", .key = "k", .kind = "late"});
  shard.push({.id = "3", .key = "k", .kind = "always"});
  EXPECT_EQ(shard.counts().blocked_by_window, 2U);
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("3"));
  shard.run_until(at("13:00"));
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("2"));
}

TEST(ShardWindow, a_run_ends_with_it) {
  auto options = with({"11:00-12:30"});
  options.finish_by = true;
  options.min_remaining = minutes{10};
  options.batch_size = 5;
  Harness shard(options, kNoon);
  shard.push({.id = "1", .timeout = minutes{5}});
  shard.push({.id = "2"});
  EXPECT_EQ(shard.take()->timeout, minutes{5});
  EXPECT_EQ(shard.take()->timeout, minutes{30});
  shard.push({.id = "3"});
  shard.run_until(at("12:20") + seconds{1});
  EXPECT_EQ(shard.take(), std::nullopt) << "too little is left of it";
}

TEST(ShardWindow, what_was_chosen_in_time_and_comes_late_is_to_go_back) {
  auto options = with({"11:00-12:30"});
  options.finish_by = true;
  options.min_remaining = minutes{10};
  Harness shard(options, kNoon);
  shard.push({.id = "1"});
  auto run = *shard.take();
  shard.run_until(at("12:10"));
  EXPECT_TRUE(shard.shard().may_still_start(run, shard.now()));
  EXPECT_EQ(run.timeout, minutes{20});
  shard.run_until(at("12:30"));
  EXPECT_FALSE(shard.shard().may_still_start(run, shard.now()));
  shard.shard().recall(run.no, shard.now());
  EXPECT_FALSE(shard.has_due());
}

TEST(ShardWindow, a_clock_that_was_ahead_for_a_moment_closes_nothing) {
  Harness shard(plain(), kNoon);
  shard.push({.id = "1", .windows = {"11:00-13:00"}});
  EXPECT_EQ(shard.shard().due_since(at("14:00"), {}), std::nullopt);
  EXPECT_TRUE(shard.has_due());
}

TEST(ShardWindow, who_can_never_start_again_holds_up_nobody) {
  auto options = plain();
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = seconds{1}};
  Harness shard(options, kNoon);
  shard.push({.id = "1", .key = "k", .windows = {"11:00-13:00"}});
  shard.end(*shard.take(), Outcome::fail("no"));
  shard.push({.id = "1", .payload = "b", .key = "k", .windows = {"11:00-13:00 Mars/Olympus"}});
  shard.push({.id = "2", .key = "k"});
  shard.commit();
  shard.advance(seconds{2});
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("2"));
}

TEST(ShardWindow, run_now_overrides_none) {
  Harness shard(with({"13:00-14:00"}), kNoon);
  shard.push({.id = "1", .run_at = at("15:00")});
  shard.control(EntryType::run_now, "1");
  EXPECT_FALSE(shard.has_due());
  shard.run_until(at("13:00"));
  EXPECT_TRUE(shard.has_due());
}

TEST(ShardWindow, of_an_unknown_zone_never_opens_and_stops_nobody) {
  Harness shard(plain(), kNoon);
  shard.push({.id = "1", .windows = {"00:00-24:00 Mars/Olympus"}});
  shard.push({.id = "2"});
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("2"));
  EXPECT_EQ(shard.counts().blocked_by_window, 1U);
  shard.control(EntryType::cancel, "1");
  EXPECT_EQ(shard.shard().jobs(), 0U);
}

TEST(ShardWindow, stays_with_the_job_through_failure_death_and_rebuild) {
  auto options = plain();
  options.max_retries = 0;
  Harness shard(options, kNoon);
  shard.push({.id = "1", .payload = "a", .windows = {"11:00-13:00"}});
  shard.end(*shard.take(), Outcome::fail("no"));
  shard.commit();
  const auto dead = shard.take_dead();
  ASSERT_EQ(dead.size(), 1U);
  shard.run_until(at("14:00"));
  shard.append(revival(dead[0]));
  EXPECT_FALSE(shard.has_due());
  shard.commit();
  shard.rebuild();
  EXPECT_FALSE(shard.has_due());
  shard.push({.id = "1", .payload = "b", .windows = {"14:00-15:00"}});
  EXPECT_TRUE(shard.has_due()) << "those of a later push count";
}

}  // namespace shard_window_test
}  // namespace ordo::domain
