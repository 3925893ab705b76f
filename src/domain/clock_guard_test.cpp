#include "domain/clock_guard.h"

#include <gtest/gtest.h>

namespace ordo::domain {
namespace clock_guard_test {

using std::chrono::hours;
using std::chrono::seconds;

constexpr Time kStart{hours{24 * 20000}};

class ClockGuardTest : public ::testing::Test {
 protected:
  ClockGuardTest() { look(seconds{0}, {}); }

  Duration look(Duration steady, Duration ahead) {
    return guard_.look(kStart + steady + ahead, hours{1} + steady);
  }

  ClockGuard guard_;
};

TEST_F(ClockGuardTest, believes_a_clock_that_goes_as_the_steady_one_does) {
  EXPECT_EQ(look(hours{100}, {}), Duration{});
  EXPECT_EQ(look(hours{200}, seconds{60}), Duration{}) << "a little at a time it may differ";
  EXPECT_TRUE(guard_.trusts());
  EXPECT_EQ(guard_.excess(), Duration{});
}

TEST_F(ClockGuardTest, believes_a_leap_ahead_after_a_minute) {
  EXPECT_EQ(look(seconds{10}, hours{8}), hours{8});
  EXPECT_FALSE(guard_.trusts());
  EXPECT_EQ(guard_.excess(), hours{8});
  EXPECT_EQ(look(seconds{69}, hours{8}), Duration{});
  EXPECT_EQ(guard_.excess(), hours{8});
  look(seconds{70}, hours{8});
  EXPECT_TRUE(guard_.trusts());
  EXPECT_EQ(guard_.excess(), Duration{});
}

TEST_F(ClockGuardTest, believes_what_was_before_the_first_of_several_leaps) {
  look(seconds{10}, hours{8});
  EXPECT_EQ(look(seconds{50}, hours{20}), hours{12});
  EXPECT_EQ(guard_.excess(), hours{20});
  look(seconds{109}, hours{20});
  EXPECT_FALSE(guard_.trusts()) << "a minute counts from the last one";
  look(seconds{110}, hours{20});
  EXPECT_TRUE(guard_.trusts());
}

TEST_F(ClockGuardTest, keeps_the_excess_that_is_left_of_a_leap_back_until_the_next_look) {
  look(seconds{10}, hours{8});
  EXPECT_EQ(look(seconds{70}, hours{6}), -hours{2});
  EXPECT_EQ(guard_.excess(), hours{6})
      << "whoever goes by it is told of the leap now, and of the belief then";
  EXPECT_EQ(look(seconds{71}, hours{6}), Duration{});
  EXPECT_EQ(guard_.excess(), Duration{});
}

TEST_F(ClockGuardTest, believes_a_clock_that_is_set_back) {
  look(seconds{10}, hours{8});
  EXPECT_EQ(look(seconds{50}, {}), -hours{8});
  EXPECT_EQ(guard_.excess(), Duration{});
  EXPECT_EQ(look(seconds{100}, -hours{8}), -hours{8});
  EXPECT_EQ(guard_.excess(), Duration{});
  EXPECT_TRUE(guard_.trusts());
}

}  // namespace clock_guard_test
}  // namespace ordo::domain
