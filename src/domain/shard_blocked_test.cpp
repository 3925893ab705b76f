// What an owner tells of jobs that limits refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_blocked_test {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using testing::plain;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr Amount kOne = Decimal::kOne;

QueueOptions limited(Decimal limit) {
  auto options = plain();
  options.limit = limit;
  return options;
}

/// How many wait for the limit of that name and partition value.
std::uint64_t waiting(Harness& shard, const std::string& name, const std::string& partition = {}) {
  for (const auto& use : shard.counts().limits) {
    if (use.name == name && use.partition == partition) return use.waiting;
  }
  return 0;
}

TEST(ShardBlocked, jobs_of_equal_claims_are_told_once_with_what_refuses_them) {
  auto options = limited(2);
  options.partition = "/region";
  options.partition_limit = 1;
  Harness shard(options);
  EXPECT_THAT(shard.counts().blocked, IsEmpty());
  shard.push({.id = "1", .payload = R"({"region":"east"})"});
  shard.push({.id = "2", .payload = R"({"region":"east"})"});
  shard.push({.id = "3", .payload = R"({"region":"east"})"});
  shard.start_all();
  EXPECT_THAT(shard.counts().blocked, ElementsAre(BlockedJobs{
                                          .partition = "east",
                                          .weight = kOne,
                                          .by = options.name,
                                          .by_partition = "east",
                                      }));
  EXPECT_EQ(waiting(shard, options.name, "east"), 2U);
  shard.finish("1");
  shard.start_all();
  shard.finish("2");
  shard.start_all();
  EXPECT_THAT(shard.counts().blocked, IsEmpty());
}

TEST(ShardBlocked, some_of_the_jobs_that_count_in_a_limit_are_named_with_it) {
  auto options = limited(4);
  options.rate = RateLimit{.limit = 10};
  Harness shard(options);
  for (const char* id : {"1", "2", "3", "4", "5"}) shard.push({.id = id});
  shard.start_all();
  const auto holders = [&](bool is_rate) {
    std::vector<std::string> ids;
    for (const auto& use : shard.counts().limits) {
      if (use.is_rate == is_rate) ids.insert(ids.end(), use.held_by.begin(), use.held_by.end());
    }
    return ids;
  };
  const std::vector<std::string> running{"1", "2", "3", "4"};
  EXPECT_THAT(holders(/*is_rate=*/false), AllOf(SizeIs(3), IsSubsetOf(running)));
  EXPECT_THAT(holders(/*is_rate=*/true), IsEmpty()) << "nobody gives a start back";
  shard.finish("2");
  EXPECT_THAT(holders(/*is_rate=*/false), UnorderedElementsAre("1", "3", "4"));
}

TEST(ShardBlocked, what_there_is_no_room_for_waits_for_the_limit_that_has_none) {
  auto options = limited(10);
  options.partition = "/region";
  options.shares = {{"east", 100}};
  Harness shard(options);
  shard.push({.id = "1", .payload = R"({"region":"south"})"});
  shard.start_all();
  EXPECT_THAT(shard.counts().blocked, ElementsAre(BlockedJobs{
                                          .partition = "south",
                                          .weight = kOne,
                                          .by = options.name,
                                          .by_partition = std::string(kUnlisted),
                                      }));
  EXPECT_EQ(waiting(shard, options.name, std::string(kUnlisted)), 1U);
}

TEST(ShardBlocked, room_that_is_kept_for_another_is_none) {
  auto options = limited(4);
  options.reserve_after = seconds{0};
  Harness shard(options);
  for (const auto* id : {"1", "2", "3", "4"}) shard.push({.id = id});
  shard.start_all();
  shard.push({.id = "heavy", .weight = 3});
  shard.push({.id = "5"});
  shard.push({.id = "6"});
  shard.finish("1");
  shard.start_all();
  shard.advance(seconds{1});
  shard.finish("2");
  EXPECT_THAT(shard.start_all(), IsEmpty());
  EXPECT_THAT(shard.counts().blocked, ElementsAre(BlockedJobs{.weight = kOne, .by = options.name},
                                                  BlockedJobs{.weight = 3 * kOne, .by = options.name}));
}

TEST(ShardBlocked, a_penalty_is_listed_until_it_is_over_whether_anybody_waits_or_not) {
  Harness shard(limited(10));
  shard.push({.id = "1"});
  auto outcome = Outcome::done();
  outcome.penalty = minutes{1};
  shard.end(*shard.take(), outcome);
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& use : shard.counts().limits) all.push_back(use.name);
    return all;
  };
  EXPECT_THAT(names(), ElementsAre(penalty_name(plain().name)));
  shard.advance(minutes{1});
  EXPECT_THAT(names(), IsEmpty());
}

TEST(ShardBlocked, what_was_told_before_is_not_looked_for) {
  Harness shard(limited(1));
  shard.push({.id = "1"});
  shard.push({.id = "2"});
  const auto before = shard.counts();
  shard.start_all();
  const auto after = shard.shard().counts(shard.now(), &before);
  EXPECT_EQ(after.limits, before.limits);
  EXPECT_EQ(after.blocked, before.blocked);
  EXPECT_EQ(after.running, 1U);
  EXPECT_NE(shard.counts().limits, before.limits);
}

}  // namespace shard_blocked_test
}  // namespace ordo::domain
