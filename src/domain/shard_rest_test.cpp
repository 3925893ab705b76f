// Jobs with more payloads than fit into one run (rules §1.5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_rest_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;
using ::testing::SizeIs;
using testing::Strings;

class ShardRest : public ::testing::Test {
 protected:
  static QueueOptions retrying() {
    auto options = plain();
    options.max_retries = 1;
    options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = 1s};
    return options;
  }

  void push(const std::string& id, const Strings& payloads, const std::string& key = {}) {
    for (const auto& payload : payloads) shard.push({.id = id, .payload = payload, .key = key});
  }

  /// The payloads of the next run, of which the first `fit` are delivered.
  Strings run_some(std::uint32_t fit, Outcome outcome = Outcome::done()) {
    const auto run = shard.take();
    if (!run) return {};
    Strings payloads;
    for (const auto& payload : run->jobs.at(0).payloads) payloads.push_back(payload.bytes);
    outcome.delivered = fit;
    shard.end(*run, outcome);
    shard.commit();
    return payloads;
  }

  Harness shard{retrying()};
};

TEST_F(ShardRest, WhatDidNotFitGoesOnAtOnce) {
  push("1", {"a", "b", "c"});
  EXPECT_THAT(run_some(2), ElementsAre("a", "b", "c"));
  EXPECT_EQ(shard.counts().processed, 0U) << "the job has not ended";
  EXPECT_EQ(shard.log_size(), 1U);
  EXPECT_THAT(run_some(1), ElementsAre("c"));
  EXPECT_EQ(shard.counts().processed, 1U);
  EXPECT_EQ(shard.log_size() + shard.states_size(), 0U);
}

TEST_F(ShardRest, ItGoesOnAfterACrashToo) {
  push("1", {"a", "b", "c"});
  run_some(1, Outcome::discard("no use"));
  shard.crash();
  EXPECT_THAT(run_some(2), ElementsAre("b", "c"));
  EXPECT_EQ(shard.log_size() + shard.states_size(), 0U);
}

TEST_F(ShardRest, NothingOfItsKeyComesBetween) {
  for (const auto order : {KeyOrder::strict, KeyOrder::exclusive}) {
    auto options = retrying();
    options.key_order = order;
    shard.rebuild_with(options);
    push("1", {"a", "b"}, "k");
    const auto run = *shard.take();
    shard.push({.id = "2", .key = "k", .priority = -1});
    auto outcome = Outcome::done();
    outcome.delivered = 1;
    shard.end(run, outcome);
    shard.commit();
    EXPECT_THAT(shard.run_all_ids(), ElementsAre("1", "2"));
  }
}

TEST_F(ShardRest, ItIsTheSameJob) {
  push("1", {"a", "b"});
  const auto came = shard.job("1").run_at;
  const auto first = *shard.take();
  shard.advance(1s);
  shard.end(first, Outcome::fail("no", FailureKind::crash));
  shard.advance(1s);
  EXPECT_EQ(shard.job("1").retry_count, 0);
  shard.commit();
  const auto retry = *shard.take_marked({});
  push("1", {"late"});
  auto outcome = Outcome::done();
  outcome.delivered = 1;
  shard.end(retry, outcome);
  shard.commit();
  const auto job = shard.job("1");
  EXPECT_EQ(job.retry_count, -1);
  EXPECT_EQ(job.crashes, 1U);
  EXPECT_EQ(job.run_at, came + 2s) << "it stays";
  EXPECT_EQ(job.error, "");
  EXPECT_THAT(job.payloads, ElementsAre("b", "late")) << "pushed while it ran, it is one with it";
}

TEST_F(ShardRest, ACancelEndsIt) {
  push("1", {"a", "b"});
  const auto run = *shard.take();
  shard.control(EntryType::cancel, "1");
  auto outcome = Outcome::done();
  outcome.delivered = 1;
  shard.end(run, outcome);
  shard.commit();
  EXPECT_EQ(shard.log_size() + shard.states_size(), 0U);
}

TEST_F(ShardRest, WhereOneIsDeliveredTheOthersAreFinishedWithIt) {
  auto options = retrying();
  options.payloads = PayloadChoice::last;
  shard.rebuild_with(options);
  push("1", {"a", "b"});
  run_some(1);
  EXPECT_EQ(shard.counts().processed, 1U);
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST_F(ShardRest, OneThatFitsIntoNoRunDiesAtItsFirstStart) {
  push("1", {"big", "b"});
  run_some(0, Outcome::fail("it is too large"));
  const auto dead = shard.take_dead();
  ASSERT_THAT(dead, SizeIs(1));
  EXPECT_EQ(dead[0].payload, "big");
  EXPECT_EQ(dead[0].error, "it is too large");
  EXPECT_EQ(dead[0].error_kind, FailureKind::handler);
  EXPECT_EQ(shard.job("1").retry_count, -1);
  EXPECT_THAT(run_some(1), ElementsAre("b"));
  EXPECT_THAT(shard.take_dead(), IsEmpty());
}

TEST_F(ShardRest, ItGoesOnAfterARunThatWasLent) {
  push("1", {"a", "b"});
  const auto lent = shard.lend(*shard.take(), "n2");
  auto outcome = Outcome::done();
  outcome.delivered = 1;
  shard.end(lent, outcome);
  shard.commit();
  EXPECT_THAT(run_some(1), ElementsAre("b"));
}

TEST_F(ShardRest, HowMuchWasDeliveredIsToldByWhoWasLentTheRun) {
  for (const auto& outcome : {Outcome::done(), Outcome::discard("why"), Outcome::fail("no")}) {
    for (const std::optional<std::uint32_t> delivered : {std::optional<std::uint32_t>(), {0U}, {3U}}) {
      LentEnd end{.name = {{1, 2}, 3, 4}, .ends = {{Outcome::done(), 0}, {outcome, 0}}};
      end.ends[1].outcome.delivered = delivered;
      const auto read = *decode_lent_end(encode(end));
      ASSERT_THAT(read.ends, SizeIs(2));
      EXPECT_EQ(read.ends[0].outcome.delivered, std::nullopt);
      EXPECT_EQ(read.ends[1].outcome.delivered, delivered);
      EXPECT_EQ(read.ends[1].outcome.kind, outcome.kind);
      EXPECT_EQ(read.ends[1].outcome.text, outcome.text);
    }
  }
}

}  // namespace shard_rest_test
}  // namespace ordo::domain
