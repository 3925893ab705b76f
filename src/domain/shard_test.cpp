// The shard's rules as tables, with a small log beside it that plays the store.
#include "domain/shard.h"

#include <map>

#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_test {

using std::chrono::hours;
using std::chrono::seconds;
using namespace std::string_literals;
using testing::Harness;
using testing::plain;
using testing::Strings;

TEST(ShardMerge, QueuedAndPushedJobsMerge) {  // rules 1.3, the vector
  Harness shard(plain());
  const Time at = shard.now() + hours{1};
  shard.push({.id = "42", .payload = "v1", .score = 1.0, .run_at = at});
  shard.push({.id = "42", .payload = "v2", .score = 2.0});
  shard.run_until(at);
  shard.fail_all();
  const Time retry_at = shard.job("42").run_at;
  EXPECT_EQ(shard.job("42").retry_count, 0);
  shard.push({.id = "42", .payload = "v2", .score = 3.0});
  shard.push({.id = "42", .payload = "v3", .score = 4.0});
  EXPECT_EQ(shard.job("42").payloads, (Strings{"v1", "v2", "v3"}));
  EXPECT_EQ(shard.scores("42"), (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(shard.job("42").retry_count, 0);
  EXPECT_EQ(shard.job("42").run_at, retry_at);
}

TEST(ShardMerge, TheLowerScoreOfEqualPayloadsSurvivesARebuild) {
  Harness shard(plain());
  shard.push({.id = "1", .payload = "a", .score = 9.0, .run_at = shard.now() + hours{1}});
  shard.push({.id = "1", .payload = "b", .score = 5.0});
  shard.push({.id = "1", .payload = "a", .score = 2.0});
  shard.commit();
  EXPECT_EQ(shard.log_size(), 2U) << "the duplicate is erased";
  shard.rebuild();
  EXPECT_EQ(shard.job("1").payloads, (Strings{"a", "b"}));
  EXPECT_EQ(shard.scores("1"), (std::vector<double>{2, 5}));
}

TEST(ShardMerge, APushForARunningIdQueuesBesideItAndWaitsForItsEnd) {
  Harness shard(plain());
  shard.push({.id = "1", .payload = "a"});
  const auto run = shard.take();
  ASSERT_TRUE(run);
  shard.push({.id = "1", .payload = "b"});
  EXPECT_FALSE(shard.take());
  shard.end(*run, Outcome::done());
  EXPECT_FALSE(shard.take()) << "the end is not durable yet";
  shard.commit();
  const auto next = shard.take();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->jobs[0].payloads[0].bytes, "b");
}

TEST(ShardMerge, AFailedRunJoinsWhatWasPushedMeanwhile) {
  Harness shard(plain());
  shard.push({.id = "1", .payload = "a", .score = 5.0});
  const auto run = shard.take();
  shard.push({.id = "1", .payload = "a", .score = 1.0});
  shard.push({.id = "1", .payload = "b", .score = 2.0});
  shard.end(*run, Outcome::fail("no"));
  EXPECT_EQ(shard.job("1").payloads, (Strings{"a", "b"}));
  EXPECT_EQ(shard.scores("1"), (std::vector<double>{1, 2}));
  EXPECT_EQ(shard.job("1").retry_count, 0);
}

TEST(ShardMerge, LaterOptionsReplaceOnlyWhereSet) {
  Harness shard(plain());
  shard.push(
      {.id = "1", .payload = "a", .run_at = shard.now() + hours{1}, .priority = 5, .timeout = seconds{3}});
  shard.push({.id = "1", .payload = "a", .priority = 7});
  EXPECT_EQ(shard.job("1").priority, 7);
  EXPECT_EQ(shard.job("1").options.timeout, Duration(seconds{3}));
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(shard.job("1").priority, 7);
}

TEST(ShardMerge, PayloadsLastAndFirstDeliverOneAndFinishTheOthers) {
  for (const auto choice : {PayloadChoice::last, PayloadChoice::first}) {
    auto options = plain();
    options.payloads = choice;
    Harness shard(options);
    shard.push({.id = "1", .payload = "a", .score = 1.0});
    shard.push({.id = "1", .payload = "b", .score = 2.0});
    const auto run = shard.take();
    ASSERT_EQ(run->jobs[0].payloads.size(), 1U);
    EXPECT_EQ(run->jobs[0].payloads[0].bytes, choice == PayloadChoice::last ? "b" : "a");
    shard.end(*run, Outcome::done());
    shard.commit();
    EXPECT_EQ(shard.log_size(), 0U);
  }
}

// Rules §1.3.
TEST(ShardMerge, OfEqualPayloadsTheOldestOrTheNewestPlaceCounts) {
  for (const auto choice : {PayloadChoice::last, PayloadChoice::all}) {
    for (const auto& scores : std::vector<std::vector<double>>{{1, 2, 3}, {1, 1, 1}}) {
      auto options = plain();
      options.payloads = choice;
      Harness shard(options);
      shard.push({.id = "42", .payload = "paid", .score = scores[0]});
      shard.push({.id = "42", .payload = "cancelled", .score = scores[1]});
      shard.push({.id = "42", .payload = "paid", .score = scores[2]});
      for (int i = 0; i < 2; ++i) {
        const bool is_newest = choice == PayloadChoice::last;
        EXPECT_EQ(shard.job("42").payloads,
                  is_newest ? (Strings{"cancelled", "paid"}) : (Strings{"paid", "cancelled"}));
        shard.commit();
        EXPECT_EQ(shard.log_size(), 2U);
        shard.rebuild();
      }
      EXPECT_EQ(shard.take()->jobs[0].payloads.back().bytes,
                choice == PayloadChoice::last ? "paid" : "cancelled");
    }
  }
}

TEST(ShardMerge, TheNewestOfEqualPayloadsIsTheOneWithTheHighestScore) {
  auto options = plain();
  options.equal_payloads = EqualPayloads::newest;
  Harness shard(options);
  shard.push({.id = "42", .payload = "paid", .score = 10.0});
  shard.push({.id = "42", .payload = "cancelled", .score = 20.0});
  shard.push({.id = "42", .payload = "paid", .score = 5.0});
  EXPECT_EQ(shard.scores("42"), (std::vector<double>{10, 20}));
  shard.push({.id = "42", .payload = "paid", .score = 30.0});
  EXPECT_EQ(shard.job("42").payloads, (Strings{"cancelled", "paid"}));
  EXPECT_EQ(shard.scores("42"), (std::vector<double>{20, 30}));
}

TEST(ShardMerge, AFailedRunKnowsWhatCameLastMeanwhile) {
  auto options = plain();
  options.payloads = PayloadChoice::last;
  Harness shard(options);
  shard.push({.id = "42", .payload = "paid", .score = 1.0});
  const auto run = shard.take();
  shard.push({.id = "42", .payload = "cancelled", .score = 1.0});
  shard.push({.id = "42", .payload = "paid", .score = 1.0});
  shard.end(*run, Outcome::fail("no"));
  shard.commit();
  shard.rebuild();
  shard.advance(hours{1});
  EXPECT_EQ(shard.take()->jobs[0].payloads.at(0).bytes, "paid");
}

TEST(ShardRetry, DeathTakesTheLowestPayloadAndTheRestStartsOver) {  // rules 3.3, the vector
  auto options = plain();
  options.max_retries = 2;
  std::vector<int> asked;
  options.retry.function = [&](const RetryQuestion& question) {
    asked.push_back(question.attempt);
    return RetryAnswer{.retry_at = question.now};
  };
  Harness shard(options);
  shard.push({.id = "1", .payload = "v1", .score = 1.0});
  shard.push({.id = "1", .payload = "v2", .score = 2.0});
  int runs = 0;
  std::map<std::string, int> died;
  while (const auto run = shard.take()) {
    ++runs;
    shard.end(*run, Outcome::fail("no"));
    shard.commit();
    for (const auto& dead : shard.take_dead()) died[dead.payload] = runs;
  }
  EXPECT_EQ(asked, (std::vector<int>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(died, (std::map<std::string, int>{{"v1", 3}, {"v2", 6}}));
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardRetry, MaxRetriesZeroAndOne) {
  for (const int max : {0, 1}) {
    auto options = plain();
    options.max_retries = max;
    options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = Duration{0}};
    Harness shard(options);
    shard.push({.id = "1"});
    int runs = 0;
    while (const auto run = shard.take()) {
      ++runs;
      shard.end(*run, Outcome::fail("no"));
      shard.commit();
    }
    EXPECT_EQ(runs, max + 1);
    EXPECT_EQ(shard.take_dead().size(), 1U);
  }
}

TEST(ShardRetry, TheDyingPayloadIsChosenBeforeMerging) {
  auto options = plain();
  options.max_retries = 0;
  Harness shard(options);
  shard.push({.id = "1", .payload = "ran", .score = 5.0});
  const auto run = shard.take();
  shard.push({.id = "1", .payload = "new", .score = 1.0});
  shard.end(*run, Outcome::fail("no"));
  shard.commit();
  EXPECT_EQ(shard.take_dead()[0].payload, "ran");
  EXPECT_EQ(shard.job("1").payloads, (Strings{"new"}));
}

TEST(ShardRetry, AnOutcomeOfAnUnknownKindIsAFailure) {
  auto options = plain();
  options.max_retries = 0;
  Harness harness(options);
  harness.push({.id = "a", .payload = "p"});
  harness.end(*harness.take(), Outcome{static_cast<Outcome::Kind>(99)});
  harness.commit();
  const auto dead = harness.take_dead();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].error, "its outcome is of an unknown kind");
}

