#include "base/nearest.h"

#include <gtest/gtest.h>

namespace ordo {
namespace nearest_test {

using Names = std::vector<std::string>;

TEST(NearestNames, finds_what_is_a_few_edits_away) {
  EXPECT_EQ(nearest_names("ordrs", {"mail", "orders"}), Names{"orders"});
  EXPECT_EQ(nearest_names("roders", {"mail", "orders"}), Names{"orders"});  // swapped
  EXPECT_EQ(nearest_names("ORDERS", {"mail"}), Names{});
  EXPECT_EQ(nearest_names("", {"a", "long"}), Names{"a"});
}

TEST(NearestNames, finds_starts) {
  EXPECT_EQ(nearest_names("pay", {"mail", "payments"}), Names{"payments"});
  EXPECT_EQ(nearest_names("shard_count", {"shards", "shard"}), Names{"shard"});
}

TEST(NearestNames, gives_the_likeliest_three_first) {
  EXPECT_EQ(nearest_names("job", {"jobx", "job", "jab", "jo"}), (Names{"job", "jobx", "jab"}));
}

TEST(NearestHint, asks_or_lists) {
  EXPECT_EQ(nearest_hint("ordrs", {"orders", "mail"}), "did you mean 'orders'?");
  EXPECT_EQ(nearest_hint("jobs", {"job", "jobs2"}), "did you mean 'job' or 'jobs2'?");
  EXPECT_EQ(nearest_hint("zzzzzz", {"orders", "mail"}), "known: orders, mail");
  EXPECT_EQ(nearest_hint("zzzzzz", {}), "");
}

}  // namespace nearest_test
}  // namespace ordo
