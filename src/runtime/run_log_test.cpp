#include "runtime/run_log.h"

#include <gmock/gmock.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace run_log_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Time kRetryAt{std::chrono::milliseconds{1741503900000}};

/// A log that is read line by line.
struct LogBench : RoomBench {
  explicit LogBench(NodeOptions node = {}) {
    options = std::move(node);
    scope.hooks.log = [this](const LogLine& line) { lines.push_back(line); };
  }

  static Event event_of(EventType type, const std::string& id, const std::string& error = {}) {
    Event event;
    event.type = type;
    event.queue = event.kind = "orders";
    event.id = event.key = id;
    event.attempt = 1;
    event.error = error;
    if (type == EventType::job_failed) event.retry_at = kRetryAt;
    return event;
  }
  void fail(const std::string& id, const std::string& error) {
    runs.tell(event_of(EventType::job_failed, id, error));
  }
  /// What was said since the last call.
  std::vector<std::string> said() {
    std::vector<std::string> texts;
    for (auto& line : std::exchange(lines, {})) texts.push_back(std::move(line.message));
    return texts;
  }
  void pass(Duration time) {
    clock.now += time;
    runs.look();
  }

  std::vector<LogLine> lines;
  RunLog runs{scope};
};

TEST(RunLog, tells_a_failure_with_all_that_is_known) {
  LogBench bench;
  auto event = LogBench::event_of(EventType::job_failed, "42", "no\nat line 7");
  event.kind = "charge";
  event.key = "k";
  event.shard = 3;
  event.attempt = 2;
  bench.runs.tell(event);
  ASSERT_EQ(bench.lines.size(), 1U);
  const auto& line = bench.lines.front();
  EXPECT_EQ(line.message,
            "job '42' of queue 'orders' (kind 'charge', key 'k') has failed at attempt 2, runs again at "
            "2025-03-09T07:05:00Z: no");
  EXPECT_EQ(line.level, LogLevel::warning);
  EXPECT_EQ(line.queue + line.kind + line.id + line.key, "orderscharge42k");
  EXPECT_EQ(line.error, "no");
  EXPECT_EQ(line.shard, 3U);
  EXPECT_EQ(line.attempt, 2);
  EXPECT_EQ(line.retry_at, kRetryAt);
}

TEST(RunLog, tells_starts_and_ends_if_they_are_wanted) {
  LogBench quiet;
  EXPECT_FALSE(quiet.runs.wants_starts_and_ends());
  quiet.runs.tell(LogBench::event_of(EventType::job_started, "1"));
  quiet.runs.tell(LogBench::event_of(EventType::job_finished, "1"));
  EXPECT_THAT(quiet.said(), IsEmpty());

  NodeOptions node;
  node.log_level = LogLevel::debug;
  LogBench bench(node);
  EXPECT_TRUE(bench.runs.wants_starts_and_ends());
  bench.runs.tell(LogBench::event_of(EventType::job_started, "1"));
  auto done = LogBench::event_of(EventType::job_finished, "1");
  done.took = 1500ms;
  bench.runs.tell(done);
  auto cancelled = LogBench::event_of(EventType::job_failed, "2", "cancelled");
  cancelled.retry_at.reset();
  bench.runs.tell(cancelled);
  auto elsewhere = LogBench::event_of(EventType::job_failed, "3", "boom");
  elsewhere.retry_at.reset();
  elsewhere.took = 1500ms;
  bench.runs.tell(elsewhere);
  EXPECT_EQ(bench.lines.front().level, LogLevel::debug);
  EXPECT_EQ(bench.lines.back().level, LogLevel::warning);
  EXPECT_THAT(
      bench.said(),
      ElementsAre("job '1' of queue 'orders' has started, attempt 1",
                  "job '1' of queue 'orders' is done, after 1.500 s",
                  "job '2' of queue 'orders' was cancelled, after 0.000 s",
                  "job '3' of queue 'orders' has failed and goes to the retries of its source: boom"));
}

TEST(RunLog, goes_by_the_levels_of_the_node) {
  NodeOptions node;
  node.start_job = LogLevel::info;
  node.fail_job = LogLevel::off;
  LogBench bench(node);
  EXPECT_TRUE(bench.runs.wants_starts_and_ends());
  bench.runs.tell(LogBench::event_of(EventType::job_started, "1"));
  bench.runs.tell(LogBench::event_of(EventType::job_finished, "1"));
  bench.fail("1", "no");
  EXPECT_THAT(bench.said(), ElementsAre("job '1' of queue 'orders' has started, attempt 1"));
  bench.options.log_level = LogLevel::off;
  EXPECT_FALSE(bench.runs.wants_starts_and_ends());
  bench.runs.died({.queue = "orders", .kind = "orders", .key = "1", .id = "1"});
  EXPECT_THAT(bench.said(), IsEmpty());
}