TEST(ShardRetry, SnoozeKeepsTheRetryCountAndDiscardCountsAsProcessed) {
  Harness shard(plain());
  shard.push({.id = "1"});
  auto run = shard.take();
  shard.end(*run, Outcome::snoozed_for(seconds{30}));
  shard.commit();
  EXPECT_EQ(shard.job("1").retry_count, -1);
  EXPECT_EQ(shard.job("1").run_at, shard.now() + seconds{30});
  shard.advance(seconds{30});
  run = shard.take();
  shard.end(*run, Outcome::discard("old"));
  shard.commit();
  EXPECT_EQ(shard.counts().processed, 1U);
  EXPECT_EQ(shard.log_size(), 0U);
}

// Sidekiq's `"dead": false`.
TEST(ShardRetry, WhatIsNotKeptWhenItDiesLeavesNothing) {
  Harness shard(plain());
  shard.push({.id = "1", .max_retries = 1, .keeps_dead = false});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  EXPECT_EQ(shard.job("1").retry_count, 0);
  shard.rebuild({});
  shard.advance(hours{1});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  EXPECT_EQ(shard.counts().failed, 2U);
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_TRUE(shard.take_dead().empty());
}

// What an observer is told says what the record says.
TEST(ShardRetry, WhatIsNotKeptIsToldAsDiscarded) {
  Harness shard(plain());
  shard.shard().watch(true);
  shard.push({.id = "1", .max_retries = 0, .keeps_dead = false});
  shard.end(*shard.take(), Outcome::fail("boom"));
  shard.commit();
  const auto deaths = shard.shard().deaths();
  ASSERT_EQ(deaths.size(), 1U);
  EXPECT_EQ(deaths[0].at(0).state, JobStatus::discarded);
  const auto events = shard.shard().events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().type, EventType::job_failed);
  EXPECT_EQ(events.back().error, "discarded after its last failure: boom");
  EXPECT_FALSE(events.back().retry_at);
}

