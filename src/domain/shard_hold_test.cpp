// What a job that waits for a response keeps of limits and locks (rules §9.2, §10.1, §11.7).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_hold_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;

class ShardHold : public ::testing::Test {
 protected:
  static QueueOptions locked(LockSpan span) {
    auto options = plain();
    options.lock = "payload";
    options.lock_span = span;
    options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = 5s};
    return options;
  }
  static QueueOptions limited(SlotHold hold) {
    auto options = plain();
    options.limit = 1;
    options.hold = hold;
    return options;
  }

  /// The next run opens a wait, named like its job.
  static std::string wait(Harness& shard, bool commits = true) {
    const auto run = *shard.take();
    const auto& id = run.jobs[0].id;
    shard.note(EntryType::expected, run.kind, run.jobs[0], {id, "bank", {}, {}});
    auto outcome = Outcome::wait("bank", 600s);
    outcome.wait_id = id;
    outcome.deadline = shard.now() + 600s;
    shard.end(run, outcome);
    if (commits) shard.commit();
    return id;
  }

  static void respond(Harness& shard, const std::string& id) {
    shard.note(EntryType::response, "orders", {.id = id, .key = id}, {id, "bank", {}, "yes"});
  }

  /// The response to job 1 waits for the lock, which job 2 has and job 3 wants.
  static void make_a_response_wait(Harness& one, Harness& other) {
    one.push({.id = "1", .payload = "a"});
    wait(one);
    other.push({.id = "2", .payload = "a"});
    other.push({.id = "3", .payload = "a"});
    EXPECT_THAT(other.start_all(), ElementsAre("2"));
    respond(one, "1");
    EXPECT_THAT(one.start_all(), IsEmpty());
  }

  static void push_two(Harness& shard) {
    shard.push({.id = "1", .payload = "a"});
    shard.push({.id = "2", .payload = "a"});
  }
};

TEST_F(ShardHold, ASlotIsKeptUntilTheResponseIsHandled) {
  Harness shard(limited(SlotHold::response));
  push_two(shard);
  wait(shard);
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.rebuild();
  EXPECT_THAT(shard.start_all(), IsEmpty());
  respond(shard, "1");
  shard.end(*shard.take(), Outcome::done());
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
}

TEST_F(ShardHold, ASlotIsFreeOnceTheRequestIsSent) {
  Harness shard(limited(SlotHold::dispatch));
  push_two(shard);
  shard.push({.id = "3", .payload = "b"});
  wait(shard, /*commits=*/false);
  EXPECT_THAT(shard.start_all(), ElementsAre("2")) << "its run has returned";
  respond(shard, "1");
  EXPECT_THAT(shard.start_all(), ElementsAre("1")) << "handling a response takes no slot";
  shard.finish("1");
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.finish("2");
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
}

TEST_F(ShardHold, AfterARebuildASentRequestHasNoSlot) {
  Harness shard(limited(SlotHold::dispatch));
  push_two(shard);
  wait(shard);
  shard.rebuild();
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
}

TEST_F(ShardHold, ALockOfEachRunIsFreeOnceTheWaitIsDurable) {
  Harness shard(locked(LockSpan::run));
  push_two(shard);
  wait(shard, /*commits=*/false);
  EXPECT_THAT(shard.start_all(), IsEmpty()) << "not before";
  shard.commit();
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
}

TEST_F(ShardHold, AResponseWaitsForTheLockAndIsTheFirstToHaveIt) {
  Harness shard(locked(LockSpan::run));
  push_two(shard);
  shard.push({.id = "3", .payload = "a"});
  wait(shard);
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
  respond(shard, "1");
  EXPECT_THAT(shard.start_all(), IsEmpty());
  EXPECT_EQ(shard.counts().blocked_by_lock, 2U);
  EXPECT_FALSE(shard.has_due());
  shard.finish("2");
  EXPECT_EQ(shard.counts().blocked_by_lock, 1U);
  EXPECT_THAT(shard.start_all(), ElementsAre("1")) << "its own, before those that have not started";
  shard.finish("1");
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
}

TEST_F(ShardHold, AResponseThatIsToBeRetriedGivesTheLockBack) {
  Harness shard(locked(LockSpan::run));
  push_two(shard);
  wait(shard);
  respond(shard, "1");
  shard.end(*shard.take(), Outcome::fail("not now"));
  EXPECT_THAT(shard.start_all(), IsEmpty()) << "until that is durable";
  shard.commit();
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
  shard.advance(5s);
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.finish("2");
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
}

TEST_F(ShardHold, WhoStandsInLineAndIsCancelledLeavesTheLockToOthers) {
  Harness shard(locked(LockSpan::run));
  push_two(shard);
  shard.push({.id = "3", .payload = "a"});
  wait(shard);
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
  respond(shard, "1");
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.control(EntryType::cancel, "1");
  shard.commit();
  shard.finish("2");
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
  EXPECT_EQ(shard.counts().blocked_by_lock, 0U);
}

TEST_F(ShardHold, ALockThatIsGrantedAndRecalledIsGivenBack) {
  Harness shard(locked(LockSpan::run));
  push_two(shard);
  wait(shard);
  respond(shard, "1");
  const auto run = *shard.take();
  EXPECT_TRUE(run.jobs[0].response);
  shard.shard().recall(run.no, shard.now());
  EXPECT_TRUE(shard.shard().has_changes()) << "what gives it back is a commit";
  shard.commit();
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
}

