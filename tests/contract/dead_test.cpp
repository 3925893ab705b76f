#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "contract/backends.h"

namespace ordo::store {
namespace dead_test {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

class Dead : public StoreContract {
 protected:
  void SetUp() override {
    queue_ = define("orders", 2).number;
    grant_ = own({queue_, 0});
  }

  /// Buries one payload per text now, in one delta of shard 0.
  void bury(const Texts& bodies, std::uint64_t max_dead = 0, Time dead_before = Time::min()) {
    auto delta = delta_of(grant_, ++batch_);
    for (const auto& body : bodies) delta.dead.push_back({.at = clock_.wall(), .bytes = body});
    delta.max_dead = max_dead;
    delta.dead_before = dead_before;
    ASSERT_EQ(commit(std::move(delta)), CommitResult::applied);
  }

  Texts dead() {
    Texts texts;
    for (const auto& row : store().dead(queue_, 0, 1000)) texts.push_back(row.bytes);
    return texts;
  }

  /// Their numbers, which rise as each shard buries.
  std::vector<std::uint64_t> nos() {
    std::vector<std::uint64_t> numbers;
    for (const auto& row : store().dead(queue_, 0, 1000)) numbers.push_back(row.no);
    return numbers;
  }

  NewEntry entry(const std::string& body, std::uint32_t index = 0) {
    return {.shard = {queue_, index}, .bytes = body};
  }