TEST(ShardRetry, WhatDiesWithRetriesLeftIsKept) {
  auto options = plain();
  options.max_crashes = 1;
  Harness shard(options);
  const auto crash = [&](std::int32_t max_retries) {
    shard.push({.id = "1", .max_retries = max_retries, .keeps_dead = false});
    shard.end(*shard.take(), Outcome::put_back_alone(FailureKind::crash));
    shard.commit();
    const auto run = shard.take_marked({});
    ASSERT_TRUE(run);
    shard.end(*run, Outcome::fail("killed", FailureKind::crash));
    shard.commit();
  };
  crash(25);
  EXPECT_EQ(shard.take_dead().size(), 1U);
  crash(0);
  EXPECT_TRUE(shard.take_dead().empty());
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardRetry, WhatFitsNoRunIsKept) {
  Harness shard(plain());
  shard.push({.id = "1", .max_retries = 0, .keeps_dead = false});
  auto outcome = Outcome::fail("it is too large");
  outcome.delivered = 0;
  shard.end(*shard.take(), outcome);
  shard.commit();
  EXPECT_EQ(shard.take_dead().size(), 1U);
}

TEST(ShardPoison, AKillerDiesAndItsNeighboursCountAtMostOneCrash) {  // rules 3.6
  Harness shard(plain());
  for (const auto* id : {"killer", "a", "b"}) shard.push({.id = id});
  // The first death marks nothing: the normal path pays nothing.
  shard.take();
  shard.take();
  shard.crash();
  // Witnesses run together, marked.
  ASSERT_TRUE(shard.take_marked(Admission{}));
  ASSERT_TRUE(shard.take_marked(Admission{}));
  shard.crash();
  EXPECT_EQ(shard.job("killer").crashes, 1U);
  EXPECT_EQ(shard.job("a").crashes, 1U);
  EXPECT_EQ(shard.job("b").crashes, 0U);
  int deaths = 0;
  while (true) {
    auto run = shard.take_marked(Admission{});
    if (!run) break;
    if (run->jobs[0].id == "killer") {
      ASSERT_LT(++deaths, 10);
      shard.crash();
    } else {
      shard.end(*run, Outcome::done());
      shard.commit();
    }
  }
  EXPECT_EQ(deaths, 2);
  const auto dead = shard.take_dead();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].id, "killer");
  EXPECT_EQ(dead[0].error_kind, FailureKind::crash);
  EXPECT_EQ(shard.counts().processed, 2U);
}

