// What is kept of jobs and attempts (rules: traces §1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"
#include "domain/shard_view_harness.h"

namespace ordo::domain {
namespace shard_kept_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;

QueueOptions keeping() {
  auto options = plain();
  options.keep = hours{1};
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = minutes{1}};
  return options;
}

/// Commits; what the delta keeps.
std::vector<KeptRecord> kept_by(Harness& shard) {
  auto changes = shard.shard().collect();
  std::vector<KeptRecord> records;
  if (!changes.kept.empty())
    each_record(changes.kept.body("me"),
                [&](std::size_t, const KeptRecord& record) { records.push_back(record); });
  shard.write(changes);
  shard.shard().committed(shard.now());
  return records;
}

std::vector<std::string> texts(const std::vector<KeptRecord>& records) {
  std::vector<std::string> texts;
  for (const auto& record : records) {
    texts.push_back(record.id + " " + std::to_string(static_cast<int>(record.ending)) + " " +
                    std::to_string(record.retry_count) + (record.error.empty() ? "" : " " + record.error));
  }
  return texts;
}

const std::string kDone = " " + std::to_string(static_cast<int>(JobStatus::done)) + " ",
                  kDiscarded = " " + std::to_string(static_cast<int>(JobStatus::discarded)) + " ",
                  kCancelled = " " + std::to_string(static_cast<int>(JobStatus::cancelled)) + " ",
                  kExpired = " " + std::to_string(static_cast<int>(JobStatus::expired)) + " ",
                  kDead = " " + std::to_string(static_cast<int>(JobStatus::dead)) + " ",
                  kFailed = " " + std::to_string(static_cast<int>(JobStatus::failed)) + " ";

TEST(ShardKept, nothing_is_kept_unless_it_is_asked_for) {
  Harness shard(plain());
  shard.push({.id = "1"});
  shard.end(*shard.take(), Outcome::fail("no"));
  EXPECT_THAT(kept_by(shard), IsEmpty());
  EXPECT_EQ(ShardView::of(shard.shard()).size(), 1U);
}

TEST(ShardKept, a_job_that_ended_well_says_when_it_came_started_and_ended) {
  Harness shard(keeping());
  const auto pushed = shard.now();
  shard.push({.id = "1", .payload = "a", .key = "k"});
  shard.advance(seconds{1});
  const auto run = *shard.take();
  shard.advance(seconds{2});
  shard.end(run, Outcome::done());
  const auto records = kept_by(shard);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0], (KeptRecord{.ending = JobStatus::done,
                                    .kind = "orders",
                                    .key = "k",
                                    .id = "1",
                                    .arrival = 1,
                                    .pushed = pushed,
                                    .started = pushed + seconds{1},
                                    .ended = pushed + seconds{3},
                                    .node = "me"}));
}

TEST(ShardKept, every_failed_attempt_is_a_record_and_the_job_one_in_the_end) {
  auto options = keeping();
  options.max_retries = 1;
  Harness shard(options);
  const auto pushed = shard.now();
  shard.push({.id = "1"});
  shard.end(*shard.take(), Outcome::fail("first"));
  EXPECT_THAT(texts(kept_by(shard)), ElementsAre("1" + kFailed + "0 first"));
  shard.rebuild();
  shard.advance(minutes{1});
  const auto started = shard.now();
  const auto run = *shard.take();
  shard.advance(seconds{5});
  shard.end(run, Outcome::fail("second", FailureKind::timeout));
  const auto records = kept_by(shard);
  EXPECT_THAT(texts(records), ElementsAre("1" + kFailed + "1 second", "1" + kDead + "1 second"));
  EXPECT_EQ(records[0].started, started);
  EXPECT_EQ(records[0].error_kind, FailureKind::timeout);
  EXPECT_EQ(records[1].started, pushed) << "the first start, also over a change of owners";
  EXPECT_EQ(records[1].pushed, pushed);
}

TEST(ShardKept, a_payload_that_dies_leaves_a_job_that_goes_on) {
  auto options = keeping();
  options.max_retries = 0;
  Harness shard(options);
  shard.push({.id = "1", .payload = "a"});
  shard.push({.id = "1", .payload = "b"});
  shard.end(*shard.take(), Outcome::fail("no"));
  EXPECT_THAT(texts(kept_by(shard)), ElementsAre("1" + kFailed + "0 no"));
  EXPECT_EQ(shard.take_dead().size(), 1U);
  shard.end(*shard.take(), Outcome::done());
  EXPECT_THAT(texts(kept_by(shard)), ElementsAre("1" + kDone + "-1"));
}

