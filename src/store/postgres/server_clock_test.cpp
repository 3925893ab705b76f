#include "store/postgres/server_clock.h"

#include <gtest/gtest.h>

namespace ordo::store::postgres {
namespace server_clock_test {

using namespace std::chrono_literals;

class HandClock final : public Clock {
 public:
  Time wall() override { return Time{1h}; }
  Duration steady() override { return steady_; }
  void move(Duration by) { steady_ += by; }

 private:
  Duration steady_ = 100s;
};

class ServerClockTest : public testing::Test {
 protected:
  /// The server said `at` in an answer that took so long.
  void learn(Duration at, Duration took) {
    const auto asked = clock_.steady();
    clock_.move(took);
    server_.learn(Time{at}, asked);
  }

  HandClock clock_;
  ServerClock server_{clock_};
};

TEST_F(ServerClockTest, is_the_machines_before_the_first_answer) { EXPECT_EQ(server_.now(), Time{1h}); }

TEST_F(ServerClockTest, goes_on_by_the_steady_clock) {
  learn(5000s, 0s);
  EXPECT_EQ(server_.now(), Time{5000s});
  clock_.move(7s);
  EXPECT_EQ(server_.now(), Time{5007s});
}

TEST_F(ServerClockTest, takes_the_middle_of_the_first_answer) {
  learn(5000s, 4s);
  EXPECT_EQ(server_.now(), Time{5002s});
}

TEST_F(ServerClockTest, is_narrowed_by_quick_answers_and_not_moved_by_slow_ones) {
  learn(5000s, 4s);  // it is between 5000 and 5004 now
  learn(5002s, 100s);
  EXPECT_EQ(server_.now(), Time{5102s});
  learn(5103s, 0s);
  EXPECT_EQ(server_.now(), Time{5103s});
}

TEST_F(ServerClockTest, follows_a_clock_that_was_set) {
  learn(5000s, 0s);
  clock_.move(10s);
  learn(4000s, 2s);
  EXPECT_EQ(server_.now(), Time{4002s}) << "not later than it can be";
  learn(9000s, 2s);
  EXPECT_EQ(server_.now(), Time{9000s}) << "not earlier than it can be";
}

}  // namespace server_clock_test
}  // namespace ordo::store::postgres