// rules 3.1: which of them it was shows when they run alone.
TEST(ShardPoison, TheDeathOfAProcessThatRanSeveralIsAFailureOfNone) {
  auto options = plain();
  options.batch_size = 3;
  options.max_retries = 0;
  Harness shard(options);
  for (const auto* id : {"a", "killer", "b"}) shard.push({.id = id});
  const auto batch = shard.take();
  ASSERT_EQ(batch->jobs.size(), 3U);
  shard.end(*batch, Outcome::put_back_alone(FailureKind::crash));
  shard.commit();
  EXPECT_EQ(shard.counts().failed, 0U);
  for (const auto* id : {"a", "killer", "b"}) {
    EXPECT_EQ(shard.job(id).crashes, 1U);
    EXPECT_EQ(shard.job(id).retry_count, -1);
  }
  while (auto run = shard.take_marked({})) {
    EXPECT_EQ(run->risk, Risk::suspect);
    ASSERT_EQ(run->jobs.size(), 1U);
    const bool dies = run->jobs[0].id == "killer";
    shard.end(*run, dies ? Outcome::fail("killed", FailureKind::crash) : Outcome::done());
    shard.commit();
  }
  const auto dead = shard.take_dead();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].id, "killer");
  EXPECT_EQ(shard.counts().processed, 2U);
}

TEST(ShardRetry, ABatchThatPassesItsTimeoutRunsAgainOneByOneUncounted) {  // rules 3.1
  auto options = plain();
  options.batch_size = 3;
  options.max_retries = 0;
  Harness shard(options);
  for (const auto* id : {"a", "slow", "b"}) shard.push({.id = id});
  shard.end(*shard.take(), Outcome::put_back_alone(FailureKind::timeout));
  shard.commit();
  shard.push({.id = "c"});
  shard.push({.id = "d"});
  shard.crash();
  EXPECT_EQ(shard.counts().failed, 0U);
  EXPECT_EQ(shard.job("slow").crashes, 0U);
  Strings batches;
  while (auto run = shard.take_marked({})) {
    auto& batch = batches.emplace_back();
    for (const auto& job : run->jobs) batch += job.id;
    shard.end(*run, batch == "slow" ? Outcome::fail("slow", FailureKind::timeout) : Outcome::done());
    shard.commit();
  }
  EXPECT_EQ(batches, (Strings{"a", "slow", "b", "cd"}));
  EXPECT_EQ(shard.take_dead().at(0).id, "slow");
}

TEST(ShardRetry, AJobThatEndsInTimeRunsInBatchesAgain) {
  auto options = plain();
  options.batch_size = 2;
  Harness shard(options);
  for (const auto* id : {"a", "b"}) shard.push({.id = id});
  shard.end(*shard.take(), Outcome::put_back_alone(FailureKind::timeout));
  shard.commit();
  const auto alone = shard.take();
  EXPECT_EQ(alone->jobs.size(), 1U);
  shard.end(*alone, Outcome::snoozed_for(Duration{0}));
  shard.end(*shard.take(), Outcome::snoozed_for(Duration{0}));
  shard.commit();
  EXPECT_EQ(shard.take()->jobs.size(), 2U);
}

