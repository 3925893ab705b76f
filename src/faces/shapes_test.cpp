#include "faces/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ordo {
namespace shapes_test {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Time kAt{std::chrono::milliseconds{1741503900500}};

TEST(Shapes, of_a_job) {
  JobView job{.queue = "orders", .kind = "orders", .key = "k", .id = "4\"2", .state = JobStatus::retrying};
  job.payloads = {{R"({ "v": 1 })", 1}, {"", 1.5}, {std::string("\xff"), 1e21}};
  job.run_at = kAt;
  job.retry_count = 2;
  job.crashes = 1;
  job.error = "bad\nthing";
  EXPECT_EQ(
      job_json(job),
      R"({"queue":"orders","kind":"orders","key":"k","id":"4\"2","state":"queued",)"
      R"("payloads":[{"v":1},"",{"$base64":"/w=="}],"scores":[1,1.5,1e+21],)"
      R"("run_at":"2025-03-09T07:05:00.5Z","starts_at":null,"waits_for":[],"retry_count":2,"crashes":1,)"
      R"("error":"bad\nthing"})");
  job.waits_for = {{Gate::lock, "7", {"41", "42"}}, {Gate::window, "", {}, kAt}};
  EXPECT_THAT(job_json(job),
              HasSubstr(R"("waits_for":[{"what":"lock","name":"7","held_by":["41","42"],"until":null},)"
                        R"({"what":"window","name":"","held_by":[],"until":"2025-03-09T07:05:00.5Z"}])"));
  job.starts_at = kAt;
  EXPECT_THAT(job_json(job), HasSubstr(R"("starts_at":"2025-03-09T07:05:00.5Z")"));
  job.state = JobStatus::running;
  EXPECT_THAT(job_json(job), Not(HasSubstr("starts_at")));
  EXPECT_THAT(whole_job_json(job, {}), Not(HasSubstr("windows")));
  job.windows = {
      {.start = std::chrono::hours{22}, .end = std::chrono::hours{2}, .days = 3, .tz = "Asia/Tokyo"}};
  job.expires = kAt;
  EXPECT_THAT(whole_job_json(job, {}),
              HasSubstr(R"("expires":"2025-03-09T07:05:00.5Z","windows":[{"start":"22:00",)"
                        R"("end":"02:00","days":["mon","tue"],"tz":"Asia/Tokyo"}])"));
  job.priority = 7;
  EXPECT_THAT(whole_job_json(job, {.queues = {{.name = "orders", .max_retries = 3}}}),
              HasSubstr(R"("error":"bad\nthing","error_kind":"handler","priority":7,"timeout":"1d",)"
                        R"("max_retries":3,"attempt":4,"node":null,"started":null,)"));
  job.node = "n1";
  job.started = kAt;
  EXPECT_THAT(whole_job_json(job, {}), HasSubstr(R"("node":"n1","started":"2025-03-09T07:05:00.5Z")"));
  job.state = JobStatus::dead;
  EXPECT_THAT(whole_job_json(job, {}), HasSubstr(R"("max_retries":25,"attempt":3,"expires":)"));
  job.state = JobStatus::due;
  job.retry_count = -1;
  job.error.clear();
  EXPECT_THAT(whole_job_json(job, {}), HasSubstr(R"("error":null,"error_kind":null,"priority":7,)"));
  EXPECT_THAT(whole_job_json(job, {}), HasSubstr(R"("attempt":0,)"));
  EXPECT_TRUE(job_json(job).ends_with(R"("error":null})"));
}

TEST(Shapes, state_is_the_word_of_the_rules) {
  EXPECT_EQ(state_word(JobStatus::due), "queued");
  EXPECT_EQ(state_word(JobStatus::scheduled), "queued");
  EXPECT_EQ(state_word(JobStatus::retrying), "queued");
  EXPECT_EQ(state_word(JobStatus::running), "running");
  EXPECT_EQ(state_word(JobStatus::awaiting), "awaiting");
  EXPECT_EQ(state_word(JobStatus::dead), "dead");
}

