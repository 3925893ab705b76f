// Blocks of records, which go with the deltas that end their jobs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "contract/backends.h"

namespace ordo::store {
namespace kept_test {

class Kept : public StoreContract {
 protected:
  using Nos = std::vector<std::uint64_t>;

  CommitResult keep(const Grant& grant, std::uint64_t batch, KeptRow row, Nos erased = {}) {
    auto delta = delta_of(grant, batch);
    delta.keep = std::move(row);
    delta.erase_kept = std::move(erased);
    return commit(std::move(delta));
  }
  Nos heads_of(ShardId shard, std::uint64_t from = 0, std::size_t most = 100) {
    Nos nos;
    for (const auto& row : store().kept_heads(shard, from, most)) nos.push_back(row.no);
    return nos;
  }
};
INSTANTIATE_TEST_SUITE_P(on, Kept, every_store(), backend_name);

TEST_P(Kept, goes_with_its_delta_and_is_there_after_it) {
  const ShardId shard{define().number, 1};
  const auto grant = own(shard);
  append(shard, {"a"});
  auto delta = delta_of(grant, 1);
  delta.erase = seqs_of(shard);
  delta.keep = {1, std::string("he\0ad", 5), std::string("bo\0dy", 5)};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  ASSERT_EQ(commit(delta), CommitResult::applied) << "the retry of an unknown outcome";
  world().reopen();
  const Nos first{1};
  EXPECT_EQ(store().kept(shard, first), (std::vector<KeptRow>{*delta.keep}));
  EXPECT_EQ(store().kept_heads(shard, 0, 10), (std::vector<KeptRow>{{1, delta.keep->head, ""}}));
  const ShardId other{shard.queue, 0};
  EXPECT_TRUE(store().kept(other, first).empty());
  EXPECT_TRUE(store().kept_heads(other, 0, 10).empty());
  EXPECT_TRUE(read_all(shard).empty());
}

TEST_P(Kept, a_stale_delta_keeps_nothing_and_takes_nothing_away) {
  const ShardId shard{define().number, 0};
  const auto old = own(shard, "n1", 1);
  ASSERT_EQ(keep(old, 1, {1, "h", "b"}), CommitResult::applied);
  const auto heir = own(shard, "n2", 2);
  EXPECT_EQ(keep(old, 2, {2, "h", "b"}, {1}), CommitResult::stale);
  EXPECT_EQ(heads_of(shard), (Nos{1}));
  EXPECT_EQ(keep(heir, 3, {2, "h", "b"}, {1}), CommitResult::stale) << "not the next batch";
  EXPECT_EQ(heads_of(shard), (Nos{1}));
}

TEST_P(Kept, is_listed_in_the_order_of_its_numbers_page_by_page) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  std::uint64_t batch = 0;
  const std::uint64_t far = (std::uint64_t{1} << 53) - 1;
  for (const std::uint64_t no : {std::uint64_t{9}, std::uint64_t{10}, std::uint64_t{100}, far}) {
    ASSERT_EQ(keep(grant, ++batch, {no, "h" + std::to_string(no), "b"}), CommitResult::applied);
  }
  EXPECT_EQ(heads_of(shard), (Nos{9, 10, 100, far}));
  EXPECT_EQ(heads_of(shard, 10, 2), (Nos{10, 100}));
  EXPECT_EQ(heads_of(shard, 101), (Nos{far}));
  const auto rows = store().kept(shard, Nos{1, 9, 50, 100, far});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].head, "h9");
  EXPECT_EQ(rows[1].no, 100u);
  EXPECT_EQ(rows[2].no, far);
  EXPECT_TRUE(store().kept(shard, {}).empty());
}

TEST_P(Kept, goes_by_its_exact_number) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  for (std::uint64_t no = 1; no <= 3; ++no) ASSERT_EQ(keep(grant, no, {no, "h", "b"}), CommitResult::applied);
  auto delta = delta_of(grant, 4);
  delta.erase_kept = {1, 2, 77};
  ASSERT_EQ(commit(std::move(delta)), CommitResult::applied);
  EXPECT_EQ(heads_of(shard), (Nos{3}));
  EXPECT_TRUE(store().kept(shard, Nos{1, 2}).empty());
}

TEST_P(Kept, a_thousand_go_at_once) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  auto delta = delta_of(grant, 1);
  for (std::uint64_t no = 1; no <= 1500; ++no) delta.erase_kept.push_back(no);
  delta.keep = {1501, "h", "b"};
  ASSERT_EQ(commit(std::move(delta)), CommitResult::applied);
  EXPECT_EQ(heads_of(shard), (Nos{1501}));
}

