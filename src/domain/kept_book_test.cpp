#include "domain/kept_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ordo::domain {
namespace kept_book_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kMiB = 1U << 20;

QueueOptions keeping(Duration keep, std::uint64_t bytes = 256 * kMiB) {
  QueueOptions queue;
  queue.shards = 1;
  queue.keep = keep;
  queue.keep_bytes = bytes;
  return queue;
}

Time at(Duration time) { return Time{hours{24}} + time; }

KeptHead head_of(Duration ended, std::uint32_t bytes = 100, std::size_t records = 2) {
  return {.oldest = at(ended),
          .newest = at(ended + seconds{1}),
          .bytes = bytes,
          .names = std::vector<std::uint32_t>(records)};
}

TEST(KeptBook, numbers_its_blocks_and_counts_what_is_in_them) {
  KeptBook book(keeping(hours{1}));
  EXPECT_EQ(book.next_trim(at({})), std::nullopt);
  EXPECT_EQ(book.add(head_of(minutes{0})), 1U);
  EXPECT_EQ(book.add(head_of(minutes{1})), 2U);
  const auto& counts = book.counts();
  EXPECT_EQ(counts.next, 3U);
  EXPECT_EQ(counts.records, 4U);
  EXPECT_EQ(counts.bytes, 200U);
  EXPECT_EQ(counts.oldest, at({}));
  KeptBook next(keeping(hours{1}));
  next.load(counts);
  EXPECT_EQ(next.add(head_of(minutes{2})), 3U);
}

TEST(KeptBook, what_is_past_its_time_goes_oldest_first) {
  KeptBook book(keeping(hours{1}));
  for (int minute = 0; minute < 3; ++minute) book.add(head_of(minutes{minute}));
  EXPECT_EQ(book.wanted(at(hours{1}) - seconds{1}), std::nullopt);
  EXPECT_EQ(book.next_trim(at({})), at(hours{1}));
  EXPECT_EQ(book.wanted(at(hours{1})), 1U);
  EXPECT_EQ(book.wanted(at(hours{1})), std::nullopt) << "it was asked already";
  book.learn({{1, head_of(minutes{0})}, {2, head_of(minutes{1})}, {3, head_of(minutes{2})}}, true);
  EXPECT_THAT(book.trim(at(hours{1})), IsEmpty()) << "a record of the first has a second left";
  EXPECT_EQ(book.next_trim(at(hours{1})), at(hours{1} + seconds{1}));
  EXPECT_THAT(book.trim(at(hours{1} + minutes{1} + seconds{1})), ElementsAre(1, 2));
  EXPECT_EQ(book.counts().first, 3U);
  EXPECT_EQ(book.counts().records, 2U);
  EXPECT_EQ(book.counts().bytes, 100U);
  EXPECT_EQ(book.counts().oldest, at(minutes{2}));
  EXPECT_EQ(book.counts().trimmed, 0U) << "nothing went before its time";
  EXPECT_THAT(book.trim(at(hours{3})), ElementsAre(3));
  EXPECT_EQ(book.next_trim(at(hours{3})), std::nullopt);
}

TEST(KeptBook, what_has_no_room_goes_before_its_time_and_is_counted) {
  KeptBook book(keeping(hours{1}, 2 * kMiB));
  for (int i = 0; i < 3; ++i) book.add(head_of(minutes{i}, kMiB));
  EXPECT_EQ(book.wanted(at(minutes{3})), 1U);
  book.learn({{1, head_of(minutes{0}, kMiB)}, {2, head_of(minutes{1}, kMiB)}}, false);
  EXPECT_THAT(book.trim(at(minutes{3})), ElementsAre(1));
  EXPECT_EQ(book.counts().trimmed, 2U);
}

TEST(KeptBook, a_burst_that_is_larger_than_the_room_stays_until_the_next_block) {
  KeptBook book(keeping(hours{1}, kMiB));
  book.add(head_of(minutes{0}, 3 * kMiB));
  EXPECT_EQ(book.wanted(at(minutes{1})), std::nullopt);
  EXPECT_EQ(book.next_trim(at(minutes{1})), at(hours{1}));
  book.add(head_of(minutes{1}));
  EXPECT_EQ(book.wanted(at(minutes{2})), 1U);
  book.learn({{1, head_of(minutes{0}, 3 * kMiB)}, {2, head_of(minutes{1})}}, true);
  EXPECT_THAT(book.trim(at(minutes{2})), ElementsAre(1));
}

