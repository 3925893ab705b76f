#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_wait_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;

QueueOptions retrying() {
  auto options = plain();
  options.max_retries = 1;
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = 5s};
  return options;
}

class ShardWait : public ::testing::Test {
 protected:
  /// The job runs, and waits.
  void wait(Duration timeout = 60s, const std::string& wait_id = "w1", const std::string& key = "bank") {
    if (harness.shard().jobs() == 0) harness.push({.id = "42", .payload = "p"});
    wait_from(*harness.take(), timeout, wait_id, key);
    harness.commit();
  }

  void wait_from(const domain::Run& run, Duration timeout, const std::string& wait_id,
                 const std::string& key) {
    harness.note(EntryType::expected, run.kind, run.jobs[0], {wait_id, key, {}, {}});
    auto outcome = Outcome::wait(key, timeout);
    outcome.wait_id = wait_id;
    outcome.deadline = harness.now() + timeout;
    harness.end(run, outcome);
  }

  void respond(const std::string& wait_id = "w1", const std::string& body = "yes") {
    harness.note(EntryType::response, "orders", {.id = "42", .key = "42"}, {wait_id, "bank", "m", body});
  }

  std::vector<std::string> closes() {
    std::vector<std::string> ids;
    for (const auto& each : harness.shard().closes()) ids.push_back(each.wait);
    return ids;
  }

  /// The responses that no job will handle, as their dead letters are kept.
  std::size_t keep_unused() {
    const auto unused = harness.shard().unused_responses();
    for (const auto entry : unused) harness.shard().response_kept(entry);
    harness.commit();
    return unused.size();
  }

  void close(const std::string& wait_id, bool is_answered = false) {
    harness.shard().wait_closed(wait_id, is_answered, 0, harness.now());
  }

  Harness harness{retrying()};
};

TEST_F(ShardWait, TheResponseStartsARunOfItsOwnAndEndsTheJob) {
  wait();
  EXPECT_EQ(harness.counts().awaiting, 1U);
  EXPECT_EQ(harness.counts().running, 0U);
  EXPECT_EQ(harness.shard().running(), 0U) << "it costs no thread";
  EXPECT_FALSE(harness.has_due());
  EXPECT_EQ(harness.shard().next_due(harness.now()), harness.now() + 60s);
  respond();
  EXPECT_TRUE(harness.has_due());
  const auto run = *harness.take();
  ASSERT_EQ(run.jobs.size(), 1U);
  EXPECT_EQ(run.jobs[0].response, (Response{"bank", "yes", "m"}));
  EXPECT_EQ(run.jobs[0].payloads[0].bytes, "p");
  harness.end(run, Outcome::done());
  harness.commit();
  EXPECT_EQ(harness.counts().processed, 1U);
  EXPECT_EQ(harness.log_size(), 0U) << "nothing of the wait stays";
  EXPECT_EQ(harness.states_size(), 0U);
  EXPECT_THAT(closes(), IsEmpty()) << "an answered wait is over by itself";
  EXPECT_EQ(keep_unused(), 0U) << "it was handled";
}

TEST_F(ShardWait, TheNextOwnerFindsItWaiting) {
  wait();
  harness.crash();
  EXPECT_EQ(harness.counts().awaiting, 1U);
  EXPECT_FALSE(harness.take()) << "perform does not run again";
  respond();
  harness.crash();
  const auto run = *harness.take_marked({});
  EXPECT_EQ(run.jobs[0].response->body, "yes");
}

TEST_F(ShardWait, ItHasItsKeyAndWhatIsPushedStandsBesideIt) {
  harness.push({.id = "42", .payload = "p", .key = "k"});
  wait_from(*harness.take(), 60s, "w1", "bank");
  harness.commit();
  harness.push({.id = "42", .payload = "later", .key = "k"});
  harness.push({.id = "43", .payload = "other", .key = "k"});
  EXPECT_FALSE(harness.take());
  harness.crash();
  EXPECT_FALSE(harness.take());
  harness.note(EntryType::response, "orders", {.id = "42", .key = "k"}, {"w1", "bank", {}, "yes"});
  const auto run = *harness.take_marked({});
  EXPECT_TRUE(run.jobs[0].response);
  EXPECT_EQ(run.jobs[0].payloads.size(), 1U);
  harness.end(run, Outcome::done());
  harness.commit();
  const auto next = *harness.take_marked({});
  EXPECT_EQ(next.jobs[0].payloads[0].bytes, "later");
}

