#include "web/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ordo::web {
namespace history_test {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Time kStart = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};

Stats stats_of(const std::string& queue, const QueueStats& counts) {
  Stats stats;
  stats.by_queue.emplace_back(queue, counts);
  return stats;
}

History::Wish wish(seconds from, seconds to, seconds step = seconds{1}) {
  return {.queue = "q", .from = kStart + from, .to = kStart + to, .step = step};
}

TEST(History, tells_what_happened_between_looks) {
  History history;
  history.add(kStart, stats_of("q", {.length = 5, .processed = 100}), {});
  history.add(kStart + seconds{1},
              stats_of("q", {.length = 6, .running = 1, .lag = 2.5, .processed = 103, .failed = 1}), {});
  history.add(kStart + seconds{3}, stats_of("q", {.length = 6, .dead = 1, .processed = 103, .failed = 2}),
              {});
  const auto points = history.read(wish(seconds{0}, seconds{4}));
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0].done, 0U) << "what was there at the first look did not happen then";
  EXPECT_EQ(points[1].pushed, 5U);
  EXPECT_EQ(points[1].done, 3U);
  EXPECT_EQ(points[1].failed, 1U);
  EXPECT_EQ(points[1].lag, 2.5);
  EXPECT_FALSE(points[2].done) << "nobody has looked";
  EXPECT_FALSE(points[2].lag);
  EXPECT_EQ(points[3].dead, 1U);
  EXPECT_EQ(points[3].pushed, 0U);
  const auto whole = history.read(wish(seconds{0}, seconds{4}, seconds{4}));
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole[0].pushed, 5U);
  EXPECT_EQ(whole[0].lag, 2.5);
}

TEST(History, counts_what_a_queue_had_when_it_came) {
  History history;
  history.add(kStart, stats_of("old", {.processed = 5}), {});
  auto both = stats_of("old", {.processed = 5});
  both.by_queue.emplace_back("q", QueueStats{.length = 3, .dead = 1, .processed = 2, .failed = 4});
  history.add(kStart + seconds{1}, both, {});
  const auto came = history.read(wish(seconds{1}, seconds{2}))[0];
  EXPECT_EQ(came.pushed, 6U);
  EXPECT_EQ(came.done, 2U);
  EXPECT_EQ(came.failed, 4U);
  EXPECT_EQ(came.dead, 1U);
  history.add(kStart + seconds{2}, stats_of("old", {.processed = 5}), {});
  both.by_queue.back().second = {.length = 1};
  history.add(kStart + seconds{3}, both, {});
  EXPECT_EQ(history.read(wish(seconds{3}, seconds{4}))[0].pushed, 1U) << "it was removed and made again";
}

TEST(History, knows_the_runs_of_kinds) {
  History history;
  std::map<RunTimes::Name, RunTimes::Lately> runs;
  auto& ship = runs[{"q", "ship"}];
  ship.done = 2;
  ship.run.add(milliseconds{100});
  ship.run.add(milliseconds{100});
  runs[{"q", "bill"}].failed = 1;
  runs[{"q", "bill"}].run.add(seconds{10});
  history.add(kStart, stats_of("q", {.processed = 7}), {});
  history.add(kStart + seconds{1}, stats_of("q", {.processed = 9}), runs);
  auto asked = wish(seconds{1}, seconds{2});
  EXPECT_EQ(history.read(asked)[0].done, 2U) << "of the store: no run is counted twice";
  EXPECT_NEAR(*history.read(asked)[0].run.percentile(0.95), 10, 0.7);
  asked.kind = "ship";
  const auto point = history.read(asked)[0];
  EXPECT_EQ(point.done, 2U);
  EXPECT_EQ(point.failed, 0U);
  EXPECT_FALSE(point.pushed) << "no process knows it of a kind";
  EXPECT_NEAR(*point.run.percentile(0.95), 0.1, 0.007);
  EXPECT_FALSE(point.wait.percentile(0.5));
}

TEST(History, forgets_what_is_older_than_an_hour_and_keeps_to_its_memory) {
  History history;
  for (int i = 0; i <= 3'700; ++i)
    history.add(kStart + seconds{i}, stats_of("q", {.processed = static_cast<std::uint64_t>(i)}), {});
  EXPECT_FALSE(history.read(wish(seconds{99}, seconds{100}))[0].done);
  EXPECT_EQ(history.read(wish(seconds{100}, seconds{3'701}, hours{2}))[0].done, 3'601U);
  EXPECT_LT(history.bytes(), 3'601U * 200) << "of one busy queue";
  History idle;
  for (int i = 0; i < 3'600; ++i) idle.add(kStart + seconds{i}, stats_of("q", {.scheduled = 5}), {});
  EXPECT_LT(idle.bytes(), 3'600U * 100);
  History small(10'000);
  for (int i = 0; i < 1'000; ++i)
    small.add(kStart + seconds{i}, stats_of("q", {.processed = static_cast<std::uint64_t>(i)}), {});
  EXPECT_LE(small.bytes(), 10'000U);
  EXPECT_EQ(small.read(wish(seconds{999}, seconds{1'000}))[0].done, 1U);
}

}  // namespace history_test
}  // namespace ordo::web