// A head may tell less than was counted: what was counted too much would take the room of all to come.
TEST(KeptBook, nothing_is_counted_once_nothing_is_there) {
  KeptBook book(keeping(hours{1}));
  book.add(head_of(minutes{0}, 100, 3));
  EXPECT_EQ(book.wanted(at(hours{2})), 1U);
  book.learn({{1, head_of(minutes{0}, 10, 1)}}, true);
  EXPECT_THAT(book.trim(at(hours{2})), ElementsAre(1));
  EXPECT_EQ(book.counts().bytes, 0U);
  EXPECT_EQ(book.counts().records, 0U);
}

TEST(KeptBook, an_even_part_of_the_room_belongs_to_each_shard) {
  auto queue = keeping(hours{1}, 2 * kMiB);
  queue.shards = 2;
  KeptBook book(queue);
  book.add(head_of(minutes{0}, kMiB));
  EXPECT_EQ(book.wanted(at({})), std::nullopt);
  book.add(head_of(minutes{0}, 1));
  EXPECT_EQ(book.wanted(at({})), 1U);
}

TEST(KeptBook, a_delta_takes_a_thousand_blocks_at_most_and_few_large_ones) {
  KeptBook book(keeping(Duration{}));
  KeptBook::Heads small, large;
  for (std::uint64_t no = 1; no <= 1001; ++no) small.emplace_back(book.add(head_of({}, 10)), head_of({}, 10));
  book.learn(small, true);
  EXPECT_EQ(book.trim(at(hours{1})).size(), 1000U);
  EXPECT_EQ(book.trim(at(hours{1})).size(), 1U);
  for (int i = 0; i < 5; ++i) large.emplace_back(book.add(head_of({}, 4 * kMiB)), head_of({}, 4 * kMiB));
  book.learn(large, true);
  EXPECT_EQ(book.trim(at(hours{1})).size(), 2U);
}

TEST(KeptBook, unset_it_trims_to_nothing) {
  KeptBook book(keeping(hours{1}));
  book.add(head_of({}));
  KeptBook next(keeping(Duration{}));
  next.load(book.counts());
  EXPECT_EQ(next.counts().keep, Duration{});
  EXPECT_EQ(next.wanted(at(seconds{1})), 1U);
  next.learn({{1, head_of({})}}, true);
  EXPECT_THAT(next.trim(at(seconds{1})), ElementsAre(1));
  EXPECT_EQ(next.counts().trimmed, 0U);
}

TEST(KeptBook, the_kind_that_keeps_for_the_longest_counts) {
  auto queue = keeping(minutes{1});
  queue.kinds.push_back({.kind = "long"});
  queue.kinds.back().keep = hours{1};
  KeptBook book(queue);
  book.add(head_of({}));
  EXPECT_EQ(book.next_trim(at({})), at(hours{1}));
}

TEST(KeptBook, a_block_that_found_no_room_is_counted_as_lost) {
  KeptBook book(keeping(hours{1}));
  book.add(head_of({}));
  const auto no = book.add(head_of({}, 50, 3));
  book.lose(no);
  book.lose(no);
  EXPECT_EQ(book.counts().records, 2U);
  EXPECT_EQ(book.counts().bytes, 100U);
  EXPECT_EQ(book.counts().trimmed, 3U);
}

TEST(KeptBook, what_is_not_in_the_store_is_not_looked_for_again) {
  KeptBook book(keeping(Duration{}));
  book.add(head_of({}));
  EXPECT_EQ(book.wanted(at(hours{1})), 1U);
  book.add(head_of({}));
  book.learn({}, true);
  EXPECT_EQ(book.counts().next - book.counts().first, 2U) << "one was on its way when they were read";
  EXPECT_EQ(book.wanted(at(hours{1})), 1U);
  book.learn({}, true);
  EXPECT_EQ(book.next_trim(at(hours{1})), std::nullopt);
  EXPECT_EQ(book.counts().records, 0U);
  EXPECT_EQ(book.add(head_of({})), 3U) << "numbers never come back";
}

}  // namespace kept_book_test
}  // namespace ordo::domain