TEST(ShardKept, whoever_ends_a_job_says_so) {
  auto options = keeping();
  options.expires = minutes{10};
  Harness shard(options);
  for (const auto* id : {"1", "2", "3", "4"}) shard.push({.id = id});
  auto first = *shard.take();
  shard.end(first, Outcome::discard("not wanted"));
  EXPECT_THAT(texts(kept_by(shard)), ElementsAre("1" + kDiscarded + "-1 not wanted"));
  shard.control(EntryType::cancel, "2");
  const auto cancelled = kept_by(shard);
  EXPECT_THAT(texts(cancelled), ElementsAre("2" + kCancelled + "-1"));
  EXPECT_EQ(cancelled[0].started, Time{}) << "it never started";
  const auto running = *shard.take();
  shard.control(EntryType::cancel, "3");
  EXPECT_THAT(kept_by(shard), IsEmpty()) << "it runs still";
  shard.end(running, Outcome::fail("stopped"));
  EXPECT_THAT(texts(kept_by(shard)), ElementsAre("3" + kCancelled + "-1"));
  shard.advance(minutes{10});
  shard.expire();
  const auto expired = kept_by(shard);
  ASSERT_EQ(expired.size(), 1U);
  EXPECT_TRUE(texts(expired)[0].starts_with("4" + kExpired + "-1 it was not started by"));
}

TEST(ShardKept, when_it_came_is_known_whatever_time_it_was_given) {
  Harness shard(keeping());
  const auto pushed = shard.now();
  shard.push({.id = "later", .run_at = pushed + minutes{5}});
  shard.push({.id = "moved"});
  shard.advance(seconds{10});
  shard.push({.id = "moved", .run_at = shard.now() + minutes{1}, .replaces_time = true});
  shard.push({.id = "snoozed"});
  shard.end(*shard.take(), Outcome::snoozed_for(minutes{1}));
  shard.commit();
  shard.rebuild();
  shard.advance(minutes{10});
  std::map<std::string, Time> times;
  while (const auto run = shard.take()) {
    shard.end(*run, Outcome::done());
    for (const auto& record : kept_by(shard)) times[record.id] = record.pushed;
  }
  EXPECT_EQ(times["later"], pushed);
  EXPECT_EQ(times["moved"], pushed);
  EXPECT_EQ(times["snoozed"], pushed + seconds{10});
}

TEST(ShardKept, payloads_are_kept_where_that_is_asked_for_as_far_as_there_is_room) {
  auto options = keeping();
  options.keep_payloads = true;
  Harness shard(options);
  shard.push({.id = "1", .payload = "a", .score = 2});
  shard.push({.id = "1", .payload = std::string(kMostRecordBytes, 'x'), .score = 1});
  shard.end(*shard.take(), Outcome::done());
  const auto records = kept_by(shard);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_THAT(records[0].payloads, ElementsAre(Payload{"a", 2}));
  EXPECT_TRUE(records[0].is_cut);
}

TEST(ShardKept, a_kind_may_keep_its_own) {
  auto options = plain();
  options.kinds.push_back({.kind = "kept"});
  options.kinds.back().keep = minutes{1};
  Harness shard(options);
  shard.push({.id = "1"});
  shard.push({.id = "2", .kind = "kept"});
  for (int i = 0; i < 2; ++i) shard.end(*shard.take(), Outcome::done());
  EXPECT_THAT(texts(kept_by(shard)), ElementsAre("2" + kDone + "-1"));
}

TEST(ShardKept, a_run_elsewhere_has_the_name_of_its_node) {
  Harness shard(keeping());
  shard.push({.id = "1"});
  const auto lent = shard.lend(*shard.take(), "other");
  shard.end(lent, Outcome::done());
  const auto records = kept_by(shard);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].node, "other");
}

TEST(ShardKept, what_waits_for_a_response_and_is_cancelled_leaves_one_record) {
  Harness shard(keeping());
  shard.push({.id = "1"});
  auto outcome = Outcome::wait("answer");
  outcome.wait_id = "w";
  outcome.deadline = shard.now() + hours{1};
  shard.end(*shard.take(), outcome);
  EXPECT_THAT(kept_by(shard), IsEmpty());
  shard.control(EntryType::cancel, "1");
  EXPECT_THAT(texts(kept_by(shard)), ElementsAre("1" + kCancelled + "-1"));
}

}  // namespace shard_kept_test
}  // namespace ordo::domain
