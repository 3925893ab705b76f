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

TEST(StartLog, one_that_was_cut_is_not_taken_back_from_a_later_one) {
  StartLog log;
  log.add(at(100s), 1, {});
  log.cut(at(5s));
  log.add(at(7s), 1, {});
  log.take_back(at(100s));
  EXPECT_THAT(log.list(10s), ElementsAre(Starts{at(7s), 1}));
}

TEST(StartLog, a_clock_that_was_put_ahead_makes_none_older) {
  StartLog log;
  for (int i = 1; i <= 3; ++i) log.add(at(i * 1s), 1, {});
  log.forget(at(1s));
  log.shift(24h);
  EXPECT_THAT(log.list(10s), ElementsAre(Starts{at(24h + 2s), 1}, Starts{at(24h + 3s), 1}));
  log.take_back(at(24h + 1s));
  EXPECT_EQ(log.count(), 2U) << "it is over";
  log.take_back(at(24h + 2s));
  EXPECT_EQ(log.count(), 1U);
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

// What was summed up before is not looked at again, whatever becomes of the starts.
TEST(StartLog, tells_the_same_list_as_one_that_sums_up_anew) {
  constexpr Duration kPer = 10min;
  StartLog log, anew;
  Time now = at(0s);
  int long_lists = 0;
  for (int step = 0; step < 30'000; ++step) {
    now += step % 7 == 0 ? 100ms : 20ms;
    for (auto* each : {&log, &anew}) {
      each->add(now, 1 + static_cast<std::uint32_t>(step % 2), {});
      if (step % 3 == 0) each->take_back(now);
      if (step % 11 == 0) each->forget(now - kPer / (1 + step / 10'000));
      if (step == 15'000) each->take_back(now - 3min);
      if (step == 20'000) each->cut(now - 2min);
      if (step == 25'000) each->shift(1h);
    }
    if (step == 20'000) now -= 2min;
    if (step == 25'000) now += 1h;
    if (step % 50 != 0 || log.count() == 0) continue;
    anew.list(1us);
    const auto told = log.list(kPer);
    ASSERT_EQ(told, anew.list(kPer)) << step;
    long_lists += told.size() > 50 ? 1 : 0;
  }
  EXPECT_GT(long_lists, 100);
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