// rules 3.6: beside others it need not be its fault.
TEST(ShardPoison, ADeathBesideOthersCountsOnlyForThoseThatHadNoCrash) {
  auto options = plain();
  options.max_crashes = 2;
  Harness shard(options);
  for (const auto* id : {"suspect", "witness"}) shard.push({.id = id});
  shard.take();
  shard.crash();
  ASSERT_TRUE(shard.take_marked({.suspects = false}));
  shard.crash();
  ASSERT_EQ(shard.job("suspect").crashes, 1U);
  const auto run = shard.take_marked({.normal = false, .witnesses = false});
  ASSERT_EQ(run->risk, Risk::suspect);
  shard.shard().share(run->no);
  EXPECT_TRUE(shard.shard().shared().empty()) << "that is not durable";
  shard.commit();
  EXPECT_EQ(shard.shard().shared(), std::vector<RunNo>{run->no});
  ASSERT_TRUE(shard.take_marked({.suspects = false}));
  shard.crash();
  EXPECT_EQ(shard.job("suspect").crashes, 1U);
  EXPECT_EQ(shard.job("witness").crashes, 1U);
  EXPECT_TRUE(shard.take_dead().empty());
}

TEST(ShardPoison, UntilItsSharedMarkIsDurableASuspectWasAlone) {
  auto options = plain();
  options.max_crashes = 2;
  Harness shard(options);
  shard.push({.id = "1"});
  shard.take();
  shard.crash();
  shard.take_marked({});
  shard.crash();
  const auto run = shard.take_marked({});
  shard.shard().share(run->no);
  shard.crash();
  shard.commit();
  EXPECT_EQ(shard.take_dead().size(), 1U);
}

TEST(ShardPoison, ARunThatEndsBeforeItsSharedMarkIsDurableIsNotToldOf) {
  Harness shard(plain());
  shard.push({.id = "1"});
  shard.take();
  shard.crash();
  shard.take_marked({});
  shard.crash();
  const auto run = shard.take_marked({});
  shard.shard().share(run->no);
  shard.end(*run, Outcome::done());
  shard.commit();
  EXPECT_TRUE(shard.shard().shared().empty());
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardPoison, WhatWaitsForMarkedRunsIsCounted) {
  auto options = plain();
  options.limit = 1;
  Harness shard(options);
  for (const auto* id : {"suspect", "witness", "other"}) shard.push({.id = id});
  shard.take();
  shard.crash();
  ASSERT_TRUE(shard.take_marked({}));
  shard.crash();
  shard.push({.id = "new"});
  MarkedCompany company{.admits_suspects = false, .suspects = {"s"}, .marked = {"s", "w"}};
  shard.shard().stand_among(&company);
  EXPECT_EQ(shard.counts().blocked_by_suspect, 1U);
  EXPECT_TRUE(shard.counts().marked_runs.refuses_suspects);
  EXPECT_FALSE(shard.counts().marked_runs.refuses_witnesses);
  company.admits_witnesses = false;
  const auto counts = shard.counts();
  EXPECT_EQ(counts.blocked_by_suspect, 3U);
  EXPECT_EQ(counts.marked_runs, (MarkedRunsGate{true, true, 3, {"s"}, {"s", "w"}}));
  ASSERT_EQ(shard.take_marked({.suspects = false, .witnesses = false})->jobs[0].id, "new");
  EXPECT_FALSE(shard.has_due()) << "the limit is reached";
  EXPECT_EQ(shard.counts().blocked_by_suspect, 0U) << "each is counted at the first that refuses it";
  EXPECT_EQ(shard.counts().marked_runs, MarkedRunsGate{});
}

TEST(ShardPoison, ASuspectWaitsForTheNodeToBeAlone) {
  Harness shard(plain());
  shard.push({.id = "1"});
  shard.take();
  shard.crash();
  ASSERT_TRUE(shard.take_marked(Admission{}));
  shard.crash();
  EXPECT_FALSE(shard.take_marked(Admission{.suspects = false, .witnesses = true}));
  const auto run = shard.take_marked(Admission{});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->risk, Risk::suspect);
}

