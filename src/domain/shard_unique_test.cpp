#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_unique_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;
using ::testing::SizeIs;
using testing::Strings;

QueueOptions retrying(std::uint32_t batch_size = 1) {
  auto options = plain();
  options.batch_size = batch_size;
  options.max_retries = 1;
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = 0s};
  return options;
}

class ShardUnique : public ::testing::Test {
 protected:
  ShardUnique() { shards.emplace_back(retrying()); }
  Harness& harness() { return shards.back(); }
  void push(const std::string& id, const std::string& token, UniqueScope scope = UniqueScope::queued,
            const std::string& payload = "p", const std::string& key = {}) {
    Entry entry;
    entry.kind = "orders";
    entry.id = id;
    entry.key = key.empty() ? std::string_view(id) : key;
    entry.payload = payload;
    if (!token.empty()) entry.options.unique = {{"row-" + token, token, scope, {}}};
    harness().append(entry);
  }

  /// The tokens of the rows that are to go.
  Strings asked(bool starts) {
    Strings tokens;
    for (const auto& row : harness().shard().rows_to_free()) {
      const auto holder = *decode_unique_row(row.bytes);
      EXPECT_EQ(row.row, "row-" + holder.token);
      EXPECT_EQ(row.starts, starts);
      tokens.push_back(holder.token);
    }
    return tokens;
  }

  void freed(const std::string& id, const std::string& token, const std::string& key = {}) {
    Entry entry;
    entry.type = EntryType::freed;
    entry.kind = "orders";
    entry.id = id;
    entry.key = key.empty() ? std::string_view(id) : key;
    entry.payload = token;
    harness().append(entry);
  }

  Shard::Taken take() { return harness().shard().take(harness().now(), {}, run); }
  void recall_freed() {
    for (const auto no : harness().shard().freed_runs()) harness().shard().recall(no, harness().now());
  }
  Strings listed() {
    Strings tokens;
    for (const auto& row : harness().stored_counts().rows_to_free)
      tokens.push_back(decode_unique_row(row.bytes)->token);
    return tokens;
  }
  void row_freed(const std::string& id, const std::string& token, UniqueScope scope) {
    harness().shard().row_freed(row_of({"row-" + token, token, scope, {}}, "orders", id, id));
  }

  std::deque<Harness> shards;
  domain::Run run;
};

TEST_F(ShardUnique, AQueuedOneStartsOnceTheLogSaysThatItsRowIsFree) {
  push("1", "t");
  EXPECT_EQ(take(), Shard::Taken::pending);
  EXPECT_THAT(asked(true), ElementsAre("t"));
  EXPECT_EQ(take(), Shard::Taken::none) << "it is on its way";
  EXPECT_FALSE(harness().shard().has_changes()) << "nothing has happened yet";
  freed("1", "t");
  recall_freed();
  ASSERT_EQ(take(), Shard::Taken::ready);
  EXPECT_EQ(run.jobs.at(0).id, "1");
  EXPECT_THAT(asked(true), IsEmpty());
  harness().end(run, Outcome::done());
  harness().commit();
  EXPECT_THAT(asked(false), IsEmpty()) << "it has none any more";
  EXPECT_EQ(harness().log_size() + harness().states_size(), 0U);
}

TEST_F(ShardUnique, WhatCameWhileTheRowWasItsIsOneWithIt) {
  push("1", "t");
  EXPECT_EQ(take(), Shard::Taken::pending);
  push("1", "", UniqueScope::queued, "merged");
  freed("1", "t");
  push("1", "", UniqueScope::queued, "late");
  recall_freed();
  ASSERT_EQ(take(), Shard::Taken::ready);
  EXPECT_THAT(run.jobs.at(0).payloads, SizeIs(3)) << "it has not started: the late one merges, too";
}

TEST_F(ShardUnique, ABatchStartsOnceAllItsRowsAreFree) {
  shards.emplace_back(retrying(/*batch_size=*/3));
  push("1", "a");
  push("2", "");
  push("3", "b");
  EXPECT_EQ(take(), Shard::Taken::pending);
  EXPECT_THAT(asked(true), ElementsAre("a", "b"));
  freed("3", "b");
  EXPECT_THAT(harness().shard().freed_runs(), IsEmpty());
  freed("1", "a");
  freed("1", "a");
  recall_freed();
  ASSERT_EQ(take(), Shard::Taken::ready);
  EXPECT_THAT(run.jobs, SizeIs(3));
}

