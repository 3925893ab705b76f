#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <ordo/error.hpp>

#include "contract/backends.h"

namespace ordo::store {
namespace log_test {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

/// Reads one shard, or several, page by page.
class Log : public StoreContract {
 protected:
  std::unique_ptr<LogReader> reader(const std::vector<ShardId>& shards) {
    auto log = store().open_log();
    for (const auto shard : shards) log->add(shard);
    return log;
  }

  /// The next page that holds something, or the end.
  static LogChunk page(LogReader& log, std::size_t rows) {
    while (true) {
      auto chunk = log.read(rows);
      if (!chunk.rows.empty() || chunk.at_end) return chunk;
    }
  }

  static Texts texts_of(const LogChunk& chunk) {
    Texts texts;
    for (const auto& row : chunk.rows) texts.emplace_back(chunk.body(row));
    return texts;
  }

  /// What is new, read to its end.
  static Texts rest(LogReader& log) {
    Texts texts;
    while (true) {
      const auto chunk = log.read(100);
      for (const auto& row : chunk.rows) texts.emplace_back(chunk.body(row));
      if (chunk.at_end) return texts;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(on, Log, every_store(), backend_name);

class LocalLog : public Log {};
INSTANTIATE_TEST_SUITE_P(on, LocalLog, local_stores(), backend_name);

TEST_P(Log, one_that_is_far_behind_has_much_of_the_page) {
  const auto full = define("full", 1).number;
  const auto empty = define("empty", 100).number;
  for (int i = 0; i < 220; ++i) append({full, 0}, std::vector<std::string>(100, "a"));
  std::vector<ShardId> shards = {{full, 0}};
  for (std::uint32_t i = 0; i < 100; ++i) shards.push_back({empty, i});
  const auto log = reader(shards);
  std::size_t rows = 0;
  int pages = 0;
  for (bool at_end = false; !at_end; ++pages) {
    const auto chunk = log->read(2000);
    rows += chunk.rows.size();
    at_end = chunk.at_end;
  }
  EXPECT_EQ(rows, 22'000u);
  EXPECT_LT(pages, 100) << "an even part would make a thousand";
}

TEST_P(Log, begins_empty) {
  const auto log = reader({{define().number, 0}});
  EXPECT_TRUE(rest(*log).empty());
  EXPECT_TRUE(rest(*log).empty());
}

TEST_P(Log, keeps_entries_in_order_with_their_bytes) {
  const auto queue = define().number;
  append({queue, 0}, {"a", "", std::string("\0b", 2)});
  append({queue, 1}, {"c"});
  append({queue, 0}, {"d"});
  EXPECT_EQ(read_all({queue, 0}), (Texts{"a", "", std::string("\0b", 2), "d"}));
  EXPECT_EQ(read_all({queue, 1}), (Texts{"c"}));
  const auto seqs = seqs_of({queue, 0});
  EXPECT_TRUE(std::is_sorted(seqs.begin(), seqs.end(), std::less_equal{}));
  EXPECT_EQ(read_all({queue, 0}, seqs[2]), (Texts{"d"}));
}

TEST_P(Log, an_empty_append_is_done_and_changes_nothing) {
  const auto log = reader({{define().number, 0}});
  rest(*log);
  append_and_wait(store(), {});
  const auto chunk = log->read(10);
  EXPECT_TRUE(chunk.rows.empty());
  EXPECT_FALSE(chunk.woken);
}

TEST_P(Log, one_append_may_name_many_shards) {
  const auto queue = define("orders", 3).number;
  append_and_wait(store(), {{.shard = {queue, 2}, .bytes = "x"}, {.shard = {queue, 0}, .bytes = "y"}});
  EXPECT_EQ(read_all({queue, 2}), (Texts{"x"}));
  EXPECT_EQ(read_all({queue, 0}), (Texts{"y"}));
  EXPECT_EQ(rest(*reader({{queue, 0}, {queue, 2}})).size(), 2u);
}

TEST_P(Log, a_read_that_ends_inside_an_append_says_so) {
  const ShardId shard{define().number, 0};
  append(shard, {"a", "b", "c"});
  append(shard, {"d", "e"});
  const auto log = reader({shard});
  Texts first;
  for (bool more = true; more;) {
    const auto chunk = page(*log, 1);
    EXPECT_FALSE(chunk.at_end);
    EXPECT_TRUE(chunk.caught_up.empty());
    ASSERT_FALSE(chunk.rows.empty());
    for (const auto& text : texts_of(chunk)) first.push_back(text);
    for (const auto& row : chunk.rows) EXPECT_TRUE(!row.more || &row == &chunk.rows.back());
    more = chunk.rows.back().more;
  }
  EXPECT_EQ(first, (Texts{"a", "b", "c"}));
  EXPECT_EQ(rest(*log), (Texts{"d", "e"}));
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
  const auto seqs = seqs_of(shard);
  auto delta = delta_of(grant, 1);
  delta.erase = {seqs[1], seqs[2]};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  const auto log = reader({shard});
  EXPECT_EQ(texts_of(page(*log, 1)), (Texts{"a"}));
  EXPECT_EQ(rest(*log), (Texts{"e"}));
}

TEST_P(Log, a_reader_says_once_when_a_shard_is_read_to_its_end) {
  const auto queue = define("orders", 3).number;
  append({queue, 0}, {"a"});
  append({queue, 0}, {"b"});
  append({queue, 1}, {"c"});
  auto log = store().open_log();
  const auto caught_up = [&] {
    std::vector<ShardId> shards;
    for (bool at_end = false; !at_end;) {
      const auto chunk = log->read(1);
      shards.insert(shards.end(), chunk.caught_up.begin(), chunk.caught_up.end());
      at_end = chunk.at_end;
    }
    std::sort(shards.begin(), shards.end());
    return shards;
  };
  EXPECT_TRUE(caught_up().empty());
  log->add({queue, 0});
  log->add({queue, 2});
  EXPECT_EQ(caught_up(), (std::vector<ShardId>{{queue, 0}, {queue, 2}}));
  append({queue, 0}, {"d"});
  EXPECT_TRUE(caught_up().empty()) << "it was said";
  log->add({queue, 1});
  EXPECT_EQ(caught_up(), (std::vector<ShardId>{{queue, 1}}));
  log->add({queue, 0});
  EXPECT_EQ(caught_up(), (std::vector<ShardId>{{queue, 0}})) << "started over";
}

TEST_P(Log, a_reader_catches_up_though_the_last_entries_are_erased) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a", "b"});
  auto delta = delta_of(grant, 1);
  delta.erase = seqs_of(shard);
  ASSERT_EQ(commit(delta), CommitResult::applied);
  const auto log = reader({shard});
  std::size_t caught_up = 0;
  for (bool at_end = false; !at_end;) {
    const auto chunk = log->read(10);
    EXPECT_TRUE(chunk.rows.empty());
    caught_up += chunk.caught_up.size();
    at_end = chunk.at_end;
  }
  EXPECT_EQ(caught_up, 1u);
}

TEST_P(Log, a_shard_that_joins_a_reader_is_read_from_its_beginning_and_once) {
  const auto queue = define("orders", 3).number;
  const auto log = reader({{queue, 0}});
  append({queue, 0}, {"a"});
  append({queue, 1}, {"x"});
  EXPECT_EQ(rest(*log), (Texts{"a"}));
  append({queue, 1}, {"y"});
  append({queue, 0}, {"b"});
  log->add({queue, 1});
  auto texts = rest(*log);
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(texts, (Texts{"b", "x", "y"}));
  append({queue, 1}, {"z"});
  append({queue, 2}, {"of nobody"});
  EXPECT_EQ(rest(*log), (Texts{"z"}));
  log->remove({queue, 0});
  append({queue, 0}, {"c"});
  EXPECT_TRUE(rest(*log).empty());
  log->add({queue, 0});
  EXPECT_EQ(rest(*log), (Texts{"a", "b", "c"}));
}

TEST_P(Log, a_shard_may_be_read_from_a_place_of_its_own) {
  const auto queue = define("orders", 2).number;
  append({queue, 0}, {"a", "b"});
  append({queue, 1}, {"x", "y"});
  append({queue, 0}, {"c"});
  const auto log = store().open_log();
  log->add({queue, 0}, seqs_of({queue, 0})[1]);
  log->add({queue, 1}, seqs_of({queue, 1})[0]);
  auto texts = rest(*log);
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(texts, (Texts{"c", "y"}));
}

TEST_P(Log, a_read_ends_after_about_eight_mebibytes) {
  const ShardId shard{define().number, 0};
  const std::string mebibyte(1 << 20, 'x');
  for (int i = 0; i < 10; ++i) append(shard, {mebibyte});
  const auto log = reader({shard});
  const auto first = page(*log, 1000);
  EXPECT_EQ(first.rows.size(), 8u);
  EXPECT_FALSE(first.at_end);
  EXPECT_EQ(rest(*log).size(), 2u);
}

TEST_P(Log, a_read_page_by_page_gives_everything_once) {
  const auto queue = define("orders", 4).number;
  for (int i = 0; i < 50; ++i) {
    std::vector<NewEntry> entries;
    for (int j = 0; j <= i % 5; ++j) {
      entries.push_back({.shard = {queue, static_cast<std::uint32_t>((i * 3 + j) % 4)},
                         .bytes = std::to_string(i) + "." + std::to_string(j)});
    }
    append_and_wait(store(), std::move(entries));
  }
  const auto log = reader({{queue, 1}, {queue, 3}});
  Texts paged;
  for (bool at_end = false; !at_end;) {
    const auto chunk = log->read(7);
    for (const auto& text : texts_of(chunk)) paged.push_back(text);
    at_end = chunk.at_end;
  }
  auto whole = read_all({queue, 1});
  for (const auto& text : read_all({queue, 3})) whole.push_back(text);
  std::sort(paged.begin(), paged.end());
  std::sort(whole.begin(), whole.end());
  EXPECT_EQ(paged, whole);
}

TEST_P(Log, fetch_gives_those_that_still_exist) {
  const ShardId shard{define().number, 0};
  const ShardId other{shard.queue, 1};
  const auto grant = own(shard);
  append(shard, {"a", "b", "c"});
  append(other, {"d"});
  const auto seqs = seqs_of(shard);
  auto delta = delta_of(grant, 1);
  delta.erase = {seqs[1]};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  const auto chunk = store().fetch(shard, std::vector<Seq>{seqs[0], seqs[1], seqs[2], seqs[2] + 1});
  EXPECT_EQ(texts_of(chunk), (Texts{"a", "c"}));
  EXPECT_EQ(chunk.rows[1].seq, seqs[2]);
  EXPECT_EQ(texts_of(store().fetch(other, seqs_of(other))), (Texts{"d"}));
  EXPECT_TRUE(store().fetch(shard, {}).rows.empty());
}

TEST_P(Log, numbers_are_never_used_again) {  // stores.md §1.1
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a", "b", "c"});
  auto last = seqs_of(shard).back();
  auto delta = delta_of(grant, 1);
  delta.erase = seqs_of(shard);
  ASSERT_EQ(commit(delta), CommitResult::applied);
  append(shard, {"d"});
  EXPECT_GT(seqs_of(shard).front(), last);
  last = seqs_of(shard).front();
  delta = delta_of(grant, 2);
  delta.erase = {last};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  world().reopen();
  append(shard, {"e"});
  EXPECT_GT(seqs_of(shard).front(), last);
  EXPECT_EQ(read_all(shard, last), (Texts{"e"}));
}

TEST_P(Log, survives_a_reopening) {
  const ShardId shard{define().number, 1};
  append(shard, {"a", "b"});
  const auto seqs = seqs_of(shard);
  world().reopen();
  EXPECT_EQ(read_all(shard), (Texts{"a", "b"}));
  EXPECT_EQ(seqs_of(shard), seqs);
}

TEST_P(LocalLog, carries_the_stores_time_which_never_goes_back) {
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
  const auto chunk = read_log(store(), std::span(&shard, 1));
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
      EXPECT_EQ(error.kind(), GetParam().whole ? ErrorKind::invalid_argument : ErrorKind::unavailable);
    }
  }
  EXPECT_EQ(read_all({queue, 0}).size(), GetParam().whole ? 0u : 3u);
}

TEST_P(Log, refuses_more_than_a_read_could_take) {
  const ShardId shard{define().number, 0};
  const std::vector<NewEntry> entries(257, {.shard = shard, .bytes = std::string(1 << 20, 'x')});
  EXPECT_THROW(append_and_wait(store(), entries), Error);
  EXPECT_TRUE(read_all(shard).empty());
}

TEST_P(Log, is_one_for_all_processes) {
  const ShardId shard{define().number, 0};
  append(shard, {"a"});
  append_and_wait(second(), {{.shard = shard, .bytes = "b"}});
  append(shard, {"c"});
  EXPECT_EQ(read_all(shard), (Texts{"a", "b", "c"}));
  EXPECT_EQ(texts_of(read_log(second(), std::span(&shard, 1))), (Texts{"a", "b", "c"}));
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
  const auto chunk = read_log(store(), wanted);
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
  const auto log = reader({shard});
  rest(*log);
  auto waited = std::async(std::launch::async, [&] { log->wait(kUnlessWoken); });
  append_and_wait(second(), {{.shard = shard, .bytes = "a"}});
  EXPECT_EQ(waited.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(rest(*log), (Texts{"a"}));
}

TEST_P(Log, many_waits_miss_no_append_of_another_process) {
  constexpr int kRounds = 300;
  const ShardId shard{define().number, 0};
  auto& other = second();
  const auto log = reader({shard});
  rest(*log);
  std::counting_semaphore<kRounds> wanted(0);
  std::atomic<std::int64_t> stored{0};
  const std::jthread producer([&] {
    for (int i = 0; i < kRounds; ++i) {
      wanted.acquire();
      append_and_wait(other, {{.shard = shard, .bytes = "x"}});
      stored = system_clock().steady().count();
    }
  });
  // A store that forgets to wake is late again and again, a machine that stands still only now and then.
  constexpr int kLateRounds = 5;
  int late = 0;
  int round = 0;
  for (; round < kRounds && late <= kLateRounds; ++round) {
    stored = std::numeric_limits<std::int64_t>::max();  // however long the disk takes
    wanted.release();
    while (rest(*log).empty()) log->wait(10s);
    late += system_clock().steady() - 2s > Duration{stored};
  }
  wanted.release(kRounds - round);
  EXPECT_LE(late, kLateRounds) << "only the time woke them";
}

TEST_P(Log, a_wait_misses_nothing_that_came_before_it) {
  const ShardId shard{define().number, 0};
  const auto log = reader({shard});
  rest(*log);
  append(shard, {"a"});
  log->wait(1h);  // returns at once
  EXPECT_EQ(rest(*log), (Texts{"a"}));
}

TEST_P(Log, a_wait_ends_after_its_time) {
  const auto log = reader({{define().number, 0}});
  rest(*log);
  log->wait(1ms);
  log->wait(0ms);
  log->wait(-1ms);
}

TEST_P(Log, wake_ends_the_waits_of_all_processes) {
  const auto first = store().open_log(), other = second().open_log();
  first->read(1);
  other->read(1);
  auto waits = std::async(std::launch::async, [&] { first->wait(kUnlessWoken); });
  auto waits_too = std::async(std::launch::async, [&] { other->wait(kUnlessWoken); });
  store().wake();
  EXPECT_EQ(waits.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(waits_too.wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(first->read(1).woken);
  EXPECT_TRUE(other->read(1).woken);
}

TEST_P(Log, definitions_wake_and_deltas_do_not) {
  const auto log = store().open_log();
  log->read(1);
  const auto woken = [&] { return log->read(1).woken; };
  const ShardId shard{define().number, 0};
  EXPECT_TRUE(woken());
  define();
  EXPECT_FALSE(woken()) << "it was there";
  store().set_paused("orders", true);
  EXPECT_TRUE(woken());
  const auto grant = own(shard);
  EXPECT_EQ(commit(delta_of(grant, 1)), CommitResult::applied);
  EXPECT_FALSE(woken());
  store().remove("orders");
  EXPECT_TRUE(woken());
}

}  // namespace log_test
}  // namespace ordo::store
