// Payloads of waiting jobs that somebody replaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/renumber.h"
#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_edit_test {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;
using testing::Strings;

QueueOptions edit_options() {
  auto options = plain();
  options.max_retries = 2;
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = seconds{5}};
  return options;
}

Strings payloads_of(const Run& run) {
  Strings all;
  for (const auto& job : run.jobs) {
    for (const auto& payload : job.payloads) all.push_back(payload.bytes);
  }
  return all;
}

std::vector<double> scores_of(const Run& run) {
  std::vector<double> all;
  for (const auto& payload : run.jobs.at(0).payloads) all.push_back(payload.score);
  return all;
}

/// The next run ends well; what it was given.
Strings run_next(Harness& shard) {
  const auto run = shard.take();
  if (!run) return {"no run"};
  shard.end(*run, Outcome::done());
  shard.commit();
  return payloads_of(*run);
}

TEST(ShardEdit, the_job_runs_with_the_new_payload_alone) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "old", .score = 7});
  shard.edit("a", "old", "new");
  const auto run = shard.take();
  ASSERT_TRUE(run);
  EXPECT_EQ(payloads_of(*run), Strings{"new"});
  EXPECT_THAT(scores_of(*run), ElementsAre(7));
  shard.end(*run, Outcome::done());
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_EQ(shard.states_size(), 0U);
}

TEST(ShardEdit, whoever_owns_the_shard_next_knows_of_it) {
  for (const bool is_durable : {false, true}) {
    Harness shard(edit_options());
    shard.push({.id = "a", .payload = "old"});
    shard.commit();
    shard.edit("a", "old", "new");
    if (is_durable) {
      shard.commit();
      EXPECT_EQ(shard.log_size(), 1U) << "the old payload is gone";
    }
    shard.crash();
    EXPECT_EQ(run_next(shard), Strings{"new"}) << is_durable;
    EXPECT_EQ(shard.log_size(), 0U);
    EXPECT_EQ(shard.states_size(), 0U);
  }
}

TEST(ShardEdit, time_and_retries_stay) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "old"});
  shard.end(*shard.take(), Outcome::fail("no"));
  shard.commit();
  const auto before = shard.job("a");
  shard.advance(seconds{2});
  shard.edit("a", "old", "new");
  shard.commit();
  for (const bool is_rebuilt : {false, true}) {
    if (is_rebuilt) shard.rebuild();
    const auto after = shard.job("a");
    EXPECT_EQ(after.retry_count, 0);
    EXPECT_EQ(after.run_at, before.run_at);
    EXPECT_EQ(after.error, "no");
    EXPECT_FALSE(shard.has_due());
  }
  shard.advance(seconds{3});
  EXPECT_EQ(run_next(shard), Strings{"new"});
}

TEST(ShardEdit, a_job_without_a_time_of_its_own_keeps_its_place) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "old", .key = "k"});
  shard.advance(seconds{1});
  shard.push({.id = "b", .payload = "b", .key = "k"});
  shard.edit("a", "old", "new");
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(shard.run_all_ids(), (Strings{"a", "b"}));
}

TEST(ShardEdit, one_of_several_payloads_is_replaced) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "1", .score = 1});
  shard.push({.id = "a", .payload = "2", .score = 2});
  shard.push({.id = "a", .payload = "3", .score = 3});
  shard.edit("a", "1", "one");
  shard.edit("a", "2", "two");
  shard.commit();
  shard.rebuild();
  EXPECT_THAT(shard.scores("a"), ElementsAre(1, 2, 3));
  EXPECT_EQ(run_next(shard), (Strings{"one", "two", "3"}));
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardEdit, a_payload_that_the_job_has_already_is_kept_once) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "1", .score = 1});
  shard.push({.id = "a", .payload = "2", .score = 2});
  shard.edit("a", "1", "2");
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(run_next(shard), Strings{"2"});
  EXPECT_EQ(shard.log_size(), 0U);
}

// Without room in memory, equal payloads are found at the start only.
TEST(ShardEdit, a_payload_that_was_pushed_twice_goes_whole) {
  Harness shard(edit_options(), Time{hours{24 * 20000}}, /*budget=*/0);
  shard.push({.id = "a", .payload = "old", .score = 2});
  shard.push({.id = "a", .payload = "old", .score = 1});
  shard.edit("a", "old", "new");
  EXPECT_THAT(shard.scores("a"), ElementsAre(1));
  EXPECT_EQ(run_next(shard), Strings{"new"});
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardEdit, what_is_pushed_behind_the_look_stays) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "old", .score = 1});
  const auto seen = shard.job("a");
  shard.push({.id = "a", .payload = "other", .score = 1});
  shard.edit(seen, "old", "new");
  shard.commit();
  const auto run = shard.take();
  ASSERT_TRUE(run);
  EXPECT_THAT(payloads_of(*run), ::testing::UnorderedElementsAre("new", "other"));
}

