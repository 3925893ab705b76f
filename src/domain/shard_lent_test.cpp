// Runs that another node executes (stores: lent runs).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ordo/error.hpp>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_lent_test {

using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::Strings;

QueueOptions queue() {
  QueueOptions options;
  options.name = "q";
  return options;
}

Run take(Harness& shard) {
  auto run = shard.take_marked({});
  EXPECT_TRUE(run) << "nothing is due";
  return run.value_or(Run{});
}

auto dead_is(const std::string& dead) {
  return [dead](const std::string& node, std::uint64_t) {
    return node == dead ? Borrower::dead : Borrower::alive;
  };
}

TEST(ShardLent, AnEndInTheLogEndsTheRunAndNothingIsLeft) {
  Harness shard(queue());
  shard.push({.id = "1", .payload = "a"});
  const auto lent = shard.lend(take(shard), "b");
  EXPECT_EQ(shard.counts().running, 1U);
  shard.end(lent, Outcome::done());
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_THAT(shard.counts().lent, IsEmpty());
  EXPECT_EQ(shard.counts().processed, 1U);
}

TEST(ShardLent, AControlBehindItsEndIsReadAgainByTheNextOwner) {
  for (const auto type : {EntryType::cancel, EntryType::run_now}) {
    Harness shard(queue());
    shard.push({.id = "1", .key = "k"});
    const auto lent = shard.lend(take(shard), "b");
    shard.end(lent, Outcome::done());
    shard.control_one(type, {.id = "1", .key = "k"});
    shard.crash();
    shard.commit();
    EXPECT_EQ(shard.log_size(), 0U);
    EXPECT_EQ(shard.counts().processed, 1U);
  }
}

TEST(ShardLent, ItNamesWhatTheBorrowerRuns) {
  Harness shard(queue());
  shard.push({.id = "1", .payload = "b", .score = 2.0});
  shard.push({.id = "1", .payload = "a", .score = 1.0});
  const auto lent = shard.lend(take(shard), "b", 7);
  EXPECT_EQ(lent.node, "b");
  EXPECT_EQ(lent.session, 7U);
  EXPECT_EQ(lent.kind, "q");
  ASSERT_EQ(lent.jobs.size(), 1U);
  EXPECT_THAT(lent.jobs[0].pieces,
              ElementsAre(std::pair<Seq, double>(2, 1.0), std::pair<Seq, double>(1, 2.0)));
}

// Nobody writes such records; a damaged store may hold them.
TEST(ShardLent, RecordsThatContradictEachOtherEndRunsAndNothingElse) {
  const auto run_of = [](RunNo no, Seq entry) {
    LentRun run{.name = {{1, 0}, 5, no}, .node = "b", .kind = "q"};
    run.jobs = {{{{entry, 0}}, -1, 0}};
    return run;
  };
  Counts one_job_twice, doomed;
  one_job_twice.lent = {run_of(1, 1), run_of(2, 2)};
  doomed.lent = {run_of(1, 2)};
  JobState killer;
  killer.crashes = 9;
  killer.mark = Mark::alone;
  for (auto* counts : {&one_job_twice, &doomed}) {
    counts->due = ~0ULL / 2;
    PayloadBudget budget;
    Shard shard(queue(), budget);
    const Time now{std::chrono::hours{1}};
    std::vector<std::pair<Seq, JobState>> states;
    if (counts == &doomed) states.emplace_back(1, killer);
    shard.load({.clean = false, .crashed = true, .head = 2, .now = now, .shard = {1, 0}, .token = 9},
               std::move(states), *counts);
    for (Seq seq = 1; seq <= 2; ++seq) {
      const auto payload = std::to_string(seq);
      shard.apply({seq, now, {.kind = "q", .key = "1", .id = "1", .payload = payload}}, now);
    }
    shard.ready(now);
    EXPECT_LE(shard.jobs(), 2U);
    shard.collect();
    shard.committed(now);
  }
}

TEST(ShardLent, TheKeyStaysTakenAlsoUnderTheNextOwner) {
  Harness shard(queue());
  shard.push({.id = "1", .key = "k"});
  const auto lent = shard.lend(take(shard), "b");
  shard.push({.id = "2", .key = "k"});
  shard.push({.id = "1", .payload = "more", .key = "k"});
  EXPECT_FALSE(shard.has_due());
  shard.rebuild({.clean = false, .crashed = true});
  EXPECT_FALSE(shard.has_due()) << "the borrower lives";
  shard.end(lent, Outcome::done());
  shard.commit();
  EXPECT_EQ(take(shard).jobs[0].id, "2");
}

