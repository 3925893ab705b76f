// Runs that cannot be started on this node: what becomes of their jobs and of the kind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace engine_start_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class EngineStart : public testing::Test {
 protected:
  EngineStart() {
    bench.start();
    for (const auto* id : {"1", "2", "3", "4", "5", "6", "7", "8"}) bench.push("orders", id);
    bench.tick();
  }

  static QueueOptions queue() {
    QueueOptions options;
    options.name = "orders";
    options.shards = 1;
    return options;
  }
  static Outcome not_started() { return Outcome::not_started("no program\nat all"); }

  /// Time passes, tick by tick, as if nothing else happened.
  void pass(Duration time) {
    for (const auto end = bench.clock.now + time; bench.clock.now < end; bench.clock.now += 100ms)
      bench.tick();
  }

  EngineBench bench{{queue()}};
};

TEST_F(EngineStart, puts_the_jobs_back_tells_once_and_tries_one_after_a_pause) {
  EXPECT_EQ(bench.sink->waiting.size(), 5u);
  while (bench.run_one(not_started()) != "-") {
  }
  bench.tick();
  EXPECT_TRUE(bench.sink->waiting.empty()) << "none starts here now";
  EXPECT_THAT(bench.log,
              ElementsAre(HasSubstr("'orders' cannot be started on this node: no program; their")));
  EXPECT_THAT(bench.engine->facts().unable, ElementsAre(testing::Field(&CannotStart::kind, "orders")));
  for (const auto pause : {1s, 2s, 4s, 8s}) {
    pass(pause - 100ms);
    EXPECT_TRUE(bench.sink->waiting.empty());
    pass(200ms);
    EXPECT_THAT(bench.engine->facts().unable, ElementsAre(testing::Field(&CannotStart::kind, "orders")))
        << "until one has started";
    EXPECT_EQ(bench.sink->waiting.size(), 1u);
    EXPECT_EQ(bench.run_one(not_started()), "1");
    bench.tick();
  }
  EXPECT_EQ(bench.log.size(), 1u);
  EXPECT_EQ(bench.engine->find({bench.number("orders"), 0})->written.failed, 0u);
}

TEST_F(EngineStart, no_more_start_than_go_on) {
  for (int i = 0; i < 2; ++i) bench.run_one(not_started());
  bench.tick();
  EXPECT_EQ(bench.sink->waiting.size(), 3u) << "those that go on";
  EXPECT_THAT(bench.engine->facts().unable, IsEmpty());
  bench.run_one();
  bench.tick();
  EXPECT_EQ(bench.sink->waiting.size(), 3u);
}

TEST_F(EngineStart, all_start_again_when_starts_succeed) {
  while (bench.run_one(not_started()) != "-") {
  }
  for (int second = 0; second < 30 && bench.sink->waiting.size() < 5; ++second) pass(1s);
  EXPECT_EQ(bench.sink->waiting.size(), 5u);
  for (int i = 0; i < 8; ++i) {
    bench.run_one();
    bench.tick();
  }
  pass(70s);
  EXPECT_THAT(bench.log, ElementsAre(HasSubstr("cannot be started"), HasSubstr("start again")));
}

TEST_F(EngineStart, what_cannot_start_here_is_lent_though_threads_are_free) {
  while (bench.run_one(not_started()) != "-") {
  }
  bench.tick();
  const auto meet = [&](bool unable) {
    bench.engine->inbox().post([&](News& news) {
      ClusterView cluster;
      cluster.self = "me";
      Member me{.id = "me"};
      Member other{.id = "other", .session = 3, .rooms = {{2, {"orders"}}}};
      other.kinds["orders"].insert("orders");
      if (unable) other.unable.emplace("orders", "orders");
      cluster.members = {me, other};
      cluster.losses = bench.lease->losses();
      news.cluster = std::move(cluster);
    });
    bench.tick();
  };
  const auto lent = [&] { return bench.engine->find({bench.number("orders"), 0})->machine.lent(); };
  meet(true);
  EXPECT_EQ(lent(), 0u);
  meet(false);
  EXPECT_EQ(lent(), 2u);
}

}  // namespace engine_start_test
}  // namespace ordo::runtime
