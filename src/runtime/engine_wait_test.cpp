// Jobs that wait for responses, in the hands of a node.
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"
#include "runtime/pool.h"
#include "store/dead_letters.h"
#include "store/waits.h"

namespace ordo::runtime {
namespace engine_wait_test {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

QueueOptions queue() {
  QueueOptions options;
  options.name = "orders";
  options.shards = 1;
  options.max_retries = 0;
  return options;
}

/// What the end of the run comes to, registered as by a thread.
Outcome settled(const Assignment& run, Outcome outcome) {
  WaitDesk::Ended ended{*run.queue, {std::move(outcome)}, {}};
  ended.waits.emplace_back(0,
                           run.waits->want({*run.queue, run.kind}, run.jobs.front(), ended.outcomes[0], 1h));
  run.waits->settle(ended);
  return ended.outcomes[0];
}

class EngineWait : public EngineBench {
 public:
  EngineWait() : EngineBench({queue()}) {
    start();
    push("orders", "1", 0, {}, "1");
    tick();
  }
  /// The next run ends with a wait.
  void wait(Duration timeout = 60s, const std::string& key = "bank") {
    auto run = begin();
    end(run, settled(run, Outcome::wait(key, timeout)));
    tick();
    tick();
  }
  Responded respond(const std::string& body) {
    return store::respond(store, "orders", "bank", {body, body}, 1h);
  }
  void cancel(const std::string& id) {
    domain::Entry entry;
    entry.type = domain::EntryType::cancel;
    entry.kind = "orders";
    entry.key = entry.id = id;
    store.append_durably({{{number("orders"), 0}, encode(entry)}});
  }
  std::size_t letters() {
    std::size_t count = 0;
    store::each_letter(store, "orders", [&](const DeadLetter&) { return ++count > 0; });
    return count;
  }
  domain::Counts counts() { return machine("orders").counts(clock.wall()); }
  void pass(Duration time) {
    clock.now += time;
    for (int i = 0; i < 3; ++i) tick();
  }
};

TEST(EngineWait, AResponseIsHandledByARunOfItsOwn) {
  EngineWait bench;
  bench.wait();
  EXPECT_EQ(bench.counts().awaiting, 1U);
  EXPECT_EQ(bench.engine->runs(), 0U);
  EXPECT_EQ(bench.respond("yes"), Responded::accepted);
  bench.tick();
  const auto run = bench.begin();
  EXPECT_EQ(run.jobs.front().response, (Response{"bank", "yes", "yes"}));
  bench.end(run);
  bench.tick();
  bench.tick();
  EXPECT_EQ(bench.counts().awaiting + bench.counts().running, 0U);
}

TEST(EngineWait, WithoutOneTheStoreIsToldThatItIsOver) {
  EngineWait bench;
  bench.wait();
  bench.pass(61s);
  EXPECT_EQ(bench.counts().awaiting, 0U);
  const auto dead = bench.store.dead(bench.number("orders"), 0, 10);
  ASSERT_THAT(dead, SizeIs(1));
  EXPECT_EQ(domain::decode_dead(dead[0].bytes)->error_kind, FailureKind::timeout);
  EXPECT_EQ(bench.respond("yes"), Responded::late);
}

TEST(EngineWait, AResponseThatTheJobDoesNotUseIsADeadLetter) {
  EngineWait bench;
  bench.wait();
  EXPECT_EQ(bench.respond("yes"), Responded::accepted);
  bench.cancel("1");
  bench.store.wait_failure = "no";
  bench.pass(1s);
  bench.store.wait_failure.clear();
  EXPECT_EQ(bench.letters(), 0U);
  bench.pass(2s);
  EXPECT_EQ(bench.letters(), 1U) << "the store is asked again";
  EXPECT_TRUE(
      bench.store.fetch({bench.number("orders"), 0}, std::vector<store::Seq>{1, 2, 3, 4}).rows.empty())
      << "and it is nowhere else";
}

TEST(EngineWait, AStoreThatDoesNotAnswerIsAskedAgain) {
  EngineWait bench;
  bench.wait();
  bench.store.wait_failure = "no";
  bench.pass(61s);
  EXPECT_EQ(bench.counts().awaiting, 1U);
  bench.store.wait_failure.clear();
  EXPECT_EQ(bench.respond("yes"), Responded::accepted) << "until the store says so nothing is over";
  bench.pass(2s);
  EXPECT_EQ(bench.counts().awaiting + bench.counts().running, 1U);
  EXPECT_TRUE(bench.begin().jobs.front().response);
}

TEST(EngineWait, ARunThatCannotRegisterItsWaitIsPutBackOrFails) {
  EngineWait bench;
  const auto run = bench.begin();
  const auto settle = [&](const std::string& key) { return settled(run, Outcome::wait(key, 60s)); };
  bench.store.wait_failure = "no";
  EXPECT_EQ(settle("bank").kind, Outcome::Kind::put_back);
  bench.store.wait_failure.clear();
  EXPECT_EQ(settle("").kind, Outcome::Kind::failed);
  store::expect_response(bench.store, "orders", "bank",
                         {"w", "orders", "other", "other", 1, bench.clock.wall() + 1h});
  const auto outcome = settle("bank");
  EXPECT_EQ(outcome.kind, Outcome::Kind::failed);
  EXPECT_THAT(outcome.text, ::testing::HasSubstr("another job waits for it"));
}

TEST(RunWaits, WhatARunHasExpectedItWaitsForWithoutAskingAgain) {
  StandingClock clock;
  store::memory::MemoryStore store(clock);
  store.define("orders", 1);
  WaitDesk desk(store, Random(1));
  Batch batch("orders", "orders", {{.id = "1", .key = "1"}}, 60s, 0, {});
  RunWaits waits(&desk, batch, [] { return 10s; });
  EXPECT_THROW(batch.expect(1, "bank"), std::out_of_range);
  const auto token = batch.expect(0, "bank");
  EXPECT_EQ(batch.expect(0, "bank"), token);
  EXPECT_NE(batch.expect(0, "other"), token);
  EXPECT_TRUE(store::find_token(store, token.text));
  const auto row = store.wait_row("orders", "bank");
  const auto ended = waits.end({Outcome::wait("bank", 1h)});
  EXPECT_THAT(ended.waits, IsEmpty());
  EXPECT_EQ(store.wait_row("orders", "bank"), row);
  EXPECT_EQ(ended.outcomes[0].wait_id, domain::decode_wait_record(*row)->wait);
  EXPECT_EQ(ended.outcomes[0].deadline, clock.wall() + 10s) << "no longer than the attempt";
  EXPECT_THROW(batch.expect(0, "bank"), Error) << "the run is over";
}

TEST(RunWaits, AShorterWaitIsToldToItsRow) {
  StandingClock clock;
  store::memory::MemoryStore store(clock);
  store.define("orders", 1);
  WaitDesk desk(store, Random(1));
  Batch batch("orders", "orders", {{.id = "1", .key = "1"}}, 24h, 0, {});
  RunWaits waits(&desk, batch, [] { return 24h; });
  batch.expect(0, "bank");
  clock.now += 5s;
  auto ended = waits.end({Outcome::wait("bank", 60s)});
  desk.settle(ended);
  const auto record = *domain::decode_wait_record(*store.wait_row("orders", "bank"));
  EXPECT_EQ(ended.outcomes[0].kind, Outcome::Kind::waiting);
  EXPECT_EQ(ended.outcomes[0].deadline, clock.wall() + 60s);
  EXPECT_EQ(record.deadline, ended.outcomes[0].deadline);
  EXPECT_EQ(record.wait, ended.outcomes[0].wait_id);
  EXPECT_EQ(record.since, clock.wall() - 5s);
}

TEST(RunWaits, AWaitThatWasAnsweredMeanwhileIsOneStill) {
  StandingClock clock;
  store::memory::MemoryStore store(clock);
  store.define("orders", 1);
  WaitDesk desk(store, Random(1));
  Batch batch("orders", "orders", {{.id = "1", .key = "1"}}, 24h, 0, {});
  RunWaits waits(&desk, batch, [] { return 24h; });
  batch.expect(0, "bank");
  const auto wait = domain::decode_wait_record(*store.wait_row("orders", "bank"))->wait;
  EXPECT_EQ(store::respond(store, "orders", "bank", {"m", "yes"}, 1h), Responded::accepted);
  auto ended = waits.end({Outcome::wait("bank", 60s)});
  desk.settle(ended);
  EXPECT_EQ(ended.outcomes[0].kind, Outcome::Kind::waiting);
  EXPECT_EQ(ended.outcomes[0].wait_id, wait);
}

TEST(WaitDesk, ManyRunsAreRegisteredAtOnceAndEachIsTold) {
  StandingClock clock;
  store::memory::MemoryStore store(clock);
  for (const auto* queue : {"orders", "mails"}) store.define(queue, 2);
  constexpr std::size_t kRuns = 1000;
  std::vector<std::promise<Outcome>> told(kRuns);
  WaitDesk desk(store, Random(1));
  for (std::size_t i = 0; i < kRuns; ++i) {
    const auto id = std::to_string(i);
    Batch batch(i % 2 == 0 ? "orders" : "mails", "kind", {{.id = id, .key = id}}, 60s, 0, {});
    RunWaits waits(&desk, batch, [] { return 1h; });
    auto ended = waits.end({Outcome::wait(i < 4 ? "same" : id, 60s)});
    ended.done = [&told, i](const std::vector<Outcome>& outcomes) { told[i].set_value(outcomes.at(0)); };
    desk.settle_later(std::move(ended));
  }
  std::size_t refused = 0;
  for (std::size_t i = 0; i < kRuns; ++i) {
    const auto outcome = told[i].get_future().get();
    if (outcome.kind == Outcome::Kind::failed) {
      ++refused;
      EXPECT_LT(i, 4U);
      continue;
    }
    const auto row = store.wait_row(i % 2 == 0 ? "orders" : "mails", i < 4 ? "same" : std::to_string(i));
    ASSERT_TRUE(row);
    EXPECT_EQ(domain::decode_wait_record(*row)->wait, outcome.wait_id);
  }
  EXPECT_EQ(refused, 2U) << "one of each queue has the key that two wait for";
}

}  // namespace engine_wait_test
}  // namespace ordo::runtime
