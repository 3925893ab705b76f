// Records of ended jobs: what an owner writes, and takes away when its time is over (rules: traces).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/kept.h"
#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace engine_kept_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

QueueOptions keeping(Duration keep) {
  auto queue = RoomBench::queue_of("orders");
  queue.shards = 1;
  queue.keep = keep;
  queue.max_retries = 0;
  return queue;
}

struct KeptBench {
  explicit KeptBench(QueueOptions queue) : bench({std::move(queue)}) { bench.start(); }

  void run(const std::string& id, const Outcome& outcome = Outcome::done()) {
    bench.push("orders", id, 0, {}, id);
    bench.tick();
    bench.run_one(outcome);
    bench.tick();
  }
  void pass(Duration time) {
    bench.clock.now += time;
    for (int i = 0; i < 3; ++i) bench.tick();
  }
  domain::ShardId shard() { return {bench.number("orders"), 0}; }
  std::vector<std::string> records() {
    std::vector<std::string> ids;
    for (const auto& row : bench.store.kept_heads(shard(), 0, 1000)) {
      const std::vector nos{row.no};
      domain::each_record(bench.store.kept(shard(), nos).at(0).body,
                          [&](std::size_t, const auto& record) { ids.push_back(record.id); });
    }
    return ids;
  }
  domain::KeptCounts counts() { return domain::decode_counts(bench.store.shards().at(0).counts)->kept; }

  EngineBench bench;
};

TEST(EngineKept, what_ended_is_kept_by_the_delta_that_ends_it) {
  KeptBench kept(keeping(1h));
  kept.run("1");
  kept.run("2", Outcome::fail("no"));
  EXPECT_THAT(kept.records(), ElementsAre("1", "2", "2")) << "an attempt and the death";
  EXPECT_EQ(kept.counts().records, 3U);
  EXPECT_EQ(kept.counts().keep, 1h);
}

TEST(EngineKept, nothing_is_written_where_nothing_is_kept) {
  KeptBench kept(keeping({}));
  kept.run("1");
  kept.run("2", Outcome::fail("no"));
  EXPECT_THAT(kept.records(), IsEmpty());
  EXPECT_EQ(kept.counts(), domain::KeptCounts{});
}

TEST(EngineKept, what_is_past_its_time_goes_though_nothing_else_happens) {
  KeptBench kept(keeping(1h));
  kept.run("1");
  kept.pass(30min);
  kept.run("2");
  kept.pass(29min);
  EXPECT_THAT(kept.records(), ElementsAre("1", "2"));
  kept.pass(2min);
  kept.pass(2s);
  EXPECT_THAT(kept.records(), ElementsAre("2"));
  EXPECT_EQ(kept.counts().records, 1U);
  EXPECT_EQ(kept.counts().trimmed, 0U);
  kept.pass(1h);
  kept.pass(2s);
  EXPECT_THAT(kept.records(), IsEmpty());
  EXPECT_EQ(kept.counts().first, kept.counts().next);
}

TEST(EngineKept, a_clock_that_is_wrong_for_a_moment_takes_nothing_away) {
  KeptBench kept(keeping(1h));
  kept.run("1");
  kept.bench.clock.leap = 2h;
  for (int i = 0; i < 5; ++i) kept.pass(2s);
  EXPECT_THAT(kept.records(), ElementsAre("1"));
  for (int i = 0; i < 5; ++i) kept.pass(20s);
  EXPECT_THAT(kept.records(), IsEmpty()) << "it is right";
}

TEST(EngineKept, a_block_that_finds_no_room_is_counted_and_holds_up_nothing) {
  KeptBench kept(keeping(1h));
  kept.bench.store.is_full = true;
  kept.run("1");
  EXPECT_EQ(kept.bench.engine->find(kept.shard())->machine.jobs(), 0U);
  EXPECT_THAT(kept.records(), IsEmpty());
  kept.bench.store.is_full = false;
  kept.run("2");
  EXPECT_THAT(kept.records(), ElementsAre("2"));
  EXPECT_EQ(kept.counts().trimmed, 1U);
  EXPECT_EQ(kept.counts().records, 1U);
}

}  // namespace engine_kept_test
}  // namespace ordo::runtime
