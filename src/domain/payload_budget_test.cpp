// What a node keeps of the payloads of jobs that wait, and what it leaves to the store.
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::Harness;

constexpr Time kStart{hours{24 * 20000}};

QueueOptions bare() {
  QueueOptions options;
  options.name = "orders";
  return options;
}

const std::string kBytes(1000, 'x');

TEST(PayloadBudget, WhatIsForLaterLeavesHalfOfTheRoomToWhatIsDue) {
  Harness shard(bare(), kStart, 10'000);
  for (int i = 0; i < 20; ++i) {
    shard.push({.id = "later" + std::to_string(i), .payload = kBytes, .run_at = kStart + hours{i + 1}});
  }
  EXPECT_LE(shard.budget_used(), 5'000U);
  EXPECT_GT(shard.budget_used(), 3'000U);
  shard.push({.id = "now", .payload = kBytes});
  domain::Run run;
  ASSERT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::ready);
  EXPECT_TRUE(run.missing.empty());
  EXPECT_EQ(run.jobs.at(0).id, "now");
}

TEST(PayloadBudget, AJobThatIsPutBackLeavesItsBytesToTheStoreWhenThereIsNoRoom) {
  Harness shard(bare(), kStart, 3'000);
  for (const auto* id : {"1", "2", "3", "4"}) shard.push({.id = id, .payload = kBytes});
  for (int i = 0; i < 4; ++i) {
    const auto run = shard.take();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->jobs.at(0).payloads.at(0).bytes, kBytes);
    shard.end(*run, Outcome::fail("again"));
    shard.commit();
    EXPECT_LE(shard.budget_used(), 3'000U);
  }
  shard.advance(hours{24});
  std::set<std::string> ran;
  while (const auto run = shard.take()) {  // and they are read again
    EXPECT_EQ(run->jobs.at(0).payloads.at(0).bytes, kBytes);
    ran.insert(run->jobs.at(0).id);
    shard.end(*run, Outcome::done());
  }
  EXPECT_EQ(ran.size(), 4U);
}

}  // namespace
}  // namespace ordo::domain
