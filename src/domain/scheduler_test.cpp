#include "domain/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include <ordo/error.hpp>

namespace ordo::domain {
namespace {

using ::testing::Property;
using ::testing::Throws;

StartableShard shard_of_a(std::uint32_t shard, int lag_s) {
  return {"a", 0, shard, std::chrono::seconds{lag_s}};
}
StartableShard shard_of_b(std::uint32_t shard, int lag_s) {
  return {"b", 1, shard, std::chrono::seconds{lag_s}};
}

/// "a1" for the chosen one, which is served; "-" for none.
std::string chosen(Scheduler& scheduler, const std::vector<StartableShard>& shards) {
  const auto index = scheduler.choose(shards);
  if (index) scheduler.served(shards, *index);
  return index ? std::string(shards.at(*index).queue) + std::to_string(shards[*index].shard) : "-";
}

TEST(Scheduler, nothing_to_choose_from) {
  for (const auto kind : {SchedulerKind::lag, SchedulerKind::sequential, SchedulerKind::strict}) {
    Scheduler scheduler({.scheduler = kind});
    EXPECT_EQ(chosen(scheduler, {}), "-");
  }
}

TEST(Scheduler, lag_serves_the_oldest) {
  Scheduler scheduler(NodeOptions{});
  EXPECT_EQ(chosen(scheduler, {shard_of_a(0, 1), shard_of_b(0, 5), shard_of_b(1, 3)}), "b0");
  EXPECT_EQ(chosen(scheduler, {shard_of_b(1, 3), shard_of_b(0, 3), shard_of_a(2, 3)}),
            "a2");  // listed order decides
}

TEST(Scheduler, strict_serves_the_first_queue_and_in_it_the_oldest) {
  Scheduler scheduler({.scheduler = SchedulerKind::strict});
  EXPECT_EQ(chosen(scheduler, {shard_of_b(0, 900), shard_of_a(0, 1), shard_of_a(1, 2)}), "a1");
  EXPECT_EQ(chosen(scheduler, {shard_of_b(0, 900), shard_of_b(3, 901)}), "b3");  // all of a is blocked
}

TEST(Scheduler, sequential_takes_turns) {
  Scheduler scheduler({.scheduler = SchedulerKind::sequential});
  std::vector<StartableShard> shards = {shard_of_b(1, 9), shard_of_a(0, 0), shard_of_b(0, 3),
                                        shard_of_a(2, 1)};
  std::string served;
  for (int turn = 0; turn < 6; ++turn) {
    served += chosen(scheduler, shards) + " ";
    std::ranges::rotate(shards, shards.begin() + 1);  // the order of the list has no effect
  }
  EXPECT_EQ(served, "a0 a2 b0 b1 a0 a2 ");
}

TEST(Scheduler, sequential_remembers_its_turn_while_shards_come_and_go) {
  Scheduler scheduler({.scheduler = SchedulerKind::sequential});
  EXPECT_EQ(chosen(scheduler, {shard_of_a(1, 0), shard_of_b(0, 0)}), "a1");
  EXPECT_EQ(chosen(scheduler, {shard_of_a(0, 0), shard_of_a(2, 0), shard_of_b(0, 0)}), "a2");
  EXPECT_EQ(chosen(scheduler, {}), "-");
  EXPECT_EQ(chosen(scheduler, {shard_of_a(0, 0), shard_of_a(2, 0)}), "a0");
  EXPECT_EQ(chosen(scheduler, {shard_of_a(0, 0)}), "a0");
}

TEST(Scheduler, who_was_chosen_and_not_served_has_had_no_turn) {
  for (const auto kind : {SchedulerKind::sequential, SchedulerKind::weighted}) {
    Scheduler scheduler({.scheduler = kind});
    const std::vector<StartableShard> both = {shard_of_a(0, 1), shard_of_b(0, 1)};
    EXPECT_EQ(chosen(scheduler, both), "a0");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(scheduler.choose(both), 1U);
    EXPECT_EQ(chosen(scheduler, both), "b0");
    EXPECT_EQ(chosen(scheduler, both), "a0");
  }
}

TEST(Scheduler, custom_sees_the_loads_and_decides) {
  std::vector<ShardLoad> seen;
  std::optional<std::size_t> answer = 1;
  Scheduler scheduler(
      {.scheduler = SchedulerKind::weighted, .choose_shard = [&](const std::vector<ShardLoad>& loads) {
         seen = loads;
         return answer;
       }});
  const std::vector<StartableShard> shards = {shard_of_b(4, 7), shard_of_a(0, 1)};
  EXPECT_EQ(chosen(scheduler, shards), "a0");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].queue, "b");
  EXPECT_EQ(seen[0].shard, 4U);
  EXPECT_EQ(seen[0].lag, std::chrono::seconds{7});
  EXPECT_EQ(seen[1].queue, "a");

  answer.reset();
  EXPECT_EQ(chosen(scheduler, shards), "-");
  seen.clear();
  EXPECT_EQ(chosen(scheduler, {}), "-");
  EXPECT_TRUE(seen.empty());  // not asked

  answer = 2;
  EXPECT_THAT([&] { scheduler.choose(shards); },
              Throws<Error>(Property(&Error::kind, ErrorKind::invalid_argument)));
}

TEST(Scheduler, what_the_custom_function_throws_passes) {
  Scheduler scheduler({.choose_shard = [](const std::vector<ShardLoad>&) -> std::optional<std::size_t> {
    throw std::runtime_error("no");
  }});
  const std::vector<StartableShard> shards = {shard_of_a(0, 0)};
  EXPECT_THROW(scheduler.choose(shards), std::runtime_error);
}

TEST(Scheduler, weighted_gives_each_queue_its_part_and_spreads_the_turns) {
  Scheduler scheduler({.scheduler = SchedulerKind::weighted});
  auto a = shard_of_a(0, 1), older = shard_of_a(1, 5), b = shard_of_b(0, 9);
  a.weight = older.weight = 3;
  std::string turns;
  for (int i = 0; i < 8; ++i) turns += chosen(scheduler, {a, older, b}) + " ";
  EXPECT_EQ(turns, "a1 a1 b0 a1 a1 a1 b0 a1 ");
}

TEST(Scheduler, weighted_lets_a_queue_save_nothing_while_it_is_idle) {
  Scheduler scheduler({.scheduler = SchedulerKind::weighted});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(chosen(scheduler, {shard_of_a(0, 1)}), "a0");
  std::string turns;
  for (int i = 0; i < 6; ++i) turns += chosen(scheduler, {shard_of_a(0, 1), shard_of_b(0, 1)});
  EXPECT_EQ(std::count(turns.begin(), turns.end(), 'b'), 3);
  EXPECT_EQ(chosen(scheduler, {}), "-");
}

}  // namespace
}  // namespace ordo::domain