TEST_F(ShardUnique, TheNextOwnerAsksAgainUnlessTheLogSaysSo) {
  push("1", "t");
  EXPECT_EQ(take(), Shard::Taken::pending);
  EXPECT_THAT(asked(true), ElementsAre("t"));
  harness().rebuild();
  EXPECT_EQ(take(), Shard::Taken::pending);
  EXPECT_THAT(asked(true), ElementsAre("t"));
  freed("1", "t");
  harness().rebuild();
  EXPECT_EQ(take(), Shard::Taken::ready);
  harness().rebuild();
  EXPECT_EQ(take(), Shard::Taken::ready) << "nothing was durable: the entry is still there";
  harness().commit();
  harness().rebuild();
  EXPECT_EQ(take(), Shard::Taken::ready) << "its state says so";
}

TEST_F(ShardUnique, ItsRowIsNotTakenAgainForARetry) {
  push("1", "t");
  EXPECT_EQ(take(), Shard::Taken::pending);
  freed("1", "t");
  recall_freed();
  ASSERT_EQ(take(), Shard::Taken::ready);
  harness().end(run, Outcome::fail("no"));
  harness().commit();
  ASSERT_EQ(take(), Shard::Taken::ready);
}

TEST_F(ShardUnique, ACancelledOneNeverStartsAndItsRowGoes) {
  push("1", "a");
  EXPECT_EQ(take(), Shard::Taken::pending);
  EXPECT_THAT(asked(true), ElementsAre("a"));
  harness().control(EntryType::cancel, "1");
  freed("1", "a");
  recall_freed();
  EXPECT_EQ(take(), Shard::Taken::none);
  harness().commit();
  EXPECT_EQ(harness().log_size(), 0U);
  push("2", "b");
  harness().control(EntryType::cancel, "2");
  harness().commit();
  EXPECT_THAT(asked(false), ElementsAre("b")) << "it never came to a start";
}

// One of its name runs: it has started, and has no key any more.
TEST_F(ShardUnique, WhoTakesItsPlaceCancelsThatOneAlone) {
  push("1", "");
  ASSERT_EQ(take(), Shard::Taken::ready);
  push("1", "t", UniqueScope::queued, "q");
  Entry cancel;
  cancel.type = EntryType::cancel;
  cancel.kind = "orders";
  cancel.key = cancel.id = "1";
  cancel.payload = "t";
  harness().append(cancel);
  EXPECT_THAT(harness().shard().stops(), IsEmpty());
  EXPECT_EQ(harness().shard().jobs(), 1U) << "the one that waited is gone";
  harness().end(run, Outcome::fail("again"));
  harness().commit();
  EXPECT_EQ(harness().shard().jobs(), 1U) << "and this one is retried";
}

TEST_F(ShardUnique, OneThatComesWhileOthersAreFreedDoesNotHoldThemUp) {
  shards.emplace_back(retrying(10));
  push("1", "t");
  EXPECT_EQ(take(), Shard::Taken::pending);
  freed("1", "t");
  recall_freed();
  push("2", "u");
  ASSERT_EQ(take(), Shard::Taken::ready);
  ASSERT_EQ(run.jobs.size(), 1U);
  EXPECT_EQ(run.jobs[0].id, "1");
  EXPECT_EQ(take(), Shard::Taken::pending);
}

TEST_F(ShardUnique, WhatIsToStartNoMoreIsTakenBack) {
  push("1", "t");
  EXPECT_EQ(take(), Shard::Taken::pending);
  harness().shard().stop_freeing();
  recall_freed();
  EXPECT_EQ(harness().shard().running(), 0U);
  freed("1", "t");
  recall_freed();
  EXPECT_EQ(take(), Shard::Taken::ready);
}

