#include "runtime/lease_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace lease_watch_test {

using namespace std::chrono_literals;
using Leases = LeaseWatch::Leases;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LeaseWatch, tells_once_that_runs_are_stopped_before_the_leases_end) {
  RoomBench bench;
  LeaseWatch watch(bench.scope);
  bench.lease.renewed(bench.clock.now);
  EXPECT_EQ(watch.look(false, 3), Leases::hold);
  bench.clock.now += bench.options.lease * 9 / 10;
  EXPECT_EQ(watch.look(true, 3), Leases::hold) << "nothing depends on them";
  EXPECT_EQ(watch.look(false, 3), Leases::ending);
  EXPECT_EQ(watch.look(false, 3), Leases::ending);
  EXPECT_THAT(bench.log, ElementsAre("3 are stopped"));
  bench.clock.now += bench.options.lease;
  EXPECT_EQ(watch.look(false, 3), Leases::over);
}

TEST(LeaseWatch, waits_a_while_for_runs_that_outlive_the_leases) {
  RoomBench bench;
  LeaseWatch watch(bench.scope);
  watch.dropped(1);
  watch.look_at_late_runs(1);
  EXPECT_THAT(bench.log, IsEmpty());
  EXPECT_EQ(watch.next_look(), 1s);
  bench.clock.now += 10s;
  watch.look_at_late_runs(1);
  EXPECT_THAT(bench.log, ElementsAre("lost"));
  watch.look_at_late_runs(1);
  EXPECT_THAT(bench.log, ElementsAre("lost")) << "once";
}

}  // namespace lease_watch_test
}  // namespace ordo::runtime
