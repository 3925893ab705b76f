#include "web/run_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace ordo::web {
namespace run_times_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TimeSteps, percentiles_are_off_by_six_percent_at_most) {
  for (const Duration time : {Duration{15}, Duration{999}, Duration{milliseconds{7}}, Duration{seconds{3}},
                              Duration{std::chrono::hours{30}}}) {
    TimeSteps steps;
    steps.add(time);
    const double time_s = std::chrono::duration<double>(time).count();
    EXPECT_NEAR(*steps.percentile(0.5), time_s, time_s * 0.062);
  }
  TimeSteps many;
  EXPECT_FALSE(many.percentile(0.5));
  for (int i = 1; i <= 100; ++i) many.add(milliseconds{i});
  EXPECT_NEAR(*many.percentile(0.5), 0.050, 0.050 * 0.07);
  EXPECT_NEAR(*many.percentile(0.95), 0.095, 0.095 * 0.07);
}

Event event(EventType type, const std::string& kind, Duration took = {}) {
  return {.type = type, .queue = "q", .kind = kind, .took = took};
}

TEST(RunTimes, tells_what_came_since_it_was_asked_and_all) {
  RunTimes runs;
  auto started = event(EventType::job_started, "k");
  started.waited = seconds{2};
  runs.add(started);
  runs.add(event(EventType::job_finished, "k", milliseconds{700}));
  runs.add({.type = EventType::queue_paused, .queue = "q"});
  const auto lately = runs.take();
  ASSERT_EQ(lately.size(), 1U);
  EXPECT_EQ(lately.at({"q", "k"}).done, 1U);
  EXPECT_NEAR(*lately.at({"q", "k"}).wait.percentile(0.5), 2, 0.13);
  runs.add(event(EventType::job_failed, "k", seconds{100'000}));
  runs.add(event(EventType::job_dead, "k"));
  EXPECT_EQ(runs.take().at({"q", "k"}).done, 0U);
  const auto total = runs.totals().at({"q", "k"});
  EXPECT_EQ((std::array{total.done, total.failed, total.dead}), (std::array<std::uint64_t, 3>{1, 1, 1}));
  EXPECT_EQ(total.run.counts.back(), 1U) << "above all bounds";
  EXPECT_EQ(total.run.counts[6], 1U) << "above 0.5 s, at most 1 s";
  EXPECT_NEAR(total.run.sum_s, 100'000.7, 1e-6);
}

TEST(RunTimes, has_a_bound_for_names) {
  RunTimes runs;
  for (std::size_t i = 0; i < RunTimes::kMostNames + 5; ++i)
    runs.add(event(EventType::job_finished, "k" + std::to_string(i)));
  const auto totals = runs.totals();
  EXPECT_EQ(totals.size(), RunTimes::kMostNames + 1);
  EXPECT_EQ(totals.at({"other", "other"}).done, 5U);
}

}  // namespace run_times_test
}  // namespace ordo::web
