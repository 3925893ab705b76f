#include "domain/start_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ordo::domain {
namespace start_log_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

Time at(Duration since) { return Time{since}; }

TEST(StartLog, remembers_starts_until_they_are_over) {
  std::size_t remembered = 0;
  {
    StartLog log(&remembered);
    log.add(at(1s), 1, {});
    log.add(at(1s), 1, {});
    log.add(at(3s), 1, {});
    EXPECT_EQ(log.count(), 3U);
    EXPECT_EQ(remembered, 2U) << "two of one instant are one";
    EXPECT_EQ(log.when_below(3), at(1s));
    EXPECT_EQ(log.when_below(2), at(1s));
    EXPECT_EQ(log.when_below(1), at(3s));
    log.forget(at(1s));
    EXPECT_EQ(log.count(), 1U);
    EXPECT_EQ(remembered, 1U);
    log.add(at(2s), 1, {});
    EXPECT_THAT(log.list(10s), ElementsAre(Starts{at(3s), 2})) << "none is earlier than the last";
  }
  EXPECT_EQ(remembered, 0U);
}

TEST(StartLog, starts_of_one_grain_count_as_the_last_of_them) {
  StartLog log;
  for (int i = 0; i < 10; ++i) log.add(at(i * 100ms), 1, 1s);
  EXPECT_THAT(log.list(100s), ElementsAre(Starts{at(900ms), 10}));
  log.forget(at(899ms));
  EXPECT_EQ(log.count(), 10U) << "none is over too early";
}

TEST(StartLog, what_lies_ahead_counts_as_now_and_what_was_none_is_taken_back) {
  StartLog log;
  log.add(at(1s), 1, {});
  log.add(at(100s), 2, {});
  log.cut(at(5s));
  EXPECT_THAT(log.list(10s), ElementsAre(Starts{at(1s), 1}, Starts{at(5s), 2}));
  log.take_back(at(5s));
  log.take_back(at(1s));
  EXPECT_THAT(log.list(10s), ElementsAre(Starts{at(5s), 1}));
  log.take_back(at(100s));
  EXPECT_TRUE(log.empty());
  log.take_back(at(100s));
}

TEST(StartLog, what_is_over_is_not_taken_back_from_another) {
  StartLog log;
  log.add(at(1s), 1, {});
  log.add(at(3s), 1, {});
  log.forget(at(2s));
  log.take_back(at(1s));
  EXPECT_THAT(log.list(10s), ElementsAre(Starts{at(3s), 1}));
}

TEST(StartLog, shards_that_have_written_a_growing_cell_do_not_add_up) {
  StartLog log, late;
  std::vector<std::vector<Starts>> written;
  for (int i = 0; i < 500; ++i) {
    log.add(at(i * 1s), 1, {});
    if (i % 50 == 49) written.push_back(log.list(24h));
  }
  for (const auto& each : written) late.unite(each, 24h);
  EXPECT_EQ(late.count(), 500U);
}

TEST(StartLog, a_long_list_is_told_in_a_hundred_parts_none_of_which_is_over_too_early) {
  StartLog log;
  for (int i = 0; i < 10'000; ++i) log.add(at(i * 1ms), 1, {});
  const auto list = log.list(10s);
  EXPECT_EQ(list.size(), 100U);
  EXPECT_EQ(list.front(), (Starts{at(99ms), 100}));
  EXPECT_EQ(list.back(), (Starts{at(9'999ms), 100}));
}

TEST(StartLog, of_starts_that_two_have_seen_each_counts_once) {
  StartLog log;
  log.add(at(1s), 3, {});
  log.add(at(2s), 1, {});
  log.unite(std::vector<Starts>{{at(500ms), 1}, {at(1s), 5}, {at(4s), 1}}, 10s);
  EXPECT_THAT(log.list(10s),
              ElementsAre(Starts{at(500ms), 1}, Starts{at(1s), 5}, Starts{at(2s), 1}, Starts{at(4s), 1}));
  EXPECT_EQ(log.count(), 8U);
  std::vector<Starts> many;
  for (int i = 0; i < 200; ++i) many.push_back({at(i * 50ms), 1});
  log.unite(many, 10s);
  EXPECT_LE(log.list(10s).size(), 101U);
  EXPECT_GE(log.count(), 200U);
  EXPECT_LE(log.count(), 208U);
}

}  // namespace start_log_test
}  // namespace ordo::domain
