#include "domain/job_question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace ordo::domain {
namespace job_question_test {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Time at_second(int number) { return Time{hours{500'000}} + seconds{number}; }

JobQuestion full_question() {
  JobFilter filter{.states = {JobStatus::due, JobStatus::awaiting},
                   .id = "42",
                   .kind = "ship",
                   .key = "k",
                   .error = "no route",
                   .error_kind = FailureKind::timeout,
                   .retry_count = 3,
                   .since = at_second(1),
                   .until = at_second(2)};
  QueueOptions options;
  options.order = DueOrder::priority;
  ListOrder first({.sort = JobSort::id, .descending = true}, &options, at_second(3));
  const ListOrder order({.sort = JobSort::id, .descending = true, .after = first.cursor({.name = "41"})},
                        &options, at_second(3));
  return {{{7, 0}, {7, 3}}, {filter, order, at_second(3), 116}};
}

ListedJob full_job(int number) {
  ListedJob job{.place = {.name = "n", .number = number, .group = 1, .slot = at_second(4), .priority = -1},
                .shard = {7, 3},
                .entries = {5, 9},
                .scores = {1.5, -2}};
  auto& view = job.view;
  view.kind = "ship";
  view.key = "k";
  view.id = std::string("4\0", 2);
  view.state = JobStatus::awaiting;
  view.run_at = at_second(5);
  view.retry_count = 2;
  view.crashes = 1;
  view.error = "no route";
  view.error_kind = FailureKind::crash;
  view.priority = 7;
  view.timeout = seconds{9};
  view.expires = Time::max();
  view.expiry_moves = true;
  view.weight = Decimal(2);
  view.partition = "east";
  view.critical = false;
  view.lock = "l";
  view.starts_at = at_second(6);
  view.started = at_second(9);
  view.node = "n2";
  job.asks = {.keys = {"east", "l"},
              .behind = "41",
              .response = "r",
              .response_until = at_second(7),
              .response_again = at_second(8)};
  return job;
}

TEST(JobQuestion, comes_back_as_it_was) {
  const auto bytes = encode(full_question());
  const auto question = decode_job_question(bytes);
  ASSERT_TRUE(question);
  EXPECT_EQ(encode(*question), bytes);
  EXPECT_THAT(question->shards, ElementsAre(ShardId{7, 0}, ShardId{7, 3}));
  EXPECT_EQ(question->wish.filter.error, "no route");
  EXPECT_EQ(question->wish.filter.until, at_second(2));
  EXPECT_EQ(question->wish.most, 116U);
  EXPECT_FALSE(question->wish.order.shows({.name = "41"}));
  EXPECT_TRUE(question->wish.order.shows({.name = "40"})) << "it descends";
}

TEST(JobAnswer, comes_back_as_it_was) {
  const JobAnswer answer{{{7, 3}}, {full_job(1), full_job(2)}};
  const auto bytes = encode(answer, 1 << 18);
  const auto read = decode_job_answer(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read, 1 << 18), bytes);
  ASSERT_THAT(read->jobs, SizeIs(2));
  const auto& job = read->jobs[1];
  EXPECT_EQ(job.place, full_job(2).place);
  EXPECT_THAT(job.entries, ElementsAre(5, 9));
  EXPECT_EQ(job.view.id, full_job(2).view.id);
  EXPECT_EQ(job.view.expires, Time::max());
  EXPECT_TRUE(job.view.expiry_moves);
  EXPECT_EQ(job.view.critical, false);
  EXPECT_EQ(job.view.starts_at, at_second(6));
  EXPECT_EQ(job.asks.keys.partition, "east");
  EXPECT_EQ(job.asks.behind, "41");
  EXPECT_EQ(job.asks.place, std::pair(job.shard, job.place.arrival));
  EXPECT_EQ(job.asks.response_again, at_second(8));
  EXPECT_FALSE(read->is_cut);
}

TEST(JobAnswer, is_cut_to_its_room) {
  JobAnswer answer{{{7, 3}}, {}};
  for (int i = 0; i < 100; ++i) answer.jobs.push_back(full_job(i));
  const auto all = encode(answer, 1 << 18).size();
  for (const auto room : {all - 1, all / 2, std::size_t{40}}) {
    const auto bytes = encode(answer, room);
    EXPECT_LE(bytes.size(), room);
    const auto read = decode_job_answer(bytes);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->is_cut);
    EXPECT_LT(read->jobs.size(), 100U);
  }
}

TEST(JobQuestion, that_is_cut_or_changed_is_a_question_or_a_value) {
  for (const auto& bytes :
       {encode(full_question()), encode(JobAnswer{{{7, 3}}, {full_job(1), full_job(2)}}, 1 << 18)}) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_job_question(std::string_view(bytes).substr(0, size)));
      EXPECT_FALSE(decode_job_answer(std::string_view(bytes).substr(0, size)));
      for (const char other : {'\0', '\x7f', '\xff'}) {
        auto changed = bytes;
        changed[size] = other;
        static_cast<void>(decode_job_question(changed));
        static_cast<void>(decode_job_answer(changed));
      }
    }
    EXPECT_FALSE(decode_job_question(bytes + "x"));
    EXPECT_FALSE(decode_job_answer(bytes + "x"));
  }
}

TEST(JobQuestion, of_a_version_that_nobody_knows_is_none) {
  auto bytes = encode(full_question());
  bytes[0] = kAnswersQuestions + 1;
  EXPECT_FALSE(decode_job_question(bytes));
}

}  // namespace job_question_test
}  // namespace ordo::domain