TEST_P(Kept, is_replaced_by_its_number_while_it_is_there) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  ASSERT_EQ(keep(grant, 1, {1, "old", "old"}), CommitResult::applied);
  EXPECT_TRUE(second().replace_kept(shard, {1, "new head", "new"}));
  EXPECT_FALSE(second().replace_kept(shard, {2, "h", "b"}));
  EXPECT_EQ(store().kept(shard, Nos{1}), (std::vector<KeptRow>{{1, "new head", "new"}}));
  EXPECT_EQ(store().kept_heads(shard, 0, 10), (std::vector<KeptRow>{{1, "new head", ""}}));
  ASSERT_EQ(keep(grant, 2, {1, "newer", "newer"}), CommitResult::applied);
  EXPECT_EQ(store().kept(shard, Nos{1}), (std::vector<KeptRow>{{1, "newer", "newer"}}));
  EXPECT_EQ(heads_of(shard), (Nos{1}));
}

TEST_P(Kept, may_be_empty) {
  const ShardId shard{define().number, 0};
  ASSERT_EQ(keep(own(shard), 1, {1, "", ""}), CommitResult::applied);
  EXPECT_EQ(store().kept(shard, Nos{0, 1, 2}), (std::vector<KeptRow>{{1, "", ""}}));
  EXPECT_TRUE(store().replace_kept(shard, {1, "h", ""}));
  EXPECT_EQ(store().kept(shard, Nos{0, 1, 2}), (std::vector<KeptRow>{{1, "h", ""}}));
}

TEST_P(Kept, of_a_closed_queue_stays_as_it_is) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  ASSERT_EQ(keep(grant, 1, {1, "h", "b"}), CommitResult::applied);
  store().close("orders");
  EXPECT_THROW(static_cast<void>(store().replace_kept(shard, {1, "x", "x"})), Error);
  EXPECT_EQ(store().kept(shard, Nos{1}), (std::vector<KeptRow>{{1, "h", "b"}}));
}

TEST_P(Kept, one_is_read_however_large) {
  const ShardId shard{define().number, 0};
  ASSERT_EQ(keep(own(shard), 1, {2, "h", std::string(9u << 20, 'x')}), CommitResult::applied);
  EXPECT_EQ(store().kept(shard, Nos{1, 2}).size(), 1u);
}

TEST_P(Kept, large_ones_are_read_in_pieces) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  const std::string large(5u << 20, 'x');
  for (std::uint64_t no = 1; no <= 3; ++no) {
    ASSERT_EQ(keep(grant, no, {no, "h", large}), CommitResult::applied);
  }
  Nos left{1, 2, 3};
  std::size_t calls = 0;
  while (!left.empty()) {
    const auto rows = store().kept(shard, left);
    ASSERT_FALSE(rows.empty());
    EXPECT_LT(rows.size(), 3u);
    for (const auto& row : rows) EXPECT_EQ(row.body, large);
    left.erase(left.begin(), left.begin() + std::ssize(rows));
    ++calls;
  }
  EXPECT_GE(calls, 2u);
}

TEST_P(Kept, goes_with_its_queue) {
  const auto queue = define();
  const ShardId shard{queue.number, 0};
  ASSERT_EQ(keep(own(shard), 1, {1, "h", "b"}), CommitResult::applied);
  store().remove("orders");
  EXPECT_TRUE(heads_of(shard).empty());
  const ShardId again{define().number, 0};
  EXPECT_TRUE(heads_of(again).empty());
}

TEST_P(Kept, goes_with_the_queue_that_another_takes_the_place_of) {
  const ShardId old{define().number, 0};
  ASSERT_EQ(keep(own(old), 1, {1, "h", "old"}), CommitResult::applied);
  const auto hidden = store().define(QueueDefinition::hidden_name("orders"), 1);
  const ShardId next{hidden.number, 0};
  ASSERT_EQ(keep(own(next), 1, {1, "h", "new"}), CommitResult::applied);
  store().close("orders");
  ASSERT_TRUE(store().replace("orders", hidden.number));
  EXPECT_TRUE(heads_of(old).empty());
  EXPECT_EQ(store().kept(next, Nos{1}).at(0).body, "new");
}

}  // namespace kept_test
}  // namespace ordo::store
