#include "runtime/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/rooms_harness.h"

namespace ordo::runtime {
namespace runner_test {

using namespace std::chrono_literals;

class RunnerTest : public testing::Test {
 protected:
  RunnerTest() {
    rooms_.push("a", "1");
    rooms_.adopt("a");
  }
  domain::Counts counts() { return rooms_.owned("a").machine.counts(rooms_.scope.now); }

  Rooms rooms_{{queue_with("a")}, node_with(2)};
};

// What it reported before it was asked counts.
TEST_F(RunnerTest, what_a_run_that_was_asked_to_stop_says_depends_on_why) {
  const struct {
    StopReason reason;
    Outcome outcome;
    bool in_time;
    std::uint64_t processed, failed, due;
  } cases[] = {
      {StopReason::none, Outcome::done(), false, 1, 0, 0},
      {StopReason::none, Outcome::fail("no"), false, 0, 1, 0},
      {StopReason::timeout, Outcome::done(), false, 0, 1, 0},
      {StopReason::timeout, Outcome::done(), true, 1, 0, 0},
      {StopReason::node_stops, Outcome::done(), false, 1, 0, 0},
      {StopReason::node_stops, Outcome::fail("killed"), false, 0, 0, 1},
      {StopReason::node_stops, Outcome::fail("no"), true, 0, 1, 0},
      {StopReason::lease_lost, Outcome::fail("killed"), false, 0, 0, 1},
      {StopReason::cancelled, Outcome::fail("no"), false, 0, 1, 0},
      {StopReason::timeout, Outcome::put_back(), false, 0, 1, 0},
      {StopReason::timeout, Outcome::put_back_alone(FailureKind::timeout), false, 0, 0, 1},
      {StopReason::timeout, Outcome::put_back_alone(FailureKind::crash), false, 0, 0, 1},
  };
  for (const auto& [reason, outcome, in_time, processed, failed, due] : cases) {
    Rooms rooms({queue_with("a")}, node_with(2));
    rooms.push("a", "1");
    rooms.adopt("a");
    rooms.dispatch();
    const auto run = rooms.begin();
    if (reason != StopReason::none) run.control->ask_to_stop(reason);
    auto end = Rooms::end_of(run, outcome);
    end.in_time = {in_time};
    rooms.runner->ended(std::move(end));
    auto& machine = rooms.owned("a").machine;
    static_cast<void>(machine.collect());
    machine.committed(rooms.scope.now);
    const auto counts = machine.counts(rooms.scope.now);
    const auto which = static_cast<int>(reason);
    EXPECT_EQ(counts.processed, processed) << which << outcome.text;
    EXPECT_EQ(counts.failed, failed) << which << outcome.text;
    EXPECT_EQ(counts.due, due) << which << outcome.text;
    EXPECT_EQ(rooms.runs->size(), 0U);
  }
}

// A command worker that is stopped cannot tell a timeout from another reason.
TEST_F(RunnerTest, only_a_timeout_has_the_jobs_of_a_batch_run_alone) {
  for (const auto reason : {StopReason::none, StopReason::timeout, StopReason::cancelled}) {
    auto queue = queue_with("a");
    queue.batch_size = 2;
    Rooms rooms({queue}, node_with(2));
    for (const auto* id : {"1", "2"}) rooms.push("a", id);
    rooms.adopt("a");
    rooms.dispatch();
    const auto run = rooms.begin();
    ASSERT_EQ(run.jobs.size(), 2U);
    if (reason != StopReason::none) run.control->ask_to_stop(reason);
    rooms.runner->ended(Rooms::end_of(run, Outcome::put_back_alone(FailureKind::timeout)));
    auto& machine = rooms.owned("a").machine;
    static_cast<void>(machine.collect());
    machine.committed(rooms.scope.now);
    rooms.dispatch();
    EXPECT_EQ(rooms.begin().jobs.size(), reason == StopReason::cancelled ? 2U : 1U);
  }
}

TEST_F(RunnerTest, what_no_thread_has_started_goes_back_where_it_was) {
  rooms_.dispatch();
  EXPECT_EQ(rooms_.handed(), "1 ");
  rooms_.runner->recall_all();
  EXPECT_EQ(rooms_.handed(), "");
  EXPECT_EQ(rooms_.runs->size(), 0U);
  rooms_.dispatch();
  EXPECT_EQ(rooms_.handed(), "1 ");
}

TEST_F(RunnerTest, a_run_of_a_shard_that_is_lost_goes_on_as_a_zombie) {
  rooms_.dispatch();
  const auto run = rooms_.begin();
  rooms_.runner->drop({rooms_.shard("a")});
  rooms_.host.remove(rooms_.shard("a"));
  EXPECT_EQ(rooms_.runs->zombies(), 1U);
  EXPECT_EQ(run.control->reason, StopReason::lease_lost);
  rooms_.runner->ended(Rooms::end_of(run));
  EXPECT_EQ(rooms_.runs->zombies(), 0U);
}

TEST_F(RunnerTest, a_kind_without_code_waits_and_has_no_attempt) {
  domain::Entry entry;
  entry.kind = "other";
  entry.id = "2";
  rooms_.store.append({{rooms_.shard("a"), domain::encode(entry)}}, [](const auto&) {});
  rooms_.read("a");
  rooms_.host.look_at_kinds(rooms_.owned("a"));
  rooms_.dispatch();
  EXPECT_EQ(rooms_.handed(), "1 ");
  EXPECT_EQ(counts().failed, 0U);
  EXPECT_EQ(counts().due, 1U);
  EXPECT_THAT(counts().unserved, testing::ElementsAre(domain::UnservedKind{"other", 0, 1}));
}

TEST_F(RunnerTest, a_cancelled_run_is_asked_to_stop_or_not_started_at_all) {
  rooms_.push("a", "2");
  rooms_.read("a");
  rooms_.dispatch();
  const auto running = rooms_.begin();
  for (const auto* id : {"1", "2"}) {
    domain::Entry cancel;
    cancel.type = domain::EntryType::cancel;
    cancel.kind = "a";
    cancel.id = id;
    rooms_.store.append({{rooms_.shard("a"), domain::encode(cancel)}}, [](const auto&) {});
  }
  rooms_.read("a");
  rooms_.runner->stop_cancelled(rooms_.owned("a"));
  EXPECT_EQ(running.control->reason, StopReason::cancelled);
  EXPECT_EQ(rooms_.handed(), "");
  EXPECT_EQ(rooms_.runs->size(), 1U);
}

}  // namespace runner_test
}  // namespace ordo::runtime