TEST(ShardPoison, ALostLeaseOfALivingNodeDoesNotCount) {
  Harness shard(plain());
  shard.push({.id = "1"});
  shard.take();
  shard.crash();
  ASSERT_TRUE(shard.take_marked(Admission{}));
  shard.rebuild({.clean = false, .crashed = false});
  EXPECT_EQ(shard.job("1").crashes, 0U);
}

TEST(ShardPoison, OneThatWouldDieAtTheTakeOverMayHaveBeenCancelledMeanwhile) {
  Harness shard(plain());
  shard.push({.id = "1"});
  shard.take();
  for (int crash = 0; crash < 3; ++crash) {
    shard.crash();
    ASSERT_TRUE(shard.take_marked(Admission{}));
  }
  shard.control(EntryType::cancel, "1");
  shard.crash();
  shard.commit();
  EXPECT_TRUE(shard.take_dead().empty());
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardControl, CancelRemovesAQueuedJobAndStopsARunningOne) {
  Harness shard(plain());
  shard.push({.id = "1", .payload = "a"});
  shard.control(EntryType::cancel, "1");
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
  shard.push({.id = "1", .payload = "b"});
  const auto run = shard.take();
  shard.push({.id = "1", .payload = "c"});
  shard.control(EntryType::cancel, "1");
  EXPECT_EQ(shard.stops(), std::vector<RunNo>{run->no});
  shard.push({.id = "1", .payload = "d"});
  shard.end(*run, Outcome::fail("stopped"));
  shard.commit();
  EXPECT_EQ(shard.job("1").payloads, (Strings{"d"})) << "a control acts on earlier entries only";
  EXPECT_EQ(shard.log_size(), 1U);
}

TEST(ShardControl, ACancelReadBeforeItsEffectWasDurableActsAgain) {
  Harness shard(plain());
  shard.push({.id = "1", .payload = "a"});
  ASSERT_TRUE(shard.take());
  shard.control(EntryType::cancel, "1");
  shard.commit();
  shard.rebuild();
  EXPECT_FALSE(shard.take());
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardControl, RunNowMakesDueAndSurvives) {
  Harness shard(plain());
  shard.push({.id = "1", .run_at = shard.now() + hours{5}});
  shard.control(EntryType::run_now, "1");
  shard.commit();
  EXPECT_EQ(shard.log_size(), 1U);
  shard.rebuild();
  EXPECT_TRUE(shard.take());
}

TEST(ShardControl, WithItsKeyItFindsNothingBetweenARunsEndAndItsCommit) {
  for (const auto type : {EntryType::cancel, EntryType::run_now}) {
    for (const bool has_line : {false, true}) {
      Harness shard(plain());
      shard.push({.id = "1", .key = "k"});
      if (has_line) shard.push({.id = "2", .key = "k"});
      const auto run = shard.take();
      shard.end(*run, Outcome::done());
      shard.control_one(type, {.id = "1", .key = "k"});
      shard.commit();
      EXPECT_EQ(shard.log_size(), has_line ? 1U : 0U);
      EXPECT_EQ(shard.take().has_value(), has_line);
    }
  }
}

TEST(ShardControl, WithItsKeyItStopsARunningJob) {
  Harness shard(plain());
  shard.push({.id = "1", .key = "k"});
  shard.push({.id = "1", .key = "other"});
  const auto run = shard.take();
  shard.control_one(EntryType::run_now, {.id = "1", .key = "k"});
  EXPECT_EQ(shard.stops(), std::vector<RunNo>{});
  shard.control_one(EntryType::cancel, {.id = "1", .key = "k"});
  EXPECT_EQ(shard.stops(), std::vector<RunNo>{run->no});
  shard.end(*run, Outcome::fail("stopped"));
  shard.commit();
  EXPECT_EQ(shard.log_size(), 1U) << "that of the other key";
}

