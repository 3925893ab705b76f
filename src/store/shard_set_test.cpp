#include "store/shard_set.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace ordo::store {
namespace shard_set_test {

TEST(ShardSetTest, answers_as_a_sorted_set_does) {
  Random random(7);
  ShardSet set;
  std::set<domain::ShardId> model;
  for (int i = 0; i < 20'000; ++i) {
    const domain::ShardId shard{static_cast<std::uint32_t>(random.next() % 40),
                                static_cast<std::uint32_t>(random.next() % 40)};
    switch (random.next() % 3) {
      case 0:
        ASSERT_EQ(set.insert(shard), model.insert(shard).second);
        break;
      case 1:
        ASSERT_EQ(set.erase(shard), model.erase(shard) > 0);
        break;
      default:
        ASSERT_EQ(set.contains(shard), model.contains(shard));
    }
    ASSERT_EQ(set.size(), model.size());
  }
  for (std::uint32_t queue = 0; queue < 40; ++queue) {
    for (std::uint32_t index = 0; index < 40; ++index) {
      ASSERT_EQ(set.contains({queue, index}), model.contains({queue, index}));
    }
  }
}

TEST(ShardSetTest, takes_the_shards_of_another) {
  ShardSet some, others;
  for (std::uint32_t i = 0; i < 100; ++i) (i % 2 == 0 ? some : others).insert({1, i});
  some.insert(others);
  EXPECT_EQ(some.size(), 100U);
  some.clear();
  EXPECT_TRUE(some.empty());
  EXPECT_FALSE(some.contains({1, 0}));
}

}  // namespace shard_set_test
}  // namespace ordo::store