TEST_F(ShardWait, AResponseThatComesDuringTheRunIsKeptForIt) {
  harness.push({.id = "42", .payload = "p"});
  const auto run = *harness.take();
  harness.note(EntryType::expected, run.kind, run.jobs[0], {"w1", "bank", {}, {}});
  respond();
  auto outcome = Outcome::wait("bank");
  outcome.wait_id = "w1";
  outcome.deadline = harness.now() + 60s;
  harness.end(run, outcome);
  EXPECT_EQ(harness.take()->jobs[0].response->body, "yes");
}

TEST_F(ShardWait, AResponseThatComesDuringTheBackOffIsKeptForTheNextAttempt) {
  harness.push({.id = "42", .payload = "p"});
  const auto run = *harness.take();
  harness.note(EntryType::expected, run.kind, run.jobs[0], {"w1", "bank", {}, {}});
  harness.end(run, Outcome::fail("no"));
  harness.commit();
  respond();
  harness.crash();
  harness.advance(5s);
  const auto again = *harness.take_marked({});
  EXPECT_FALSE(again.jobs[0].response);
  wait_from(again, 60s, "w2", "bank");
  EXPECT_EQ(harness.take_marked({})->jobs[0].response->body, "yes");
}

TEST_F(ShardWait, WhatAttemptsOfADeadPayloadHaveOpenedIsNotForTheNextOne) {
  harness.push({.id = "42", .payload = "first"});
  const auto run = *harness.take();
  harness.note(EntryType::expected, run.kind, run.jobs[0], {"w1", "bank", {}, {}});
  harness.end(run, Outcome::fail("no"));
  harness.commit();
  respond();
  harness.push({.id = "42", .payload = "second"});
  harness.advance(5s);
  harness.end(*harness.take(), Outcome::fail("no"));  // the last of its attempts
  harness.commit();
  EXPECT_EQ(harness.take_dead().size(), 1U);
  EXPECT_EQ(keep_unused(), 1U);
  EXPECT_EQ(harness.log_size(), 1U) << "only the second payload stays";
  wait_from(*harness.take_marked({}), 60s, "w2", "bank");
  harness.commit();
  EXPECT_FALSE(harness.take()) << "it asked anew";
  harness.crash();
  EXPECT_FALSE(harness.take()) << "the next owner knows as much";
  respond("w2", "new");
  EXPECT_EQ(harness.take_marked({})->jobs[0].response->body, "new");
}

TEST_F(ShardWait, OnlyTheStoreEndsAWait) {
  wait();
  harness.advance(60s);
  harness.expire();
  EXPECT_THAT(closes(), ElementsAre("w1"));
  harness.expire();
  EXPECT_THAT(closes(), IsEmpty()) << "asked once";
  EXPECT_EQ(harness.counts().awaiting, 1U);
  close("w1");
  EXPECT_EQ(harness.counts().awaiting, 0U);
  EXPECT_EQ(harness.counts().failed, 1U);
  EXPECT_EQ(harness.job("42").retry_count, 0);
  EXPECT_EQ(harness.job("42").error, "no response to 'bank' came in time");
  harness.commit();
  EXPECT_EQ(harness.log_size(), 1U);
  respond();
  harness.commit();
  EXPECT_EQ(harness.log_size(), 2U);
  EXPECT_EQ(keep_unused(), 1U) << "what comes late is for nobody";
  EXPECT_EQ(harness.log_size(), 1U);
}

TEST_F(ShardWait, AResponseThatWonIsWaitedForWhateverTheClockSays) {
  wait();
  harness.advance(60s);
  harness.expire();
  EXPECT_THAT(closes(), ElementsAre("w1"));
  close("w1", true);
  EXPECT_EQ(harness.counts().awaiting, 1U);
  respond();
  EXPECT_EQ(harness.take()->jobs[0].response->body, "yes");
}

TEST_F(ShardWait, AWaitThatCouldNotBeClosedIsAskedForAgain) {
  wait();
  harness.advance(60s);
  harness.expire();
  EXPECT_THAT(closes(), ElementsAre("w1"));
  harness.shard().close_again("w1");
  EXPECT_THAT(closes(), ElementsAre("w1"));
  respond();
  close("w1", true);
  EXPECT_TRUE(harness.has_due());
}

