// Which entries a shard wants out of the way of others (stores.md §1.6).
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_set_aside_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Harness;
using Seqs = std::vector<Seq>;

QueueOptions retried_after(Duration delay) {
  QueueOptions options;
  options.name = "orders";
  options.retry.strategy = RetryPolicy::Strategy::fixed;
  options.retry.delay = delay;
  return options;
}

TEST(ShardSetAside, JobsThatAreScheduledForLaterThanAMinute) {
  Harness shard(retried_after(hours{1}));
  shard.push({.id = "soon", .payload = "a", .run_at = shard.now() + seconds{60}});
  shard.push({.id = "later", .payload = "a", .run_at = shard.now() + seconds{61}});
  shard.push({.id = "now", .payload = "a"});
  shard.commit();
  EXPECT_EQ(shard.set_aside, Seqs{2});
  shard.commit();
  EXPECT_EQ(shard.set_aside, Seqs{}) << "once";
}

TEST(ShardSetAside, JobsThatAreRetriedLaterThanInAMinuteInTheCommitOfTheirState) {
  Harness shard(retried_after(minutes{5}));
  shard.push({.id = "1", .payload = "a", .score = 1.0});
  shard.push({.id = "1", .payload = "b", .score = 2.0});
  shard.fail_all();
  EXPECT_EQ(shard.set_aside, (Seqs{1, 2}));
  EXPECT_EQ(shard.states_size(), 1U);
  shard.advance(minutes{6});
  shard.fail_all();
  EXPECT_EQ(shard.set_aside, Seqs{}) << "they are";

  Harness soon(retried_after(seconds{30}));
  soon.push({.id = "1", .payload = "a"});
  soon.fail_all();
  EXPECT_EQ(soon.set_aside, Seqs{});
}

TEST(ShardSetAside, WhatIsMergedIntoOne) {
  Harness shard(retried_after(hours{1}));
  shard.push({.id = "1", .payload = "a", .score = 1.0, .run_at = shard.now() + hours{1}});
  shard.commit();
  shard.push({.id = "1", .payload = "b", .score = 2.0});
  shard.push({.id = "1", .payload = "a", .score = 3.0});
  shard.commit();
  EXPECT_EQ(shard.set_aside, Seqs{2}) << "the third is erased";
}

TEST(ShardSetAside, WhatWasPushedWhileItRan) {
  Harness shard(retried_after(hours{1}));
  shard.push({.id = "1", .payload = "a", .score = 1.0});
  const auto run = shard.take();
  shard.push({.id = "1", .payload = "b", .score = 2.0});
  shard.commit();
  EXPECT_EQ(shard.set_aside, Seqs{});
  shard.end(*run, Outcome::fail("no"));
  shard.commit();
  EXPECT_EQ(shard.set_aside, (Seqs{1, 2}));
}

TEST(ShardSetAside, NotWhatOnlyStandsInLine) {
  Harness shard(retried_after(hours{1}));
  shard.push({.id = "1", .payload = "a", .key = "k"});
  const auto run = shard.take();
  shard.push({.id = "2", .payload = "a", .key = "k"});
  shard.advance(hours{1});
  shard.commit();
  EXPECT_EQ(shard.set_aside, Seqs{});
}

TEST(ShardSetAside, NotLargeOnesForTheyHaveNoNeighbours) {
  Harness shard(retried_after(hours{1}));
  const auto at = shard.now() + hours{1};
  shard.push({.id = "1", .payload = std::string(10'000, 'x'), .score = 1.0, .run_at = at});
  shard.push({.id = "1", .payload = "b", .score = 2.0});
  shard.push({.id = "1", .payload = std::string(10'000, 'y'), .score = 3.0});
  shard.commit();
  EXPECT_EQ(shard.set_aside, Seqs{2});
}

TEST(ShardSetAside, NotAgainAfterATakeover) {
  Harness shard(retried_after(hours{1}));
  const auto at = shard.now() + hours{1};
  shard.push({.id = "1", .payload = "a", .score = 1.0, .run_at = at});
  shard.push({.id = "1", .payload = "b", .score = 2.0});
  shard.commit();
  shard.push({.id = "2", .payload = "a", .run_at = at});
  shard.rebuild();
  shard.commit();
  EXPECT_EQ(shard.set_aside, Seqs{3});
}

TEST(ShardSetAside, ManyTakeSeveralCommits) {
  Harness shard(retried_after(hours{1}));
  shard.max_set_aside = 2;
  for (const auto* id : {"1", "2", "3", "4", "5"})
    shard.push({.id = id, .payload = "a", .run_at = shard.now() + hours{1}});
  EXPECT_EQ(shard.shard().to_set_aside(), 5U);
  EXPECT_FALSE(shard.shard().has_changes()) << "it has time";
  for (const auto& expected : {Seqs{4, 5}, Seqs{2, 3}, Seqs{1}, Seqs{}}) {
    shard.commit();
    EXPECT_EQ(shard.set_aside, expected);
  }
}

TEST(ShardSetAside, NoneWhereTheStoreHasNoUseForIt) {
  Harness shard(retried_after(hours{1}));
  shard.shard().sets_aside(false);
  shard.push({.id = "1", .payload = "a", .run_at = shard.now() + hours{1}});
  shard.push({.id = "1", .payload = "b"});
  EXPECT_EQ(shard.shard().to_set_aside(), 0U);
}

}  // namespace shard_set_aside_test
}  // namespace ordo::domain
