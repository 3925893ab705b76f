#include "domain/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include <ordo/error.hpp>

namespace ordo::domain {
namespace scheduler_test {

using ::testing::Property;
using ::testing::Throws;

constexpr Time kNow{std::chrono::hours{1}};

StartableShard shard_of_a(std::uint32_t shard, int lag_s) {
  return {{1, shard}, "a", 0, kNow - std::chrono::seconds{lag_s}};
}
StartableShard shard_of_b(std::uint32_t shard, int lag_s) {
  return {{2, shard}, "b", 1, kNow - std::chrono::seconds{lag_s}};
}

bool is_free(int) { return true; }

std::string name_of(const std::optional<StartableShard>& shard) {
  return shard ? std::string(shard->queue) + std::to_string(shard->id.index) : "-";
}

/// "a1" for the chosen one of these, which is served; "-" for none.
std::string chosen(Scheduler& scheduler, const std::vector<StartableShard>& shards) {
  for (const auto queue : {1U, 2U}) {
    for (std::uint32_t shard = 0; shard < 5; ++shard) scheduler.remove({queue, shard});
  }
  for (const auto& shard : shards) scheduler.put(shard);
  const auto shard = scheduler.choose(kNow, is_free);
  if (shard) scheduler.served(*shard);
  return name_of(shard);
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
    for (int i = 0; i < 3; ++i) EXPECT_EQ(name_of(scheduler.choose(kNow, is_free)), "b0");
    EXPECT_EQ(chosen(scheduler, both), "b0");
    EXPECT_EQ(chosen(scheduler, both), "a0");
  }
}

TEST(Scheduler, custom_sees_the_loads_and_decides) {
  std::vector<ShardLoad> seen;
  std::optional<std::size_t> answer = 0;
  Scheduler scheduler(
      {.scheduler = SchedulerKind::weighted, .choose_shard = [&](const std::vector<ShardLoad>& loads) {
         seen = loads;
         return answer;
       }});
  const std::vector<StartableShard> shards = {shard_of_b(4, 7), shard_of_a(0, 1)};
  EXPECT_EQ(chosen(scheduler, shards), "a0");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].queue, "a");
  EXPECT_EQ(seen[1].queue, "b");
  EXPECT_EQ(seen[1].shard, 4U);
  EXPECT_EQ(seen[1].lag, std::chrono::seconds{7});

  answer.reset();
  EXPECT_EQ(chosen(scheduler, shards), "-");
  seen.clear();
  EXPECT_EQ(chosen(scheduler, {}), "-");
  EXPECT_TRUE(seen.empty());  // not asked

  answer = 2;
  for (const auto& shard : shards) scheduler.put(shard);
  EXPECT_THAT([&] { scheduler.choose(kNow, is_free); },
              Throws<Error>(Property(&Error::kind, ErrorKind::invalid_argument)));
}

TEST(Scheduler, what_the_custom_function_throws_passes) {
  Scheduler scheduler({.choose_shard = [](const std::vector<ShardLoad>&) -> std::optional<std::size_t> {
    throw std::runtime_error("no");
  }});
  scheduler.put(shard_of_a(0, 0));
  EXPECT_THROW(scheduler.choose(kNow, is_free), std::runtime_error);
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

TEST(Scheduler, what_is_bound_to_a_thread_waits_for_it) {
  for (const auto kind :
       {SchedulerKind::lag, SchedulerKind::sequential, SchedulerKind::strict, SchedulerKind::weighted}) {
    Scheduler scheduler({.scheduler = kind});
    auto bound = shard_of_a(0, 9), free = shard_of_b(0, 1);
    bound.thread = 3;
    scheduler.put(bound);
    scheduler.put(free);
    const auto choose = [&](std::set<int> threads) {
      return name_of(scheduler.choose(kNow, [&](int thread) { return threads.contains(thread); }));
    };
    EXPECT_EQ(choose({3, -1}), "a0");
    EXPECT_EQ(choose({2, -1}), "b0");
    EXPECT_EQ(choose({3}), "a0");
    EXPECT_EQ(choose({}), "-");
  }
}

TEST(Scheduler, the_last_word_on_a_shard_counts) {
  Scheduler scheduler(NodeOptions{});
  scheduler.put(shard_of_a(0, 9));
  scheduler.put(shard_of_a(1, 5));
  scheduler.put(shard_of_a(0, 1));
  EXPECT_EQ(name_of(scheduler.choose(kNow, is_free)), "a1");
  scheduler.remove({1, 1});
  EXPECT_EQ(name_of(scheduler.choose(kNow, is_free)), "a0");
  scheduler.remove({1, 0});
  scheduler.remove({1, 0});
  EXPECT_EQ(name_of(scheduler.choose(kNow, is_free)), "-");
}

TEST(Scheduler, strict_knows_the_first_queue_that_waits) {
  Scheduler scheduler({.scheduler = SchedulerKind::strict});
  EXPECT_EQ(scheduler.front(), nullptr);
  scheduler.put(shard_of_b(0, 9));
  EXPECT_EQ(scheduler.front()->queue_place, 1U);
  scheduler.put(shard_of_a(0, 1));
  EXPECT_EQ(scheduler.front()->queue_place, 0U);
}

}  // namespace scheduler_test
}  // namespace ordo::domain
