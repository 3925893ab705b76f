#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include <ordo/error.hpp>

#include "contract/backends.h"

namespace ordo::store {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

class Log : public StoreContract {};
INSTANTIATE_TEST_SUITE_P(on, Log, every_store(), backend_name);

TEST_P(Log, begins_empty) {
  EXPECT_EQ(store().head(), 0u);
  const ShardId shard{define().number, 0};
  const auto chunk = store().read(0, std::span(&shard, 1), 10);
  EXPECT_TRUE(chunk.rows.empty());
  EXPECT_TRUE(chunk.at_end);
  EXPECT_EQ(chunk.through, 0u);
}

TEST_P(Log, keeps_entries_in_order_with_their_bytes) {
  const auto queue = define().number;
  append({queue, 0}, {"a", "", std::string("\0b", 2)});
  append({queue, 1}, {"c"});
  append({queue, 0}, {"d"});
  EXPECT_EQ(read_all({queue, 0}), (Texts{"1:a", "2:", std::string("3:\0b", 4), "5:d"}));
  EXPECT_EQ(read_all({queue, 1}), (Texts{"4:c"}));
  EXPECT_EQ(read_all({queue, 0}, 3), (Texts{"5:d"}));
  EXPECT_EQ(store().head(), 5u);
}

TEST_P(Log, an_empty_append_is_done_and_changes_nothing) {
  const auto wakes = store().wakes();
  append_and_wait(store(), {});
  EXPECT_EQ(store().head(), 0u);
  EXPECT_EQ(store().wakes(), wakes);
}

TEST_P(Log, one_append_may_name_many_shards) {
  const auto queue = define("orders", 3).number;
  append_and_wait(store(), {{.shard = {queue, 2}, .bytes = "x"}, {.shard = {queue, 0}, .bytes = "y"}});
  const std::vector<ShardId> wanted = {{queue, 0}, {queue, 2}};
  const auto chunk = store().read(0, wanted, 10);
  ASSERT_EQ(chunk.rows.size(), 2u);
  EXPECT_EQ(chunk.rows[0].shard, (ShardId{queue, 2}));
  EXPECT_EQ(chunk.rows[1].shard, (ShardId{queue, 0}));
  EXPECT_EQ(chunk.body(chunk.rows[1]), "y");
}

TEST_P(Log, a_read_never_ends_inside_an_append) {
  const auto queue = define().number;
  const ShardId shard{queue, 0};
  append(shard, {"a", "b", "c"});
  append(shard, {"d", "e"});
  const auto first = store().read(0, std::span(&shard, 1), 1);
  EXPECT_EQ(first.rows.size(), 3u);
  EXPECT_EQ(first.through, 3u);
  EXPECT_FALSE(first.at_end);
  const auto second = store().read(first.through, std::span(&shard, 1), 1);
  EXPECT_EQ(second.rows.size(), 2u);
  EXPECT_TRUE(second.at_end);
}

TEST_P(Log, a_read_knows_the_end_of_an_append_that_is_partly_erased_or_of_other_shards) {
  const auto queue = define().number;
  const ShardId shard{queue, 0};
  const auto grant = own(shard);
  append_and_wait(store(), {{.shard = shard, .bytes = "a"},
                            {.shard = shard, .bytes = "b"},
                            {.shard = {queue, 1}, .bytes = "c"},
                            {.shard = shard, .bytes = "d"}});
  append(shard, {"e"});
  auto delta = delta_of(grant, 1);
  delta.erase = {2, 4};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  const auto chunk = store().read(0, std::span(&shard, 1), 1);
  EXPECT_EQ(chunk.rows.size(), 1u);
  EXPECT_EQ(chunk.through, 4u);
  EXPECT_FALSE(chunk.at_end);
}

TEST_P(Log, a_read_passes_entries_of_others_up_to_the_head) {
  const auto queue = define().number;
  append({queue, 1}, {"a", "b"});
  const ShardId shard{queue, 0};
  const auto chunk = store().read(0, std::span(&shard, 1), 10);
  EXPECT_TRUE(chunk.rows.empty());
  EXPECT_EQ(chunk.through, 2u);
  EXPECT_TRUE(chunk.at_end);
}

TEST_P(Log, a_read_reaches_the_head_though_the_last_entries_are_erased) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a", "b"});
  auto delta = delta_of(grant, 1);
  delta.erase = {1, 2};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  const auto chunk = store().read(0, std::span(&shard, 1), 10);
  EXPECT_EQ(chunk.through, 2u);
  EXPECT_TRUE(chunk.at_end);
}

