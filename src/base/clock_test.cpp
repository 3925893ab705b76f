#include "base/clock.h"

#include <gtest/gtest.h>

namespace ordo {
namespace clock_test {

TEST(SystemClock, tells_a_plausible_time) {
  EXPECT_GT(system_clock().wall(), Time{std::chrono::sys_days{std::chrono::year{2024} / 1 / 1}});
  EXPECT_GT(system_clock().steady(), Duration::zero());
}

TEST(SystemClock, steady_never_goes_back) {
  auto last = system_clock().steady();
  for (int i = 0; i < 10'000; ++i) {
    const auto next = system_clock().steady();
    ASSERT_GE(next, last);
    last = next;
  }
}

TEST(SystemClock, is_one) { EXPECT_EQ(&system_clock(), &system_clock()); }

}  // namespace clock_test
}  // namespace ordo
