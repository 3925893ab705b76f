#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"
#include "domain/shard_view_harness.h"

namespace ordo::domain {
namespace shard_recall_test {

using std::chrono::seconds;
using testing::Harness;
using testing::Strings;

QueueOptions recall_options(std::uint32_t batch_size = 1) {
  QueueOptions options;
  options.name = "orders";
  options.batch_size = batch_size;
  return options;
}

TEST(ShardRecall, the_jobs_are_where_they_were_with_nothing_changed) {
  Harness shard(recall_options(2));
  for (const auto* id : {"a", "b", "c", "d"}) shard.push({.id = id, .payload = id});
  const auto before = ShardView::of(shard.shard());
  const auto first = *shard.take();
  const auto second = *shard.take();
  shard.shard().recall(second.no, shard.now());
  shard.shard().recall(first.no, shard.now());
  EXPECT_TRUE(ShardView::of(shard.shard()) == before);
  EXPECT_EQ(shard.counts().due, 4U);
  EXPECT_EQ(shard.counts().running, 0U);
  EXPECT_FALSE(shard.shard().has_changes());
  EXPECT_EQ(shard.run_all_ids(), (Strings{"a", "b", "c", "d"}));
}

TEST(ShardRecall, a_job_that_failed_before_keeps_its_key_and_its_retries) {
  auto options = recall_options();
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = seconds{5}};
  Harness shard(options);
  shard.push({.id = "a", .payload = "1", .key = "k"});
  shard.push({.id = "b", .payload = "1", .key = "k"});
  shard.end(*shard.take(), Outcome::fail("no"));
  shard.commit();
  shard.advance(seconds{5});
  EXPECT_TRUE(shard.has_due());
  const auto before = shard.job("a");
  shard.shard().recall(shard.take()->no, shard.now());
  EXPECT_TRUE(shard.job("a") == before);
  EXPECT_EQ(before.retry_count, 0);
  EXPECT_EQ(shard.run_all_ids(), (Strings{"a", "b"}));
}

TEST(ShardRecall, what_was_pushed_meanwhile_is_merged) {
  Harness shard(recall_options());
  shard.push({.id = "a", .payload = "1", .score = 1});
  const auto run = *shard.take();
  shard.push({.id = "a", .payload = "2", .score = 2});
  shard.push({.id = "a", .payload = "1", .score = 0});
  shard.shard().recall(run.no, shard.now());
  EXPECT_EQ(shard.scores("a"), (std::vector<double>{0, 2}));
  EXPECT_EQ(shard.run_all_ids(), Strings{"a"});
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_EQ(shard.states_size(), 0U);
}

TEST(ShardRecall, a_time_that_a_push_has_replaced_meanwhile_is_the_jobs) {
  Harness shard(recall_options());
  shard.push({.id = "a", .payload = "1"});
  const auto run = *shard.take();
  const auto later = shard.now() + seconds{60};
  shard.push({.id = "a", .payload = "2", .run_at = later, .replaces_time = true});
  shard.push({.id = "a", .payload = "3", .run_at = shard.now() + seconds{90}});
  shard.shard().recall(run.no, shard.now());
  EXPECT_EQ(shard.job("a").run_at, later);
  EXPECT_EQ(shard.job("a").payloads.size(), 3U);
  EXPECT_FALSE(shard.has_due());
  shard.commit();
  shard.crash();
  EXPECT_EQ(shard.job("a").run_at, later) << "the next owner knows as much";
  shard.advance(seconds{60});
  EXPECT_EQ(shard.run_all_ids(), Strings{"a"});
}

TEST(ShardRecall, a_time_that_was_replaced_beside_a_run_with_marks_is_the_jobs_too) {
  Harness shard(recall_options());
  shard.push({.id = "a"});
  shard.crash();
  const auto run = *shard.take_marked({});
  const auto later = shard.now() + seconds{60};
  shard.push({.id = "a", .payload = "2"});
  shard.push({.id = "a", .payload = "3", .run_at = later, .replaces_time = true});
  shard.shard().recall(run.no, shard.now());
  shard.commit();
  EXPECT_EQ(shard.job("a").run_at, later);
}

TEST(ShardRecall, a_run_that_was_put_back_has_its_own_time) {
  Harness shard(recall_options());
  shard.push({.id = "a"});
  const auto before = shard.job("a").run_at;
  const auto run = *shard.take();
  shard.push({.id = "a", .payload = "2", .run_at = shard.now() + seconds{60}, .replaces_time = true});
  shard.end(run, Outcome::put_back());
  shard.commit();
  EXPECT_EQ(shard.job("a").run_at, before) << "it had started";
}

TEST(ShardRecall, one_that_came_first_by_its_priority_takes_the_key) {
  Harness shard(recall_options());
  shard.push({.id = "slow", .key = "k"});
  const auto run = *shard.take();
  EXPECT_FALSE(shard.shard().is_overtaken(run.no, shard.now(), {}));
  shard.push({.id = "other", .key = "l"});
  EXPECT_FALSE(shard.shard().is_overtaken(run.no, shard.now(), {}));
  shard.push({.id = "urgent", .key = "k", .priority = 1});
  shard.shard().recall(run.no, shard.now());
  EXPECT_EQ(shard.run_all_ids(), (Strings{"urgent", "slow", "other"}));
}

TEST(ShardRecall, it_is_overtaken_by_a_job_of_higher_priority) {
  Harness shard(recall_options());
  shard.push({.id = "a"});
  const auto run = *shard.take();
  shard.push({.id = "b", .priority = 1});
  EXPECT_TRUE(shard.shard().is_overtaken(run.no, shard.now(), {}));
}

// The state says that it has started: were the key given on at once, a crash would bring it back first.
TEST(ShardRecall, a_key_that_is_written_as_held_is_free_once_that_is_taken_back) {
  Harness shard(recall_options());
  shard.push({.id = "slow", .key = "k", .priority = 50});
  shard.push({.id = "later", .key = "k", .run_at = shard.now() + seconds{60}});
  const auto run = *shard.take();
  shard.commit();
  EXPECT_EQ(shard.states_size(), 1U);
  shard.push({.id = "urgent", .key = "k", .priority = 1});
  shard.shard().recall(run.no, shard.now());
  EXPECT_FALSE(shard.take().has_value());
  shard.commit();
  EXPECT_EQ(shard.take()->jobs.at(0).id, "urgent");
  shard.crash();
  EXPECT_EQ(shard.take_marked({})->jobs.at(0).id, "urgent");
}

TEST(ShardRecall, a_job_that_was_cancelled_is_gone) {
  Harness shard(recall_options(2));
  shard.push({.id = "a"});
  shard.push({.id = "b"});
  const auto run = *shard.take();
  shard.control(EntryType::cancel, "a");
  EXPECT_EQ(shard.stops(), std::vector<RunNo>{run.no});
  shard.shard().recall(run.no, shard.now());
  shard.commit();
  EXPECT_EQ(shard.counts().failed, 0U);
  EXPECT_EQ(shard.run_all_ids(), Strings{"b"});
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardRecall, a_run_with_marks_is_put_back) {
  Harness shard(recall_options());
  shard.push({.id = "a"});
  shard.crash();
  const auto run = *shard.take_marked({});
  ASSERT_EQ(run.risk, Risk::witness);
  shard.shard().recall(run.no, shard.now());
  shard.commit();
  shard.crash();
  shard.commit();
  EXPECT_EQ(shard.job("a").crashes, 0U);
  EXPECT_EQ(shard.job("a").retry_count, -1);
}

TEST(ShardRecall, a_run_with_marks_that_never_started_holds_no_key) {
  Harness shard(recall_options());
  shard.push({.id = "a", .key = "k"});
  shard.crash();
  shard.shard().recall(shard.take_marked({})->no, shard.now());
  shard.commit();
  shard.push({.id = "b", .key = "k", .run_at = shard.now() - seconds{1}});
  EXPECT_EQ(shard.take_marked({})->jobs[0].id, "b");
}

TEST(ShardRecall, watchers_hear_of_starts_alone) {
  Harness shard(recall_options());
  shard.shard().watch(true);
  shard.push({.id = "a", .run_at = shard.now() - seconds{2}});
  shard.shard().recall(shard.take()->no, shard.now());
  EXPECT_TRUE(shard.shard().events().empty());
  const auto run = *shard.take();
  shard.shard().started(run.no);
  const auto starts = shard.shard().events();
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].waited, seconds{2});
  shard.end(run, Outcome::done());
  const auto events = shard.shard().events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].type, EventType::job_finished);
}

}  // namespace shard_recall_test
}  // namespace ordo::domain
