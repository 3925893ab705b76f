// A clock that was ahead for a moment: what was stored then, and all behind it, has a time that is yet to
// come.
#include <gtest/gtest.h>

#include "domain/listing.h"
#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_ahead_test {

using std::chrono::hours;
using std::chrono::seconds;
using testing::Harness;
using testing::plain;
using testing::Strings;

/// Its log is an hour ahead, and stays so.
class ShardAhead : public ::testing::Test {
 protected:
  ShardAhead() { harness_.set_back(-hours{1}); }

  ListedJob listed(const std::string& id) {
    std::optional<ListedJob> found;
    each_fitting(harness_.shard(), {.id = id}, harness_.now(), [&](const FittingJob& job) {
      found = domain::listed(harness_.shard(), {}, job, harness_.now());
    });
    return found.value();
  }

  Harness harness_{plain()};
};

TEST_F(ShardAhead, jobs_without_a_time_of_their_own_are_due_as_they_come) {
  harness_.push({.id = "1"});
  harness_.set_back({});
  harness_.push({.id = "2"});
  harness_.push({.id = "scheduled", .run_at = harness_.now() + seconds{10}});
  EXPECT_EQ(harness_.counts().due, 2U);
  EXPECT_EQ(harness_.counts().scheduled, 1U);
  EXPECT_EQ(harness_.run_all_ids(), (Strings{"1", "2"}));
  harness_.advance(seconds{10});
  EXPECT_EQ(harness_.run_all_ids(), Strings{"scheduled"});
}

TEST_F(ShardAhead, so_are_those_that_came_from_another_log_which_was_ahead) {
  harness_.set_back({});
  harness_.push({.id = "1", .key = "k"});
  const auto came = harness_.now() + hours{24};
  for (const auto type : {EntryType::push, EntryType::revive})
    harness_.append({.type = type, .kind = "orders", .key = "k", .id = "2", .came = came, .payload = "p"});
  EXPECT_EQ(harness_.counts().due, 2U);
  harness_.crash();
  EXPECT_EQ(harness_.run_all_ids(), (Strings{"1", "2"}));
}

TEST_F(ShardAhead, the_next_owner_has_the_same_jobs) {
  harness_.push({.id = "1", .key = "k"});
  harness_.push({.id = "2", .key = "k"});
  harness_.commit();
  harness_.advance(seconds{5});
  harness_.crash();
  EXPECT_EQ(harness_.counts().due, 2U);
  EXPECT_EQ(harness_.run_all_ids(), (Strings{"1", "2"}));
}

TEST_F(ShardAhead, no_time_that_is_shown_is_yet_to_come) {
  harness_.push({.id = "1"});
  const auto job = listed("1").view;
  EXPECT_EQ(job.state, JobStatus::due);
  EXPECT_EQ(job.run_at, harness_.now());
  EXPECT_EQ(job.starts_at, harness_.now());
  EXPECT_LE(harness_.due_since().value(), harness_.now());
  const auto counts = harness_.counts();
  EXPECT_LE(counts.oldest, harness_.now());
  EXPECT_LE(counts.oldest_due.at(100), harness_.now());
}

TEST_F(ShardAhead, a_retry_waits_for_its_delay) {
  harness_.push({.id = "1"});
  harness_.fail_all();
  EXPECT_LT(harness_.job("1").run_at, harness_.now() + hours{1});
  EXPECT_EQ(harness_.counts().retrying, 1U);
}

TEST_F(ShardAhead, what_is_asked_for_now_is_asked_for_now) {
  harness_.push({.id = "1", .run_at = harness_.now() + hours{10}});
  harness_.control(EntryType::run_now, "1");
  harness_.push({.id = "2", .run_at = harness_.now() + hours{10}});
  harness_.push({.id = "2", .replaces_time = true});
  harness_.commit();
  EXPECT_EQ(harness_.counts().due, 2U);
  harness_.crash();
  EXPECT_EQ(harness_.run_all_ids(), (Strings{"1", "2"}));
}

TEST_F(ShardAhead, a_job_that_lost_a_payload_goes_on_at_once) {
  harness_.push({.id = "1", .payload = "a"});
  harness_.push({.id = "1", .payload = "b"});
  harness_.commit();
  harness_.lose(2);
  harness_.rebuild();
  EXPECT_EQ(harness_.counts().due, 1U);
  EXPECT_EQ(harness_.run_all_ids(), Strings{"1"});
}

QueueOptions dying() {
  auto options = plain();
  options.max_retries = 0;
  return options;
}

/// The clock is ahead by days, and then right again: what was put off meanwhile, and what was due just then,
/// waits for no time of the days ahead.
class ShardSetBack : public ::testing::Test {
 protected:
  ShardSetBack() { harness_.advance(hours{48}); }

  void set_back() {
    harness_.commit();
    harness_.advance(-hours{48});
    harness_.set_back(hours{48});
    harness_.shard().clock_leapt(harness_.now());
    harness_.commit();
  }

