// Queues that an engine begins and ceases to serve while it runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace engine_serve_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

QueueOptions queue_of(const std::string& name, std::uint32_t shards = 1) {
  QueueOptions options;
  options.name = name;
  options.shards = shards;
  return options;
}

class IdleWorker final : public Worker {
 public:
  void perform(Batch&) override {}
};

/// An engine that is told what to serve, with the keeper's part of it.
struct ServeBench : EngineBench {
  using EngineBench::EngineBench;

  void serve(const QueueOptions& queue, std::size_t pool = 0) {
    store.define(queue.name, queue.shards.value_or(1));
    engine->serve(queue, pool, {{queue.name, &code}});
    tell_definitions();
  }
  void stop_serving(const std::string& name) {
    engine->stop_serving(name, [this, name] { over.push_back(name); });
  }
  /// What the engine has let go of is free.
  void give_back() {
    for (auto* ends : {&released, &refused}) store.release(std::exchange(*ends, {}));
  }
  void take_free_shards() {
    give_back();
    claim();
    tick();
  }

  IdleWorker code;
  std::vector<std::string> over;
};

TEST(EngineServe, a_queue_that_is_added_is_worked_on) {
  ServeBench bench({queue_of("orders")});
  bench.start();
  bench.serve(queue_of("mail"));
  bench.tick();
  bench.push("mail", "1");
  bench.claim();
  bench.tick();
  EXPECT_EQ(bench.run_one(), "1");
  bench.push("orders", "2");
  bench.tick();
  EXPECT_EQ(bench.run_one(), "2");
}

TEST(EngineServe, a_queue_without_runs_leaves_at_once) {
  ServeBench bench({queue_of("orders", 3), queue_of("mail")});
  bench.start();
  bench.stop_serving("orders");
  bench.tick();
  bench.tick();
  EXPECT_EQ(bench.released.size(), 3U);
  EXPECT_EQ(bench.engine->shards(), 1U);
  EXPECT_THAT(bench.over, ElementsAre("orders"));
  bench.push("orders", "1");
  bench.push("mail", "2");
  bench.take_free_shards();
  EXPECT_EQ(bench.handed(), "2 ");
  EXPECT_EQ(bench.engine->shards(), 1U) << "what is claimed too late is given back";
  EXPECT_EQ(bench.refused.size(), 3U);
}

TEST(EngineServe, one_that_it_does_not_serve_is_gone_already) {
  ServeBench bench({queue_of("orders")});
  bench.stop_serving("mail");
  EXPECT_THAT(bench.over, ElementsAre("mail"));
}

// Nobody is there who could take the shard.
TEST(EngineServe, running_jobs_end_before_a_queue_leaves) {
  ServeBench bench({queue_of("orders")});
  bench.start();
  bench.push("orders", "1");
  bench.push("orders", "2");
  bench.tick();
  const auto run = bench.begin();
  bench.stop_serving("orders");
  EXPECT_EQ(bench.handed(), "") << "what has not started is taken back";
  bench.clock.now += 1s;
  bench.tick();
  EXPECT_EQ(bench.engine->shards(), 1U);
  EXPECT_THAT(bench.over, IsEmpty());
  bench.end(run);
  bench.tick();
  bench.tick();
  EXPECT_EQ(bench.engine->shards(), 0U);
  EXPECT_THAT(bench.over, ElementsAre("orders"));
  EXPECT_EQ(bench.handed(), "");
}

// The run keeps its key and its code, and the new rules hold for what starts next.
TEST(EngineServe, a_queue_with_other_rules_goes_on_beside_its_runs) {
  ServeBench bench({queue_of("orders")});
  bench.start();
  bench.engine->inbox().post([&](News& news) {
    auto& cluster = news.cluster.emplace();
    cluster.self = "me";
    cluster.session = 1;
    cluster.members.push_back({.id = "me", .session = 1});
  });
  bench.push("orders", "1");
  bench.tick();
  const auto run = bench.begin();
  auto other = queue_of("orders");
  other.timeout = 7s;
  bench.stop_serving("orders");
  bench.serve(other);
  bench.tick();
  bench.clock.now += 200ms;
  bench.tick();
  bench.tick();
  ASSERT_EQ(bench.released.size(), 1U) << "its run is told to the next owner";
  EXPECT_THAT(bench.over, IsEmpty());
  bench.push("orders", "1");
  bench.push("orders", "2");
  bench.take_free_shards();
  EXPECT_EQ(bench.handed(), "2 ") << "the key of the run is taken";
  EXPECT_EQ(bench.begin().timeout, 7s);
  bench.end(run);
  bench.tick();
  EXPECT_THAT(bench.over, ElementsAre("orders"));
  bench.tick();
  bench.tick();
  EXPECT_EQ(bench.handed(), "1 ");
}

TEST(EngineServe, a_queue_comes_back_paused_as_it_was) {
  ServeBench bench({queue_of("orders")});
  bench.start();
  bench.store.set_paused("orders", true);
  bench.tell_definitions();
  bench.tick();
  bench.push("orders", "1");
  bench.stop_serving("orders");
  bench.serve(queue_of("orders"));
  bench.tick();
  bench.take_free_shards();
  EXPECT_EQ(bench.engine->shards(), 1U);
  EXPECT_EQ(bench.handed(), "");
}

TEST(EngineServe, other_limits_are_in_force_at_once) {
  auto limited = queue_of("orders");
  limited.limit = 1;
  ServeBench bench({limited});
  bench.start();
  for (const auto* id : {"1", "2", "3"}) bench.push("orders", id);
  bench.tick();
  EXPECT_EQ(bench.handed(), "1 ");
  limited.limit = 2;
  bench.stop_serving("orders");
  bench.serve(limited);
  bench.tick();
  bench.tick();
  bench.take_free_shards();
  bench.tick();
  EXPECT_EQ(bench.handed(), "1 2 ");
}

// Of a queue that is resharded, say: the shard of the old rules is not free yet.
TEST(EngineServe, no_shard_is_adopted_while_another_has_the_old_rules) {
  ServeBench bench({queue_of("orders", 2)});
  bench.start();
  bench.push("orders", "1", 0);
  bench.tick();
  const auto run = bench.begin();
  bench.stop_serving("orders");
  bench.engine->tick();
  bench.engine->tick();
  ASSERT_EQ(bench.released.size(), 1U) << "the other one";
  bench.serve(queue_of("orders", 2));
  bench.tick();
  bench.give_back();
  bench.claim();
  bench.tick();
  EXPECT_EQ(bench.refused.size(), 1U);
  bench.end(run);
  bench.tick();
  bench.tick();
  bench.take_free_shards();
  bench.take_free_shards();
  EXPECT_EQ(bench.engine->shards(), 2U);
}

}  // namespace engine_serve_test
}  // namespace ordo::runtime
