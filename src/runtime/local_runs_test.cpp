#include "runtime/local_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace local_runs_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LocalRunsTest : public testing::Test {
 protected:
  LocalRunsTest() {
    queue.options.name = "orders";
    codes.add(queue, "orders", nullptr, 2);
    runs.add_pools(1);
  }
  static RunName name(domain::RunNo no) { return {{1, 0}, 7, no}; }
  LocalRun& enter(domain::RunNo no, domain::Risk risk = domain::Risk::normal) {
    return runs.enter(name(no), 0, -1, risk);
  }
  std::shared_ptr<RunControl> hand_out(LocalRun& run, domain::RunNo no, Duration timeout = 1h) {
    runs.hand_out(run, *codes.find("orders", "orders"), timeout);
    Assignment assignment;
    assignment.shard = name(no).shard;
    assignment.epoch = name(no).epoch;
    assignment.no = no;
    assignment.jobs = {{.id = std::to_string(no), .key = "k"}};
    runs.send(run, std::move(assignment));
    runs.send_batches();
    return run.control;
  }

  RoomBench bench;
  ServedQueue queue;
  CodeTable codes{bench.scope};
  HeldRuns sink{{2}};
  LocalRuns runs{bench.scope, codes, sink};
};

TEST_F(LocalRunsTest, a_run_takes_its_place_in_the_pool_until_it_leaves) {
  EXPECT_EQ(runs.idle_threads(0), 2u);
  auto& own = enter(1, domain::Risk::suspect);
  runs.lend(enter(2), {{2, 0}, 99, 2});
  EXPECT_EQ(runs.pools()[0].runs, 2u);
  EXPECT_EQ(runs.idle_threads(0), 1u) << "what is borrowed gives way";
  EXPECT_TRUE(runs.marks().has_suspect());
  hand_out(own, 1);
  EXPECT_EQ(codes.find("orders", "orders")->runs, 1u);
  EXPECT_FALSE(runs.leave(name(1)).is_zombie);
  EXPECT_EQ(codes.find("orders", "orders")->runs, 0u);
  EXPECT_EQ(runs.leave(name(2)).run.borrowed->no, 2u);
  EXPECT_EQ(runs.idle_threads(0), 2u);
  EXPECT_FALSE(runs.marks().has_suspect());
  EXPECT_EQ(runs.size(), 0u);
}

TEST_F(LocalRunsTest, what_was_handed_out_outlives_its_leases_as_a_zombie) {
  const auto control = hand_out(enter(1), 1);
  enter(2);
  EXPECT_TRUE(runs.cut(name(1)));
  EXPECT_FALSE(runs.cut(name(2))) << "it had no thread";
  EXPECT_EQ(control->reason.load(), StopReason::lease_lost);
  EXPECT_EQ(runs.zombies(), 1u);
  EXPECT_EQ(runs.find(name(1)), nullptr);
  EXPECT_EQ(runs.pools()[0].runs, 1u) << "it has its thread still";
  EXPECT_TRUE(runs.leave(name(1)).is_zombie);
  EXPECT_EQ(runs.zombies(), 0u);
  EXPECT_EQ(runs.pools()[0].runs, 0u);
}

TEST_F(LocalRunsTest, a_run_that_does_not_stop_is_told_of_until_it_returns) {
  const auto look = [&] { runs.look_at_timeouts({}); };
  hand_out(enter(1), 1, 5s)->started_us = bench.clock.now.count();
  hand_out(enter(2), 2)->started_us = bench.clock.now.count();
  EXPECT_TRUE(runs.cut(name(2))) << "its leases have ended";
  bench.scope.now = bench.store.now();
  const auto cut_at = bench.scope.now;
  look();
  bench.clock.now += 5s;
  look();
  bench.clock.now += 9s;
  look();
  EXPECT_THAT(runs.stuck(), ElementsAre(StuckRun{"orders", "orders", "k", "2", cut_at}));
  bench.clock.now += 1s;
  EXPECT_EQ(runs.next_look(), 0s);
  look();
  EXPECT_THAT(runs.stuck(), SizeIs(2));
  runs.leave(name(1));
  EXPECT_THAT(runs.stuck(), ElementsAre(StuckRun{"orders", "orders", "k", "2", cut_at}));
  look();
  bench.clock.now += 60s;
  runs.leave(name(2));
  EXPECT_THAT(runs.stuck(), IsEmpty());
  const std::string of = "' of kind 'orders' in queue 'orders' ";
  EXPECT_THAT(bench.log,
              ElementsAre("the run of job '2" + of +
                              "does not stop, although the leases of this node have ended: it keeps its key "
                              "and its thread until it returns",
                          "the run of job '1" + of +
                              "does not stop, although its timeout has passed: it keeps its key and its "
                              "thread until it returns",
                          "the run of job '1" + of + "has returned, 10s after it was asked to stop",
                          "the run of job '2" + of + "has returned, 75s after it was asked to stop"));
}

TEST_F(LocalRunsTest, a_run_that_stops_in_time_is_not_told_of) {
  hand_out(enter(1), 1, 5s)->started_us = bench.clock.now.count();
  bench.clock.now += 5s;
  runs.look_at_timeouts({});
  bench.clock.now += 9s;
  runs.look_at_timeouts({});
  runs.leave(name(1));
  EXPECT_THAT(runs.stuck(), IsEmpty());
  EXPECT_THAT(bench.log, IsEmpty());
}

TEST_F(LocalRunsTest, a_run_is_asked_to_stop_when_its_time_is_over) {
  const auto control = hand_out(enter(1), 1, 5s);
  std::vector<domain::RunNo> started;
  const auto look = [&] {
    runs.look_at_timeouts([&](const RunName& run, const LocalRun&) { started.push_back(run.no); });
  };
  EXPECT_EQ(runs.next_look(), 0s);
  look();
  EXPECT_TRUE(started.empty());
  control->started_us = bench.clock.now.count();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(control->reason.load(), StopReason::none);
    bench.clock.now += 1s;
    look();
  }
  EXPECT_EQ(control->reason.load(), StopReason::timeout);
  EXPECT_THAT(started, ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(LocalRunsTest, only_what_no_thread_has_started_is_recalled) {
  hand_out(enter(1), 1);
  hand_out(enter(2), 2);
  sink.waiting.pop_front();
  EXPECT_THAT(runs.recall([](const Assignment&) { return true; }), ElementsAre(name(2)));
}

}  // namespace local_runs_test
}  // namespace ordo::runtime