  void wait(const domain::Run& run) {
    auto outcome = Outcome::wait("bank", seconds{60});
    outcome.wait_id = "w";
    outcome.deadline = harness_.now() + seconds{60};
    harness_.note(EntryType::expected, run.kind, run.jobs[0], {"w", "bank", {}, {}});
    harness_.end(run, outcome);
    harness_.commit();
  }
  void respond() {
    harness_.note(EntryType::response, "orders", {.id = "1", .key = "1"}, {"w", "bank", "m", "yes"});
  }

  Harness harness_{plain()};
};

TEST_F(ShardSetBack, a_run_that_goes_back_waits_for_no_more_than_its_delay) {
  harness_.push({.id = "1"});
  harness_.end(*harness_.take(), Outcome::snoozed_for(seconds{10}));
  harness_.commit();
  harness_.advance(seconds{10});
  const auto run = *harness_.take();
  set_back();
  harness_.end(run, Outcome::put_back());
  harness_.commit();
  EXPECT_FALSE(harness_.has_due());
  harness_.advance(seconds{10});
  EXPECT_TRUE(harness_.has_due());
  harness_.rebuild();
  EXPECT_EQ(harness_.run_all_ids(), Strings{"1"});
}

TEST_F(ShardSetBack, what_was_loaded_before_and_is_read_behind_it_waits_for_no_more_than_its_delay) {
  harness_.push({.id = "1"});
  harness_.end(*harness_.take(), Outcome::snoozed_for(seconds{10}));
  harness_.commit();
  std::vector<std::pair<Seq, JobState>> states;
  for (const auto& [seq, bytes] : harness_.states()) states.emplace_back(seq, *decode_state(bytes));
  PayloadBudget budget;
  Shard shard(plain(), budget);
  shard.load({.now = harness_.now()}, std::move(states), harness_.stored_counts());
  const auto now = harness_.now() - hours{48};
  shard.clock_leapt(now);
  for (const auto& [seq, row] : harness_.log()) shard.apply({seq, row.at, *decode_entry(row.bytes)}, now);
  shard.ready(now);
  EXPECT_FALSE(shard.has_due(now));
  shard.bring_up_due(now + seconds{10});
  EXPECT_TRUE(shard.has_due(now + seconds{10}));
}

TEST_F(ShardSetBack, what_is_left_of_a_dead_payloads_job_is_due) {
  Harness dying_harness{dying()};
  dying_harness.advance(hours{48});
  dying_harness.push({.id = "1", .payload = "a"});
  dying_harness.push({.id = "1", .payload = "b"});
  dying_harness.fail_all();
  EXPECT_EQ(dying_harness.take_dead().size(), 1U);
  dying_harness.advance(-hours{48});
  dying_harness.shard().clock_leapt(dying_harness.now());
  dying_harness.commit();
  EXPECT_EQ(dying_harness.counts().due, 1U);
  dying_harness.rebuild();
  EXPECT_EQ(dying_harness.run_all_ids(), Strings{"1"});
}

TEST_F(ShardSetBack, what_was_asked_for_now_is_due) {
  for (const auto* id : {"1", "2", "3"}) harness_.push({.id = id, .run_at = harness_.now() + hours{10}});
  harness_.control(EntryType::run_now, "1");
  harness_.push({.id = "2", .replaces_time = true});
  harness_.push({.id = "3"}, EntryType::revive);
  set_back();
  EXPECT_EQ(harness_.counts().due, 3U);
  harness_.rebuild();
  EXPECT_EQ(harness_.run_all_ids(), (Strings{"1", "2", "3"}));
}

TEST_F(ShardSetBack, what_was_given_a_time_keeps_it) {
  harness_.push({.id = "1", .run_at = harness_.now() + hours{10}});
  harness_.control(EntryType::run_now, "1", harness_.now() + hours{1});
  const auto at = harness_.job("1").run_at;
  set_back();
  EXPECT_EQ(harness_.job("1").run_at, at);
}

TEST_F(ShardSetBack, a_response_is_handled) {
  harness_.push({.id = "1"});
  wait(*harness_.take());
  respond();
  set_back();
  EXPECT_TRUE(harness_.has_due());
  harness_.rebuild();
  EXPECT_TRUE(harness_.has_due());
}

TEST_F(ShardSetBack, a_response_is_waited_for_no_longer_than_was_said) {
  harness_.push({.id = "1"});
  wait(*harness_.take());
  set_back();
  EXPECT_EQ(harness_.shard().next_due(harness_.now()), harness_.now() + seconds{60});
  EXPECT_EQ(harness_.job("1").waits_until, harness_.now() + seconds{60});
  harness_.advance(seconds{5});
  harness_.rebuild();
  EXPECT_EQ(harness_.job("1").waits_until, harness_.now() + seconds{55});
}

TEST_F(ShardSetBack, on_response_is_tried_again_after_its_delay) {
  harness_.push({.id = "1"});
  wait(*harness_.take());
  respond();
  harness_.end(*harness_.take(), Outcome::snoozed_for(seconds{10}));
  set_back();
  EXPECT_FALSE(harness_.has_due());
  harness_.advance(seconds{10});
  EXPECT_TRUE(harness_.has_due());
}

}  // namespace shard_ahead_test
}  // namespace ordo::domain