TEST_P(Log, a_read_ends_after_about_eight_mebibytes) {
  const ShardId shard{define().number, 0};
  const std::string mebibyte(1 << 20, 'x');
  for (int i = 0; i < 10; ++i) append(shard, {mebibyte});
  const auto first = store().read(0, std::span(&shard, 1), 1000);
  EXPECT_EQ(first.rows.size(), 8u);
  EXPECT_FALSE(first.at_end);
  const auto second = store().read(first.through, std::span(&shard, 1), 1000);
  EXPECT_EQ(second.rows.size(), 2u);
  EXPECT_TRUE(second.at_end);
}

TEST_P(Log, a_read_page_by_page_gives_everything_once) {
  const auto queue = define("orders", 4).number;
  for (int i = 0; i < 50; ++i) {
    std::vector<NewEntry> entries;
    for (int j = 0; j <= i % 5; ++j) {
      entries.push_back({.shard = {queue, static_cast<std::uint32_t>((i * 3 + j) % 4)}, .bytes = "x"});
    }
    append_and_wait(store(), std::move(entries));
  }
  const std::vector<ShardId> wanted = {{queue, 1}, {queue, 3}};
  const auto whole = store().read(0, wanted, 10'000);
  std::vector<Seq> paged;
  for (LogChunk chunk{.at_end = false}; !chunk.at_end;) {
    chunk = store().read(chunk.through, wanted, 7);
    for (const auto& row : chunk.rows) paged.push_back(row.seq);
  }
  ASSERT_EQ(paged.size(), whole.rows.size());
  for (std::size_t i = 0; i < paged.size(); ++i) EXPECT_EQ(paged[i], whole.rows[i].seq);
}

TEST_P(Log, fetch_gives_those_that_still_exist) {
  const auto queue = define().number;
  const auto grant = own({queue, 0});
  append({queue, 0}, {"a", "b", "c"});
  append({queue, 1}, {"d"});
  auto delta = delta_of(grant, 1);
  delta.erase = {2};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  const std::vector<Seq> seqs = {1, 2, 4, 99};
  const auto chunk = store().fetch(seqs);
  ASSERT_EQ(chunk.rows.size(), 2u);
  EXPECT_EQ(chunk.body(chunk.rows[0]), "a");
  EXPECT_EQ(chunk.rows[1].shard, (ShardId{queue, 1}));
  EXPECT_EQ(chunk.body(chunk.rows[1]), "d");
  EXPECT_TRUE(store().fetch({}).rows.empty());
}

TEST_P(Log, numbers_are_never_used_again) {  // stores.md §1.1
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a", "b", "c"});
  auto delta = delta_of(grant, 1);
  delta.erase = {1, 2, 3};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  append(shard, {"d"});
  EXPECT_EQ(read_all(shard), (Texts{"4:d"}));
  delta = delta_of(grant, 2);
  delta.erase = {4};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  world().reopen();
  EXPECT_EQ(store().head(), 4u);
  append(shard, {"e"});
  EXPECT_EQ(read_all(shard), (Texts{"5:e"}));
  EXPECT_EQ(read_all(shard, 4), (Texts{"5:e"}));
}

TEST_P(Log, survives_a_reopening) {
  const ShardId shard{define().number, 1};
  append(shard, {"a", "b"});
  world().reopen();
  EXPECT_EQ(read_all(shard), (Texts{"1:a", "2:b"}));
}

TEST_P(Log, carries_the_stores_time_which_never_goes_back) {
  const ShardId shard{define().number, 0};
  EXPECT_EQ(store().now(), clock_.wall());
  const auto first = clock_.wall();
  append(shard, {"a", "b"});
  clock_.move(-5s);
  append(shard, {"c"});
  world().reopen();
  append(shard, {"d"});
  clock_.move(6s);
  append(shard, {"e"});
  const auto chunk = store().read(0, std::span(&shard, 1), 10);
  ASSERT_EQ(chunk.rows.size(), 5u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(chunk.rows[static_cast<std::size_t>(i)].at, first) << i;
  EXPECT_EQ(chunk.rows[4].at, first + 1s);
}

TEST_P(Log, refuses_a_shard_that_does_not_exist_and_keeps_nothing_of_the_call) {
  const auto queue = define("orders", 2).number;
  for (const ShardId unknown : {ShardId{queue, 2}, ShardId{queue + 1, 0}, ShardId{0, 0}}) {
    try {
      append_and_wait(store(), {{.shard = {queue, 0}, .bytes = "a"}, {.shard = unknown, .bytes = "b"}});
      FAIL() << "appended";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    }
  }
  EXPECT_EQ(store().head(), 0u);
}

TEST_P(Log, refuses_more_than_a_read_could_take) {
  const ShardId shard{define().number, 0};
  const std::vector<NewEntry> entries(257, {.shard = shard, .bytes = std::string(1 << 20, 'x')});
  EXPECT_THROW(append_and_wait(store(), entries), Error);
  EXPECT_EQ(store().head(), 0u);
}

TEST_P(Log, is_one_for_all_processes) {
  const ShardId shard{define().number, 0};
  append(shard, {"a"});
  append_and_wait(second(), {{.shard = shard, .bytes = "b"}});
  append(shard, {"c"});
  EXPECT_EQ(read_all(shard), (Texts{"1:a", "2:b", "3:c"}));
  EXPECT_EQ(second().head(), 3u);
  const auto chunk = second().read(0, std::span(&shard, 1), 10);
  EXPECT_EQ(chunk.rows.size(), 3u);
}

TEST_P(Log, many_threads_append_and_lose_nothing) {
  const auto queue = define("orders", 4).number;
  second();
  constexpr int kThreads = 8;
  constexpr int kEach = 50;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        auto& store = thread % 2 == 0 ? this->store() : second();
        for (int i = 0; i < kEach; ++i) {
          const ShardId shard{queue, static_cast<std::uint32_t>(thread % 4)};
          append_and_wait(store, {{.shard = shard, .bytes = std::to_string(thread * kEach + i)}});
        }
      });
    }
  }
  std::vector<int> last(kThreads, -1);
  const std::vector<ShardId> wanted = {{queue, 0}, {queue, 1}, {queue, 2}, {queue, 3}};
  const auto chunk = store().read(0, wanted, 10'000);
  EXPECT_EQ(chunk.rows.size(), static_cast<std::size_t>(kThreads * kEach));
  for (const auto& row : chunk.rows) {
    const int number = std::stoi(std::string(chunk.body(row)));
    auto& before = last[static_cast<std::size_t>(number / kEach)];
    EXPECT_EQ(number % kEach, ++before);
  }
}

