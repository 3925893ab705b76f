// Waiting jobs that somebody moves to the dead set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_kill_test {

using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;
using ::testing::SizeIs;
using testing::Strings;

QueueOptions kill_options() {
  auto options = plain();
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = seconds{5}};
  return options;
}

Strings payloads_of(const std::vector<DeadPayload>& dead) {
  Strings all;
  for (const auto& each : dead) all.push_back(each.payload);
  return all;
}

TEST(ShardKill, AllPayloadsOfTheJobDieAtOnce) {
  Harness shard(kill_options());
  shard.push({.id = "a", .payload = "1", .key = "k"});
  shard.push({.id = "a", .payload = "2", .key = "k"});
  shard.push({.id = "b", .payload = "3", .key = "k"});
  shard.control(EntryType::kill, "a");
  shard.commit();
  const auto dead = shard.take_dead();
  ASSERT_THAT(payloads_of(dead), ElementsAre("1", "2"));
  EXPECT_EQ(dead[0].error_kind, FailureKind::cancelled);
  EXPECT_EQ(dead[0].error, "it was killed while it waited");
  EXPECT_EQ(dead[0].key, "k");
  EXPECT_EQ(shard.run_all_ids(), Strings{"b"});
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_EQ(shard.states_size(), 0U);
}

TEST(ShardKill, OneInItsBackOffGivesItsKeyOn) {
  Harness shard(kill_options());
  shard.push({.id = "a", .key = "k"});
  shard.push({.id = "b", .key = "k"});
  shard.end(*shard.take(), Outcome::fail("no"));
  shard.commit();
  EXPECT_FALSE(shard.take());
  shard.control(EntryType::kill, "a");
  shard.commit();
  const auto dead = shard.take_dead();
  ASSERT_THAT(dead, SizeIs(1));
  EXPECT_EQ(dead[0].retry_count, 0);
  EXPECT_EQ(shard.states_size(), 0U);
  EXPECT_EQ(shard.run_all_ids(), Strings{"b"});
}

TEST(ShardKill, WhatRunsOrAwaitsAResponseGoesOn) {
  Harness shard(kill_options());
  shard.push({.id = "a", .payload = "1"});
  const auto run = *shard.take();
  shard.push({.id = "a", .payload = "2"});
  shard.control(EntryType::kill, "a");
  EXPECT_THAT(shard.shard().stops(), IsEmpty());
  shard.end(run, Outcome::done());
  shard.commit();
  EXPECT_THAT(shard.take_dead(), IsEmpty());
  EXPECT_EQ(shard.counts().processed, 1U);
  EXPECT_EQ(shard.run_all_ids(), Strings{"a"}) << "the one that waits beside it, too";
  EXPECT_EQ(shard.log_size(), 0U);
}

// A rebuild finds one job there, whose first payload nobody has asked to kill.
TEST(ShardKill, BesideOneThatRunsNothingDies) {
  Harness shard(kill_options(), Time{std::chrono::hours{24 * 20000}}, 0);
  shard.push({.id = "a", .payload = "1"});
  const auto run = *shard.take();
  shard.push({.id = "a", .payload = "2"});
  shard.control(EntryType::kill, "a");
  shard.commit();
  shard.end(run, Outcome::fail("no"));
  shard.commit();
  shard.crash();
  shard.expire();
  shard.commit();
  EXPECT_THAT(shard.take_dead(), IsEmpty());
  EXPECT_EQ(shard.counts().retrying, 1U);
}

// Each key has its own job; the control is one.
TEST(ShardKill, WithoutAKeyItIsForAllOrForNone) {
  Harness shard(kill_options(), Time{std::chrono::hours{24 * 20000}}, 0);
  shard.push({.id = "a", .payload = "1"});
  const auto run = *shard.take();
  shard.push({.id = "a", .payload = "2", .key = "k"});
  shard.control(EntryType::kill, "a");
  shard.end(run, Outcome::fail("no"));
  shard.commit();
  shard.control(EntryType::kill, "a");
  shard.crash();
  shard.expire();
  shard.commit();
  EXPECT_THAT(payloads_of(shard.take_dead()), ElementsAre("1", "2"));
  EXPECT_EQ(shard.log_size(), 0U);
}

// The next owner knows how often it has failed.
TEST(ShardKill, WhatIsSaidOfItIsWrittenWhileItsPayloadsAreRead) {
  Harness shard(kill_options(), Time{std::chrono::hours{24 * 20000}}, 0);
  shard.push({.id = "a", .payload = "1"});
  shard.end(*shard.take(), Outcome::fail("no"));
  shard.control(EntryType::kill, "a");
  shard.commit();
  EXPECT_EQ(shard.states_size(), 1U);
  shard.crash();
  shard.expire();
  shard.commit();
  const auto dead = shard.take_dead();
  ASSERT_THAT(dead, SizeIs(1));
  EXPECT_EQ(dead[0].retry_count, 0);
  EXPECT_EQ(shard.states_size(), 0U);
  EXPECT_EQ(shard.log_size(), 0U);
}

// Nothing of it is in memory: until it is read, another job of its name may come.
TEST(ShardKill, ALaterPushIsAnotherJobAlsoWhileItsPayloadsAreRead) {
  Harness shard(kill_options(), Time{std::chrono::hours{24 * 20000}}, 0);
  shard.push({.id = "a", .payload = "1"});
  shard.push({.id = "a", .payload = "2", .run_at = shard.now() + seconds{9}});
  shard.control(EntryType::kill, "a");
  shard.push({.id = "a", .payload = "1"});
  EXPECT_EQ(shard.counts().due, 2U) << "counts are never too low";
  shard.commit();
  EXPECT_THAT(shard.take_dead(), IsEmpty());
  shard.crash();
  EXPECT_EQ(shard.counts().due, 2U) << "the next owner reads the same";
  shard.expire();
  EXPECT_EQ(shard.counts().due, 1U);
  shard.commit();
  EXPECT_THAT(payloads_of(shard.take_dead()), ElementsAre("1", "2"));
  EXPECT_EQ(shard.log_size(), 1U) << "the later push alone";
  shard.crash();
  EXPECT_EQ(shard.run_all_ids(), Strings{"a"});
  EXPECT_THAT(shard.take_dead(), IsEmpty());
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardKill, NobodyIsKilledTwiceOrInVain) {
  Harness shard(kill_options());
  shard.control(EntryType::kill, "a");
  shard.push({.id = "a", .payload = "1"});
  shard.control(EntryType::kill, "a");
  shard.control(EntryType::kill, "a");
  shard.commit();
  EXPECT_THAT(payloads_of(shard.take_dead()), ElementsAre("1"));
  EXPECT_EQ(shard.log_size(), 0U);
}

}  // namespace shard_kill_test
}  // namespace ordo::domain
