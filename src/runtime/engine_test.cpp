#include "runtime/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/fields.h"
#include "runtime/cluster_look.h"
#include "runtime/engine_harness.h"
#include "runtime/node_facts.h"
#include "runtime/node_watch.h"

namespace ordo::runtime {
namespace engine_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

QueueOptions queue_of(const std::string& name, std::uint32_t shards = 1) {
  QueueOptions options;
  options.name = name;
  options.shards = shards;
  return options;
}

// The keeper tells of a definition, claims by it, and the follower has read the shard, all within one tick.
TEST(Engine, a_grant_is_adopted_though_its_definition_came_in_the_same_moment) {
  EngineBench bench({queue_of("orders", 3)});
  bench.clock.on_look = [&] {
    bench.tell_definitions();
    bench.claim();
  };
  bench.engine->tick();
  bench.engine->tick();
  EXPECT_EQ(bench.engine->shards(), 3U);
  EXPECT_THAT(bench.refused, IsEmpty());
}

TEST(Engine, a_grant_of_a_queue_it_does_not_know_is_given_back_and_told_of) {
  EngineBench bench({queue_of("orders")});
  bench.claim();
  bench.tick();
  EXPECT_EQ(bench.engine->shards(), 0U);
  EXPECT_THAT(bench.refused,
              ElementsAre(Field(&store::Release::shard, domain::ShardId{bench.number("orders"), 0})));
  EXPECT_THAT(bench.log, ElementsAre(HasSubstr("given back")));
}

// A tick costs what is at work: 10,000 queues have 50,000 shards.
TEST(Engine, a_shard_without_jobs_sleeps_until_something_comes) {
  EngineBench bench({queue_of("orders", 300)});
  bench.start();
  bench.tick();
  EXPECT_EQ(bench.engine->shards(), 300U);
  EXPECT_EQ(bench.engine->awake(), 0U);
  const auto before = bench.engine->looks();
  bench.push("orders", "1", 250);
  bench.engine->tick();
  bench.tick();
  EXPECT_EQ(bench.engine->looks(), before + 1);
  EXPECT_EQ(bench.run_one(), "1");
  for (int i = 0; i < 3; ++i) {
    bench.clock.now += 1s;
    bench.tick();
  }
  const auto after = bench.engine->looks();
  bench.clock.now += 1h;
  bench.tick();
  EXPECT_EQ(bench.engine->looks(), after);
  EXPECT_EQ(bench.engine->find({bench.number("orders"), 250})->written.processed, 1U);
}

// Nor does it look at what waits, for a thread or for a pause to end.
TEST(Engine, a_tick_looks_at_the_shards_that_something_happens_to) {
  EngineBench bench({queue_of("orders", 300), queue_of("paused", 300)}, [] {
    NodeOptions node;
    node.threads = 2;
    return node;
  }());
  bench.store.set_paused("paused", true);
  bench.start();
  for (std::uint32_t shard = 0; shard < 300; ++shard) {
    for (const auto* queue : {"orders", "paused"}) {
      for (const auto* id : {"1", "2"}) bench.push(queue, id, shard);
    }
  }
  for (int i = 0; i < 4; ++i) bench.tick();
  ASSERT_EQ(bench.sink->waiting.size(), 2U);
  const auto looks = [&](const std::function<void()>& happens) {
    const auto before = bench.engine->looks();
    happens();
    bench.engine->tick();
    return bench.engine->looks() - before;
  };
  EXPECT_EQ(looks([] {}), 0U);
  EXPECT_EQ(looks([&] { bench.run_one(); }), 2U) << "the one that ended, and the one that starts";
  EXPECT_EQ(looks([] {}), 1U) << "the commit of the one that ended";
  EXPECT_EQ(looks([&] { bench.clock.now += 999ms, bench.lease->renewed(bench.clock.now); }), 0U);
  EXPECT_EQ(bench.sink->waiting.size(), 2U);
}

TEST(Engine, a_sleeping_shard_tells_now_and_then_how_far_its_log_is_read) {
  EngineBench bench({queue_of("busy", 1), queue_of("idle", 1)});
  bench.start();
  const domain::ShardId idle{bench.number("idle"), 0};
  const auto position = [&] {
    for (const auto& row : bench.store.shards()) {
      if (row.shard == idle) return row.position;
    }
    return store::Seq{0};
  };
  for (int i = 0; i < 25'000; ++i) bench.push("busy", "1");
  for (int i = 0; i < 5; ++i) {
    bench.clock.now += 1s;
    bench.tick();
  }
  EXPECT_GT(position(), 5'000U);
}

// A store may answer when the node is gone. The address sanitizer sees who is called then.
TEST(Engine, answers_that_come_after_its_end_reach_nobody) {
  EngineBench bench({queue_of("orders")});
  bench.start();
  bench.push("orders", "1");
  bench.tick();
  bench.store.late = true;
  EXPECT_EQ(bench.run_one(), "1");
  bench.tick();
  EXPECT_TRUE(bench.engine->find({bench.number("orders"), 0})->in_flight);
  bench.fetcher.reset();
  bench.follower.reset();
  bench.engine.reset();
  bench.store.answer();
}

TEST(Engine, a_commit_that_fails_is_logged_once_and_shown_until_one_succeeds) {
  EngineBench bench({queue_of("orders")});
  bench.start();
  bench.push("orders", "1");
  bench.tick();
  bench.store.failure = "the disk is full";
  const auto since = bench.clock.wall();
  bench.run_one();
  for (int i = 0; i < 5; ++i) {
    bench.tick();
    bench.clock.now += 1s;
  }
  EXPECT_THAT(bench.log, ElementsAre("cannot commit what has ended, trying again: the disk is full"));
  EXPECT_EQ(bench.engine->facts().commits, (TroubleFacts{"the disk is full", since, 5}));

  bench.store.failure = "the disk is gone";
  bench.tick();
  bench.tick();
  bench.clock.now += 61s;
  bench.tick();
  bench.store.failure.clear();
  bench.clock.now += 1s;
  bench.tick();
  EXPECT_THAT(bench.log,
              ElementsAre(HasSubstr("the disk is full"), HasSubstr("(failed 6 times): the disk is gone"),
                          HasSubstr("(failed 7 times): the disk is gone"),
                          "can commit what has ended again, after 7 failures"));
  EXPECT_EQ(bench.engine->facts().commits, TroubleFacts{});
}

// A damaged page, a record of somebody else's: it is that shard's trouble alone.
TEST(Engine, a_shard_that_the_store_refuses_holds_up_no_other) {
  EngineBench bench({queue_of("good", 2), queue_of("bad")});
  bench.start();
  const domain::ShardId bad{bench.number("bad"), 0};
  bench.store.refuses = {bad};
  for (int round = 0; round < 5; ++round) {
    for (const auto* id : {"1", "2"}) {
      bench.push("good", id, id[0] - '1');
      bench.push("bad", id);
    }
    for (int i = 0; i < 3; ++i) {
      bench.tick();
      while (!bench.sink->waiting.empty()) bench.run_one();
      bench.tick();
      bench.clock.now += 100ms;
    }
  }
  for (const auto& row : bench.store.shards()) {
    EXPECT_EQ(row.batch > 0, row.shard != bad) << row.shard.index;
    if (row.shard != bad) {
      EXPECT_EQ(bench.engine->find(row.shard)->written.processed, 5U);
    }
  }
  EXPECT_THAT(bench.log, ElementsAre(HasSubstr("cannot commit what has ended, trying again: it cannot"),
                                     HasSubstr("shard 0 of queue 'bad': it cannot be written")));
  bench.store.refuses.clear();
  bench.clock.now += 1s;
  bench.tick();
  bench.clock.now += 1s;
  bench.tick();
  EXPECT_THAT(bench.log.back(), HasSubstr("can commit what has ended again"));
  EXPECT_GT(bench.engine->find(bad)->written.processed, 0U);
}

TEST(Engine, a_commit_that_nobody_waits_for_any_more_is_no_trouble) {
  EngineBench bench({queue_of("orders")});
  bench.start();
  bench.push("orders", "1");
  bench.tick();
  bench.store.failure = "the disk is full";
  bench.run_one();
  bench.tick();
  ASSERT_EQ(bench.engine->facts().commits.error, "the disk is full");
  const domain::ShardId shard{bench.number("orders"), 0};
  store::LogChunk chunk;
  chunk.lost.emplace_back(shard, bench.engine->find(shard)->lease);
  bench.engine->inbox().post_chunk(std::move(chunk));
  bench.tick();
  ASSERT_EQ(bench.engine->find(shard), nullptr);
  for (int i = 0; i < 2; ++i) {
    bench.clock.now += 1s;
    bench.tick();
  }
  EXPECT_EQ(bench.engine->facts().commits, TroubleFacts{});
}

// After a failover to a server that lacks the last seconds: what ended in them is waiting again there, and an
// owner that has nothing more to write would never hear of it.
TEST(Engine, a_shard_whose_last_commit_the_store_has_lost_is_dropped_though_nothing_happens_to_it) {
  EngineBench bench({queue_of("orders", 2)});
  bench.start();
  bench.push("orders", "1");
  bench.push("orders", "2", 1);
  bench.tick();
  for (int i = 0; i < 2; ++i) bench.run_one();
  for (int i = 0; i < 3; ++i) {
    bench.clock.now += 1s;
    bench.tick();
  }
  const domain::ShardId lost{bench.number("orders"), 0}, kept{bench.number("orders"), 1};
  ASSERT_EQ(bench.engine->awake(), 0U);
  bench.store.forget_batch(lost);
  bench.engine->inbox().post([&](News& news) {
    news.cluster.emplace();
    news.cluster->losses = bench.lease->losses();
    news.cluster->setbacks = bench.store.setbacks();
  });
  bench.tick();
  EXPECT_EQ(bench.engine->find(lost), nullptr);
  EXPECT_NE(bench.engine->find(kept), nullptr);
  EXPECT_EQ(bench.engine->awake(), 0U);
}

// What comes first of an append may be read last.
TEST(Engine, nothing_of_a_shard_starts_before_an_append_is_read_whole) {
  EngineBench bench({queue_of("orders", 2)});
  bench.start();
  const auto read = [&](std::uint32_t shard, domain::Seq seq, std::optional<std::int32_t> priority,
                        bool more) {
    const auto name = std::to_string(seq);
    domain::Entry entry{.kind = "orders", .id = name};
    entry.options.priority = priority;
    store::LogChunk chunk;
    chunk.add({.seq = seq, .shard = {bench.number("orders"), shard}, .at = bench.clock.wall(), .more = more},
              domain::encode(entry));
    bench.engine->inbox().post_chunk(std::move(chunk));
    bench.engine->tick();
  };
  read(0, 1, std::nullopt, true);
  EXPECT_EQ(bench.handed(), "");
  read(1, 2, std::nullopt, false);
  EXPECT_EQ(bench.handed(), "2 ") << "another shard does not wait";
  read(0, 3, 1, false);
  EXPECT_EQ(bench.handed(), "2 3 1 ");
}

// ------------------------------------------------------------------------------------------------ unreadable

void append_bytes(EngineBench& bench, std::string bytes) {
  bench.store.append({{{bench.number("orders"), 0}, std::move(bytes)}}, [](const auto&) {});
}

std::string newer_entry(const std::string& id) {
  const auto fields =
      domain::number_field(domain::kNeeds, static_cast<std::uint16_t>(domain::format_level() + 1));
  return domain::encode(domain::Entry{.kind = "orders", .key = id, .id = id, .fields = fields});
}

std::string newer_state() {
  domain::JobState state;
  state.fields = domain::number_field(domain::kNeeds, static_cast<std::uint16_t>(domain::format_level() + 1));
  return domain::encode(state);
}

TEST(Engine, an_unreadable_entry_dies_and_is_told_of_and_all_else_goes_on) {
  EngineBench bench({queue_of("orders")});
  append_bytes(bench, "x");
  bench.push("orders", "1");
  bench.start();
  EXPECT_EQ(bench.run_one(), "1");
  bench.tick();
  append_bytes(bench, "");
  bench.push("orders", "2");
  bench.tick();
  EXPECT_EQ(bench.run_one(), "2");
  bench.tick();
  const auto dead = bench.store.dead(bench.number("orders"), 0, 10);
  ASSERT_EQ(dead.size(), 2U);
  EXPECT_EQ(domain::decode_dead(dead[0].bytes)->payload, "x");
  EXPECT_THAT(bench.log, ElementsAre(HasSubstr("ends too early"), HasSubstr("ends too early")));
}

TEST(Engine, a_shard_with_a_newer_entry_is_given_back_once_its_runs_have_ended) {
  EngineBench bench({queue_of("orders")});
  bench.push("orders", "1");
  bench.start();
  append_bytes(bench, newer_entry("2"));
  bench.push("orders", "3");
  bench.tick();
  EXPECT_THAT(bench.newer, ElementsAre(domain::ShardId{bench.number("orders"), 0}));
  EXPECT_EQ(bench.run_one(), "1");
  bench.tick();
  bench.tick();
  EXPECT_EQ(bench.run_one(), "-") << "nothing behind it starts";
  EXPECT_EQ(bench.released.size(), 1U);
  EXPECT_EQ(bench.store.dead(bench.number("orders"), 0, 10).size(), 0U);
}

TEST(Engine, a_shard_that_begins_with_what_is_newer_is_given_back_unread) {
  EngineBench bench({queue_of("orders")});
  append_bytes(bench, newer_entry("2"));
  bench.start();
  bench.tick();
  EXPECT_EQ(bench.newer.size(), 1U);
  EXPECT_EQ(bench.released.size(), 1U);
  EXPECT_EQ(bench.engine->shards(), 0U);
}

// What its next owner is to know: the node before it died.
TEST(Engine, a_shard_of_a_dead_node_is_given_back_as_it_was_granted_unless_all_was_read) {
  const auto given_back = [](std::vector<std::string> entries, const std::string& state = {}) {
    EngineBench bench({queue_of("orders")});
    const domain::ShardId shard{bench.number("orders"), 0};
    bench.store.join("dead", "");
    const auto grant = bench.store.acquire("dead", 5, std::vector<store::Claim>{{shard, {}, 0, 0}}).at(0);
    store::Delta delta{.shard = shard, .lease = grant.lease, .batch = 1};
    if (!state.empty()) delta.states.push_back({1, state});
    bench.store.commit({delta}, [](auto, auto) {});
    bench.store.kill_node("dead");
    bench.store.leave("dead", {});
    for (auto& entry : entries) append_bytes(bench, std::move(entry));
    bench.start();
    bench.tick();
    bench.engine->release_all();
    bench.tick();
    EXPECT_EQ(bench.engine->shards(), 0U);
    const auto& ends = bench.refused.empty() ? bench.released : bench.refused;
    EXPECT_EQ(ends.size(), 1U);
    return std::pair(ends.at(0).clean, ends.at(0).crashed);
  };
  const std::pair as_granted(false, true), clean(true, false);
  const auto plain = domain::encode(domain::Entry{.kind = "orders", .key = "1", .id = "1"});
  EXPECT_EQ(given_back({newer_entry("1")}), as_granted);
  EXPECT_EQ(given_back({plain, newer_entry("2")}), as_granted);
  EXPECT_EQ(given_back({plain}, newer_state()), as_granted);
  EXPECT_EQ(given_back({}), clean);
}

// Its log may be unreadable for as long as the node is there.
TEST(Engine, a_shard_that_is_not_read_yet_is_given_back_at_once_and_as_it_was_granted) {
  EngineBench bench({queue_of("orders")});
  bench.tell_definitions();
  bench.store.join("dead", "");
  const std::vector claims{store::Claim{{bench.number("orders"), 0}, {}, 0, 0}};
  ASSERT_EQ(bench.store.acquire("dead", 5, claims).size(), 1U);
  bench.store.leave("dead", {});
  const auto row = bench.store.shards().at(0);
  const auto grant =
      bench.store.acquire("me", 7, std::vector<store::Claim>{{row.shard, {}, row.token, 0}}).at(0);
  bench.engine->inbox().post([&](News& news) {
    news.log.emplace_back(LoadedShard{grant, {}, bench.lease->losses()});
  });
  bench.engine->tick();
  EXPECT_EQ(bench.engine->shards(), 1U);
  bench.engine->release_all();
  bench.engine->tick();
  EXPECT_THAT(bench.released, ElementsAre(grant.unused()));
  EXPECT_FALSE(grant.clean);
}

TEST(Engine, counts_that_cannot_be_read_start_anew_and_runs_of_others_are_waited_for) {
  EngineBench bench({queue_of("orders")});
  const domain::ShardId shard{bench.number("orders"), 0};
  auto grant = bench.store.acquire("me", 5, std::vector<store::Claim>{{shard, {}, 0, 0}}).at(0);
  store::Delta delta{.shard = shard, .lease = grant.lease, .batch = grant.batch + 1, .counts = "?"};
  bench.store.commit({delta}, [](auto, auto) {});
  bench.store.release(std::vector<store::Release>{{shard, grant.lease}});
  bench.push("orders", "1");
  bench.start();
  EXPECT_THAT(bench.log, ElementsAre(HasSubstr("start anew")));
  EXPECT_EQ(bench.run_one(), "-") << "who was lent it may run it still";
  bench.clock.now += bench.options.lease;
  bench.tick();
  EXPECT_EQ(bench.run_one(), "1");
  bench.tick();
  EXPECT_TRUE(domain::decode_counts(bench.store.shards().at(0).counts));
}

// Who was lent it may have any lease.
TEST(Engine, runs_behind_lost_counts_are_waited_for_as_long_as_any_lease_lasts) {
  EngineBench bench({queue_of("orders")});
  const domain::ShardId shard{bench.number("orders"), 0};
  auto grant = bench.store.acquire("me", 5, std::vector<store::Claim>{{shard, {}, 0, 0}}).at(0);
  store::Delta delta{.shard = shard, .lease = grant.lease, .batch = grant.batch + 1, .counts = "?"};
  bench.store.commit({delta}, [](auto, auto) {});
  bench.store.release(std::vector<store::Release>{{shard, grant.lease}});
  bench.push("orders", "1");
  ClusterLook look;
  NodeFacts slow, own;
  own.lease = bench.options.lease;
  slow.lease = 5 * bench.options.lease;
  look.nodes = {{.id = "me"}, {.id = "slow", .renewals = 1, .facts = encode(slow)}};
  NodeWatch(bench.clock).look(look, bench.clock.now, "me", own);
  bench.engine->inbox().post([&](News& news) {
    news.cluster = ClusterView{.self = "me", .members = look.members, .longest_lease = look.longest_lease};
  });
  bench.start();
  for (int i = 0; i < 9; ++i, bench.tick()) bench.clock.now += bench.options.lease / 2;
  bench.clock.now += bench.options.lease / 2 - 1ms;
  bench.tick();
  EXPECT_EQ(bench.run_one(), "-");
  bench.clock.now += 1ms;
  bench.tick();
  EXPECT_EQ(bench.run_one(), "1");
}

}  // namespace engine_test
}  // namespace ordo::runtime
