#include "runtime/newer_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace newer_shards_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(NewerShards, are_left_to_a_newer_node_and_tried_again_each_minute_while_there_is_none) {
  StandingClock clock;
  NewerShards newer(clock);
  const domain::ShardId shard{1, 2};
  const std::vector<domain::LiveNode> old{{"n1", {}, 1}}, both{{"n1", {}, 1}, {"n2", {}, 2}};
  std::map<domain::ShardId, std::uint16_t> needs;
  EXPECT_EQ(newer.take_changed(), std::nullopt);
  EXPECT_TRUE(newer.leave(shard, 2));
  EXPECT_FALSE(newer.leave(shard, 2)) << "no news";
  EXPECT_THAT(newer.take_changed(), Optional(ElementsAre(NewerShard{shard, 2})));
  EXPECT_EQ(newer.take_changed(), std::nullopt);
  clock.now += 1min;
  newer.look(both, needs);
  EXPECT_EQ(needs.at(shard), 2);
  EXPECT_EQ(newer.take_changed(), std::nullopt);
  needs.clear();
  newer.look(old, needs);
  EXPECT_THAT(needs, IsEmpty());
  EXPECT_THAT(newer.take_changed(), Optional(IsEmpty()));
}

}  // namespace newer_shards_test
}  // namespace ordo::runtime
