// What a node keeps of the payloads of jobs that wait, and what it leaves to the store.
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace payload_budget_test {

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

/// Jobs that have expired, each with so many payloads, of which none is in memory.
std::unique_ptr<Harness> expired(const std::vector<int>& payloads, std::uint64_t budget) {
  auto shard = std::make_unique<Harness>(bare(), kStart, budget);
  for (std::size_t job = 0; job < payloads.size(); ++job) {
    for (int i = 0; i < payloads[job]; ++i)
      shard->push({.id = std::to_string(job),
                   .payload = kBytes + std::to_string(i),
                   .expires = kStart + seconds{10}});
  }
  shard->advance(seconds{10});
  shard->shard().expire(shard->now());
  return shard;
}

TEST(PayloadBudget, WhatHasExpiredAndIsNotWholeKeepsNoBytesBeyondIt) {
  const auto shard = expired(std::vector<int>(10, 2), 0);
  const auto bytes = kBytes + "0";
  std::vector<std::pair<Seq, std::string_view>> halves;
  for (const auto seq : shard->shard().wanted()) {
    if (seq % 2 == 1) halves.emplace_back(seq, bytes);
  }
  ASSERT_EQ(halves.size(), 10U);
  shard->shard().provide_expired(halves, false, shard->now());
  EXPECT_GT(shard->budget_used(), 0U) << "that of the first one, or there would be no end of it";
  EXPECT_LT(shard->budget_used(), 2'000U);
  shard->expire();
  shard->commit();
  EXPECT_EQ(shard->take_dead().size(), 20U);
  EXPECT_EQ(shard->budget_used(), 0U);
}

TEST(PayloadBudget, WhatHasExpiredIsFetchedAsAWhole) {
  EXPECT_EQ(expired({200, 50, 100, 1}, 0)->shard().wanted().size(), 250U);
  EXPECT_EQ(expired({300, 1}, 0)->shard().wanted().size(), 256U) << "there is no other way";
}

}  // namespace payload_budget_test
}  // namespace ordo::domain
