#include "runtime/follower.h"

#include <gtest/gtest.h>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

namespace ordo::runtime {
namespace follower_test {

class HalfSilentStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  std::vector<store::ShardFacts> load(std::span<const store::ShardId> shards) override {
    for (const auto shard : shards) {
      if (shard.index == silent) throw Error(ErrorKind::unavailable, "no answer");
    }
    most_at_once = std::max(most_at_once, shards.size());
    ++loads;
    return MemoryStore::load(shards);
  }

  std::optional<std::uint32_t> silent;
  std::size_t most_at_once = 0;
  int loads = 0;
};

class FollowerTest : public testing::Test {
 protected:
  std::vector<store::Grant> grants() {
    const auto queue = store_.define("orders", kShards);
    store_.join("n1", "");
    std::vector<store::Claim> claims;
    for (std::uint32_t index = 0; index < kShards; ++index) {
      claims.push_back({.shard = {queue.number, index}});
      store::append_and_wait(store_, {{.shard = {queue.number, index}, .bytes = "a"}});
    }
    return store_.acquire("n1", 1, claims);
  }

  /// False: it threw.
  bool tick() {
    bool succeeded = true;
    try {
      follower_.tick();
    } catch (const Error&) {
      succeeded = false;
    }
    for (const auto& piece : inbox_.take().log) {
      loaded_ += std::holds_alternative<LoadedShard>(piece) ? 1 : 0;
      if (const auto* chunk = std::get_if<store::LogChunk>(&piece)) rows_ += chunk->rows.size();
      told_ += std::holds_alternative<AllRead>(piece) ? 1 : 0;
    }
    return succeeded;
  }

  static constexpr std::uint32_t kShards = 40;

  HalfSilentStore store_{system_clock()};
  Inbox inbox_;
  Follower follower_{store_, inbox_};
  std::size_t loaded_ = 0, rows_ = 0, told_ = 0;
};

TEST_F(FollowerTest, a_shard_that_cannot_be_loaded_keeps_no_other_from_being_read) {
  store_.silent = 3;
  follower_.add(grants(), 0);
  follower_.looked(1);
  for (int i = 0; i < 100; ++i) tick();
  EXPECT_EQ(loaded_, kShards - 1);
  EXPECT_EQ(rows_, kShards - 1);
  EXPECT_EQ(told_, 0U) << "of that one nothing was read";
  store_.silent.reset();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(tick());
  EXPECT_EQ(loaded_, kShards);
  EXPECT_EQ(rows_, kShards);
  EXPECT_EQ(told_, 1U);
}

TEST_F(FollowerTest, loads_some_shards_at_a_time) {
  follower_.add(grants(), 0);
  for (int i = 0; i < 3; ++i) tick();
  EXPECT_EQ(rows_, kShards);
  EXPECT_LT(store_.most_at_once, kShards);
}

TEST_F(FollowerTest, loads_more_at_a_time_while_they_have_little) {
  const auto queue = store_.define("many", 3000);
  store_.join("n1", "");
  std::vector<store::Claim> claims;
  for (std::uint32_t index = 0; index < queue.shards; ++index)
    claims.push_back({.shard = {queue.number, index}});
  follower_.add(store_.acquire("n1", 1, claims), 0);
  for (int i = 0; i < 3; ++i) tick();
  EXPECT_EQ(loaded_, 3000U);
  EXPECT_LT(store_.loads, 15);
  EXPECT_LT(store_.most_at_once, 3000U);
}

}  // namespace follower_test
}  // namespace ordo::runtime
