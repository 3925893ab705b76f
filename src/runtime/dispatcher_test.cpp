#include "runtime/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/rooms_harness.h"

namespace ordo::runtime {
namespace dispatcher_test {

using namespace std::chrono_literals;

TEST(Dispatcher, starts_as_much_as_there_is_room_for_by_the_scheduler) {
  const struct {
    SchedulerKind scheduler;
    std::uint32_t threads;
    std::string handed;
  } cases[] = {
      {SchedulerKind::lag, 2, "b1 a1 "},         {SchedulerKind::lag, 9, "b1 a1 a2 b2 "},
      {SchedulerKind::strict, 3, "a1 a2 b1 "},   {SchedulerKind::sequential, 3, "a1 b1 a2 "},
      {SchedulerKind::weighted, 3, "a1 b1 a2 "},
  };
  for (const auto& [scheduler, threads, handed] : cases) {
    Rooms rooms({queue_with("a"), queue_with("b")}, node_with(threads, scheduler));
    for (const auto* id : {"b1", "a1", "a2", "b2"}) rooms.push({id[0]}, id);
    rooms.adopt("a");
    rooms.adopt("b");
    rooms.dispatch();
    EXPECT_EQ(rooms.handed(), handed);
  }
}

TEST(Dispatcher, a_shard_that_may_not_start_is_not_chosen) {
  Rooms rooms({queue_with("a")}, node_with(5));
  rooms.push("a", "1");
  rooms.adopt("a");
  auto& shard = rooms.owned("a");
  const std::pair<const char*, std::function<void(bool)>> cases[] = {
      {"not read", [&](bool on) { shard.ready = !on; }},
      {"in the middle of an append", [&](bool on) { shard.is_in_append = on; }},
      {"its group is not here", [&](bool on) { shard.ungathered = on; }},
      {"runs of before may go on", [&](bool on) { shard.is_early = on; }},
      {"paused", [&](bool on) { shard.queue->set_paused(on); }},
      {"released", [&](bool on) { shard.releasing_since = on ? std::optional(0s) : std::nullopt; }},
  };
  for (const auto& [why, set] : cases) {
    set(true);
    rooms.dispatch();
    EXPECT_EQ(rooms.handed(), "") << why;
    set(false);
  }
  rooms.dispatch();
  EXPECT_EQ(rooms.handed(), "1 ");
}

TEST(Dispatcher, what_is_bound_to_a_thread_runs_there_one_by_one) {
  Rooms rooms({queue_with("a", 2, Affinity::shard)}, node_with(2));
  for (const auto* id : {"1", "2"}) {
    for (const auto shard : {0U, 1U}) rooms.push("a", id + std::to_string(shard), shard);
  }
  for (const auto shard : {0U, 1U}) rooms.adopt("a", shard);
  rooms.dispatcher->deal_threads();
  EXPECT_EQ(rooms.owned("a", 0).thread + rooms.owned("a", 1).thread, 1) << "each has its own";
  rooms.dispatch();
  rooms.dispatch();
  EXPECT_EQ(rooms.handed(), "10 11 ");
  rooms.runner->ended(Rooms::end_of(rooms.begin()));
  rooms.dispatch();
  EXPECT_EQ(rooms.handed(), "11 20 ");
}

TEST(Dispatcher, what_waits_in_the_pool_gives_way_to_what_is_more_urgent) {
  Rooms rooms({queue_with("a")}, node_with(1));
  rooms.sink->each = 3;
  for (const auto* id : {"1", "2", "3"}) rooms.push("a", id);
  rooms.adopt("a");
  rooms.dispatch();
  const auto running = rooms.begin();
  rooms.clock.now += kOverdue;
  rooms.push("a", "urgent", 0, 1);
  rooms.read("a");
  rooms.dispatch();
  EXPECT_EQ(rooms.handed(), "urgent 2 ");
}

// Its entry is found out as it is chosen.
TEST(Dispatcher, a_shard_that_has_gone_is_forgotten) {
  Rooms rooms({queue_with("a"), queue_with("b")}, node_with(5));
  rooms.push("a", "1");
  rooms.push("b", "2");
  rooms.adopt("a");
  rooms.adopt("b");
  rooms.dispatcher->look();
  rooms.host.remove(rooms.shard("a"));
  rooms.dispatch();
  EXPECT_EQ(rooms.handed(), "2 ");
}

}  // namespace dispatcher_test
}  // namespace ordo::runtime