TEST(Shapes, of_a_record_with_its_attempts) {
  RecordView record{.queue = "orders", .kind = "ship", .key = "k", .id = "\xff", .state = JobStatus::done};
  record.ended = kAt;
  record.node = "n1";
  record.retry_count = 0;
  EXPECT_EQ(
      trace_json({record, {{kAt, kAt, "n2", FailureKind::timeout, "slow"}}}),
      R"({"queue":"orders","kind":"ship","key":"k","id":{"$base64":"/w=="},"state":"done","pushed":null,)"
      R"("started":null,"ended":"2025-03-09T07:05:00.5Z","node":"n1","retry_count":0,"error":null,)"
      R"("attempts":[{"started":"2025-03-09T07:05:00.5Z","ended":"2025-03-09T07:05:00.5Z","node":"n2",)"
      R"("error_kind":"timeout","error":"slow"}]})");
  record.state = JobStatus::dead;
  record.error = "slow";
  record.payloads = {{"1", 2}};
  record.is_cut = true;
  EXPECT_THAT(record_json(record),
              HasSubstr(R"("error":"slow","error_kind":"handler","payloads":[1],"scores":[2],"cut":true})"));
}

TEST(JobTraces, failed_attempts_belong_to_the_end_behind_them_or_to_a_job_that_lives) {
  const auto record = [](JobStatus state, const std::string& key, int second) {
    RecordView made{.kind = "orders", .key = key, .id = "1", .state = state};
    made.ended = kAt + std::chrono::seconds{second};
    made.error = std::to_string(second);
    return made;
  };
  const auto errors = [](const std::vector<AttemptView>& attempts) {
    std::vector<std::string> texts;
    for (const auto& attempt : attempts) texts.push_back(attempt.error);
    return texts;
  };
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  const auto traces = put_together({record(JobStatus::failed, "a", 9), record(JobStatus::failed, "a", 8),
                                    record(JobStatus::done, "a", 7), record(JobStatus::failed, "b", 6),
                                    record(JobStatus::failed, "a", 5), record(JobStatus::failed, "a", 4),
                                    record(JobStatus::dead, "a", 3), record(JobStatus::failed, "a", 2)});
  ASSERT_EQ(traces.ended.size(), 2U);
  EXPECT_THAT(errors(traces.ended[0].attempts), ElementsAre("4", "5"));
  EXPECT_THAT(errors(traces.ended[1].attempts), ElementsAre("2"));
  EXPECT_THAT(errors(attempts_of({.kind = "orders", .key = "a", .id = "1"}, traces)), ElementsAre("8", "9"));
  EXPECT_THAT(errors(attempts_of({.kind = "orders", .key = "b", .id = "1"}, traces)), ElementsAre("6"));
  EXPECT_THAT(errors(attempts_of({.kind = "other", .key = "a", .id = "1"}, traces)), IsEmpty());
}

TEST(Shapes, of_stats) {
  Stats stats;
  stats.total.length = 3;
  stats.total.lag = 1.5;
  stats.by_queue = {{"orders", {.length = 3, .due = 1, .scheduled = 2, .lag = 1.5, .paused = true}}};
  stats.by_queue[0].second.blocked_by_window = 4;
  stats.by_queue[0].second.oldest_due = {{100, 2}, {-1, 0.5}};
  EXPECT_EQ(
      stats_json(stats),
      R"({"total":{"length":3,"due":0,"scheduled":0,"retrying":0,"running":0,"awaiting":0,"dead":0,)"
      R"("blocked_by_lock":0,"blocked_by_window":0,)"
      R"("blocked_by_key":0,"blocked_by_limit":0,"blocked_by_rate":0,"blocked_by_throttler":0,"blocked_by_suspect":0,"without_code":0,"ready":0,"oldest_due":{},"lag":1.5,"processed":0,"failed":0,)"
      R"("unreadable":0,"waits_for_newer":0,"kept":0,"kept_since":null,"kept_trimmed":0,"dead_trimmed":0,"dead_letters":0},)"
      R"("by_queue":{"orders":{"length":3,"due":1,)"
      R"("scheduled":2,"retrying":0,"running":0,"awaiting":0,"dead":0,"blocked_by_lock":0,"blocked_by_window":4,)"
      R"("blocked_by_key":0,"blocked_by_limit":0,"blocked_by_rate":0,"blocked_by_throttler":0,"blocked_by_suspect":0,"without_code":0,"ready":0,)"
      R"("oldest_due":{"-1":0.5,"100":2},"lag":1.5,)"
      R"("processed":0,"failed":0,"unreadable":0,"waits_for_newer":0,"kept":0,"kept_since":null,"kept_trimmed":0,"dead_trimmed":0,"dead_letters":0,"paused":true}}})"
      "\n");
  stats.by_queue.clear();
  stats.failing_nodes = {{.id = "a", .commit_error = "disk full", .commit_error_since = kAt},
                         {.id = "b",
                          .cannot_start = {{"orders", "charge", "not found"}, {"orders", "\xff", ""}},
                          .stuck_runs = {{"orders", "charge", "k", "\xff", kAt}}}};
  const auto text = stats_json(stats);
  EXPECT_EQ(
      text.substr(text.find(R"("failing_nodes")")),
      R"("failing_nodes":[{"id":"a","commit_error":"disk full","commit_error_since":"2025-03-09T07:05:00.5Z",)"
      R"("cannot_start":[],"stuck_runs":[]},{"id":"b","commit_error":null,"commit_error_since":null,)"
      R"("cannot_start":[{"queue":"orders","kind":"charge","why":"not found"},{"queue":"orders","kind":{"$base64":"/w=="},"why":""}],)"
      R"("stuck_runs":[{"queue":"orders","kind":"charge","key":"k","id":{"$base64":"/w=="},"since":"2025-03-09T07:05:00.5Z"}]}]})"
      "\n");
  stats.failing_nodes.clear();
  stats.sources = {{.name = "rails", .taken = 7, .refused = 2, .last = kAt}, {.name = "verk"}};
  const auto with_sources = stats_json(stats);
  EXPECT_EQ(with_sources.substr(with_sources.find(R"("sources")")),
            R"("sources":{"rails":{"taken":7,"refused":2,"last":"2025-03-09T07:05:00.5Z"},)"
            R"("verk":{"taken":0,"refused":0,"last":null}}})"
            "\n");
}

