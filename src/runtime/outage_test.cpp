#include "runtime/outage.h"

#include <gtest/gtest.h>

namespace ordo::runtime {
namespace outage_test {

using namespace std::chrono_literals;

TEST(Outage, is_told_once_and_once_more_when_it_is_over) {
  Outage outage;
  EXPECT_FALSE(outage.succeeded("read the log", 1s));
  EXPECT_EQ(outage.failed("read the log", "refused", 10s),
            "the store is lost: cannot read the log, trying again: refused");
  EXPECT_FALSE(outage.failed("look at the cluster", "refused", 11s));
  EXPECT_FALSE(outage.failed("read the log", "refused", 12s));
  EXPECT_FALSE(outage.succeeded("renew the leases", 13s)) << "it has not failed";
  EXPECT_FALSE(outage.succeeded("read the log", 13s)) << "another thread has not got through yet";
  EXPECT_EQ(outage.succeeded("look at the cluster", 14s), "the store answers again, after 4.0 s");
  EXPECT_FALSE(outage.succeeded("look at the cluster", 15s));
  EXPECT_TRUE(outage.failed("read the log", "refused", 16s));
}

TEST(Outage, is_told_again_each_minute) {
  Outage outage;
  EXPECT_TRUE(outage.failed("read the log", "refused", 10s));
  EXPECT_FALSE(outage.failed("read the log", "refused", 69s));
  EXPECT_EQ(outage.failed("read the log", "refused", 70s),
            "the store is lost for 60 s: cannot read the log, trying again: refused");
  EXPECT_FALSE(outage.failed("read the log", "refused", 100s));
}

}  // namespace outage_test
}  // namespace ordo::runtime
