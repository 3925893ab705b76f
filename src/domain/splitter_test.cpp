#include "domain/splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include <ordo/error.hpp>

namespace ordo::domain {
namespace splitter_test {

using ::testing::Property;
using ::testing::Throws;
using Groups = std::vector<std::vector<std::string>>;

std::vector<ShardId> shards_in_order(const std::vector<std::uint32_t>& counts) {
  std::vector<ShardId> list;
  for (std::uint32_t queue = 0; queue < counts.size(); ++queue) {
    for (std::uint32_t index = 0; index < counts[queue]; ++index) list.push_back({queue, index});
  }
  return list;
}

Groups names_of(const std::vector<std::vector<ShardId>>& groups) {
  Groups names;
  for (const auto& group : groups) {
    auto& row = names.emplace_back();
    for (const auto& shard : group)
      row.push_back(static_cast<char>('A' + shard.queue) + std::to_string(shard.index));
  }
  return names;
}

std::vector<std::vector<ShardId>> split_by_node(std::span<const ShardId> list, std::uint32_t node_count,
                                                std::uint32_t node, std::uint32_t threads) {
  return split_by_threads(shards_of_node(list, node_count, node), threads);
}

const std::vector<ShardId> kList = shards_in_order({3, 4, 1, 2});

TEST(Splitter, by_threads) {
  EXPECT_EQ(names_of(split_by_threads(kList, 3)),
            (Groups{{"A0", "B0", "B3", "D1"}, {"A1", "B1", "C0"}, {"A2", "B2", "D0"}}));
  EXPECT_EQ(split_by_threads(kList, 1), (std::vector<std::vector<ShardId>>{kList}));
}

TEST(Splitter, empty_groups_are_dropped) {
  EXPECT_EQ(names_of(split_by_threads(shards_in_order({2}), 5)), (Groups{{"A0"}, {"A1"}}));
  EXPECT_TRUE(split_by_threads({}, 5).empty());
  EXPECT_EQ(names_of(transposed_groups(shards_in_order({1}), 3)), (Groups{{"A0"}, {}, {}}));
}

TEST(Splitter, by_node) {
  EXPECT_EQ(names_of(split_by_node(kList, 2, 0, 3)), (Groups{{"A0", "B3"}, {"A2", "D0"}, {"B1"}}));
  EXPECT_EQ(names_of(split_by_node(kList, 2, 1, 3)), (Groups{{"A1", "C0"}, {"B0", "D1"}, {"B2"}}));
  EXPECT_TRUE(split_by_node(kList, 11, 10, 3).empty());  // more nodes than shards
}

TEST(Splitter, numbers_out_of_range_are_refused) {
  const auto is_refused = Throws<Error>(Property(&Error::kind, ErrorKind::invalid_argument));
  EXPECT_THAT([] { transposed_groups(kList, 0); }, is_refused);
  EXPECT_THAT([] { split_by_threads(kList, 0); }, is_refused);
  EXPECT_THAT([] { split_by_node(kList, 0, 0, 3); }, is_refused);
  EXPECT_THAT([] { split_by_node(kList, 2, 2, 3); }, is_refused);
  EXPECT_THAT([] { split_by_node(kList, 2, 1, 0); }, is_refused);
  EXPECT_THAT([] { shards_of_node(kList, 2, 2); }, is_refused);
}

TEST(Splitter, every_shard_goes_to_one_thread_of_one_node) {
  for (std::uint32_t nodes = 1; nodes <= 12; ++nodes) {
    for (std::uint32_t threads = 1; threads <= 6; ++threads) {
      std::multiset<ShardId> seen;
      for (std::uint32_t node = 0; node < nodes; ++node) {
        const auto groups = split_by_node(kList, nodes, node, threads);
        EXPECT_LE(groups.size(), threads);
        for (const auto& group : groups) {
          EXPECT_FALSE(group.empty());
          seen.insert(group.begin(), group.end());
        }
      }
      EXPECT_EQ(seen, (std::multiset<ShardId>{kList.begin(), kList.end()})) << nodes << " " << threads;
    }
  }
}

}  // namespace splitter_test
}  // namespace ordo::domain
