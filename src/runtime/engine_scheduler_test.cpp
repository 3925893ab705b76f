// Who starts next, as an engine with one thread and three queues does it.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace engine_scheduler_test {

std::vector<QueueOptions> three_queues() {
  std::vector<QueueOptions> queues(3);
  for (std::size_t i = 0; i < 3; ++i) {
    queues[i].name = std::string(1, static_cast<char>('a' + i));
    queues[i].shards = 1;
  }
  return queues;
}

/// The queues of the first `count` runs, one at a time on one thread.
std::string starts(EngineBench& bench, int count) {
  std::string order;
  for (int i = 0; i < count; ++i) {
    bench.clock.now += kOverdue;
    bench.tick();
    order += bench.run_one().substr(0, 1);
  }
  return order;
}

void push_ten_each(EngineBench& bench) {
  for (const auto* queue : {"a", "b", "c"}) {
    for (int i = 0; i < 10; ++i) bench.push(queue, queue + std::to_string(i));
  }
}

TEST(EngineScheduler, sequential_takes_turns) {
  EngineBench bench(three_queues(), {.threads = 1, .scheduler = SchedulerKind::sequential});
  bench.start();
  push_ten_each(bench);
  EXPECT_EQ(starts(bench, 12), "abcabcabcabc");
}

TEST(EngineScheduler, weighted_gives_each_its_part) {
  EngineBench even(three_queues(), {.threads = 1, .scheduler = SchedulerKind::weighted});
  even.start();
  push_ten_each(even);
  EXPECT_EQ(starts(even, 12), "abcabcabcabc");

  auto queues = three_queues();
  queues[1].scheduler_weight = 4;
  EngineBench uneven(queues, {.threads = 1, .scheduler = SchedulerKind::weighted});
  uneven.start();
  push_ten_each(uneven);
  const auto order = starts(uneven, 12);
  EXPECT_EQ(std::ranges::count(order, 'a'), 2) << order;
  EXPECT_EQ(std::ranges::count(order, 'b'), 8) << order;
}

TEST(EngineScheduler, weighted_is_fair_with_several_threads_and_short_runs) {
  EngineBench bench(three_queues(), {.threads = 3, .scheduler = SchedulerKind::weighted});
  bench.sink->each = 2;
  bench.start();
  push_ten_each(bench);
  const auto order = starts(bench, 15);
  for (const char queue : {'a', 'b', 'c'}) EXPECT_EQ(std::ranges::count(order, queue), 5) << order;
}

// All of its due jobs wait for the key that runs.
TEST(EngineScheduler, strict_passes_over_a_queue_whose_due_jobs_are_blocked) {
  EngineBench bench(three_queues(), {.threads = 2, .scheduler = SchedulerKind::strict});
  bench.start();
  for (int i = 0; i < 5; ++i) bench.push("a", "a" + std::to_string(i), 0, {}, "key");
  for (int i = 0; i < 5; ++i) bench.push("b", "b" + std::to_string(i));
  bench.tick();
  const auto running = bench.begin();
  EXPECT_EQ(running.jobs.front().id, "a0");
  EXPECT_EQ(starts(bench, 3), "bbb");
  bench.end(running);
  EXPECT_EQ(starts(bench, 6), "aaaabb");
}

}  // namespace engine_scheduler_test
}  // namespace ordo::runtime
