// Who starts first, and who waits for whom.
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_order_test {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Harness;
using testing::plain;
using testing::Strings;

TEST(ShardOrder, DueJobsStartByRunAtThenArrival) {
  Harness shard(plain());
  const Time t = shard.now();
  shard.push({.id = "c", .run_at = t - seconds{1}});
  shard.push({.id = "a", .run_at = t - seconds{2}});
  shard.push({.id = "b", .run_at = t - seconds{2}});
  shard.push({.id = "later", .run_at = t + seconds{1}});
  EXPECT_EQ(shard.run_all_ids(), (Strings{"a", "b", "c"}));
  shard.advance(seconds{1});
  EXPECT_EQ(shard.run_all_ids(), (Strings{"later"}));
}

TEST(ShardOrder, TheVectorOfPriorities) {  // rules 8
  const Time base = Time{hours{24 * 20000 + 10}};
  const auto minute = [&](int m) { return base + std::chrono::minutes{m}; };
  for (const auto order : {DueOrder::time, DueOrder::priority}) {
    auto options = plain();
    options.order = order;
    Harness shard(options, minute(60));
    shard.push({.id = "700", .run_at = minute(32), .priority = 700});
    shard.push({.id = "50", .run_at = minute(33), .priority = 50});
    shard.push({.id = "100", .run_at = minute(33), .priority = 100});
    shard.push({.id = "1", .run_at = minute(40), .priority = 1});
    shard.push({.id = "7", .run_at = minute(40), .priority = 7});
    EXPECT_EQ(shard.run_all_ids(), order == DueOrder::time ? (Strings{"700", "50", "100", "1", "7"})
                                                           : (Strings{"1", "7", "50", "100", "700"}));
  }
}

TEST(ShardOrder, AKeyIsAFifoOfDifferentIds) {
  Harness shard(plain());
  for (int i = 0; i < 5; ++i) shard.push({.id = std::to_string(i), .key = "k"});
  for (int i = 0; i < 5; ++i) {
    const auto run = shard.take();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->jobs[0].id, std::to_string(i));
    EXPECT_FALSE(shard.take()) << "no two of one key";
    shard.end(*run, Outcome::done());
    shard.commit();
  }
}

TEST(ShardOrder, KindsOfOneKeyDoNotOverlap) {
  Harness shard(plain());
  shard.push({.id = "1", .kind = "charge"});
  shard.push({.id = "1", .kind = "mail"});
  const auto run = shard.take();
  EXPECT_EQ(run->kind, "charge");
  EXPECT_FALSE(shard.take());
  shard.end(*run, Outcome::done());
  shard.commit();
  EXPECT_EQ(shard.take()->kind, "mail");
}

TEST(ShardOrder, StrictHoldsTheKeyThroughBackOffAndExclusiveDoesNot) {
  for (const auto key_order : {KeyOrder::strict, KeyOrder::exclusive}) {
    auto options = plain();
    options.key_order = key_order;
    Harness shard(options);
    shard.push({.id = "1", .key = "k"});
    shard.push({.id = "2", .key = "k"});
    auto run = shard.take();
    shard.end(*run, Outcome::fail("no"));
    shard.commit();
    shard.rebuild();
    run = shard.take();
    EXPECT_EQ(run.has_value(), key_order == KeyOrder::exclusive);
    if (run) continue;
    shard.advance(hours{1});
    run = shard.take();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->jobs[0].id, "1");
  }
}

TEST(ShardOrder, ARunThatNeverStartedLeavesItsJobAsItWas) {
  for (const auto key_order : {KeyOrder::strict, KeyOrder::exclusive}) {
    auto options = plain();
    options.key_order = key_order;
    Harness shard(options);
    shard.push({.id = "1", .key = "k"});
    const auto before = shard.job("1");
    auto run = shard.take();
    shard.push({.id = "0", .key = "k", .priority = 0});  // would overtake what waits, not what has started
    shard.end(*run, Outcome::not_started("no program"));
    EXPECT_FALSE(shard.take()) << "the key is free when it is durable";
    shard.commit();
    const auto after = shard.job("1");
    EXPECT_EQ(std::tie(after.run_at, after.retry_count, after.pieces),
              std::tie(before.run_at, before.retry_count, before.pieces));
    shard.rebuild();
    run = shard.take();
    EXPECT_EQ(run->jobs[0].id, "0");
    shard.end(*run, Outcome::done());
    shard.commit();
    EXPECT_EQ(shard.take()->jobs[0].id, "1");
  }
}

TEST(ShardOrder, ARunThatNeverStartedLeavesTheKeyToWhoHeldIt) {
  auto options = plain();
  options.key_order = KeyOrder::strict;
  Harness shard(options);
  shard.push({.id = "1", .key = "k"});
  auto run = shard.take();
  shard.end(*run, Outcome::snoozed_for(seconds{1}));
  shard.commit();
  shard.advance(seconds{2});
  run = shard.take();
  shard.push({.id = "0", .key = "k", .priority = 0});
  shard.end(*run, Outcome::not_started("no program"));
  shard.commit();
  EXPECT_EQ(shard.take()->jobs[0].id, "1");
}