TEST_F(ShardUnique, AnotherOfItsKeyStillComesBehindIt) {
  push("1", "a", UniqueScope::queued, "p", "k");
  push("2", "", UniqueScope::queued, "p", "k");
  EXPECT_EQ(take(), Shard::Taken::pending);
  EXPECT_EQ(take(), Shard::Taken::none) << "its key is taken";
  freed("1", "a", "k");
  recall_freed();
  ASSERT_EQ(take(), Shard::Taken::ready);
  EXPECT_EQ(run.jobs.at(0).id, "1");
}

TEST_F(ShardUnique, UntilItIsGoneTheRowOfARunningOneStays) {
  const auto scope = UniqueScope::queued_or_running;
  push("1", "t", scope);
  ASSERT_EQ(take(), Shard::Taken::ready) << "it may start at once";
  harness().end(run, Outcome::fail("no"));
  harness().commit();
  EXPECT_THAT(asked(false), IsEmpty()) << "it will be retried";
  ASSERT_EQ(take(), Shard::Taken::ready);
  harness().end(run, Outcome::done());
  EXPECT_THAT(asked(false), IsEmpty()) << "its end is not durable";
  harness().commit();
  EXPECT_THAT(listed(), ElementsAre("t"));
  EXPECT_THAT(asked(false), ElementsAre("t"));
  EXPECT_TRUE(harness().shard().has_rows());
  row_freed("1", "t", scope);
  EXPECT_FALSE(harness().shard().has_rows());
  harness().commit();
  EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(ShardUnique, TheNextOwnerTakesAwayWhatTheLastOneLeft) {
  const auto scope = UniqueScope::queued_or_running;
  push("1", "t", scope);
  ASSERT_EQ(take(), Shard::Taken::ready);
  harness().end(run, Outcome::done());
  harness().rebuild();
  EXPECT_THAT(asked(false), IsEmpty()) << "the end was not durable: the job is there";
  ASSERT_EQ(take(), Shard::Taken::ready);
  harness().end(run, Outcome::done());
  harness().commit();
  harness().rebuild();
  EXPECT_THAT(asked(false), ElementsAre("t"));
}

TEST_F(ShardUnique, TheDeadKeepWhatTheyNeedToBeUniqueAgain) {
  push("1", "t", UniqueScope::queued_or_running);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(take(), Shard::Taken::ready);
    harness().end(run, Outcome::fail("no"));
    harness().commit();
  }
  EXPECT_THAT(asked(false), ElementsAre("t"));
  const auto dead = harness().take_dead();
  ASSERT_THAT(dead, SizeIs(1));
  EXPECT_EQ(dead[0].options.unique.at(0).row, "row-t");
  EXPECT_EQ(decode_dead(encode(dead[0]))->options.unique, dead[0].options.unique);
}

TEST_F(ShardUnique, TheDeadKeepTheRowThatWasFreeFromTheirStartOn) {
  push("1", "t");
  EXPECT_EQ(take(), Shard::Taken::pending);
  freed("1", "t");
  recall_freed();
  for (int i = 0; i < 2; ++i) {
    harness().commit();
    harness().rebuild();
    ASSERT_EQ(take(), Shard::Taken::ready) << "a retry does not take it again";
    harness().end(run, Outcome::fail("no"));
  }
  harness().commit();
  EXPECT_THAT(asked(false), IsEmpty()) << "it may be another's by now";
  const auto dead = harness().take_dead();
  ASSERT_THAT(dead, SizeIs(1));
  EXPECT_THAT(dead[0].options.unique, IsEmpty());
  EXPECT_EQ(decode_dead(encode(dead[0]))->options.freed_row, "row-t");
}

TEST_F(ShardUnique, OneThatWasJoinedByAnotherHasTheRowsOfBoth) {
  const auto scope = UniqueScope::queued_or_running;
  push("1", "a", scope, "p");
  push("1", "b", scope, "p");
  harness().rebuild();
  ASSERT_EQ(take(), Shard::Taken::ready);
  push("1", "c", scope, "q");
  harness().end(run, Outcome::fail("no"));
  harness().commit();
  harness().rebuild();
  ASSERT_EQ(take(), Shard::Taken::ready);
  harness().end(run, Outcome::done());
  harness().commit();
  EXPECT_THAT(asked(false), ElementsAre("a", "b", "c"));
}

}  // namespace shard_unique_test
}  // namespace ordo::domain
