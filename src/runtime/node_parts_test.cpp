#include "runtime/node_parts.h"

#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace node_parts_test {

class NoWork final : public Worker {
 public:
  void perform(Batch&) override {}
};

/// A store in memory that counts what it is asked.
class CountingStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  void append(std::vector<store::NewEntry> entries, store::Completion done) override {
    ++calls;
    MemoryStore::append(std::move(entries), std::move(done));
  }
  void commit(std::vector<store::Delta> deltas, store::CommitCompletion done) override {
    ++calls;
    MemoryStore::commit(std::move(deltas), std::move(done));
  }
  std::vector<store::ShardFacts> load(std::span<const domain::ShardId> shards) override {
    ++calls;
    return MemoryStore::load(shards);
  }
  store::QueueList queues() override {
    ++calls;
    return MemoryStore::queues();
  }
  std::vector<store::QueueDefinition> define_all(std::span<const store::QueueWish> queues) override {
    ++calls;
    return MemoryStore::define_all(queues);
  }
  std::vector<store::ShardRow> shards() override {
    ++calls;
    return MemoryStore::shards();
  }
  std::vector<store::Grant> acquire(const std::string& node, std::uint64_t holder,
                                    std::span<const store::Claim> claims) override {
    ++calls;
    return MemoryStore::acquire(node, holder, claims);
  }
  std::vector<store::WaitRow> wait_rows(std::string_view queue, std::string_view after,
                                        std::size_t max_rows) override {
    ++calls;
    return MemoryStore::wait_rows(queue, after, max_rows);
  }

  std::size_t calls = 0;
};

/// The parts of a node that serves so many queues, each with a worker.
struct PartsBench {
  explicit PartsBench(std::size_t queues) {
    PartsPlan plan{.id = "me", .facts = {"host", 1}, .queues = {}, .workers = {}};
    for (std::size_t i = 0; i < queues; ++i) {
      auto& queue = plan.queues.emplace_back();
      queue.name = "queue" + std::to_string(i);
      queue.shards = 1;
      plan.workers[{queue.name, queue.name}] = &worker;
    }
    sink = std::make_unique<HeldRuns>(pool_sizes(options, plan.queues));
    parts = std::make_unique<NodeParts>(options, std::move(plan), store, clock, random, *sink, PartsHooks{});
  }

  void start() {
    parts->keeper().join();
    parts->heartbeat().tick();
    parts->keeper().tick();
    do {
      parts->engine().tick();
    } while (parts->follower().tick() == Follower::Found::something);
    parts->engine().tick();
  }
  void push(const std::string& queue) {
    domain::Entry entry;
    entry.kind = queue;
    entry.id = "1";
    const auto number = store.queues().find(queue)->number;
    store.append({{{number, 0}, domain::encode(entry)}}, [](const auto&) {});
    while (parts->follower().tick() == Follower::Found::something) {
    }
    parts->engine().tick();
  }

  NoWork worker;
  NodeOptions options;
  StandingClock clock;
  CountingStore store{clock};
  Random random{1};
  std::unique_ptr<HeldRuns> sink;
  std::unique_ptr<NodeParts> parts;
};

TEST(NodeParts, a_start_with_many_queues_asks_the_store_as_seldom_as_one_with_few) {
  PartsBench few(10), many(2000);
  few.start();
  many.start();
  ASSERT_EQ(few.parts->engine().shards(), 10U);
  ASSERT_EQ(many.parts->engine().shards(), 2000U);
  EXPECT_LE(many.store.calls, 2 * few.store.calls) << "shards are loaded some at a time, and more each time";
}

TEST(NodeParts, each_queue_has_its_workers) {
  PartsBench bench(12);
  bench.start();
  for (const auto* queue : {"queue0", "queue1", "queue10", "queue11"}) {
    bench.push(queue);
    ASSERT_EQ(bench.sink->waiting.size(), 1U) << queue;
    EXPECT_EQ(bench.sink->waiting.front().second.jobs.size(), 1U);
    bench.sink->waiting.clear();
  }
}

TEST(NodeParts, a_queue_that_is_served_no_more_takes_only_its_own_workers_along) {
  PartsBench bench(12);
  bench.start();
  bench.parts->change({.serve = {}, .leave = {"queue1"}, .limits = {}, .order = {}, .schedules = {}});
  for (int i = 0; i < 3; ++i) bench.parts->engine().tick();
  bench.parts->keeper().tick();
  const auto rows = bench.store.nodes();
  const auto facts = decode_node_facts(rows.front().facts);
  EXPECT_EQ(facts->kinds.size(), 11U);
  bench.push("queue10");
  EXPECT_EQ(bench.sink->waiting.size(), 1U);
}

}  // namespace node_parts_test
}  // namespace ordo::runtime
