#include "domain/shard_id.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>
#include <vector>

namespace ordo::domain {
namespace shard_id_test {

TEST(ShardOf, is_the_crc_of_the_key_modulo_the_number_of_shards) {
  struct Vector {
    std::string key;
    std::uint32_t of_5;
    std::uint32_t of_24;
  };
  const std::vector<Vector> vectors = {{"", 0, 0},   {"0", 4, 17}, {"1", 3, 23},        {"2", 2, 13},
                                       {"3", 1, 19}, {"42", 3, 8}, {"order-42", 2, 22}, {"заказ", 0, 20}};
  for (const auto& [key, of_5, of_24] : vectors) {
    EXPECT_EQ(shard_of(key, 5), of_5) << key;
    EXPECT_EQ(shard_of(key, 24), of_24) << key;
    EXPECT_EQ(shard_of(key, 1), 0U) << key;
  }
}

TEST(ShardOf, takes_every_byte_of_a_key) {
  using namespace std::string_view_literals;
  EXPECT_EQ(shard_of("123456789", 0xffffffff), 0xcbf43926U);  // the check value of CRC-32
  EXPECT_NE(shard_of("a\0b"sv, 65536), shard_of("a\0c"sv, 65536));
}

TEST(ShardId, is_ordered_by_queue_then_index) {
  EXPECT_LT((ShardId{1, 9}), (ShardId{2, 0}));
  EXPECT_LT((ShardId{1, 1}), (ShardId{1, 2}));
  EXPECT_EQ((ShardId{1, 1}), (ShardId{1, 1}));
  EXPECT_EQ((std::unordered_set<ShardId>{{1, 2}, {2, 1}, {1, 2}}.size()), 2U);
}

}  // namespace shard_id_test
}  // namespace ordo::domain
