// The shard's rules where there is very much, very late, or something missing.
#include <ctime>

#include <gtest/gtest.h>

#include "base/time_text.h"
#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_bounds_test {

using std::chrono::hours;
using std::chrono::seconds;
using testing::Harness;
using testing::Strings;

QueueOptions bare_queue() {
  QueueOptions options;
  options.name = "orders";
  return options;
}

TEST(ShardMerge, OptionsOfAPayloadThatTurnedOutADuplicateOutliveItsEntry) {
  Harness shard(bare_queue(), Time{hours{24 * 20000}}, 0);
  shard.push({.id = "1", .payload = "a"});
  shard.push({.id = "1", .payload = "a", .priority = 7});
  const auto run = shard.take();
  ASSERT_TRUE(run);
  EXPECT_EQ(run->jobs.at(0).payloads.size(), 1U);
  shard.commit();
  EXPECT_EQ(shard.log_size(), 1U);
  shard.crash();
  EXPECT_EQ(shard.job("1").priority, 7);
}

TEST(ShardMerge, APayloadThatTheStoreHasNoMoreDiesAndTheRestGoesOn) {
  Harness shard(bare_queue(), Time{hours{24 * 20000}}, 0);
  shard.push({.id = "whole", .payload = "a"});
  shard.push({.id = "part", .payload = "b"});
  shard.push({.id = "part", .payload = "c"});
  shard.lose(1);
  shard.lose(2);
  EXPECT_FALSE(shard.take());
  EXPECT_FALSE(shard.take());
  shard.commit();
  const auto dead = shard.take_dead();
  ASSERT_EQ(dead.size(), 2U);
  EXPECT_EQ(dead[0].id, "whole");
  EXPECT_EQ(dead[0].error, "its payload is gone from the store (entry 1)");
  EXPECT_EQ(shard.run_all_ids(), (Strings{"part"}));
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_EQ(shard.states_size(), 0U);
}

TEST(ShardMerge, WhatIsLeftOfAJobThatLostItsFirstPayloadKeepsItsTime) {
  Harness shard(bare_queue(), Time{hours{24 * 20000}}, 0);
  const auto came = shard.now();
  shard.push({.id = "1", .payload = "a"});
  shard.advance(seconds{10});
  shard.push({.id = "1", .payload = "b"});
  shard.lose(1);
  EXPECT_FALSE(shard.take());
  shard.commit();
  EXPECT_EQ(shard.job("1").run_at, came);
  shard.crash();
  EXPECT_EQ(shard.job("1").run_at, came);
}

TEST(ShardOrder, TheOldestIsNotTheFirstWherePrioritiesDiffer) {
  for (const auto order : {DueOrder::priority, DueOrder::time}) {
    auto options = bare_queue();
    options.order = order;
    Harness shard(options);
    const auto now = shard.now();
    shard.push({.id = "old", .run_at = now - seconds{50}});
    shard.push({.id = "urgent", .run_at = now - seconds{40}, .priority = 1});
    EXPECT_EQ(shard.due_since(), now - seconds{50});
    EXPECT_EQ(shard.counts().oldest, now - seconds{50});
    EXPECT_EQ(shard.take()->jobs.at(0).id, "urgent");
    EXPECT_EQ(shard.due_since(), now - seconds{50});
    shard.push({.id = "old", .priority = 0});
    EXPECT_EQ(shard.take()->jobs.at(0).id, "old");
    EXPECT_FALSE(shard.due_since());
  }
}

TEST(ShardDeath, ItIsToldOnceARunAndOnceItIsDurable) {
  auto options = bare_queue();
  options.max_retries = 0;
  options.batch_size = 3;
  Harness shard(options);
  for (const auto* id : {"1", "2", "3"}) shard.push({.id = id});
  for (const auto* id : {"a", "b"}) shard.push({.id = id, .kind = "other"});
  const auto first = shard.take(), second = shard.take();
  shard.end(*first, Outcome::fail("no"));
  EXPECT_TRUE(shard.shard().deaths().empty());
  Changes changes = shard.shard().collect();
  shard.end(*second, Outcome::fail("no"));
  shard.write(changes);
  shard.shard().committed(shard.now());
  auto deaths = shard.shard().deaths();
  ASSERT_EQ(deaths.size(), 1U);
  EXPECT_EQ(deaths[0].size(), first->jobs.size());
  shard.commit();
  deaths = shard.shard().deaths();
  ASSERT_EQ(deaths.size(), 1U);
  for (const auto& job : deaths[0]) EXPECT_EQ(job.kind, second->kind);
  EXPECT_TRUE(shard.shard().deaths().empty());
}

