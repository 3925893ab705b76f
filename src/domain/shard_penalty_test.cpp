// A run says that what it calls has had enough (rules §9.15).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_penalty_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;

class ShardPenalty : public ::testing::Test {
 protected:
  static QueueOptions limited() {
    auto options = plain();
    options.limit = 10;
    options.partition = "/region";
    return options;
  }

  static Outcome with(Outcome outcome, Duration penalty) {
    outcome.penalty = penalty;
    return outcome;
  }

  static void push(Harness& shard, const std::string& id, const std::string& region) {
    shard.push({.id = id, .payload = R"({"region":")" + region + "\"}"});
  }
};

TEST_F(ShardPenalty, ItClosesThePartitionOfTheJobUntilItIsOver) {
  Harness shard(limited());
  push(shard, "1", "east");
  const auto run = *shard.take();
  push(shard, "2", "east");
  push(shard, "3", "west");
  shard.end(run, with(Outcome::done(), 30s));
  shard.commit();
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
  EXPECT_EQ(shard.counts().blocked_by_rate, 1U);
  EXPECT_EQ(shard.shard().next_due(shard.now()), shard.now() + 30s);
  shard.advance(29s);
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.advance(1s);
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
}

TEST_F(ShardPenalty, WithoutAPartitionItClosesTheQueueButForCriticalJobs) {
  auto options = plain();
  options.limit = 10;
  Harness shard(options);
  shard.push({.id = "1"});
  const auto run = *shard.take();
  shard.push({.id = "2"});
  shard.push({.id = "3", .critical = true});
  shard.end(run, with(Outcome::fail("429"), 60s));
  shard.commit();
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
  shard.advance(60s);
  EXPECT_THAT(shard.start_all(), ::testing::UnorderedElementsAre("1", "2"));
}

TEST_F(ShardPenalty, TheNextOwnerKeepsItAndALongOneIsCut) {
  Harness shard(limited());
  push(shard, "1", "east");
  const auto run = *shard.take();
  push(shard, "2", "east");
  shard.end(run, with(Outcome::done(), 1000h));
  shard.commit();
  shard.rebuild();
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.advance(24h - 1s);
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.advance(1s);
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
}

TEST_F(ShardPenalty, OwnersWithoutAJobOfTheQueueHandItOn) {
  Harness shard(limited());
  push(shard, "1", "east");
  shard.end(*shard.take(), with(Outcome::done(), 3600s));
  shard.commit();
  shard.rebuild();
  shard.commit();
  shard.rebuild();
  push(shard, "2", "east");
  EXPECT_THAT(shard.start_all(), IsEmpty());
}

TEST_F(ShardPenalty, AClockThatWasAheadClosesNothingForLong) {
  Harness shard(limited());
  push(shard, "1", "east");
  const auto run = *shard.take();
  push(shard, "2", "east");
  shard.advance(24h * 365);
  shard.end(run, with(Outcome::done(), 30s));
  shard.commit();
  shard.advance(-24h * 365);
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.rebuild();
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.advance(30s);
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
}

TEST_F(ShardPenalty, OfTwoTheLongerCounts) {
  Harness shard(limited());
  push(shard, "1", "east");
  push(shard, "2", "east");
  const auto one = *shard.take(), two = *shard.take();
  push(shard, "3", "east");
  shard.end(one, with(Outcome::done(), 60s));
  shard.end(two, with(Outcome::done(), 10s));
  shard.commit();
  shard.advance(59s);
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.advance(1s);
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
}

TEST_F(ShardPenalty, ItComesBackFromANodeThatWasLentTheRun) {
  LentEnd end{.name = {{1, 2}, 3, 4}, .ends = {{Outcome::done(), 0}, {with(Outcome::fail("429"), 30s), 0.5}}};
  const auto read = *decode_lent_end(encode(end));
  ASSERT_EQ(read.ends.size(), 2U);
  EXPECT_EQ(read.ends[0].outcome.penalty, 0s);
  EXPECT_EQ(read.ends[1].outcome.penalty, 30s);
}

}  // namespace shard_penalty_test
}  // namespace ordo::domain