TEST(ShardOrder, AKindThatStartsNoMoreIsPassedOver) {
  Harness shard(plain());
  shard.push({.id = "1", .kind = "charge"});
  shard.push({.id = "2", .kind = "mail"});
  const std::set<std::string, std::less<>> full{"charge"};
  EXPECT_EQ(shard.take_marked({.without = &full})->jobs[0].id, "2");
  EXPECT_FALSE(shard.take_marked({.without = &full}));
  EXPECT_EQ(shard.take()->jobs[0].id, "1");
}

TEST(ShardOrder, AScheduledJobHoldsNothing) {
  Harness shard(plain());
  shard.push({.id = "later", .key = "k", .run_at = shard.now() + hours{1}});
  shard.push({.id = "now", .key = "k"});
  EXPECT_EQ(shard.run_all_ids(), (Strings{"now"}));
}

TEST(ShardOrder, TheRunningHolderStaysFirstAfterACrash) {
  Harness shard(plain());
  shard.push({.id = "1", .key = "k"});
  ASSERT_TRUE(shard.take());
  shard.push({.id = "2", .key = "k", .run_at = shard.now() - hours{1}});
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(shard.take()->jobs[0].id, "1");
}

TEST(ShardOrder, ABatchHasNoTwoOfOneKeyOrId) {
  auto options = plain();
  options.batch_size = 10;
  Harness shard(options);
  shard.push({.id = "1", .key = "a"});
  shard.push({.id = "2", .key = "a"});
  shard.push({.id = "1", .key = "b"});
  shard.push({.id = "3", .kind = "other"});
  shard.push({.id = "4"});
  const auto run = shard.take();
  Strings ids;
  for (const auto& job : run->jobs) ids.push_back(job.id);
  EXPECT_EQ(ids, (Strings{"1", "4"}));
}

TEST(ShardOrder, NothingStartsEarlyWhenTheClockGoesBack) {
  Harness shard(plain());
  shard.push({.id = "1", .run_at = shard.now() + seconds{10}});
  shard.advance(seconds{20});
  EXPECT_TRUE(shard.has_due());
  shard.advance(-seconds{20});
  EXPECT_FALSE(shard.take());
  shard.advance(seconds{10});
  EXPECT_TRUE(shard.take());
}

// Concurrent transactions leave times in a log that go back. Whoever reads it lets them stand still instead,
// and what they stood still at goes with the entry that said so.
class ShardOrderWithTimesThatGoBack : public ::testing::Test {
 protected:
  ShardOrderWithTimesThatGoBack() {
    shard_.push({.id = "gone"});
    shard_.set_back(milliseconds{100});
  }

  std::string next() {
    const auto run = shard_.take_marked({});
    return run ? run->jobs[0].id : "none";
  }
  void end_the_first() {
    const auto run = shard_.take_marked({});
    ASSERT_EQ(run->jobs[0].id, "gone");
    shard_.end(*run, Outcome::done());
    shard_.commit();
  }

  Harness shard_{plain()};
};

TEST_F(ShardOrderWithTimesThatGoBack, AStartedJobStaysBeforeThoseThatCameAfterIt) {
  shard_.push({.id = "1", .key = "k"});
  shard_.push({.id = "2", .key = "k"});
  shard_.crash();
  end_the_first();
  EXPECT_EQ(next(), "1");
  shard_.crash();
  EXPECT_EQ(next(), "1");
}

TEST_F(ShardOrderWithTimesThatGoBack, AJobWithAStateStaysBeforeThoseThatCameAfterIt) {
  shard_.push({.id = "1", .key = "k"});
  shard_.push({.id = "2", .key = "k"});
  shard_.push({.id = "1", .key = "k", .timeout = seconds{1}});
  end_the_first();
  shard_.rebuild();
  EXPECT_EQ(shard_.states_size(), 1U);
  EXPECT_EQ(shard_.run_all_ids(), (Strings{"1", "2"}));
}

TEST_F(ShardOrderWithTimesThatGoBack, AStartedJobWithATimeOfItsOwnStaysFirst) {
  for (const bool comes_later : {false, true}) {
    Harness shard(plain());
    shard.push({.id = "gone"});
    shard.set_back(milliseconds{100});
    shard.push({.id = "1", .key = "k", .run_at = shard.now() - milliseconds{50}});
    const auto push = [&] { shard.push({.id = "2", .key = "k"}); };
    if (!comes_later) push();
    ASSERT_EQ(shard.take()->jobs[0].id, "1");
    if (comes_later) push();
    const auto gone = shard.take();
    ASSERT_EQ(gone->jobs[0].id, "gone");
    shard.end(*gone, Outcome::done());
    shard.commit();
    shard.rebuild();
    EXPECT_EQ(shard.take()->jobs[0].id, "1");
  }
}

}  // namespace shard_order_test
}  // namespace ordo::domain