TEST_F(ShardHold, ALockOfTheResponseIsKeptWhileItIsWaitedFor) {
  Harness shard(locked(LockSpan::response));
  push_two(shard);
  wait(shard);
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.rebuild();
  EXPECT_THAT(shard.start_all(), IsEmpty());
  respond(shard, "1");
  shard.end(*shard.take(), Outcome::done());
  shard.commit();
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
}

TEST_F(ShardHold, AResponseOfAnotherShardIsTheFirstToHaveTheLock) {
  Gates gates;
  Harness one(locked(LockSpan::run), gates, {1, 0}), other(locked(LockSpan::run), gates, {1, 1});
  make_a_response_wait(one, other);
  gates.take_woken();
  other.finish("2");
  EXPECT_THAT(gates.take_woken(), ElementsAre(ShardId{1, 0}));
  EXPECT_THAT(other.start_all(), IsEmpty());
  EXPECT_THAT(one.start_all(), ElementsAre("1"));
  one.finish("1");
  EXPECT_THAT(other.start_all(), ElementsAre("3"));
}

TEST_F(ShardHold, AShardThatLeavesWithAResponseInLineLeavesTheLockToOthers) {
  Gates gates;
  Harness other(locked(LockSpan::run), gates, {1, 1});
  {
    Harness one(locked(LockSpan::run), gates, {1, 0});
    make_a_response_wait(one, other);
  }
  other.finish("2");
  EXPECT_THAT(other.start_all(), ElementsAre("3"));
}

TEST_F(ShardHold, AResponseThatMayNotStartJustNowLeavesTheLockToOthers) {
  Gates gates;
  Harness one(locked(LockSpan::run), gates, {1, 0}), other(locked(LockSpan::run), gates, {1, 1});
  make_a_response_wait(one, other);
  other.finish("2");  // it is the turn of the response, whose queue is paused
  gates.take_woken();
  one.shard().keep_no_room();
  EXPECT_THAT(gates.take_woken(), ElementsAre(ShardId{1, 1}));
  EXPECT_THAT(other.start_all(), ElementsAre("3"));
  EXPECT_THAT(one.start_all(), IsEmpty());
  other.finish("3");
  EXPECT_THAT(one.start_all(), ElementsAre("1"));
}

TEST_F(ShardHold, ToAskWhatIsDueTakesNoLock) {
  Gates gates;
  Harness one(locked(LockSpan::run), gates, {1, 0}), other(locked(LockSpan::run), gates, {1, 1});
  one.push({.id = "1", .payload = "a"});
  wait(one);
  respond(one, "1");
  EXPECT_TRUE(one.shard().due_since(one.now(), {}));
  other.push({.id = "2", .payload = "a"});
  EXPECT_THAT(other.start_all(), ElementsAre("2"));
  EXPECT_FALSE(one.shard().due_since(one.now(), {}));
  other.finish("2");
  EXPECT_THAT(one.start_all(), ElementsAre("1"));
}

TEST_F(ShardHold, WhoMayNotHaveTheLockUnderNewRulesWaitsForIt) {
  Harness shard(locked(LockSpan::run));
  push_two(shard);
  wait(shard);
  wait(shard);
  shard.rebuild_with(locked(LockSpan::response));
  respond(shard, "1");
  respond(shard, "2");
  EXPECT_EQ(shard.start_all().size(), 1U);
}

// Questions of marked runs, and of what another node would take, come at each look of the engine.
TEST_F(ShardHold, AQuestionThatDecidesNothingChangesNobodysTurn) {
  Gates gates;
  Harness one(locked(LockSpan::run), gates, {1, 0}), other(locked(LockSpan::run), gates, {1, 1});
  for (const char* id : {"1", "2"}) {
    one.push({.id = id, .payload = "a"});
    wait(one);
  }
  other.push({.id = "3", .payload = "a"});
  EXPECT_THAT(other.start_all(), ElementsAre("3"));
  respond(one, "1");
  respond(one, "2");
  EXPECT_FALSE(one.shard().due_since(one.now(), {}));  // both are in the line
  other.finish("3");
  EXPECT_TRUE(one.shard().due_since(one.now(), {}));
  gates.take_woken();
  EXPECT_FALSE(one.shard().due_since(one.now(), {.normal = false}));
  EXPECT_THAT(gates.take_woken(), IsEmpty());
  other.push({.id = "4", .payload = "a"});
  EXPECT_THAT(other.start_all(), IsEmpty()) << "it is the first's turn still";
  EXPECT_THAT(one.start_all(), ElementsAre("1"));
}

TEST_F(ShardHold, AResponseThatOnlyAnotherNodeMayStartIsLookedAtWhenTheLockFrees) {
  Gates gates;
  Harness one(locked(LockSpan::run), gates, {1, 0}), other(locked(LockSpan::run), gates, {1, 1});
  one.push({.id = "1", .payload = "a"});
  wait(one);
  other.push({.id = "2", .payload = "a"});
  EXPECT_THAT(other.start_all(), ElementsAre("2"));
  respond(one, "1");
  const std::set<std::string, std::less<>> kinds = {"orders"};
  EXPECT_FALSE(one.shard().due_since(one.now(), {.kinds = &kinds}));
  gates.take_woken();
  other.finish("2");
  EXPECT_THAT(gates.take_woken(), ::testing::Contains(ShardId{1, 0}));
  EXPECT_TRUE(one.shard().due_since(one.now(), {.kinds = &kinds}));
}

}  // namespace shard_hold_test
}  // namespace ordo::domain