TEST_F(ShardWait, OnResponseHasRetriesOfItsOwnAndThenTheAttemptHasFailed) {
  wait();
  respond();
  harness.end(*harness.take(), Outcome::fail("cannot"));
  harness.commit();
  EXPECT_EQ(harness.counts().awaiting, 1U);
  EXPECT_FALSE(harness.take()) << "it waits for its retry";
  harness.crash();
  EXPECT_FALSE(harness.take_marked({}));
  harness.advance(5s);
  const auto again = *harness.take_marked({});
  EXPECT_EQ(again.jobs[0].response->body, "yes");
  EXPECT_EQ(again.jobs[0].retry_count, -1) << "that of perform";
  harness.end(again, Outcome::fail("cannot"));
  harness.commit();
  EXPECT_EQ(harness.counts().awaiting, 0U);
  EXPECT_EQ(harness.job("42").retry_count, 0);
  EXPECT_EQ(harness.log_size(), 1U) << "the response is consumed";
  harness.advance(5s);
  EXPECT_FALSE(harness.take_marked({})->jobs[0].response);
}

TEST_F(ShardWait, SnoozedAndPutBackItHandlesTheSameResponseAgain) {
  wait();
  respond();
  harness.end(*harness.take(), Outcome::snoozed_for(10s));
  EXPECT_FALSE(harness.take());
  harness.advance(10s);
  harness.end(*harness.take(), Outcome::put_back());
  const auto run = *harness.take();
  EXPECT_TRUE(run.jobs[0].response);
  harness.shard().recall(run.no, harness.now());
  EXPECT_TRUE(harness.take()->jobs[0].response);
}

TEST_F(ShardWait, OnResponseMayWaitForMore) {
  wait();
  respond();
  wait_from(*harness.take(), 60s, "w2", "shop");
  harness.commit();
  EXPECT_EQ(harness.counts().awaiting, 1U);
  EXPECT_EQ(harness.log_size(), 2U) << "its payload, and what it expects now";
  harness.note(EntryType::response, "orders", {.id = "42", .key = "42"}, {"w2", "shop", {}, "sold"});
  EXPECT_EQ(harness.take()->jobs[0].response, (Response{"shop", "sold", ""}));
}

TEST_F(ShardWait, ACancelEndsItAndItsWait) {
  wait();
  harness.control(EntryType::cancel, "42");
  harness.commit();
  EXPECT_EQ(harness.shard().jobs(), 0U);
  EXPECT_THAT(closes(), ElementsAre("w1"));
  EXPECT_EQ(harness.log_size(), 1U) << "the wait is not closed yet";
  harness.crash();
  EXPECT_THAT(closes(), ElementsAre("w1")) << "and the next owner knows";
  close("w1");
  harness.commit();
  EXPECT_EQ(harness.log_size(), 0U);
}

TEST_F(ShardWait, ACancelBeatsAResponseThatIsNotHandled) {
  wait();
  respond();
  harness.control(EntryType::cancel, "42");
  harness.commit();
  EXPECT_FALSE(harness.take());
  EXPECT_EQ(keep_unused(), 1U);
  EXPECT_EQ(harness.log_size(), 0U);
}

TEST_F(ShardWait, AResponseThatTheJobDidNotUseStaysUntilItIsKept) {
  harness.push({.id = "42", .payload = "p"});
  const auto run = *harness.take();
  harness.note(EntryType::expected, run.kind, run.jobs[0], {"w1", "bank", {}, {}});
  respond();
  harness.end(run, Outcome::done());
  harness.commit();
  EXPECT_EQ(harness.log_size(), 1U);
  EXPECT_EQ(harness.shard().unused_responses().size(), 1U);
  EXPECT_THAT(harness.shard().unused_responses(), IsEmpty()) << "asked once";
  harness.crash();
  EXPECT_EQ(keep_unused(), 1U) << "the next owner finds it";
  EXPECT_EQ(harness.log_size(), 0U);
  EXPECT_THAT(closes(), IsEmpty());
}

