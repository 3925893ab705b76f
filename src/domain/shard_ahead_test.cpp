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

}  // namespace shard_ahead_test
}  // namespace ordo::domain