TEST(ShardLent, PushesDuringTheRunBelongToTheJobBesideItAfterARebuild) {
  Harness shard(queue());
  shard.push({.id = "1", .payload = "a"});
  const auto lent = shard.lend(take(shard), "b");
  shard.push({.id = "1", .payload = "a"});
  shard.rebuild();
  shard.end(lent, Outcome::done());
  shard.commit();
  EXPECT_EQ(shard.job("1").payloads, (Strings{"a"}));
  EXPECT_EQ(shard.log_size(), 1U);
}

TEST(ShardLent, AFailureCountsAsAnyOther) {
  Harness shard(queue());
  shard.push({.id = "1"});
  const auto lent = shard.lend(take(shard), "b");
  shard.rebuild();
  shard.end(lent, Outcome::fail("no"));
  shard.commit();
  EXPECT_EQ(shard.job("1").retry_count, 0);
  EXPECT_EQ(shard.job("1").error, "no");
}

TEST(ShardLent, AnEndIsTakenOnce) {
  Harness shard(queue());
  shard.push({.id = "1"});
  const auto first = shard.lend(take(shard), "b");
  shard.end(first, Outcome::put_back(), /*declined=*/true);
  shard.commit();
  EXPECT_THAT(shard.shard().declined(), ElementsAre("b"));
  const auto second = shard.lend(take(shard), "c");
  EXPECT_NE(first.name, second.name);
  shard.end(first, Outcome::done());
  shard.commit();
  EXPECT_EQ(shard.shard().lent_to("c"), 1U) << "that end is of the run before";
}

TEST(ShardLent, AnEndIsTakenByPlace) {
  auto options = queue();
  options.batch_size = 3;
  Harness shard(options);
  for (const auto* id : {"0", "1", "2"}) shard.push({.id = id});
  auto lent = shard.lend(take(shard), "b");
  ASSERT_EQ(lent.jobs.size(), 3U);
  EXPECT_EQ(lent.jobs[2].place, 2U);
  // Job 1 has gone to another shard, and the borrower tells of the first two.
  shard.push({.id = "1", .payload = "again"});
  lent.jobs.erase(lent.jobs.begin() + 1);
  shard.load_lent({lent});
  EXPECT_EQ(shard.counts().lent.at(0).jobs.at(1).place, 2U);
  shard.end_by_place(lent, {{Outcome::fail("zero"), 0}, {Outcome::fail("one"), 0}});
  shard.commit();
  EXPECT_EQ(shard.job("0").error, "zero");
  EXPECT_EQ(shard.job("1").error, "") << "it is not of the run";
  EXPECT_EQ(shard.job("2").error, "") << "it is put back";
  EXPECT_EQ(shard.shard().lent(), 0U);
}

TEST(ShardLent, ALostBorrowersJobsAreDueAgain) {
  Harness shard(queue());
  shard.push({.id = "1"});
  const auto lent = shard.lend(take(shard), "b");
  shard.shard().take_back(dead_is("c"), shard.now());
  EXPECT_EQ(shard.shard().lent(), 1U);
  shard.shard().take_back(dead_is("b"), shard.now());
  shard.commit();
  EXPECT_EQ(shard.job("1").retry_count, -1);
  EXPECT_EQ(shard.job("1").crashes, 0U);
  shard.end(lent, Outcome::done());  // too late
  shard.commit();
  EXPECT_EQ(take(shard).risk, Risk::witness) << "it may have killed its node";
}

TEST(ShardLent, WhatIsTakenBackRunsUnderAHigherFenceAlsoForLaterOwners) {
  Harness shard(queue());
  shard.push({.id = "1"});
  const auto lent = shard.lend(take(shard), "b");
  EXPECT_EQ(lent.fence, shard.shard().fence());
  shard.shard().take_back(dead_is("b"), shard.now());
  shard.commit();
  const auto second = shard.lend(take(shard), "c");
  EXPECT_GT(second.fence, lent.fence);
  shard.rebuild();
  EXPECT_GT(shard.shard().fence(), second.fence);
}

TEST(ShardLent, AMarkedJobThatKillsItsBorrowerCountsACrash) {
  for (const auto how : {Borrower::dead, Borrower::lapsed}) {
    Harness shard(queue());
    shard.push({.id = "1"});
    shard.rebuild({.clean = false, .crashed = true});
    auto run = take(shard);
    ASSERT_EQ(run.risk, Risk::witness);
    shard.lend(run, "b");
    shard.rebuild({.clean = false, .crashed = true});  // the owner's death is not its doing
    shard.shard().take_back([&](const auto&, auto) { return how; }, shard.now());
    shard.commit();
    EXPECT_EQ(shard.job("1").crashes, how == Borrower::dead ? 1U : 0U);
  }
}