TEST_F(ShardWait, ACancelDuringOnResponseLeavesNothingUnused) {
  wait();
  respond();
  const auto run = *harness.take();
  harness.control(EntryType::cancel, "42");
  harness.end(run, Outcome::fail("stopped"));
  harness.commit();
  EXPECT_EQ(keep_unused(), 0U);
  EXPECT_EQ(harness.log_size(), 0U);
}

TEST_F(ShardWait, OneThatComesTwiceIsNotUnused) {
  wait();
  respond();
  respond();
  EXPECT_EQ(keep_unused(), 0U);
  harness.end(*harness.take(), Outcome::done());
  harness.commit();
  EXPECT_EQ(keep_unused(), 0U);
  EXPECT_EQ(harness.log_size(), 0U);
}

// It is on its way out when the next owner would bury it.
TEST_F(ShardWait, ACancelBeatsTheLastCrashOfItsNode) {
  wait();
  respond();
  ASSERT_TRUE(harness.take());
  harness.crash();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(harness.take_marked({})) << i;
    if (i == 2) harness.control(EntryType::cancel, "42");
    harness.crash();
  }
  harness.commit();
  EXPECT_EQ(harness.shard().jobs(), 0U);
  EXPECT_EQ(keep_unused(), 1U);
  EXPECT_EQ(harness.log_size(), 0U);
  EXPECT_THAT(harness.take_dead(), IsEmpty());
}

TEST_F(ShardWait, WhatARunExpectedInVainIsClosed) {
  harness.push({.id = "42", .payload = "p"});
  const auto run = *harness.take();
  harness.note(EntryType::expected, run.kind, run.jobs[0], {"w1", "bank", {}, {}});
  harness.end(run, Outcome::done());
  harness.commit();
  harness.note(EntryType::expected, run.kind, run.jobs[0], {"w2", "bank", {}, {}});  // of a run that is over
  EXPECT_THAT(closes(), ElementsAre("w1", "w2"));
  close("w1");
  close("w2");
  harness.commit();
  EXPECT_EQ(harness.log_size(), 0U);
}

TEST_F(ShardWait, AnotherNodeMayHandleTheResponse) {
  wait();
  respond();
  const auto lent = harness.lend(*harness.take(), "other");
  EXPECT_NE(lent.response, 0U);
  harness.crash();
  EXPECT_EQ(harness.counts().running, 1U);
  EXPECT_EQ(harness.counts().awaiting, 0U);
  harness.end(lent, Outcome::put_back());
  harness.commit();
  EXPECT_EQ(harness.counts().awaiting, 1U);
  EXPECT_TRUE(harness.take_marked({})->jobs[0].response);
}

TEST_F(ShardWait, AnotherNodesRunMayWait) {
  harness.push({.id = "42", .payload = "p"});
  const auto lent = harness.lend(*harness.take(), "other");
  auto outcome = Outcome::wait("bank");
  outcome.wait_id = "w1";
  outcome.deadline = harness.now() + 60s;
  harness.note(EntryType::expected, "orders", {.id = "42", .key = "42"}, {"w1", "bank", {}, {}});
  harness.end(lent, outcome);
  harness.commit();
  EXPECT_EQ(harness.counts().awaiting, 1U);
  respond();
  EXPECT_TRUE(harness.take()->jobs[0].response);
}

// Nobody reads them again when its time is over.
TEST(ShardWaitWithoutRoom, APayloadThatDiesOfItIsWhole) {
  auto options = plain();
  options.max_retries = 0;
  for (const bool is_rebuilt : {false, true}) {
    Harness harness(options, Time{std::chrono::hours{24 * 20000}}, /*budget=*/0);
    harness.push({.id = "42", .payload = "first"});
    harness.push({.id = "42", .payload = "second"});
    auto outcome = Outcome::wait("bank");
    outcome.wait_id = "w1";
    outcome.deadline = harness.now() + 1s;
    harness.end(*harness.take(), outcome);
    harness.commit();
    if (is_rebuilt) harness.rebuild();
    harness.advance(1s);
    harness.expire();
    harness.shard().wait_closed("w1", false, 0, harness.now());
    harness.commit();
    const auto dead = harness.take_dead();
    ASSERT_EQ(dead.size(), 1U);
    EXPECT_EQ(dead[0].payload, "first");
    EXPECT_EQ(dead[0].error_kind, FailureKind::timeout);
  }
}

