// Rules that the engine keeps together with its shards: who excludes whom, what of a stopped run counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_view_harness.h"
#include "runtime/cluster_look.h"
#include "runtime/engine_harness.h"
#include "store/test_log.h"

namespace ordo::runtime {
namespace engine_rules_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

QueueOptions queue_of(const std::string& name) {
  QueueOptions options;
  options.name = name;
  options.shards = 1;
  return options;
}

// The jobs of a node that has died. `suspects` crashed something before.
void inherit(EngineBench& bench, const std::string& queue, const std::vector<std::string>& ids,
             const std::set<std::string>& suspects) {
  auto& store = bench.store;
  const domain::ShardId shard{bench.number(queue), 0};
  store.join("dead", "");
  const std::vector claims{store::Claim{shard, {}, 0, 0}};
  const auto grant = store.acquire("dead", 9, claims).at(0);
  store::Delta delta;
  delta.shard = shard;
  delta.lease = grant.lease;
  delta.batch = grant.batch + 1;
  for (const auto& id : ids) {
    bench.push(queue, id, 0, {}, id);
    if (!suspects.contains(id)) continue;
    domain::JobState state;
    state.crashes = 1;
    state.last_crash = state.run_at = bench.clock.wall();
    const std::vector shards{shard};
    state.through = store::read_log(store, shards).rows.back().seq;
    delta.states.push_back({state.through, domain::encode(state)});
  }
  store.commit({delta}, [](const auto& results, const auto&) {
    ASSERT_EQ(results.at(0), store::CommitResult::applied);
  });
  store.kill_node("dead");
  bench.tell_definitions();
  const std::vector taken{store::Claim{shard, "dead", grant.lease.token, 0}};
  bench.follower->add(store.acquire("me", 7, taken), bench.lease->losses());
  bench.tick();
}

std::string id_of(const std::pair<int, Assignment>& waiting) { return waiting.second.jobs.front().id; }

// With a store that cannot be written they would be waited for without end.
TEST(Engine, runs_that_wait_for_their_marks_start_no_more_once_the_node_stops) {
  EngineBench bench({queue_of("orders")}, [] {
    NodeOptions options;
    options.threads = 1;
    return options;
  }());
  inherit(bench, "orders", {"1", "2"}, {});
  bench.store.failure = "no connection";
  ASSERT_EQ(bench.run_one(), "1");
  bench.tick();
  ASSERT_EQ(bench.engine->runs(), 1U);
  EXPECT_EQ(bench.engine->executing(), 0U);
  bench.engine->release_all();
  bench.store.failure.clear();
  for (int i = 0; i < 5; ++i) {
    bench.clock.now += 1s;
    bench.tick();
  }
  EXPECT_EQ(bench.handed(), "");
  EXPECT_EQ(bench.engine->shards(), 0U);
}

// Marked runs of a node, each of which overlaps the next: without turns the suspect would wait for all.
TEST(Engine, witnesses_that_come_and_come_let_a_suspect_start) {
  EngineBench bench({queue_of("orders")}, [] {
    NodeOptions options;
    options.threads = 2;
    return options;
  }());
  std::vector<std::string> ids{"suspect"};
  for (int i = 0; i < 20; ++i) ids.push_back("witness " + std::to_string(i));
  // The suspect comes first by its time, but two witnesses run by then.
  std::rotate(ids.begin(), ids.begin() + 1, ids.begin() + 3);
  inherit(bench, "orders", ids, {"suspect"});
  std::vector<std::string> started;
  for (int i = 0; i < 40 && !bench.sink->waiting.empty(); ++i) {
    started.push_back(id_of(bench.sink->waiting.front()));
    bench.run_one();
    bench.tick();
  }
  ASSERT_EQ(started.size(), ids.size());
  const auto at = std::ranges::find(started, "suspect") - started.begin();
  EXPECT_LE(at, 3);
}

TEST(Engine, suspects_that_come_and_come_let_a_witness_start) {
  EngineBench bench({queue_of("orders")}, [] {
    NodeOptions options;
    options.threads = 2;
    return options;
  }());
  std::vector<std::string> ids;
  std::set<std::string> suspects;
  for (int i = 0; i < 10; ++i) suspects.insert(ids.emplace_back("suspect " + std::to_string(i)));
  ids.emplace_back("witness");
  inherit(bench, "orders", ids, suspects);
  std::vector<std::string> started;
  for (int i = 0; i < 40 && !bench.sink->waiting.empty(); ++i) {
    started.push_back(id_of(bench.sink->waiting.front()));
    bench.run_one();
    bench.tick();
    EXPECT_LE(bench.sink->waiting.size(), 1U) << "a suspect runs alone";
  }
  ASSERT_EQ(started.size(), ids.size());
  EXPECT_LE(std::ranges::find(started, "witness") - started.begin(), 1);
}

// rules 3.6: the loneliness of a suspect is bounded.
TEST(Engine, a_suspect_that_runs_for_long_lets_others_start_beside_it_once_that_is_durable) {
  EngineBench bench({queue_of("orders")}, [] {
    NodeOptions options;
    options.threads = 4;
    return options;
  }());
  inherit(bench, "orders", {"s1", "s2", "w1", "w2"}, {"s1", "s2"});
  ASSERT_EQ(bench.handed(), "s1 ");
  const auto suspect = bench.begin();
  const auto wait = [&](Duration time) {
    bench.clock.now += time;
    bench.tick();
    bench.tick();
  };
  wait(9s);
  EXPECT_EQ(bench.handed(), "");
  const auto counts = bench.machine("orders").counts(bench.store.now());
  EXPECT_EQ(counts.blocked_by_suspect, 3U);
  EXPECT_THAT(counts.marked_runs.suspects, ElementsAre("s1"));
  EXPECT_THAT(counts.marked_runs.marked, ElementsAre("s1"));
  bench.store.late = true;
  wait(2s);
  EXPECT_EQ(bench.handed(), "") << "its mark is not shared yet";
  bench.store.answer();
  bench.store.late = false;
  wait(0s);
  EXPECT_EQ(bench.handed(), "w1 w2 ");
  EXPECT_EQ(bench.machine("orders").counts(bench.store.now()).blocked_by_suspect, 1U) << "the other one";
  bench.run_one();
  bench.run_one();
  wait(0s);
  EXPECT_EQ(bench.handed(), "") << "no suspect runs beside another";
  bench.end(suspect);
  wait(0s);
  EXPECT_EQ(bench.handed(), "s2 ");
}

// It had its turn before all others. Recalled, it would have it again, on the thread that the other needs.
TEST(Engine, nothing_overtakes_a_marked_run) {
  EngineBench bench({queue_of("first"), queue_of("second")}, [] {
    NodeOptions options;
    options.threads = 1;
    options.scheduler = SchedulerKind::strict;
    return options;
  }());
  inherit(bench, "second", {"witness"}, {});
  ASSERT_EQ(bench.handed(), "witness ");
  bench.claim();
  bench.push("first", "1");
  bench.clock.now += kOverdue;
  bench.tick();
  EXPECT_EQ(bench.handed(), "witness ");
  bench.run_one();
  bench.tick();
  EXPECT_EQ(bench.handed(), "1 ");
}

// Each look at the refused one would take back what the other queue has just been given.
TEST(Engine, a_job_that_a_throttler_may_refuse_takes_no_place_of_another_queue) {
  auto first = queue_of("first");
  first.throttler = [](const ThrottleQuestion&) { return ThrottleAnswer::skip(); };
  EngineBench bench({first, queue_of("second")}, [] {
    NodeOptions options;
    options.threads = 1;
    options.scheduler = SchedulerKind::strict;
    return options;
  }());
  bench.start();
  bench.push("second", "1");
  bench.tick();
  ASSERT_EQ(bench.handed(), "1 ");
  const auto run = bench.sink->waiting.front().second.no;
  bench.push("first", "refused");
  bench.clock.now += kOverdue;
  bench.tick();
  ASSERT_EQ(bench.handed(), "1 ");
  EXPECT_EQ(bench.sink->waiting.front().second.no, run) << "it was taken back";
}

TEST(Engine, a_suspect_that_a_throttler_refuses_holds_up_no_witness) {
  auto queue = queue_of("orders");
  queue.throttler = [](const ThrottleQuestion& question) {
    return question.candidate.id == "suspect" ? ThrottleAnswer::skip() : ThrottleAnswer::run();
  };
  EngineBench bench({queue}, [] {
    NodeOptions options;
    options.threads = 2;
    return options;
  }());
  inherit(bench, "orders", {"suspect", "w1", "w2", "w3"}, {"suspect"});
  EXPECT_EQ(bench.handed(), "w1 w2 ");
  bench.run_one();
  bench.tick();
  EXPECT_EQ(bench.handed(), "w2 ") << "it is the suspect's turn";
  bench.run_one();
  // The suspect is refused, w3 is chosen, and its mark is durable.
  for (int i = 0; i < 3; ++i) bench.engine->tick();
  EXPECT_EQ(bench.handed(), "w3 ");
}

TEST(Engine, a_throttler_is_asked_for_all_without_a_pause) {
  auto queue = queue_of("orders");
  queue.throttler = [](const ThrottleQuestion& question) {
    return question.candidate.id == "250" ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  EngineBench bench({queue});
  bench.start();
  for (int i = 1; i <= 250; ++i) bench.push("orders", std::to_string(i), 0, {}, std::to_string(i));
  while (bench.follower->tick() == Follower::Found::something) {
  }
  EXPECT_EQ(bench.engine->tick(), Duration{0});
  EXPECT_EQ(bench.engine->tick(), Duration{0});
  bench.engine->tick();
  EXPECT_EQ(bench.handed(), "250 ");
  int ticks = 0;
  while (bench.engine->tick() == Duration{0} && ticks < 10) ++ticks;
  EXPECT_LT(ticks, 5) << "nobody is asked again before a second is over";
}

TEST(Engine, what_was_reported_before_a_timeout_counts) {
  auto queue = queue_of("orders");
  queue.batch_size = 3;
  queue.timeout = 1s;
  EngineBench bench({queue});
  bench.start();
  for (const auto* id : {"done", "failed", "neither"}) bench.push("orders", id, 0, {}, id);
  bench.tick();
  ASSERT_EQ(bench.sink->waiting.size(), 1U);
  const auto run = bench.sink->waiting.front().second;
  run.control->started_us = bench.clock.now.count();
  bench.clock.now += 2s;
  bench.tick();
  EXPECT_EQ(run.control->reason.load(), StopReason::timeout);
  bench.engine->inbox().post([&](News& news) {
    news.ends.push_back({run.shard,
                         run.epoch,
                         run.no,
                         {Outcome::done(), Outcome::fail("its own"), Outcome::put_back()},
                         {true, true, false}});
  });
  bench.tick();
  const auto& machine = bench.engine->find({bench.number("orders"), 0})->machine;
  std::map<std::string, std::string> errors;
  for (const auto& job : domain::ShardView::of(machine)) errors[job.id] = job.error;
  EXPECT_THAT(errors, ElementsAre(::testing::Pair("failed", "its own"),
                                  ::testing::Pair("neither", HasSubstr("longer than its timeout"))));
}

TEST(Engine, without_a_timeout_it_waits_and_does_not_spin) {
  auto queue = queue_of("orders");
  queue.timeout = Duration::max();
  EngineBench bench({queue});
  bench.start();
  bench.push("orders", "1", 0, {}, "1");
  bench.tick();
  const auto run = std::move(bench.sink->waiting.front().second);
  bench.sink->waiting.pop_front();
  run.control->started_us = bench.clock.now.count();
  bench.clock.now += 30s;
  bench.tick();
  EXPECT_GT(bench.engine->tick(), 500ms);
  EXPECT_EQ(run.control->reason.load(), StopReason::none);
}

TEST(Engine, a_payload_that_is_gone_from_the_store_dies_and_one_that_cannot_be_read_waits) {
  NodeOptions options;
  options.payload_cache = 0;
  EngineBench bench({queue_of("orders")}, options);
  bench.start();
  bench.store.fetch_failure = "away";
  const std::vector shards{domain::ShardId{bench.number("orders"), 0}};
  domain::Entry entry;
  entry.kind = "orders";
  entry.id = entry.key = "1";
  entry.payload = "bytes";
  bench.append(shards[0], entry);
  bench.tick();
  EXPECT_TRUE(bench.sink->waiting.empty());
  bench.store.fetch_failure.clear();
  bench.store.lost.insert(store::read_log(bench.store, shards).rows.back().seq);
  for (int i = 0; i < 6; ++i) {
    bench.clock.now += 2s;
    bench.tick();
  }
  EXPECT_TRUE(bench.sink->waiting.empty());
  const auto dead = bench.store.dead(bench.number("orders"), 0, 10);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_THAT(domain::decode_dead(dead[0].bytes)->error, HasSubstr("gone from the store"));
  EXPECT_EQ(bench.engine->find(shards[0])->machine.jobs(), 0U);
  EXPECT_THAT(bench.log,
              ElementsAre(HasSubstr("gone from the store"), HasSubstr("job '1' of queue 'orders' has died")));
}

class DeadSet {
 public:
  explicit DeadSet(const QueueOptions& queue) : bench({queue}), max_dead_(queue.max_dead) { bench.start(); }

  void kill_jobs(std::uint32_t shard, int count) {
    for (int i = 0; i < count; ++i) {
      const auto id = std::to_string(shard) + "-" + std::to_string(++ids_);
      bench.push("orders", id, shard, {}, id);
      bench.tick();
      bench.run_one(Outcome::fail("no"));
      bench.tick();
    }
  }
  // As the keeper tells what the store shows.
  ClusterView count() {
    ClusterView news;
    news.self = "me";
    news.losses = bench.lease->losses();
    news.look = ++looks_;
    news.asked = bench.clock.steady();
    ClusterLook look;
    look.queues = bench.store.queues();
    look.read(bench.store);
    look.find_dead_to_go(bench.store, {{.name = "orders", .max_dead = max_dead_}});
    news.dead = look.dead_rows;
    news.dead_to_go = look.dead_to_go;
    return news;
  }
  void tell(ClusterView news) {
    bench.engine->inbox().post([&](News& all) { all.cluster = std::move(news); });
    pass(2s);
  }
  void look() { tell(count()); }
  void pass(Duration time) {
    bench.clock.now += time;
    bench.tick();
    bench.tick();
  }
  std::vector<std::uint64_t> dead() {
    std::vector<std::uint64_t> counts;
    for (const auto& row : bench.store.shards()) counts.push_back(row.dead);
    return counts;
  }

  EngineBench bench;

 private:
  std::uint64_t max_dead_;
  int ids_ = 0;
  std::uint64_t looks_ = 0;
};

TEST(Engine, the_oldest_dead_of_a_queue_go_whichever_shards_they_are_in) {
  auto queue = queue_of("orders");
  queue.shards = 5;
  queue.max_retries = 0;
  queue.max_dead = 3;
  DeadSet dead(queue);
  for (std::uint32_t shard = 0; shard < 5; ++shard) {
    dead.kill_jobs(shard, 1);
    dead.pass(2s);
  }
  dead.look();
  EXPECT_THAT(dead.dead(), ElementsAre(0, 0, 1, 1, 1)) << "there are more shards than may be dead";
  dead.look();
  EXPECT_THAT(dead.dead(), ElementsAre(0, 0, 1, 1, 1));
  dead.kill_jobs(0, 1);
  dead.look();
  EXPECT_THAT(dead.dead(), ElementsAre(1, 0, 0, 1, 1));
  EXPECT_EQ(dead.bench.store.shards().at(2).dead_trimmed, 1U);
}

TEST(Engine, what_dies_while_the_dead_are_counted_is_not_taken_for_one_of_the_oldest) {
  auto queue = queue_of("orders");
  queue.shards = 2;
  queue.max_retries = 0;
  queue.max_dead = 2;
  DeadSet dead(queue);
  dead.kill_jobs(0, 1);
  dead.kill_jobs(1, 2);
  auto news = dead.count();
  dead.pass(1s);
  dead.kill_jobs(0, 2);
  EXPECT_THAT(dead.dead(), ElementsAre(2, 2));
  dead.tell(std::move(news));
  EXPECT_THAT(dead.dead(), ElementsAre(2, 2)) << "one of three was to go, and a new one has pushed it out";
  dead.look();
  EXPECT_THAT(dead.dead(), ElementsAre(2, 0));
}

TEST(Engine, a_shard_with_the_newest_dead_may_have_all_their_room) {
  auto queue = queue_of("orders");
  queue.shards = 2;
  queue.max_retries = 0;
  queue.max_dead = 4;
  DeadSet dead(queue);
  dead.kill_jobs(0, 6);
  EXPECT_THAT(dead.dead(), ElementsAre(4, 0));
  dead.look();
  dead.kill_jobs(1, 1);
  dead.look();
  EXPECT_THAT(dead.dead(), ElementsAre(3, 1)) << "the older ones give way, though nothing dies there";
  dead.kill_jobs(1, 5);
  dead.look();
  dead.look();
  EXPECT_THAT(dead.dead(), ElementsAre(0, 4));
  EXPECT_EQ(dead.bench.store.shards().at(0).dead_trimmed, 6U);
}

TEST(Engine, the_dead_become_too_old_where_nothing_dies_any_more) {
  auto queue = queue_of("orders");
  queue.max_retries = 0;
  queue.dead_ttl = 1h;
  DeadSet dead(queue);
  dead.kill_jobs(0, 2);
  dead.look();
  dead.pass(50min);
  EXPECT_THAT(dead.dead(), ElementsAre(2));
  dead.pass(15min);
  EXPECT_THAT(dead.dead(), ElementsAre(0));
  EXPECT_EQ(dead.bench.store.shards().at(0).dead_trimmed, 2U);
}

}  // namespace engine_rules_test
}  // namespace ordo::runtime
