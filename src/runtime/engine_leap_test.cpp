// Rates under a clock that leaps. What leaps do to expiry: engine_expire_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace engine_leap_test {

using namespace std::chrono_literals;

/// A queue that starts two jobs in ten minutes, which it has just done, and has more of them.
class EngineLeap : public testing::Test {
 protected:
  EngineLeap() {
    bench.start();
    for (const auto* id : {"1", "2", "3", "4", "5", "6"}) bench.push("orders", id);
    EXPECT_EQ(starts_in(1s), 2);
  }

  static QueueOptions queue() {
    QueueOptions options;
    options.name = "orders";
    options.shards = 1;
    options.rate = RateLimit{.limit = 2, .per = 10min};
    return options;
  }

  /// How many start while so much time passes.
  int starts_in(Duration time) {
    int starts = 0;
    for (const auto end = bench.clock.now + time; bench.clock.now < end; bench.clock.now += 1s) {
      bench.tick();
      while (bench.run_one(Outcome::done()) != "-") ++starts;
    }
    return starts;
  }

  EngineBench bench{{queue()}};
};

TEST_F(EngineLeap, a_clock_that_is_ahead_for_a_moment_forgets_no_starts) {
  bench.clock.leap = 24h * 8;
  EXPECT_EQ(starts_in(40s), 0);
  bench.clock.leap = 0s;
  EXPECT_EQ(starts_in(9min), 0);
  EXPECT_EQ(starts_in(30s), 2);
  EXPECT_EQ(starts_in(9min), 0);
}

TEST_F(EngineLeap, starts_while_it_is_ahead_count_when_it_is_back) {
  EXPECT_EQ(starts_in(9min + 30s), 0);
  bench.clock.leap = 24h * 8;
  EXPECT_EQ(starts_in(40s), 2) << "ten minutes are over";
  bench.clock.leap = 0s;
  EXPECT_EQ(starts_in(9min), 0);
  EXPECT_EQ(starts_in(1min), 2);
}

TEST_F(EngineLeap, a_clock_that_stays_ahead_forgets_no_starts_either) {
  bench.clock.leap = 24h * 8;
  EXPECT_EQ(starts_in(9min), 0) << "what has started is as old as it was";
  EXPECT_EQ(starts_in(1min), 2);
  bench.push("orders", "7");
  EXPECT_EQ(starts_in(9min), 0);
  EXPECT_EQ(starts_in(1min), 2);
}

TEST_F(EngineLeap, who_takes_over_while_it_is_ahead_knows_of_the_starts) {
  bench.clock.leap = 24h * 8;
  EXPECT_EQ(starts_in(5s), 0);
  bench.restart();
  EXPECT_EQ(starts_in(9min), 0);
  EXPECT_EQ(starts_in(1min), 2);
}

TEST_F(EngineLeap, who_takes_over_when_it_is_back_waits_no_longer) {
  bench.clock.leap = 24h * 8;
  EXPECT_EQ(starts_in(5s), 0);
  bench.clock.leap = 0s;
  EXPECT_EQ(starts_in(5s), 0);
  bench.restart();
  EXPECT_EQ(starts_in(9min), 0);
  EXPECT_EQ(starts_in(1min), 2);
}

TEST_F(EngineLeap, who_takes_over_once_it_is_believed_knows_of_the_starts) {
  bench.clock.leap = 24h * 8;
  EXPECT_EQ(starts_in(2min), 0);
  bench.restart();
  EXPECT_EQ(starts_in(7min), 0);
  EXPECT_EQ(starts_in(1min), 2);
}

TEST_F(EngineLeap, the_owner_behind_the_one_who_takes_over_knows_of_the_starts_too) {
  bench.clock.leap = 24h * 8;
  EXPECT_EQ(starts_in(5s), 0);
  bench.restart();
  EXPECT_EQ(starts_in(2min), 0);
  bench.restart();
  EXPECT_EQ(starts_in(7min), 0);
  EXPECT_EQ(starts_in(1min), 2);
}

TEST_F(EngineLeap, a_clock_that_was_believed_and_is_set_back_holds_up_each_owner_once) {
  bench.clock.leap = 24h * 8;
  EXPECT_EQ(starts_in(2min), 0);
  bench.clock.leap = 0s;
  EXPECT_EQ(starts_in(8min), 0);
  bench.restart();
  EXPECT_EQ(starts_in(90s), 0);
  bench.restart();
  EXPECT_EQ(starts_in(1min), 2) << "ten minutes behind the set-back";
}

TEST_F(EngineLeap, a_clock_that_is_set_back_leaves_the_rate_used_up_at_most) {
  bench.clock.leap = -24h * 8;
  EXPECT_EQ(starts_in(9min), 0);
  EXPECT_EQ(starts_in(1min + 5s), 2);
}

}  // namespace engine_leap_test
}  // namespace ordo::runtime