TEST(ShardWaitWithoutRoom, AResponseIsReadAgainWhenItIsHandled) {
  Harness harness(retrying(), Time{std::chrono::hours{24 * 20000}}, /*budget=*/0);
  harness.push({.id = "42", .payload = "p"});
  const auto run = *harness.take();
  harness.note(EntryType::expected, run.kind, run.jobs[0], {"w1", "bank", {}, {}});
  auto outcome = Outcome::wait("bank", 60s);
  outcome.wait_id = "w1";
  outcome.deadline = harness.now() + 60s;
  harness.end(run, outcome);
  harness.commit();
  const auto used = harness.used_bytes();
  harness.note(EntryType::response, "orders", {.id = "42", .key = "42"}, {"w1", "bank", "m", "yes"});
  EXPECT_EQ(harness.used_bytes(), used) << "it is in no memory until then";
  const auto first = *harness.take();
  EXPECT_EQ(first.jobs[0].response, (Response{"bank", "yes", "m"}));
  harness.end(first, Outcome::fail("later"));
  harness.commit();
  harness.advance(5s);
  EXPECT_EQ(harness.take()->jobs[0].response, (Response{"bank", "yes", "m"}));
}

// The payload that is left came before them.
TEST_F(ShardWait, WhatADeadPayloadExpectedIsNotForTheNextOneEither) {
  harness.push({.id = "42", .payload = "second"});
  harness.push({.id = "42", .payload = "first", .score = 1});
  const auto run = *harness.take();
  harness.note(EntryType::expected, run.kind, run.jobs[0], {"w1", "bank", {}, {}});
  harness.end(run, Outcome::fail("no"));
  harness.commit();
  harness.advance(5s);
  harness.end(*harness.take(), Outcome::fail("no"));
  harness.commit();
  EXPECT_EQ(harness.take_dead().at(0).payload, "first");
  EXPECT_EQ(harness.log_size(), 1U) << "only the second payload stays";
  EXPECT_THAT(closes(), ElementsAre("w1"));
  wait_from(*harness.take(), 60s, "w2", "bank");
  harness.commit();
  respond("w1", "late");
  EXPECT_FALSE(harness.take());
  harness.crash();
  EXPECT_FALSE(harness.take()) << "the next owner takes it for no answer";
  EXPECT_EQ(keep_unused(), 1U);
  respond("w2", "new");
  EXPECT_EQ(harness.take_marked({})->jobs[0].response->body, "new");
}

TEST_F(ShardWait, AJobThatNamesNewKeysForEverKeepsTheLastOfThem) {
  harness.push({.id = "42", .payload = "p"});
  const auto run = *harness.take();
  for (int i = 0; i < 1010; ++i) {
    harness.note(EntryType::expected, run.kind, run.jobs[0],
                 {"w" + std::to_string(i), "key" + std::to_string(i), {}, {}});
  }
  const auto closed = closes();
  ASSERT_EQ(closed.size(), 10U);
  EXPECT_EQ(closed[0], "w0");
}

TEST_F(ShardWait, WhatWaitsForLongDoesNotStandInTheRoomOfOthers) {
  wait(10min);
  EXPECT_THAT(harness.set_aside, ElementsAre(1U, 2U));
}

TEST_F(ShardWait, ManyWaitAtOnceAndEachGetsItsOwnResponse) {
  for (int i = 0; i < 100; ++i) harness.push({.id = std::to_string(i), .payload = "p"});
  while (const auto run = harness.take())
    wait_from(*run, 60s, "w" + run->jobs[0].id, "key" + run->jobs[0].id);
  harness.commit();
  EXPECT_EQ(harness.counts().awaiting, 100U);
  for (int i = 0; i < 100; i += 2) {
    const auto id = std::to_string(i);
    harness.note(EntryType::response, "orders", {.id = id, .key = id},
                 {"w" + id, "key" + id, {}, "to " + id});
  }
  while (const auto run = harness.take()) {
    EXPECT_EQ(run->jobs[0].response->body, "to " + run->jobs[0].id);
    harness.end(*run, Outcome::done());
  }
  harness.advance(60s);
  harness.expire();
  EXPECT_EQ(closes().size(), 50U);
}

}  // namespace shard_wait_test
}  // namespace ordo::domain