TEST(ShardControl, ACancelOfAPhaseLeavesTheOtherJobOfItsNameAlone) {
  for (const auto phase : {JobPhase::queued, JobPhase::running}) {
    Harness shard(plain());
    shard.push({.id = "1"});
    const auto run = shard.take();
    shard.push({.id = "1"});
    shard.control_one(EntryType::cancel, {.id = "1", .key = "1"}, phase);
    const bool is_stopped = phase == JobPhase::running;
    EXPECT_EQ(shard.stops().size(), is_stopped ? 1U : 0U);
    shard.commit();
    EXPECT_EQ(shard.log_size(), is_stopped ? 3U : 1U);
    shard.end(*run, is_stopped ? Outcome::fail("stopped") : Outcome::done());
    shard.commit();
    EXPECT_EQ(shard.log_size(), is_stopped ? 1U : 0U);
  }
}

TEST(ShardControl, ACancelOfAPhaseThatNoJobIsInDoesNothing) {
  Harness shard(plain());
  shard.push({.id = "1"});
  shard.control_one(EntryType::cancel, {.id = "1", .key = "1"}, JobPhase::running);
  const auto run = shard.take();
  ASSERT_TRUE(run);
  shard.control_one(EntryType::cancel, {.id = "1", .key = "1"}, JobPhase::queued);
  shard.commit();
  EXPECT_EQ(shard.stops(), std::vector<RunNo>{});
  EXPECT_EQ(shard.log_size(), 1U) << "both controls are carried out";
}

TEST(ShardControl, RevivedPayloadsRunNowWithFreshRetries) {
  Harness shard(plain());
  shard.push({.id = "1", .payload = "a"});
  shard.fail_all();
  shard.push({.id = "1", .payload = "dead"}, EntryType::revive);
  EXPECT_EQ(shard.job("1").retry_count, -1);
  EXPECT_EQ(shard.job("1").run_at, shard.now());
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(shard.job("1").retry_count, -1);
}

// rules: merging keeps the time of the first push; a push may say otherwise.
TEST(ShardMerge, APushMayReplaceTheTimeOfTheJobThatWaits) {
  Harness shard(plain());
  const auto at = [&](int in_hours) { return shard.now() + hours{in_hours}; };
  shard.push({.id = "1", .payload = "a", .run_at = at(5)});
  shard.push({.id = "1", .payload = "b", .run_at = at(1)});
  EXPECT_EQ(shard.job("1").run_at, at(5));
  shard.push({.id = "1", .payload = "a", .run_at = at(1), .replaces_time = true});
  EXPECT_EQ(shard.job("1").run_at, at(1));
  shard.push({.id = "1", .payload = "a", .run_at = at(7), .replaces_time = true});
  EXPECT_EQ(shard.job("1").run_at, at(7)) << "later, too";
  shard.push({.id = "1", .payload = "c", .run_at = at(2)});
  EXPECT_EQ(shard.job("1").run_at, at(7)) << "which the next push does not";
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(shard.job("1").run_at, at(7));
  EXPECT_FALSE(shard.take());
  shard.push({.id = "1", .payload = "a", .replaces_time = true});
  EXPECT_TRUE(shard.take()) << "without a time of its own it is due now";
}

TEST(ShardMerge, ANewTimeLeavesTheRetriesOfAFailedJobAlone) {
  Harness shard(plain());
  shard.push({.id = "1"});
  shard.fail_all();
  ASSERT_EQ(shard.job("1").retry_count, 0);
  shard.push({.id = "1", .run_at = shard.now(), .replaces_time = true});
  EXPECT_EQ(shard.job("1").retry_count, 0);
  EXPECT_EQ(shard.job("1").run_at, shard.now());
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(shard.job("1").retry_count, 0);
  EXPECT_TRUE(shard.take());
}

TEST(ShardRetry, AJobMaySayHowOftenItIsTried) {
  Harness shard(plain());
  shard.push({.id = "1", .max_retries = 1});
  shard.fail_all();
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(shard.job("1").retry_count, 0) << "once more";
  shard.advance(hours{1});
  shard.fail_all();
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_EQ(shard.take_dead().size(), 1U);
  shard.push({.id = "2"});
  shard.push({.id = "2", .payload = "b", .max_retries = 0});
  shard.push({.id = "2", .payload = "c"});
  shard.fail_all();
  EXPECT_EQ(shard.take_dead().size(), 1U) << "of several pushes the last that says it counts";
}

