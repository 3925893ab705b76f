#include "runtime/start_limit.h"

#include <gtest/gtest.h>

namespace ordo::runtime {
namespace start_limit_test {

using namespace std::chrono_literals;

TEST(StartLimit, admits_all_until_a_start_fails) {
  StartLimit limit;
  EXPECT_TRUE(limit.admits(1000));
  EXPECT_FALSE(limit.is_absent());
  EXPECT_FALSE(limit.look(1h, 5));
  EXPECT_EQ(limit.next(), Duration::max());
}

TEST(StartLimit, a_kind_that_never_starts_is_absent_and_tried_after_growing_pauses) {
  StartLimit limit;
  Duration now = 1h;
  EXPECT_TRUE(limit.failed(now, 0));
  for (const Duration pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    EXPECT_TRUE(limit.is_absent());
    EXPECT_FALSE(limit.admits(0));
    EXPECT_EQ(limit.next(), now + pause);
    EXPECT_FALSE(limit.look(now + pause - 1us, 5));
    EXPECT_FALSE(limit.admits(0));
    now += pause;
    EXPECT_FALSE(limit.look(now, 5));
    EXPECT_FALSE(limit.is_absent());
    EXPECT_TRUE(limit.admits(0));
    EXPECT_FALSE(limit.admits(1));
    limit.started(now, 1);
    EXPECT_FALSE(limit.failed(now, 0)) << "told once";
  }
}

TEST(StartLimit, failures_of_one_moment_make_one_pause_and_leave_what_goes_on) {
  StartLimit limit;
  EXPECT_TRUE(limit.failed(1h, 399));
  for (std::size_t others = 398; others >= 200; --others) EXPECT_FALSE(limit.failed(1h, others));
  EXPECT_EQ(limit.next(), 1h + 1s);
  EXPECT_FALSE(limit.is_absent());
  EXPECT_TRUE(limit.admits(199));
  EXPECT_FALSE(limit.admits(200));
}

TEST(StartLimit, grows_only_by_what_was_tried_until_all_threads_start) {
  StartLimit limit;
  limit.failed(1h, 0);
  Duration now = limit.next();
  limit.look(now, 5);
  for (int i = 0; i < 3; ++i) {  // nothing was there to be started
    now = limit.next();
    limit.look(now, 5);
    EXPECT_FALSE(limit.admits(1));
  }
  for (const std::size_t runs : {1, 3}) {
    limit.started(now, runs);
    EXPECT_FALSE(limit.admits(runs));
    now = limit.next();
    limit.look(now, 5);
    EXPECT_TRUE(limit.admits(runs));
  }
  limit.started(now, 7);
  EXPECT_FALSE(limit.look(limit.next(), 5));
  EXPECT_FALSE(limit.is_limited());
  EXPECT_TRUE(limit.admits(1000));
}

TEST(StartLimit, a_short_recovery_is_no_news) {
  StartLimit limit;
  EXPECT_TRUE(limit.failed(1h, 0));
  limit.look(limit.next(), 1);
  limit.started(1h + 1s, 1);
  EXPECT_FALSE(limit.look(limit.next(), 1));
  EXPECT_FALSE(limit.is_limited());
  EXPECT_FALSE(limit.failed(1h + 3s, 0));
  EXPECT_EQ(limit.next(), 1h + 3s + 2s) << "the pause goes on growing";
  limit.look(limit.next(), 1);
  limit.started(1h + 5s, 1);
  limit.look(limit.next(), 1);
  EXPECT_TRUE(limit.look(limit.next(), 1)) << "a minute later all is well";
  EXPECT_TRUE(limit.failed(2h, 0));
  EXPECT_EQ(limit.next(), 2h + 1s);
}

}  // namespace start_limit_test
}  // namespace ordo::runtime
