// What an earlier owner has written of a rate, under a clock that leaps.
#include <gtest/gtest.h>

#include "base/time_text.h"
#include "domain/gates.h"

namespace ordo::domain {
namespace gates_leap_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Time kTrue{hours{24 * 20000}};
constexpr Duration kFirst = hours{1}, kSecond = hours{48};

class GatesLeap : public ::testing::Test {
 protected:
  GatesLeap() {
    QueueOptions options;
    options.name = "orders";
    options.rate = RateLimit{.limit = 1, .per = minutes{10}};
    group_ = &gates_.group_of(options);
  }

  /// A start of some seconds ago, as its owner has written it while the clock was so far ahead.
  void load(Duration ahead) {
    const auto at = kTrue + ahead - seconds{5};
    RateRecord record{std::string(kRateOfQueue), at, at + minutes{10}, {{at, 1}}};
    gates_.tell(record, told());
    gates_.restore(*group_, record, told());
  }
  void leap_to(Duration ahead) {
    ahead_ = ahead;
    gates_.disbelieve(ahead);
  }
  Time told() const { return kTrue + ahead_; }

  /// How long ago the start was; nothing: it is over.
  std::optional<Duration> age() const {
    const auto record = gates_.record(*group_, std::string(kRateOfQueue));
    return record ? std::optional(told() - record->at) : std::nullopt;
  }

  Gates gates_;
  Group* group_ = nullptr;
  Duration ahead_{};
};

TEST_F(GatesLeap, a_row_from_between_two_leaps_is_as_old_as_it_was) {
  leap_to(kFirst);
  leap_to(kFirst + kSecond);
  load(kFirst);
  EXPECT_EQ(age(), seconds{5});
}

TEST_F(GatesLeap, so_is_one_from_before_both) {
  leap_to(kFirst);
  leap_to(kFirst + kSecond);
  load(Duration{});
  EXPECT_EQ(age(), seconds{5});
}

TEST_F(GatesLeap, and_one_from_behind_both) {
  leap_to(kFirst);
  leap_to(kFirst + kSecond);
  load(kFirst + kSecond);
  EXPECT_EQ(age(), seconds{5});
}

TEST_F(GatesLeap, a_clock_that_is_set_back_in_part_leaves_those_from_before_as_old_as_they_were) {
  leap_to(kFirst + kSecond);
  leap_to(kFirst);
  load(Duration{});
  EXPECT_EQ(age(), seconds{5});
}

TEST_F(GatesLeap, one_that_is_then_surpassed_hides_none_of_those_before_it) {
  leap_to(kFirst);
  leap_to(kFirst / 2);
  leap_to(kFirst + kSecond);
  load(kFirst);
  EXPECT_EQ(age(), seconds{5});
}

TEST(LimiterLeap, a_start_that_is_to_come_is_as_old_as_it_was) {
  Limiter rate;
  rate.type = Limiter::Type::rate;
  rate.rate = {.limit = 1, .per = hours{1}};
  rate.charge(kTrue);
  rate.postpone(kTrue);
  rate.shift(minutes{30});
  const auto record = rate.record("queue", kTrue + minutes{31});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->at, kTrue + minutes{30});
}

}  // namespace gates_leap_test
}  // namespace ordo::domain
