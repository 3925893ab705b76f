// Placement groups: all shards of linked queues go to one node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/placement.h"

namespace ordo::domain {
namespace placement_group_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using Placed = std::vector<PlacedShard>;

/// `count` shards of queue `number`, all of `owner`.
void add(Placed& shards, std::uint32_t number, std::string_view queue, std::uint32_t count,
         std::string_view owner, std::string_view group) {
  for (std::uint32_t i = 0; i < count; ++i) shards.push_back({{number, i}, queue, owner, group});
}

const std::vector<LiveNode> kTwo{{"a", {"mail", "orders", "other"}}, {"b", {"mail", "orders", "other"}}};

TEST(LinkQueues, NamesAGroupByItsFirstQueue) {
  const std::vector<std::pair<std::string, std::string>> told{
      {"orders", "shop"}, {"mail", "shop"}, {"x", "y"}};
  EXPECT_THAT(link_queues(told), ElementsAre(Pair("mail", "mail"), Pair("orders", "mail"), Pair("x", "x")));
  EXPECT_THAT(link_queues({}), IsEmpty());
}

TEST(LinkQueues, IsTransitiveAlsoWhereNodesDisagree) {
  const std::vector<std::pair<std::string, std::string>> told{{"d", "3"}, {"c", "3"}, {"c", "2"}, {"b", "2"},
                                                              {"b", "1"}, {"a", "1"}, {"z", "9"}};
  EXPECT_THAT(link_queues(told),
              ElementsAre(Pair("a", "a"), Pair("b", "a"), Pair("c", "a"), Pair("d", "a"), Pair("z", "z")));
}

TEST(PlacementGroup, GoesToOneNodeAndTheRestEvensOut) {
  Placed shards;
  add(shards, 1, "orders", 2, "", "g");
  add(shards, 2, "mail", 1, "", "g");
  add(shards, 3, "other", 3, "", "");
  const auto owners = balanced_owners({shards, kTwo});
  EXPECT_EQ(owners[0], owners[1]);
  EXPECT_EQ(owners[0], owners[2]);
  const auto others = std::count(owners.begin() + 3, owners.end(), owners[0]);
  EXPECT_LE(others, 1) << "the node of the group takes the smaller part of the other queue";
}

TEST(PlacementGroup, StaysWhereItIs) {
  Placed shards;
  add(shards, 1, "orders", 3, "b", "g");
  EXPECT_THAT(balanced_owners({shards, kTwo}), ElementsAre(1, 1, 1));
}

TEST(PlacementGroup, GathersAtWhoeverHasMostOfIt) {
  Placed shards;
  add(shards, 1, "orders", 2, "b", "g");
  add(shards, 2, "mail", 1, "a", "g");
  EXPECT_THAT(plan_automatic({shards, kTwo}, "a").release, ElementsAre(ShardId{2, 0}));
  EXPECT_THAT(plan_automatic({shards, kTwo}, "b"), (PlacementPlan{}));
}

TEST(PlacementGroup, MovesOnlyIfThatEvensOut) {
  Placed shards;
  add(shards, 1, "orders", 3, "a", "g");
  add(shards, 2, "mail", 3, "a", "h");
  EXPECT_THAT(balanced_owners({shards, kTwo}), UnorderedElementsAre(0, 0, 0, 1, 1, 1));
  Placed alone;
  add(alone, 1, "orders", 3, "a", "g");
  EXPECT_THAT(plan_automatic({alone, kTwo}, "a"), (PlacementPlan{})) << "to and fro for ever otherwise";
}

TEST(PlacementGroup, BelongsToNobodyWhereNoNodeServesAllOfIt) {
  Placed shards;
  add(shards, 1, "orders", 1, "", "g");
  add(shards, 2, "mail", 1, "", "g");
  const std::vector<LiveNode> apart{{"a", {"orders"}}, {"b", {"mail"}}};
  EXPECT_THAT(balanced_owners({shards, apart}), ElementsAre(-1, -1));
}

TEST(PlacementGroup, GoesBeforeStaticSplitting) {
  Placed shards;
  add(shards, 1, "orders", 2, "", "g");
  add(shards, 2, "mail", 2, "", "g");
  const auto first = plan_by_node({shards, kTwo}, "a", 2, 0);
  const auto second = plan_by_node({shards, kTwo}, "b", 2, 1);
  EXPECT_EQ(first.claim.size() + second.claim.size(), 4U);
  EXPECT_TRUE(first.claim.empty() || second.claim.empty());
  const auto custom = plan_custom({shards, kTwo}, "a", [](const std::string& queue, std::uint32_t shard) {
    return queue == "orders" && shard == 0;
  });
  EXPECT_EQ(custom.claim.size(), 4U);
}

}  // namespace placement_group_test
}  // namespace ordo::domain
