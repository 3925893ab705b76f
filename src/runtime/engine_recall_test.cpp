// Runs that were handed to a thread and that it has not started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace engine_recall_test {

using namespace std::chrono_literals;

class EngineRecall : public testing::Test {
 protected:
  static std::vector<QueueOptions> queues() {
    QueueOptions a, b;
    a.name = "a";
    b.name = "b";
    a.shards = b.shards = 1;
    return {a, b};
  }
  void start(std::size_t each = 64) {
    bench_.sink->each = each;
    bench_.start();
  }
  void control(domain::EntryType type, const std::string& id) {
    domain::Entry entry;
    entry.type = type;
    entry.kind = "a";
    entry.id = id;
    bench_.append({bench_.number("a"), 0}, entry);
  }

  EngineBench bench_{queues(), {.threads = 1}};
};

TEST_F(EngineRecall, what_waits_behind_a_long_run_is_due_again) {
  start();
  for (const auto* id : {"1", "2", "3"}) bench_.push("a", id);
  bench_.tick();
  const auto running = bench_.begin();
  EXPECT_EQ(bench_.handed(), "2 3 ");
  EXPECT_LE(bench_.engine->tick(), kOverdue) << "it looks again when the run is overdue";

  bench_.sink->overdue = true;
  bench_.sink->each = 1;
  bench_.tick();
  EXPECT_EQ(bench_.handed(), "");
  EXPECT_EQ(bench_.engine->runs(), 1U);
  EXPECT_EQ(bench_.machine("a").counts(bench_.clock.wall()).due, 2U);
  EXPECT_GT(bench_.engine->tick(), 10ms) << "nothing waits for a thread any more";

  bench_.sink->overdue = false;
  bench_.end(running);
  bench_.tick();
  EXPECT_EQ(bench_.run_one(), "2");
}

TEST_F(EngineRecall, a_pause_takes_back_what_has_not_started) {
  start();
  for (const auto* id : {"1", "2", "3"}) bench_.push("a", id);
  bench_.push("b", "4");
  bench_.tick();
  const auto running = bench_.begin();
  bench_.store.set_paused("a", true);
  bench_.tell_definitions();
  bench_.tick();
  EXPECT_EQ(bench_.handed(), "4 ");
  bench_.end(running);
  bench_.tick();
  EXPECT_EQ(bench_.machine("a").running(), 0U);
}

TEST_F(EngineRecall, a_cancelled_run_is_not_started) {
  start();
  for (const auto* id : {"1", "2", "3"}) bench_.push("a", id);
  bench_.tick();
  control(domain::EntryType::cancel, "2");
  bench_.tick();
  EXPECT_EQ(bench_.handed(), "1 3 ");
  bench_.tick();
  EXPECT_EQ(bench_.machine("a").jobs(), 2U);
}

TEST_F(EngineRecall, an_urgent_job_comes_next) {
  start();
  for (const auto* id : {"1", "2", "3"}) bench_.push("a", id);
  bench_.tick();
  const auto running = bench_.begin();
  bench_.clock.now += kOverdue;
  bench_.push("a", "urgent", 0, {.priority = 1, .timeout = {}});
  bench_.tick();
  EXPECT_EQ(bench_.handed(), "urgent 2 3 ");
  bench_.tick();
  EXPECT_EQ(bench_.handed(), "urgent 2 3 ");
}

TEST_F(EngineRecall, a_quiet_node_starts_nothing_it_has_chosen) {
  start();
  for (const auto* id : {"1", "2"}) bench_.push("a", id);
  bench_.tick();
  bench_.engine->quiet();
  EXPECT_EQ(bench_.handed(), "");
  EXPECT_EQ(bench_.engine->runs(), 0U);
}

TEST_F(EngineRecall, a_shard_that_is_lost_leaves_no_run_that_never_started) {
  start();
  for (const auto* id : {"1", "2"}) bench_.push("a", id);
  bench_.tick();
  const auto running = bench_.begin();
  bench_.engine->drop_all();
  EXPECT_EQ(bench_.handed(), "");
  EXPECT_EQ(bench_.engine->zombies(), 1U);
  bench_.end(running);
  bench_.engine->tick();
  EXPECT_EQ(bench_.engine->zombies(), 0U);
  EXPECT_EQ(bench_.engine->runs(), 0U);
}

TEST(EngineRecallBound, a_thread_that_is_busy_for_long_is_not_given_its_own_runs_again_and_again) {
  QueueOptions shared, bound;
  shared.name = "shared";
  bound.name = "bound";
  bound.affinity = Affinity::shard;
  EngineBench bench({shared, bound}, {.threads = 1});
  bench.start();
  bench.push("shared", "long");
  bench.tick();
  const auto running = bench.begin();
  bench.push("bound", "1");
  bench.tick();
  EXPECT_EQ(bench.handed(), "1 ") << "a short run would be over in no time";
  bench.sink->overdue = true;
  bench.tick();
  EXPECT_EQ(bench.handed(), "");
  EXPECT_GT(bench.engine->tick(), 10ms) << "nothing waits for the thread any more";
  bench.sink->overdue = false;
  bench.end(running);
  bench.tick();
  EXPECT_EQ(bench.run_one(), "1");
}

TEST(EngineRecallStrict, a_queue_that_comes_first_is_served_before_what_waits) {
  QueueOptions a, b;
  a.name = "a";
  b.name = "b";
  EngineBench bench({a, b}, {.threads = 1, .scheduler = SchedulerKind::strict});
  bench.sink->each = 64;
  bench.start();
  for (const auto* id : {"1", "2", "3"}) bench.push("b", id);
  bench.tick();
  EXPECT_EQ(bench.handed(), "1 2 3 ");
  bench.clock.now += kOverdue;
  bench.push("a", "first");
  bench.tick();
  EXPECT_EQ(bench.handed(), "first 1 2 3 ");
}

}  // namespace engine_recall_test
}  // namespace ordo::runtime