TEST(ShardTime, WhatLiesBeyondAllTimeIsNever) {
  auto options = bare_queue();
  options.retry = {.strategy = RetryPolicy::Strategy::exponential,
                   .delay = Duration::max(),
                   .factor = 1e300,
                   .cap = Duration::max()};
  options.timeout = Duration::max();
  Harness shard(options);
  shard.push({.id = "snoozed", .run_at = Time::min()});
  auto run = shard.take();
  EXPECT_EQ(run->timeout, Duration::max());
  shard.end(*run, Outcome::snoozed_for(Duration::max()));
  shard.commit();
  EXPECT_EQ(shard.job("snoozed").run_at, written_time(Time::max()));
  shard.push({.id = "failed", .run_at = Time::min()});
  run = shard.take();
  shard.end(*run, Outcome::fail("no"));
  shard.commit();
  EXPECT_EQ(shard.job("failed").run_at, kLastTime);
  shard.push({.id = "later", .run_at = Time::max()});
  EXPECT_FALSE(shard.take());
  shard.rebuild();
  EXPECT_FALSE(shard.take());
}

// Ten times as many take about ten times as long, and not a hundred times. Time of the processor, whatever
// else goes on.
TEST(ShardMerge, ManyPayloadsOfOneJobTakeNoMoreTimeEach) {
  const auto cost = [](int payloads) {
    auto options = bare_queue();
    options.max_retries = 0;
    const auto start = std::clock();
    Harness shard(options);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < payloads; ++i) {
        shard.push({.id = "1",
                    .payload = "payload " + std::to_string(i),
                    .score = static_cast<double>((payloads - i) * (2 - round))});
      }
    }
    const auto run = shard.take();
    for (int i = 0; i < payloads; ++i) shard.push({.id = "1", .payload = "more " + std::to_string(i)});
    shard.end(*run, Outcome::fail("no"));
    shard.commit();
    EXPECT_EQ(shard.take_dead().size(), 1U);
    shard.crash();
    const auto last = shard.take_marked({});
    EXPECT_EQ(last->jobs.at(0).payloads.size(), static_cast<std::size_t>(2 * payloads - 1));
    shard.end(*last, Outcome::done());
    shard.commit();
    EXPECT_EQ(shard.log_size(), 0U);
    return static_cast<double>(std::clock() - start);
  };
  const auto few = cost(3'000);
  EXPECT_LT(cost(30'000), 40 * few);
}

// Cancels and crashes of many jobs at once.
TEST(ShardControl, ManyJobsAreCancelledInNoMoreTimeEach) {
  const auto cost = [](int jobs) {
    const auto start = std::clock();
    auto options = bare_queue();
    options.batch_size = 1000;
    Harness shard(options);
    for (int i = 0; i < jobs; ++i) shard.push({.id = std::to_string(i)});
    while (const auto run = shard.take()) {
      shard.end(*run, Outcome::fail("no"));
      if (shard.counts().running == 0 && shard.counts().due == 0) break;
    }
    for (int i = 0; i < jobs; ++i) shard.control(EntryType::cancel, std::to_string(i));
    shard.commit();
    EXPECT_EQ(shard.log_size(), 0U);
    EXPECT_EQ(shard.shard().jobs(), 0U);
    return static_cast<double>(std::clock() - start);
  };
  const auto few = cost(3'000);
  EXPECT_LT(cost(30'000), 40 * few);
}

}  // namespace shard_bounds_test
}  // namespace ordo::domain