  std::uint32_t queue_ = 0;
  Grant grant_;
  std::uint64_t batch_ = 0;
};
INSTANTIATE_TEST_SUITE_P(on, Dead, every_store(), backend_name);

TEST_P(Dead, are_listed_page_by_page) {
  bury({"a", "b"});
  bury({"c"});
  EXPECT_EQ(dead(), (Texts{"a", "b", "c"}));
  auto page = second().dead(queue_, 0, 2);
  ASSERT_EQ(page.size(), 2u);
  page = store().dead(queue_, page[1].no, 2);
  ASSERT_EQ(page.size(), 1u);
  EXPECT_EQ(page[0].bytes, "c");
  EXPECT_EQ(page[0].shard, (ShardId{queue_, 0}));
  EXPECT_EQ(page[0].at, clock_.wall());
  EXPECT_TRUE(store().dead(queue_, page[0].no, 10).empty());
  EXPECT_TRUE(store().dead(queue_ + 1, 0, 10).empty());
  EXPECT_TRUE(store().dead(queue_, 0, 0).empty());
}

TEST_P(Dead, the_oldest_are_found_whichever_shards_they_are_in) {
  const ShardId other{queue_, 1};
  const auto grant = own(other);
  const auto bury_there = [&](std::uint64_t batch) {
    auto delta = delta_of(grant, batch);
    delta.dead = {{.at = clock_.wall(), .bytes = "there"}};
    ASSERT_EQ(commit(std::move(delta)), CommitResult::applied);
  };
  EXPECT_TRUE(store().oldest_dead(queue_, 10).empty());
  bury({"a"});
  clock_.move(1s);
  bury_there(1);
  clock_.move(1s);
  bury({"b", "c"});
  clock_.move(1s);
  bury_there(2);
  const ShardId shard{queue_, 0};
  EXPECT_EQ(second().oldest_dead(queue_, 10), (std::vector{shard, other, shard, shard, other}));
  EXPECT_EQ(store().oldest_dead(queue_, 2), (std::vector{shard, other}));
  bury({}, 0, clock_.wall() - 2s);
  EXPECT_EQ(store().oldest_dead(queue_, 2), (std::vector{other, shard})) << "the first one has gone";
  EXPECT_TRUE(store().oldest_dead(queue_ + 1, 10).empty());
}

TEST_P(Dead, all_of_a_shard_may_go) {
  bury({"a", "b"});
  bury({}, 0, Time::max());
  EXPECT_EQ(dead(), Texts{});
}

TEST_P(Dead, numbers_are_never_used_again) {
  bury({"a", "b"});
  const auto before = nos();
  EXPECT_EQ(store().erase_dead(queue_, before), 2u);
  world().reopen();
  bury({"c"});
  EXPECT_EQ(dead(), (Texts{"c"}));
  EXPECT_GT(nos().at(0), before.at(1));
}

TEST_P(Dead, too_many_go_oldest_first) {
  bury({"a", "b", "c"}, 2);
  EXPECT_EQ(dead(), (Texts{"b", "c"}));
  bury({"d", "e", "f", "g"}, 2);
  EXPECT_EQ(dead(), (Texts{"f", "g"}));
  EXPECT_EQ(row_of({queue_, 0}).dead, 2u);
  EXPECT_EQ(row_of({queue_, 0}).dead_trimmed, 5u);
  bury({}, 1);
  EXPECT_EQ(dead(), (Texts{"g"}));
  EXPECT_EQ(row_of({queue_, 0}).dead_trimmed, 6u);
}

TEST_P(Dead, the_oldest_is_told_by_its_time) {
  clock_.move(10s);
  bury({"young"});
  clock_.move(-10s);
  bury({"old"}, 1);
  EXPECT_EQ(dead(), (Texts{"young"}));
}

TEST_P(Dead, too_old_ones_go) {
  bury({"a"});
  clock_.move(10s);
  bury({"b"});
  const auto limit = clock_.wall();
  clock_.move(10s);
  bury({"c"}, 0, limit);
  EXPECT_EQ(dead(), (Texts{"b", "c"}));
  bury({}, 1, limit + 1s);
  EXPECT_EQ(dead(), (Texts{"c"}));
  EXPECT_EQ(row_of({queue_, 0}).dead_trimmed, 2u);
}

TEST_P(Dead, trimming_is_each_shards_own) {
  const auto other = own({queue_, 1});
  auto delta = delta_of(other, 1);
  delta.dead = {{.at = clock_.wall() - 1h, .bytes = "other"}};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  bury({"a", "b"}, 1, clock_.wall());
  EXPECT_EQ(dead(), (Texts{"other", "b"}));
  EXPECT_EQ(row_of({queue_, 1}).dead, 1u);
  EXPECT_EQ(row_of({queue_, 1}).dead_trimmed, 0u);
}

TEST_P(Dead, are_erased_by_number) {
  bury({"a", "b", "c"});
  const auto all = nos();
  const std::vector<std::uint64_t> some = {all.at(2), all.at(0), all.at(2), all.at(2) + (99u << 16)};
  EXPECT_EQ(store().erase_dead(queue_ + 1, some), 0u) << "of another queue";
  EXPECT_EQ(store().erase_dead(queue_, some), 2u);
  EXPECT_EQ(dead(), (Texts{"b"}));
  EXPECT_EQ(row_of({queue_, 0}).dead, 1u);
  EXPECT_EQ(row_of({queue_, 0}).dead_trimmed, 0u);
}

TEST_P(Dead, come_back_exactly_once) {
  bury({"a", "b", "c"});
  const auto log = store().open_log();
  log->read(1);
  const auto all = nos();
  const std::vector<std::uint64_t> some = {all.at(0), all.at(2), all.at(0)};
  EXPECT_EQ(store().revive(queue_, some, {entry("A"), entry("C", 1), entry("A again")}), 2u);
  EXPECT_TRUE(log->read(1).woken);
  EXPECT_EQ(second().revive(queue_, some, {entry("A"), entry("C", 1), entry("A again")}), 0u);
  EXPECT_EQ(dead(), (Texts{"b"}));
  EXPECT_EQ(read_all({queue_, 0}), (Texts{"A"}));
  EXPECT_EQ(read_all({queue_, 1}), (Texts{"C"}));
  EXPECT_EQ(row_of({queue_, 0}).dead, 1u);
}

TEST_P(Dead, that_two_revive_at_once_come_back_once) {
  second();
  for (int round = 0; round < 10; ++round) {
    bury({"x"});
    const std::uint64_t no = store().dead(queue_, 0, 1).at(0).no;
    auto other = std::async(std::launch::async,
                            [&] { return second().revive(queue_, std::span(&no, 1), {entry("x")}); });
    const auto mine = store().revive(queue_, std::span(&no, 1), {entry("x")});
    EXPECT_EQ(mine + other.get(), 1u);
  }
  EXPECT_EQ(read_all({queue_, 0}).size(), 10u);
}

TEST_P(Dead, a_refused_revival_keeps_them) {
  bury({"a"});
  const auto no = nos().at(0);
  EXPECT_THROW(store().revive(queue_, std::span(&no, 1), {entry("A", 7)}), Error);
  EXPECT_THROW(store().revive(queue_, std::span(&no, 1), {}), Error);
  EXPECT_EQ(store().revive(queue_ + 1, std::span(&no, 1), {entry("A")}), 0u) << "of another queue";
  EXPECT_EQ(dead(), (Texts{"a"}));
  EXPECT_TRUE(read_all({queue_, 0}).empty());
  EXPECT_EQ(row_of({queue_, 0}).dead, 1u);
}

}  // namespace dead_test
}  // namespace ordo::store
