#include "domain/rate_book.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ordo::domain {
namespace rate_book_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ShardId kShard{3, 1};

Time at(Duration since) { return Time{since}; }

std::optional<RateRecord> for_ten_seconds(const std::string& rate) {
  return RateRecord{rate, at(0s), at(10s), {{at(0s), 1}}};
}
std::optional<RateRecord> nothing(const std::string& /*rate*/) { return std::nullopt; }

TEST(RateBook, a_rate_has_one_row_that_is_written_when_it_was_charged) {
  RateBook book;
  book.load(kShard, {}, {});
  book.note("queue");
  book.note("queue");
  const auto first = book.collect(at(0s), for_ten_seconds);
  ASSERT_EQ(first.put.size(), 1U);
  EXPECT_EQ(first.put[0].first, rate_row(kShard, 0));
  EXPECT_THAT(book.collect(at(1s), for_ten_seconds).put, IsEmpty()) << "nothing was charged since";
  book.note("partition:a");
  book.note("queue");
  const auto second = book.collect(at(1s), for_ten_seconds);
  ASSERT_EQ(second.put.size(), 2U);
  EXPECT_EQ(second.put[0].first, rate_row(kShard, 1));
  EXPECT_EQ(second.put[1].first, rate_row(kShard, 0));
}

TEST(RateBook, rows_go_when_they_say_nothing_any_more_and_their_numbers_come_again_later) {
  RateBook book;
  book.load(kShard, {}, {});
  book.note("queue");
  book.collect(at(0s), for_ten_seconds);
  EXPECT_THAT(book.collect(at(9s), for_ten_seconds).erase, IsEmpty());
  book.note("limit:crm");
  const auto changes = book.collect(at(10s), for_ten_seconds);
  EXPECT_THAT(changes.erase, ::testing::UnorderedElementsAre(rate_row(kShard, 0), rate_row(kShard, 1)));
  book.note("queue");
  const auto next = book.collect(at(0s), for_ten_seconds);
  ASSERT_EQ(next.put.size(), 1U);
  EXPECT_LT(slot_of(next.put[0].first), 2U);
  book.note("queue");
  EXPECT_THAT(book.collect(at(1s), nothing).erase, ElementsAre(next.put[0].first));
}

TEST(RateBook, goes_on_with_the_rows_of_earlier_owners) {
  RateBook book;
  const auto old = rate_row(kShard, 2), copied = rate_row({9, 9}, 4);
  book.load(kShard, {{old, *for_ten_seconds("queue")}, {copied, *for_ten_seconds("queue")}},
            {rate_row(kShard, 6)});
  book.note("partition:a");
  const auto changes = book.collect(at(0s), for_ten_seconds);
  EXPECT_THAT(changes.erase, ::testing::ElementsAre(rate_row(kShard, 6)));
  ASSERT_EQ(changes.put.size(), 1U);
  EXPECT_NE(changes.put[0].first, old);
  EXPECT_NE(changes.put[0].first, copied) << "the second row of a rate stays until it is over";
  EXPECT_THAT(book.collect(at(1000s), for_ten_seconds).erase, ::testing::Contains(copied));
}

TEST(RateRecord, what_several_shards_know_of_a_rate_is_one) {
  const RateRecord first{"a", at(4s), at(14s), {{at(1s), 2}, {at(4s), 1}}};
  const RateRecord second{"a", at(3s), at(13s), {{at(1s), 2}, {at(3s), 5}}};
  const RateRecord penalty{"p", at(1s), at(60s), {}}, longer{"p", at(2s), at(90s), {}};
  const auto rows = united({{1, first}, {2, penalty}, {3, second}, {4, longer}});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].second, (RateRecord{"a", at(4s), at(14s), {{at(1s), 2}, {at(3s), 5}, {at(4s), 1}}}));
  EXPECT_EQ(rows[1].second, longer);
}

TEST(RateBook, a_delta_costs_as_much_as_was_charged_however_many_rates_there_are) {
  RateBook book;
  book.load(kShard, {}, {});
  for (int i = 0; i < 100'000; ++i) book.note("partition:" + std::to_string(i));
  EXPECT_EQ(book.collect(at(0s), for_ten_seconds).put.size(), 100'000U);
  book.note("partition:7");
  EXPECT_EQ(book.collect(at(1s), for_ten_seconds).put.size(), 1U);
  EXPECT_EQ(book.collect(at(10s), for_ten_seconds).erase.size(), 1000U);
}

TEST(RateRecord, numbers_of_rows_are_above_those_of_entries_and_of_one_shard_only) {
  EXPECT_TRUE(is_rate_row(rate_row({0, 0}, 0)));
  EXPECT_FALSE(is_rate_row(~Seq{0} >> 2));
  for (const Seq ms : {1'400'000'000'000, 1'764'000'000'000, 2'190'000'000'000})
    EXPECT_FALSE(is_rate_row(ms << 22 | 7)) << "an entry of Redis";
  EXPECT_NE(rate_row({1, 0}, 0), rate_row({0, 1}, 0));
  EXPECT_NE(rate_row({0, 1}, 0), rate_row({0, 0}, 1));
  EXPECT_TRUE(is_rate_row(rate_row({(1U << 24) - 1, 65'535}, kMostRateRows - 1)));
}

TEST(RateRecord, an_end_that_was_set_by_a_clock_ahead_counts_from_now_on) {
  EXPECT_EQ(cut_end(at(100h), at(99h), at(1h)), at(2h));
  EXPECT_EQ(cut_end(at(100h), at(1h), at(1h)), at(100h));
  EXPECT_EQ(cut_end(at(100h), at(1h + 60s), at(1h)), at(100h)) << "within a minute it is no leap";
  EXPECT_EQ(cut_end(at(99h), at(99h), at(1h)), at(1h)) << "a retry without a delay";
  EXPECT_EQ(cut_end(at(30min), at(99h), at(1h)), at(30min)) << "what was over stays so";
  EXPECT_EQ(cut_end(Time::max(), at(99h), Time::min()), Time{Time::min() + (Time::max() - at(99h))});
}

TEST(RateBook, a_clock_that_is_believed_moves_all_rows_and_ends_none) {
  RateBook book;
  book.load(kShard, {}, {});
  for (const auto* rate : {"queue", "limit:crm"}) book.note(rate);
  book.collect(at(0s), for_ten_seconds);
  book.shift(3600s);
  const auto moved = book.collect(at(3605s), [](const std::string& rate) {
    return std::optional(RateRecord{rate, at(3600s), at(3610s), {}});
  });
  EXPECT_EQ(moved.put.size(), 2U);
  EXPECT_THAT(moved.erase, IsEmpty());
  EXPECT_THAT(book.collect(at(3605s), nothing).put, IsEmpty()) << "once";
  EXPECT_EQ(book.collect(at(3610s), nothing).erase.size(), 2U);
}

TEST(RateBook, many_that_are_noted_at_once_are_written_with_several_deltas) {
  RateBook book;
  book.load(kShard, {}, {});
  std::vector<std::string> rates;
  for (int i = 0; i < 2'500; ++i) rates.push_back("limit:" + std::to_string(i));
  book.note_all(rates);
  book.note_all(rates);
  std::set<std::string> written;
  for (const std::size_t expected : {1'000U, 1'000U, 500U, 0U}) {
    const auto changes = book.collect(at(0s), for_ten_seconds);
    EXPECT_EQ(changes.put.size(), expected);
    for (const auto& [no, record] : changes.put) written.insert(record.name);
  }
  EXPECT_EQ(written.size(), 2'500U);
}

}  // namespace rate_book_test
}  // namespace ordo::domain