TEST(Shapes, of_queues_and_nodes) {
  EXPECT_EQ(queue_json({"orders", 5, QueueState::paused}),
            R"({"name":"orders","shards":5,"state":"paused"})");
  EXPECT_EQ(
      node_json({.id = "n",
                 .host = "h",
                 .pid = 7,
                 .threads = 5,
                 .queues = {"a", "b"},
                 .sources = {"rails"},
                 .started = kAt,
                 .shards = 3,
                 .groups = {{"a", "b"}}}),
      R"({"id":"n","host":"h","pid":7,"threads":5,"queues":["a","b"],"sources":["rails"],"started":"2025-03-09T07:05:00.5Z",)"
      R"("shards":3,"alive":true,"quiet":false,"version":null,"clock":null,"heartbeat_age":0,"lost":false,"groups":[["a","b"]]})");
}

TEST(Shapes, of_schedules) {
  EXPECT_EQ(
      periodic_json({.options = {.name = "poll", .queue = "q", .every = std::chrono::minutes{15}},
                     .paused = true,
                     .pushed = 3,
                     .missed = 1}),
      R"({"name":"poll","queue":"q","kind":"q","key":"poll","cron":null,"every":"15m","tz":null,"payload":"",)"
      R"("priority":null,"missed":"once","overlap":"skip","stated":false,"paused":true,"pushed":3,"missed_ticks":1,"skipped_ticks":0,"held_by":null,"failing":null,"failures":0,)"
      R"("last":null,"next":[]})");
  EXPECT_EQ(
      periodic_json({.options = {.name = "nightly",
                                 .queue = "q",
                                 .cron = "@daily",
                                 .payload = "1",
                                 .kind = "k",
                                 .key = "x",
                                 .priority = 7,
                                 .missed = Missed::all},
                     .stated = true,
                     .last = kAt,
                     .next = {kAt}}),
      R"({"name":"nightly","queue":"q","kind":"k","key":"x","cron":"@daily","every":null,"tz":"UTC",)"
      R"("payload":1,"priority":7,"missed":"all","overlap":"skip","stated":true,"paused":false,"pushed":0,)"
      R"("missed_ticks":0,"skipped_ticks":0,"held_by":null,"failing":null,"failures":0,"last":"2025-03-09T07:05:00.5Z","next":["2025-03-09T07:05:00.5Z"]})");
}

TEST(Shapes, lists_are_one_array) {
  EXPECT_EQ(json_array(std::vector<QueueView>{}, queue_json), "[]\n");
  EXPECT_EQ(json_array(std::vector<int>{1, 2}, [](int i) { return std::to_string(i); }), "[1,\n2]\n");
}

}  // namespace shapes_test
}  // namespace ordo