// ------------------------------------------------------------------------------------------------------
// waking

TEST_P(Log, a_wait_ends_with_an_append_of_whichever_process) {
  const ShardId shard{define().number, 0};
  second();
  const auto seen = store().wakes();
  auto waited = std::async(std::launch::async, [&] { store().wait(seen, 30s); });
  append_and_wait(second(), {{.shard = shard, .bytes = "a"}});
  EXPECT_EQ(waited.wait_for(10s), std::future_status::ready);
  EXPECT_NE(store().wakes(), seen);
}

TEST_P(Log, a_wait_misses_nothing_that_came_before_it) {
  const ShardId shard{define().number, 0};
  const auto seen = store().wakes();
  append(shard, {"a"});
  store().wait(seen, 1h);  // returns at once
  EXPECT_EQ(store().head(), 1u);
}

TEST_P(Log, a_wait_ends_after_its_time) {
  store().wait(store().wakes(), 1ms);
  store().wait(store().wakes(), 0ms);
  store().wait(store().wakes(), -1ms);
}

TEST_P(Log, wake_ends_the_waits_of_all_processes) {
  second();
  const auto seen = store().wakes();
  auto first = std::async(std::launch::async, [&] { store().wait(seen, 30s); });
  auto other = std::async(std::launch::async, [&] { second().wait(seen, 30s); });
  store().wake();
  EXPECT_EQ(first.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(other.wait_for(10s), std::future_status::ready);
}

TEST_P(Log, definitions_wake_and_deltas_do_not) {
  auto seen = store().wakes();
  const auto moved = [&] { return std::exchange(seen, store().wakes()) != seen; };
  const ShardId shard{define().number, 0};
  EXPECT_TRUE(moved());
  define();
  EXPECT_FALSE(moved()) << "it was there";
  store().set_paused("orders", true);
  EXPECT_TRUE(moved());
  const auto grant = own(shard);
  EXPECT_EQ(commit(delta_of(grant, 1)), CommitResult::applied);
  EXPECT_FALSE(moved());
  store().remove("orders");
  EXPECT_TRUE(moved());
}

}  // namespace
}  // namespace ordo::store