TEST(ShardLent, ASuspectThatKillsItsBorrowersDiesOfIt) {
  auto options = queue();
  options.max_crashes = 2;
  Harness shard(options);
  shard.push({.id = "1"});
  take(shard);
  shard.crash();
  shard.lend(take(shard), "b");
  shard.shard().take_back(dead_is("b"), shard.now());
  shard.commit();
  ASSERT_EQ(shard.job("1").crashes, 1U);
  const auto run = take(shard);
  ASSERT_EQ(run.risk, Risk::suspect);
  shard.lend(run, "b");
  EXPECT_EQ(shard.shard().lent_to("b", Risk::suspect), 1U);
  EXPECT_EQ(shard.shard().lent_to("b", Risk::witness), 0U);
  shard.rebuild({.clean = false, .crashed = true});
  shard.shard().take_back(dead_is("b"), shard.now());
  EXPECT_EQ(shard.shard().lent(), 0U);
  shard.commit();
  EXPECT_FALSE(shard.has_due());
  const auto dead = shard.take_dead();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].error_kind, FailureKind::crash);
}

TEST(ShardLent, ALentSuspectThatHasRunAloneForLongSharesItsMarkAndDiesOfNothingElse) {
  auto options = queue();
  options.max_crashes = 2;
  Harness shard(options);
  shard.push({.id = "1"});
  take(shard);
  shard.crash();
  take(shard);
  shard.crash();
  const auto run = take(shard);
  ASSERT_EQ(run.risk, Risk::suspect);
  EXPECT_FALSE(shard.lend(run, "b").shares);
  EXPECT_THAT(shard.shard().lent_alone_since(shard.now() - kAloneAtMost), IsEmpty());
  shard.advance(kAloneAtMost);
  ASSERT_THAT(shard.shard().lent_alone_since(shard.now() - kAloneAtMost), ElementsAre(run.no));
  shard.shard().share(run.no);
  shard.commit();
  EXPECT_TRUE(shard.stored_counts().lent.at(0).shares);
  EXPECT_THAT(shard.shard().lent_alone_since(shard.now() - kAloneAtMost), IsEmpty());
  shard.rebuild({.clean = false, .crashed = true});
  EXPECT_TRUE(shard.counts().lent.at(0).shares) << "the next owner knows it, too";
  shard.shard().take_back(dead_is("b"), shard.now());
  shard.commit();
  EXPECT_EQ(shard.job("1").crashes, 1U);
}

TEST(ShardLent, ACancelReachesTheBorrower) {
  Harness shard(queue());
  shard.push({.id = "1"});
  const auto lent = shard.lend(take(shard), "b");
  EXPECT_FALSE(lent.stop);
  shard.control(EntryType::cancel, "1");
  shard.commit();
  EXPECT_TRUE(shard.counts().lent.at(0).stop);
  EXPECT_THAT(shard.stops(), IsEmpty());
  shard.rebuild();
  EXPECT_TRUE(shard.counts().lent.at(0).stop);
  shard.end(lent, Outcome::put_back());
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
}

TEST(ShardLent, OnlyKindsOfTheBorrowerAreTaken) {
  Harness shard(queue());
  shard.push({.id = "1", .kind = "mail"});
  const std::set<std::string, std::less<>> other{"q"}, mail{"mail"};
  EXPECT_FALSE(shard.take_marked({.kinds = &other}));
  shard.shard().serve("mail", false);
  EXPECT_FALSE(shard.take());
  EXPECT_TRUE(shard.take_marked({.kinds = &mail}));
}

TEST(ShardLent, PayloadsOfALentJobAreKeptWhateverTheBudget) {
  auto options = queue();
  options.retry = {.strategy = RetryPolicy::Strategy::none};
  Harness shard(options, Time{std::chrono::hours{24 * 20000}}, /*budget=*/0);
  shard.push({.id = "1", .payload = "a"});
  const auto lent = shard.lend(take(shard), "b");
  shard.rebuild();
  shard.end(lent, Outcome::fail("no"));
  shard.commit();
  const auto dead = shard.take_dead();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].payload, "a");
}

TEST(ShardLent, TheListOutlivesItsCodec) {
  LentRun run{{{3, 4}, 5, 6},
              "node",
              7,
              8,
              true,
              false,
              true,
              1,
              "kind",
              std::chrono::seconds{8},
              Time{std::chrono::hours{9}},
              {{{{10, 1.5}, {11, 2.5}}, 12}}};
  Counts counts;
  counts.lent = {run};
  EXPECT_EQ(*decode_counts(encode(counts)), counts);
  counts.copied = "from there";
  EXPECT_EQ(*decode_counts(encode(counts)), counts);
  EXPECT_THAT(lent_runs_of(encode(counts)), ElementsAre(run));
  EXPECT_THAT(lent_runs_of(encode(Counts{})), IsEmpty());
}

}  // namespace shard_lent_test
}  // namespace ordo::domain