TEST(ShardControl, AJobIsGivenAnotherTime) {
  Harness shard(plain());
  shard.push({.id = "due"});
  shard.push({.id = "later", .run_at = shard.now() + hours{1}});
  for (const auto* id : {"due", "later"})
    shard.control_one(EntryType::run_now,
                      {.id = id, .run_at = shard.now() + hours{2}, .replaces_time = true});
  EXPECT_FALSE(shard.take());
  shard.commit();
  shard.rebuild();
  shard.advance(hours{1});
  EXPECT_FALSE(shard.take());
  shard.advance(hours{1});
  EXPECT_TRUE(shard.take());
  EXPECT_TRUE(shard.take());
}

TEST(ShardControl, EntriesThatSayTheirTimeKeepIt) {
  Harness shard(plain());
  const auto asked = shard.now() - hours{2};
  shard.push({.id = "revived", .run_at = asked}, EntryType::revive);
  EXPECT_EQ(shard.job("revived").run_at, asked);
  shard.push({.id = "merged", .run_at = shard.now() + hours{1}});
  shard.push({.id = "merged", .run_at = asked}, EntryType::revive);
  EXPECT_EQ(shard.job("merged").run_at, asked);
  shard.push({.id = "later", .run_at = shard.now() + hours{5}});
  shard.control(EntryType::run_now, "later", asked);
  EXPECT_EQ(shard.job("later").run_at, asked);
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(shard.job("merged").run_at, asked);
  EXPECT_EQ(shard.job("later").run_at, asked);
}

TEST(ShardCounts, KeepWhatWasSaidOfACopy) {
  PayloadBudget budget;
  Shard shard(plain(), budget);
  Counts counts;
  counts.copied = "from there";
  shard.load({}, {}, counts);
  EXPECT_EQ(shard.counts({}).copied, "from there");
}

TEST(ShardCounts, SplitAndLag) {
  Harness shard(plain());
  shard.push({.id = "due"});
  shard.push({.id = "later", .run_at = shard.now() + hours{1}});
  shard.push({.id = "running", .run_at = shard.now() - seconds{9}});
  shard.take();
  auto counts = shard.counts();
  EXPECT_EQ(counts.due, 1U);
  EXPECT_EQ(counts.scheduled, 1U);
  EXPECT_EQ(counts.running, 1U);
  EXPECT_EQ(counts.oldest, shard.now());
  shard.fail_all();
  counts = shard.counts();
  EXPECT_EQ(counts.retrying, 2U);
  EXPECT_EQ(counts.queued(), 3U);
  EXPECT_EQ(counts.failed, 2U);
}

TEST(ShardCounts, ACancelledRunIsNoFailure) {
  for (const bool is_lent : {false, true}) {
    for (const auto& outcome :
         {Outcome::fail("stopped"), Outcome::put_back(), Outcome::snoozed_for(hours{1})}) {
      Harness shard(plain());
      shard.push({.id = "1"});
      const auto run = shard.take();
      ASSERT_TRUE(run);
      const auto lent = is_lent ? std::optional(shard.lend(*run, "b")) : std::nullopt;
      shard.control(EntryType::cancel, "1");
      if (lent) {
        shard.end(*lent, outcome);
      } else {
        shard.end(*run, outcome);
      }
      shard.commit();
      EXPECT_EQ(shard.log_size(), 0U);
      EXPECT_EQ(shard.counts().failed, 0U);
      EXPECT_EQ(shard.counts().processed, 0U);
    }
  }
}

TEST(ShardMemory, PayloadsOutsideTheBudgetAreFetchedAndMergedExactly) {
  Harness shard(plain(), Time{hours{24 * 20000}}, /*budget=*/0);
  shard.push({.id = "1", .payload = "a", .score = 3.0});
  shard.push({.id = "1", .payload = "b", .score = 2.0});
  shard.push({.id = "1", .payload = "a", .score = 1.0});
  const auto run = shard.take();
  ASSERT_TRUE(run);
  ASSERT_EQ(run->jobs[0].payloads.size(), 2U);
  EXPECT_EQ(run->jobs[0].payloads[0], (Payload{"a", 1}));
  EXPECT_EQ(run->jobs[0].payloads[1], (Payload{"b", 2}));
  shard.end(*run, Outcome::done());
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
}

}  // namespace shard_test
}  // namespace ordo::domain
