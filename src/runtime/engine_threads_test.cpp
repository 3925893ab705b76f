// Which thread the shards of a queue with affinity `shard` run on, and what endless timeouts do.
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace engine_threads_test {

std::vector<QueueOptions> bound_queues(const std::vector<std::pair<std::string, std::uint32_t>>& shards) {
  std::vector<QueueOptions> queues;
  for (const auto& [name, count] : shards) {
    auto& queue = queues.emplace_back();
    queue.name = name;
    queue.shards = count;
    queue.affinity = Affinity::shard;
  }
  return queues;
}

/// "a0 b1 | a1", by thread.
std::string groups(EngineBench& bench, const std::vector<std::pair<std::string, std::uint32_t>>& shards) {
  std::vector<std::string> threads(bench.options.threads);
  for (const auto& [name, count] : shards) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto* shard = bench.engine->find({bench.number(name), i});
      if (shard == nullptr) continue;
      auto& text = threads.at(static_cast<std::size_t>(shard->thread));
      text += (text.empty() ? "" : " ") + name + std::to_string(i);
    }
  }
  std::string all;
  for (const auto& text : threads) all += (all.empty() ? "" : " | ") + text;
  return all;
}

const std::vector<std::pair<std::string, std::uint32_t>> kQueues = {{"a", 3}, {"b", 4}, {"c", 1}, {"d", 2}};

TEST(EngineThreads, shards_are_dealt_out_in_worker_order) {
  EngineBench bench(bound_queues(kQueues), {.threads = 3});
  bench.start();
  EXPECT_EQ(groups(bench, kQueues), "a0 b0 b3 d1 | a1 b1 c0 | a2 b2 d0");
}

TEST(EngineThreads, a_node_deals_out_what_it_owns) {
  EngineBench bench(bound_queues(kQueues), {.threads = 3});
  bench.tell_definitions();
  std::uint32_t place = 0;
  std::map<domain::ShardId, std::uint32_t> places;
  for (const auto& [name, count] : kQueues) {
    for (std::uint32_t i = 0; i < count; ++i) places[{bench.number(name), i}] = place++;
  }
  bench.claim([&](domain::ShardId id) { return places.at(id) % 2 == 0; });
  bench.tick();
  EXPECT_EQ(groups(bench, kQueues), "a0 b3 | a2 d0 | b1");
}

TEST(EngineThreads, every_second_of_eight_shards_uses_both_threads) {
  const std::vector<std::pair<std::string, std::uint32_t>> queues = {{"a", 8}};
  EngineBench bench(bound_queues(queues), {.threads = 2});
  bench.tell_definitions();
  bench.claim([](domain::ShardId id) { return id.index % 2 == 0; });
  bench.tick();
  EXPECT_EQ(groups(bench, queues), "a0 a4 | a2 a6");
}

TEST(EngineThreads, a_shard_changes_its_thread_when_nothing_of_it_runs) {
  const std::vector<std::pair<std::string, std::uint32_t>> queues = {{"a", 3}};
  EngineBench bench(bound_queues(queues), {.threads = 2});
  bench.tell_definitions();
  bench.claim([](domain::ShardId id) { return id.index > 0; });
  bench.tick();
  EXPECT_EQ(groups(bench, queues), "a1 | a2");
  bench.push("a", "1", 1);
  bench.tick();
  const auto running = bench.begin();
  bench.claim();
  bench.tick();
  EXPECT_EQ(groups(bench, queues), "a0 a1 a2 | ") << "a1 runs on the thread it had";
  bench.push("a", "2", 1);
  bench.tick();
  EXPECT_EQ(bench.handed(), "") << "one batch of a shard at a time";
  bench.end(running);
  bench.tick();
  EXPECT_EQ(groups(bench, queues), "a0 a2 | a1");
  EXPECT_EQ(bench.sink->waiting.front().first, 1);
}

TEST(EngineThreads, an_endless_timeout_never_comes_and_costs_nothing) {
  QueueOptions queue;
  queue.name = "a";
  queue.shards = 1;
  queue.timeout = Duration::max();
  EngineBench bench({queue}, {.threads = 1, .poll_interval = Duration::max()});
  bench.start();
  bench.push("a", "1");
  bench.tick();
  const auto running = bench.begin();
  for (int i = 0; i < 3; ++i) {
    bench.clock.now += std::chrono::seconds{2};
    bench.lease->renewed(bench.clock.now);
    EXPECT_GE(bench.engine->tick(), std::chrono::milliseconds{500});
  }
  EXPECT_FALSE(running.control->stop.stop_requested());
}

}  // namespace engine_threads_test
}  // namespace ordo::runtime