TEST(RunLog, a_job_does_not_fail_after_its_death) {
  LogBench bench;
  const std::string failed =
      " of queue 'orders' has failed at attempt 1, runs again at 2025-03-09T07:05:00Z: no";
  for (const auto* id : {"1", "2"}) bench.fail(id, "no");
  bench.runs.died({.queue = "orders", .kind = "orders", .id = "3", .error = "no"});
  EXPECT_THAT(bench.said(), ElementsAre("job '1'" + failed, "job '3' of queue 'orders' has died: no"))
      << "of another it is held";
  bench.runs.died({.queue = "orders", .kind = "orders", .id = "2", .error = "over"});
  EXPECT_THAT(bench.said(), ElementsAre("job '2'" + failed, "job '2' of queue 'orders' has died: over"));
  bench.pass(1s);
  EXPECT_THAT(bench.said(), IsEmpty());
}

TEST(RunLog, makes_one_line_a_second_of_repeats) {
  LogBench bench;
  const std::string failed =
      " of queue 'orders' has failed at attempt 1, runs again at 2025-03-09T07:05:00Z: ";
  EXPECT_EQ(bench.runs.next(), Duration::max());
  for (const auto* id : {"1", "2", "3"}) bench.fail(id, "no");
  bench.fail("4", "other");
  EXPECT_THAT(bench.said(), ElementsAre("job '1'" + failed + "no", "job '4'" + failed + "other"));
  EXPECT_EQ(bench.runs.next(), 1s);
  bench.pass(999ms);
  EXPECT_THAT(bench.said(), IsEmpty());
  bench.pass(1ms);
  EXPECT_THAT(bench.said(), ElementsAre("job '3'" + failed + "no (and 1 more like it within a second)"));
  bench.fail("5", "no");
  EXPECT_THAT(bench.said(), IsEmpty()) << "the next second goes on";
  bench.pass(1s);
  EXPECT_THAT(bench.said(), ElementsAre("job '5'" + failed + "no"));
  bench.pass(1s);
  EXPECT_THAT(bench.said(), IsEmpty());
  EXPECT_EQ(bench.runs.next(), Duration::max());
  bench.fail("6", "no");
  EXPECT_THAT(bench.said(), ElementsAre("job '6'" + failed + "no")) << "it was over";
}

TEST(RunLog, says_what_it_has_held_back_when_it_ends) {
  LogBench bench;
  for (const auto* id : {"1", "2"})
    bench.runs.died({.queue = "orders", .kind = "orders", .key = id, .id = id});
  EXPECT_EQ(bench.lines.front().level, LogLevel::error);
  EXPECT_THAT(bench.said(), ElementsAre("job '1' of queue 'orders' has died: "));
  bench.runs.flush();
  EXPECT_THAT(bench.said(), ElementsAre("job '2' of queue 'orders' has died: "));
  EXPECT_EQ(bench.runs.next(), Duration::max());
}

TEST(RunLog, is_bounded_where_all_errors_differ) {
  LogBench bench;
  for (int i = 0; i < 10'000; ++i) bench.fail(std::to_string(i), "no " + std::to_string(i));
  EXPECT_EQ(bench.said().size(), 101U);
  bench.pass(1s);
  EXPECT_EQ(bench.said().size(), 1U);
}

TEST(RunLog, tells_of_a_throttler_that_throws_and_of_what_one_has_cancelled) {
  LogBench bench(NodeOptions{.done_job = LogLevel::info});
  bench.runs.tell(LogBench::event_of(EventType::throttler_failed, "42", "the throttler threw: no map"));
  auto cancelled = LogBench::event_of(EventType::job_failed, "43", "cancelled by the throttler: sanctioned");
  cancelled.retry_at.reset();
  bench.runs.tell(cancelled);
  EXPECT_THAT(
      bench.said(),
      ElementsAre("nothing of queue 'orders' starts in this round: asked for job '42' of queue 'orders', "
                  "the throttler threw: no map",
                  "job '43' of queue 'orders' was cancelled by the throttler: sanctioned"));
}

}  // namespace run_log_test
}  // namespace ordo::runtime
