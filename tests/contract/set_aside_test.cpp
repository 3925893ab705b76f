#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "contract/backends.h"

namespace ordo::store {
namespace set_aside_test {

using Texts = std::vector<std::string>;

/// Entries that were set aside are where they were, for whoever reads (stores.md §1.6).
class SetAside : public StoreContract {
 protected:
  CommitResult set_aside(const Grant& grant, std::uint64_t batch, std::vector<Seq> seqs) {
    auto delta = delta_of(grant, batch);
    delta.set_aside = std::move(seqs);
    return commit(std::move(delta));
  }

  /// As a reader sees them that takes `rows` at a time.
  Texts read_in_pages(ShardId shard, std::size_t rows, Seq after = 0) {
    const auto log = store().open_log();
    log->add(shard, after);
    Texts texts;
    Seq last = after;
    std::size_t caught_up = 0;
    for (bool at_end = false; !at_end;) {
      const auto chunk = log->read(rows);
      at_end = chunk.at_end;
      caught_up += chunk.caught_up.size();
      for (const auto& row : chunk.rows) {
        texts.emplace_back(chunk.body(row));
        EXPECT_GT(row.seq, last);
        last = row.seq;
      }
    }
    EXPECT_EQ(caught_up, 1u);
    return texts;
  }
};
INSTANTIATE_TEST_SUITE_P(on, SetAside, every_store(), backend_name);

TEST_P(SetAside, they_keep_their_place) {
  const ShardId shard{define().number, 1};
  const auto grant = own(shard);
  append(shard, {"a"});
  append(shard, {"b", "c", "d"});
  append(shard, {"e"});
  const auto seqs = seqs_of(shard);
  ASSERT_EQ(set_aside(grant, 1, {seqs[0], seqs[2], seqs[4]}), CommitResult::applied);
  world().reopen();
  const Texts all = {"a", "b", "c", "d", "e"};
  for (const std::size_t rows : {1, 2, 3, 10}) EXPECT_EQ(read_in_pages(shard, rows), all) << rows;
  EXPECT_EQ(seqs_of(shard), seqs);
  EXPECT_EQ(read_in_pages(shard, 10, seqs[1]), (Texts{"c", "d", "e"}));
  append(shard, {"f"});
  EXPECT_EQ(read_in_pages(shard, 2), (Texts{"a", "b", "c", "d", "e", "f"}));
}

TEST_P(SetAside, all_of_a_shard) {
  const ShardId shard{define().number, 0};
  auto grant = own(shard);
  append(shard, {"a", "b", "c"});
  const auto seqs = seqs_of(shard);
  ASSERT_EQ(set_aside(grant, 1, {seqs[2], seqs[0], seqs[1]}), CommitResult::applied);
  for (const std::size_t rows : {1, 2, 10}) EXPECT_EQ(read_in_pages(shard, rows), (Texts{"a", "b", "c"}));
  store().leave("n1");
  grant = own(shard, "n2");
  EXPECT_GE(grant.head, seqs[2]) << "jobs of an unclean take-over are told by it";
}

TEST_P(SetAside, many_between_many_in_pages) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  Texts all;
  for (int i = 0; i < 1000; ++i) all.push_back("entry " + std::to_string(i));
  append(shard, all);
  const auto seqs = seqs_of(shard);
  std::uint64_t batch = 0;
  std::vector<Seq> part;
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    if (i % 3 == 0 || (i > 300 && i < 600)) part.push_back(seqs[i]);
    if (part.size() == 100) {
      ASSERT_EQ(set_aside(grant, ++batch, std::exchange(part, {})), CommitResult::applied);
    }
  }
  for (const std::size_t rows : {7, 100, 5000}) EXPECT_EQ(read_in_pages(shard, rows), all) << rows;
}

TEST_P(SetAside, they_are_fetched_and_erased_as_before) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a", "b", "c", "d"});
  const auto seqs = seqs_of(shard);
  ASSERT_EQ(set_aside(grant, 1, {seqs[1], seqs[2]}), CommitResult::applied);
  const auto chunk = store().fetch(shard, seqs);
  ASSERT_EQ(chunk.rows.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(chunk.rows[i].seq, seqs[i]);
    EXPECT_EQ(chunk.body(chunk.rows[i]), Texts({"a", "b", "c", "d"})[i]);
  }
  auto delta = delta_of(grant, 2);
  delta.erase = {seqs[0], seqs[1]};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  EXPECT_EQ(read_all(shard), (Texts{"c", "d"}));
  EXPECT_EQ(store().fetch(shard, seqs).rows.size(), 2u);
  delta = delta_of(grant, 3);
  delta.erase = {seqs[2], seqs[3]};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  EXPECT_EQ(read_all(shard), Texts{});
}

TEST_P(SetAside, what_is_not_there_is_passed_over) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a", "b"});
  const auto seqs = seqs_of(shard);
  auto delta = delta_of(grant, 1);
  delta.erase = {seqs[0]};
  delta.set_aside = {seqs[0], seqs[1]};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  ASSERT_EQ(set_aside(grant, 2, {seqs[0], seqs[1]}), CommitResult::applied) << "twice";
  EXPECT_EQ(read_all(shard), (Texts{"b"}));
}

TEST_P(SetAside, not_by_who_has_lost_the_shard) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a"});
  const auto seqs = seqs_of(shard);
  auto delta = delta_of(grant, 1);
  ++delta.lease.holder;
  delta.set_aside = seqs;
  ASSERT_EQ(commit(delta), CommitResult::stale);
  for (const auto& row : store().fetch(shard, seqs).rows) EXPECT_FALSE(row.set_aside);
}

TEST_P(SetAside, they_go_with_their_queue) {
  const auto queue = define("orders", 1);
  const ShardId shard{queue.number, 0};
  const auto grant = own(shard);
  append(shard, {"a", "b"});
  ASSERT_EQ(set_aside(grant, 1, seqs_of(shard)), CommitResult::applied);
  ASSERT_TRUE(store().close("orders"));
  EXPECT_EQ(read_all(shard), (Texts{"a", "b"})) << "of a closed queue";
  const auto next = store().define("orders>", 1);
  ASSERT_TRUE(store().replace("orders", next.number));
  EXPECT_TRUE(store().fetch(shard, std::vector<Seq>{1}).rows.empty());
  EXPECT_EQ(read_all({next.number, 0}), Texts{});
  ASSERT_TRUE(store().remove("orders"));
}

TEST_P(SetAside, a_reader_that_is_under_way_sees_each_once) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a", "b", "c", "d", "e", "f"});
  const auto seqs = seqs_of(shard);
  const auto log = store().open_log();
  log->add(shard, 0, grant.lease);
  append(shard, {"g"});
  Texts texts;
  std::uint64_t batch = 0;
  for (bool at_end = false; !at_end;) {
    const auto chunk = log->read(1);
    at_end = chunk.at_end;
    for (const auto& row : chunk.rows) texts.emplace_back(chunk.body(row));
    if (batch < seqs.size()) {
      ASSERT_EQ(set_aside(grant, batch + 1, {seqs[seqs.size() - 1 - batch]}), CommitResult::applied);
      ++batch;
    }
  }
  EXPECT_EQ(texts, (Texts{"a", "b", "c", "d", "e", "f", "g"}));
}

}  // namespace set_aside_test
}  // namespace ordo::store