TEST(ShardEdit, a_job_that_runs_by_then_is_left_alone) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "old"});
  const auto seen = shard.job("a");
  const auto run = *shard.take();
  shard.edit(seen, "old", "new");
  shard.end(run, Outcome::fail("no"));
  shard.commit();
  EXPECT_EQ(shard.log_size(), 1U) << "the edit is gone";
  shard.advance(seconds{5});
  EXPECT_EQ(run_next(shard), Strings{"old"});
}

TEST(ShardEdit, the_one_that_waits_beside_a_running_one_is_meant) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "runs"});
  const auto run = *shard.take();
  shard.push({.id = "a", .payload = "old"});
  shard.edit("a", "old", "new");
  shard.end(run, Outcome::done());
  shard.commit();
  EXPECT_EQ(run_next(shard), Strings{"new"});
}

TEST(ShardEdit, of_a_job_that_has_ended_nothing_is_made) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "old"});
  const auto seen = shard.job("a");
  EXPECT_EQ(run_next(shard), Strings{"old"});
  shard.push({.id = "a", .payload = "another"});
  shard.edit(seen, "old", "new");
  EXPECT_EQ(run_next(shard), Strings{"another"});
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardEdit, in_a_moved_log_the_score_says_which) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "1", .score = 1});
  shard.push({.id = "a", .payload = "2", .score = 2});
  shard.edit(shard.job("a"), "2", "two", /*is_moved=*/true);
  shard.commit();
  EXPECT_EQ(run_next(shard), (Strings{"1", "two"}));
}

TEST(ShardEdit, in_a_moved_log_two_of_that_score_are_left_alone) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "1", .score = 1});
  const auto seen = shard.job("a");
  shard.push({.id = "a", .payload = "2", .score = 1});
  shard.edit(seen, "1", "one", /*is_moved=*/true);
  shard.commit();
  EXPECT_EQ(run_next(shard), (Strings{"1", "2"}));
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardEdit, a_log_that_moves_says_no_numbers) {
  Entry edit{.type = EntryType::edit, .kind = "k", .key = "a", .id = "a", .score = 1};
  edit.edits = {{5, 1}};
  EXPECT_EQ(settled(edit, Time{}).edits, (std::vector<EditedEntry>{{0, 1}}));
}

TEST(ShardEdit, its_lock_follows_the_only_payload) {
  auto options = edit_options();
  options.lock = "payload";
  Harness shard(options);
  shard.push({.id = "a", .payload = "x"});
  shard.push({.id = "b", .payload = "x"});
  shard.edit("b", "x", "y");
  EXPECT_THAT(shard.start_all(), ElementsAre("a", "b"));
  shard.push({.id = "c", .payload = "y"});
  EXPECT_THAT(shard.start_all(), IsEmpty());
}

// Until its failure is durable the job has its lock.
TEST(ShardEdit, its_lock_follows_once_its_run_is_over) {
  auto options = edit_options();
  options.lock = "payload";
  options.retry.delay = seconds{0};
  Harness shard(options);
  shard.push({.id = "a", .payload = "x"});
  shard.push({.id = "b", .payload = "x"});
  const auto run = *shard.take();
  shard.end(run, Outcome::fail("no"));
  shard.edit("a", "x", "y");
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.commit();
  EXPECT_THAT(shard.start_all(), ::testing::UnorderedElementsAre("a", "b"));
  shard.push({.id = "c", .payload = "y"});
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.finish("a");
  EXPECT_THAT(shard.start_all(), ElementsAre("c"));
}

TEST(ShardEdit, a_lock_that_several_payloads_share_stays) {
  auto options = edit_options();
  options.lock = "payload";
  Harness shard(options);
  shard.push({.id = "a", .payload = "x", .score = 1});
  shard.push({.id = "a", .payload = "y", .score = 2});
  shard.edit("a", "x", "z");
  shard.commit();
  shard.rebuild();
  shard.push({.id = "b", .payload = "x"});
  EXPECT_THAT(shard.start_all(), ElementsAre("a"));
}

// Its entries that say so stand before the first payload then: whoever rebuilds the job drops them.
TEST(ShardEdit, what_an_attempt_waited_for_is_given_up_with_its_payload) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "old"});
  const auto run = *shard.take();
  shard.note(EntryType::expected, run.kind, run.jobs[0], {"w", "key", {}, {}});
  shard.end(run, Outcome::fail("no"));
  shard.commit();
  EXPECT_THAT(shard.shard().closes(), IsEmpty());
  shard.edit("a", "old", "new");
  const auto closes = shard.shard().closes();
  ASSERT_EQ(closes.size(), 1U);
  EXPECT_EQ(closes[0].wait, "w");
}

TEST(ShardEdit, a_killed_job_dies_with_the_new_payload) {
  Harness shard(edit_options());
  shard.push({.id = "a", .payload = "old"});
  shard.edit("a", "old", "new");
  shard.control(EntryType::kill, "a");
  shard.commit();
  const auto dead = shard.take_dead();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].payload, "new");
  EXPECT_EQ(shard.log_size(), 0U);
}

}  // namespace shard_edit_test
}  // namespace ordo::domain
