#include <gtest/gtest.h>

#include "domain/shard_harness.h"
#include "domain/shard_view_harness.h"

namespace ordo::domain {
namespace shard_hand_over_test {

using std::chrono::hours;
using testing::Harness;
using testing::plain;

QueueOptions loose() {
  auto options = plain();
  options.key_order = KeyOrder::exclusive;
  return options;
}

std::vector<JobState> waiting(const Harness& shard) {
  std::vector<JobState> all;
  for (const auto& [seq, bytes] : shard.states()) {
    auto state = *decode_state(bytes);
    if (state.hand_over) all.push_back(std::move(state));
  }
  return all;
}

TEST(ShardHandOver, WhatFailsWaitsToBeHandedOverAndIsNoJobAnyMore) {
  Harness shard(loose());
  shard.push({.id = "1", .payload = "p", .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  ASSERT_EQ(waiting(shard).size(), 1U);
  const auto state = waiting(shard)[0];
  EXPECT_EQ(state.hand_over.source, "web");
  EXPECT_EQ(state.error, "boom");
  EXPECT_EQ(state.retry_count, 0);
  EXPECT_EQ(state.set_at, shard.now());
  EXPECT_TRUE(ShardView::of(shard.shard()).empty());
  EXPECT_EQ(shard.counts().hand_overs, 1U);
  EXPECT_EQ(shard.counts().retrying, 1U);
  EXPECT_EQ(shard.counts().failed, 1U);
  EXPECT_EQ(shard.counts().processed, 0U);
  EXPECT_TRUE(shard.take_dead().empty());
  shard.advance(hours{24 * 30});
  EXPECT_FALSE(shard.take());
  for (const auto type : {EntryType::cancel, EntryType::run_now, EntryType::kill}) shard.control(type, "1");
  shard.commit();
  EXPECT_FALSE(shard.take());
  EXPECT_EQ(shard.counts().hand_overs, 1U);
}

TEST(ShardHandOver, ItGoesOnceItIsHandedOver) {
  Harness shard(loose());
  shard.push({.id = "1", .payload = "p", .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  shard.hand_over(1);
  shard.hand_over(1);  // told again
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_EQ(shard.states_size(), 0U);
  EXPECT_EQ(shard.counts().queued(), 0U);
}

TEST(ShardHandOver, TheNextOwnerLetsItWaitToo) {
  Harness shard(loose());
  shard.push({.id = "1", .payload = "p", .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  const auto name = waiting(shard)[0].hand_over.name;
  for (int i = 0; i < 2; ++i) {
    shard.crash();
    EXPECT_FALSE(shard.take());
    EXPECT_EQ(shard.counts().hand_overs, 1U);
    shard.commit();
    ASSERT_EQ(waiting(shard).size(), 1U);
    EXPECT_EQ(waiting(shard)[0].hand_over.name, name);
  }
  shard.hand_over(1);
  shard.crash();  // nothing of that was durable but the entry
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_EQ(shard.states_size(), 0U);
}

// Those who look for them look where the counts say so.
TEST(ShardHandOver, AnOwnerThatFindsSomeUncountedWritesThatDown) {
  Harness shard(loose());
  shard.push({.id = "1", .payload = "p", .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  shard.rebuild();
  EXPECT_FALSE(shard.shard().has_changes());
  shard.forget_counts();
  shard.rebuild();
  EXPECT_TRUE(shard.shard().has_changes());
  shard.commit();
  EXPECT_EQ(shard.stored_counts().hand_overs, 1U);
}

TEST(ShardHandOver, ARowThatHasLostItsEntryGoes) {
  Harness shard(loose());
  shard.push({.id = "1", .payload = "p", .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  shard.lose(1);
  shard.rebuild();
  EXPECT_EQ(shard.counts().hand_overs, 0U);
  shard.commit();
  EXPECT_EQ(shard.states_size(), 0U);
  EXPECT_EQ(shard.stored_counts().hand_overs, 0U);
}

TEST(ShardHandOver, AFailureThatIsNotDurableHasNotHappened) {
  Harness shard(loose());
  shard.push({.id = "1", .payload = "p", .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.crash();
  EXPECT_EQ(shard.counts().hand_overs, 0U);
  EXPECT_TRUE(shard.take_marked({}));
}

TEST(ShardHandOver, EachPayloadOfAJobIsHandedOverAndANewPushIsAnotherJob) {
  Harness shard(loose());
  shard.push({.id = "1", .payload = "a", .retried_by = "web"});
  shard.push({.id = "1", .payload = "b", .retried_by = "web"});
  const auto run = shard.take();
  shard.push({.id = "1", .payload = "beside", .retried_by = "web"});
  shard.end(*run, Outcome::fail("boom"));
  shard.commit();
  ASSERT_EQ(waiting(shard).size(), 2U);
  EXPECT_NE(waiting(shard)[0].hand_over.name, waiting(shard)[1].hand_over.name);
  shard.push({.id = "1", .payload = "behind"});
  EXPECT_EQ(shard.job("1").payloads, (testing::Strings{"beside", "behind"}));
  shard.rebuild();
  EXPECT_EQ(shard.job("1").payloads, (testing::Strings{"beside", "behind"}));
  EXPECT_EQ(shard.job("1").retry_count, -1);
  shard.hand_over(1);
  shard.commit();
  EXPECT_EQ(waiting(shard).size(), 1U);
  EXPECT_EQ(shard.run_all_ids(), testing::Strings{"1"});
  shard.hand_over(2);
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
}

// Whoever gives it back does not always hear that this is stored, and says so again.
TEST(ShardHandOver, WhatIsGivenBackIsAJobAgainOnceHoweverOftenThatIsSaid) {
  for (const bool is_durable : {false, true}) {
    Harness shard(loose());
    shard.push({.id = "1", .payload = "p", .score = 7, .max_retries = 3, .retried_by = "web"});
    shard.end(*shard.take(), Outcome::fail("boom"));
    shard.commit();
    const auto said = shard.hand_back(1);
    if (is_durable) shard.commit();
    shard.crash();
    shard.say_again(said);
    shard.commit();
    EXPECT_EQ(shard.counts().hand_overs, 0U);
    EXPECT_EQ(shard.counts().retrying + shard.counts().scheduled, 1U);
    EXPECT_EQ(shard.log_size(), 1U);
    EXPECT_EQ(shard.scores("1"), std::vector<double>{7});
    EXPECT_FALSE(shard.take());
    shard.advance(std::chrono::seconds{15});
    EXPECT_EQ(shard.run_all_ids(), testing::Strings{"1"}) << is_durable;
    shard.say_again(said);
    shard.commit();
    EXPECT_EQ(shard.run_all_ids(), testing::Strings{});
    EXPECT_EQ(shard.log_size(), 0U);
    EXPECT_EQ(shard.states_size(), 0U);
  }
}

TEST(ShardHandOver, WhatIsGivenBackMergesAsAPushAndTheNextOwnerKnows) {
  for (const bool is_durable : {false, true}) {
    Harness shard(loose());
    shard.push({.id = "1", .payload = "a", .score = 1, .retried_by = "web"});
    shard.end(*shard.take(), Outcome::fail("boom"));
    shard.commit();
    shard.push({.id = "1", .payload = "b", .score = 0});
    const auto said = shard.hand_back(1);
    if (is_durable) shard.commit();
    shard.rebuild();
    shard.say_again(said);
    shard.rebuild();
    EXPECT_EQ(shard.job("1").payloads, (testing::Strings{"b", "a"}));
    EXPECT_EQ(shard.scores("1"), (std::vector<double>{0, 1}));
    EXPECT_EQ(shard.run_all_ids(), testing::Strings{"1"});
    EXPECT_EQ(shard.log_size(), 0U);
    EXPECT_EQ(shard.states_size(), 0U);
  }
}

TEST(ShardHandOver, WhatIsGivenBackByAClockThatIsSetBackWaitsNoLonger) {
  Harness shard(loose());
  shard.advance(hours{50});
  shard.push({.id = "1", .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  shard.hand_back(1);
  shard.advance(-hours{50});
  shard.shard().clock_leapt(shard.now());
  EXPECT_FALSE(shard.take());
  shard.advance(std::chrono::seconds{15});
  EXPECT_EQ(shard.run_all_ids(), testing::Strings{"1"});
}

TEST(ShardHandOver, WhatIsGivenBackDoesNotExpire) {
  auto options = loose();
  options.expires = hours{1};
  Harness shard(options);
  shard.push({.id = "1", .payload = "a", .expires = shard.now() + hours{1}, .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  shard.hand_back(1);
  shard.advance(hours{2});
  shard.expire();
  EXPECT_EQ(shard.run_all_ids(), testing::Strings{"1"});
}

TEST(ShardHandOver, OfAQueueThatTakesTheLastPayloadTheOthersAreFinished) {
  auto options = loose();
  options.payloads = PayloadChoice::last;
  Harness shard(options);
  shard.push({.id = "1", .payload = "a", .retried_by = "web"});
  shard.push({.id = "1", .payload = "b", .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  ASSERT_EQ(waiting(shard).size(), 1U);
  EXPECT_EQ(shard.log_size(), 1U);
  EXPECT_EQ(decode_entry(shard.log().begin()->second.bytes)->payload, "b");
}

TEST(ShardHandOver, TheLastFailureKillsAsEver) {
  Harness shard(loose());
  shard.push({.id = "1", .max_retries = 0, .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  EXPECT_EQ(shard.take_dead().size(), 1U);
  EXPECT_EQ(shard.counts().hand_overs, 0U);
}

// Else max_crashes would never be reached.
TEST(ShardHandOver, ACrashIsRetriedHere) {
  Harness shard(loose());
  shard.push({.id = "1", .retried_by = "web"});
  shard.end(*shard.take(), Outcome::fail("killed", FailureKind::crash));
  shard.commit();
  EXPECT_EQ(shard.job("1").retry_count, 0);
  shard.advance(hours{1});
  shard.end(*shard.take_marked({}), Outcome::fail("boom"));
  shard.commit();
  ASSERT_EQ(waiting(shard).size(), 1U);  // whose row takes the place of the job's state
  EXPECT_EQ(waiting(shard)[0].retry_count, 1);
  EXPECT_EQ(shard.states_size(), 1U);
  shard.hand_over(1);
  shard.commit();
  EXPECT_EQ(shard.states_size(), 0U);
}

TEST(ShardHandOver, OptionsOfALaterPushThatSayNothingOfItChangeNothing) {
  Harness shard(loose());
  shard.push({.id = "1", .payload = "a", .retried_by = "web"});
  shard.push({.id = "1", .payload = "b", .priority = 7});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  EXPECT_EQ(waiting(shard).size(), 2U);
}

}  // namespace shard_hand_over_test
}  // namespace ordo::domain
