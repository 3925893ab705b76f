// Which runs an engine lends, and which it takes from others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"
#include "store/test_log.h"

namespace ordo::runtime {
namespace engine_lend_test {

using namespace std::chrono_literals;
using domain::Risk;
using ::testing::ElementsAre;

QueueOptions queue_of(Affinity affinity) {
  QueueOptions options;
  options.name = "orders";
  options.shards = 1;
  options.affinity = affinity;
  return options;
}

/// "me" runs jobs of kind `orders`, "other" those of kind `refund`, too.
class EngineLend : public testing::Test {
 protected:
  void start(Affinity affinity = Affinity::key, NodeOptions node = {}) {
    bench.emplace(std::vector{queue_of(affinity)}, node);
    bench->store.define("orders", 1);
  }

  void push(const std::string& kind, const std::string& id) {
    domain::Entry entry;
    entry.kind = kind;
    entry.id = entry.key = id;
    bench->append(shard(), entry);
  }
  domain::ShardId shard() { return {bench->number("orders"), 0}; }
  domain::Shard& machine() { return bench->machine("orders"); }

  /// The jobs were there when a node died, and have crashed `crashes` times.
  void inherit(std::uint32_t crashes) {
    auto& store = bench->store;
    store.join("dead", "");
    const std::vector claims{store::Claim{shard(), {}, 0, 0}};
    const auto grant = store.acquire("dead", 9, claims).at(0);
    store::Delta delta;
    delta.shard = shard();
    delta.lease = grant.lease;
    delta.batch = grant.batch + 1;
    const std::vector shards{shard()};
    for (const auto& row : store::read_log(store, shards).rows) {
      domain::JobState state;
      state.crashes = crashes;
      state.last_crash = state.run_at = bench->clock.wall();
      state.through = row.seq;
      delta.states.push_back({row.seq, domain::encode(state)});
    }
    store.commit({delta}, [](const auto&, const auto&) {});
    store.kill_node("dead");
    bench->tell_definitions();
    const std::vector taken{store::Claim{shard(), "dead", grant.lease.token, 0}};
    bench->follower->add(store.acquire("me", 7, taken), bench->lease->losses());
    bench->tick();
  }

  void meet(std::vector<domain::LentRun> borrowed = {}) {
    ClusterView news;
    news.self = "me";
    Member other{.id = "other", .session = 3, .rooms = {{5, {"orders"}}}};
    other.kinds["orders"] = {"orders", "refund"};
    news.members = {{.id = "me"}, other};
    news.losses = bench->lease->losses();
    for (auto& run : borrowed) news.borrowed.emplace_back(run.name.shard, std::move(run));
    bench->engine->inbox().post([&](News& all) { all.cluster = std::move(news); });
    bench->tick();
    bench->tick();
  }

  /// The ids of the jobs that are lent.
  std::vector<std::string> lent() {
    std::vector<std::string> ids;
    const std::vector shards{shard()};
    const auto log = store::read_log(bench->store, shards);
    for (const auto& run : machine().counts(bench->store.now()).lent) {
      for (const auto& job : run.jobs) {
        for (const auto& row : log.rows) {
          if (row.seq == job.pieces[0].first) ids.emplace_back(domain::decode_entry(log.body(row))->id);
        }
      }
    }
    return ids;
  }
  void end_lent() {
    const auto run = machine().counts(bench->store.now()).lent.at(0);
    const auto bytes = domain::encode(
        domain::LentEnd{run.name, false, std::vector<domain::JobEnd>(run.jobs.size(), {Outcome::done(), 0})});
    domain::Entry entry;
    entry.type = domain::EntryType::ended;
    entry.id = "other";
    entry.payload = bytes;
    bench->append(shard(), entry);
    bench->tick();
    bench->tick();
  }

  std::optional<EngineBench> bench;
};

TEST_F(EngineLend, suspects_that_cannot_run_here_are_lent_one_by_one) {
  start();
  push("refund", "1");
  push("refund", "2");
  inherit(1);
  meet();
  EXPECT_THAT(lent(), ElementsAre("1"));
  end_lent();
  EXPECT_THAT(lent(), ElementsAre("2"));
  end_lent();
  EXPECT_EQ(machine().jobs(), 0u);
}

TEST_F(EngineLend, a_suspect_that_is_lent_for_long_is_listed_as_shared) {
  start();
  push("refund", "1");
  inherit(1);
  meet();
  ASSERT_THAT(lent(), ElementsAre("1"));
  for (const bool is_shared : {false, true}) {
    bench->clock.now += 9s;
    bench->tick();
    bench->tick();
    EXPECT_EQ(machine().counts(bench->store.now()).lent.at(0).shares, is_shared);
  }
}

TEST_F(EngineLend, a_suspect_that_can_run_here_waits_for_its_turn) {
  NodeOptions node;
  node.threads = 1;
  start(Affinity::key, node);
  push("orders", "1");
  push("orders", "2");
  inherit(1);
  EXPECT_EQ(bench->handed(), "1 ");
  bench->clock.now += 1s;
  meet();
  bench->clock.now += 1s;
  meet();
  EXPECT_TRUE(lent().empty());
}

TEST_F(EngineLend, a_quiet_node_lends_its_suspects) {
  start();
  push("orders", "1");
  bench->engine->quiet();
  inherit(1);
  meet();
  EXPECT_THAT(lent(), ElementsAre("1"));
}

TEST_F(EngineLend, a_shard_with_its_own_thread_lends_what_cannot_run_here_one_by_one) {
  start(Affinity::shard);
  bench->start();
  for (const auto* id : {"1", "2"}) push("refund", id);
  bench->tick();
  meet();
  EXPECT_THAT(lent(), ElementsAre("1"));
  push("orders", "3");
  bench->tick();
  EXPECT_EQ(bench->handed(), "") << "one batch of a shard at a time";
  end_lent();
  EXPECT_TRUE(lent().empty());
  EXPECT_EQ(bench->run_one(), "3");
  bench->tick();
  EXPECT_THAT(lent(), ElementsAre("2"));
  end_lent();
  EXPECT_EQ(machine().jobs(), 0u);
}

TEST_F(EngineLend, a_shard_with_its_own_thread_lends_nothing_that_can_run_here) {
  NodeOptions node;
  node.threads = 1;
  start(Affinity::shard, node);
  bench->start();
  for (const auto* id : {"1", "2"}) push("orders", id);
  bench->tick();
  for (int i = 0; i < 3; ++i) {
    bench->clock.now += 1s;
    meet();
  }
  EXPECT_TRUE(lent().empty());
  EXPECT_EQ(bench->handed(), "1 ");
}

class EngineBorrow : public EngineLend {
 protected:
  /// A run of another owner's shard, as it lists it.
  domain::LentRun run_of(Risk risk, std::uint32_t index) {
    domain::Entry entry;
    entry.kind = "orders";
    entry.id = entry.key = "lent";
    const domain::ShardId at{bench->number("orders"), index};
    bench->append(at, entry);
    const std::vector shards{at};
    domain::LentRun run;
    run.name = {at, 5, 1};
    run.node = "me";
    run.risk = static_cast<std::uint8_t>(risk);
    run.kind = "orders";
    run.timeout = 1h;
    run.jobs.push_back({{{store::read_log(bench->store, shards).rows.back().seq, 1.0}}, -1, 0});
    return run;
  }
  std::optional<domain::LentEnd> told(std::uint32_t index) {
    const std::vector shards{domain::ShardId{bench->number("orders"), index}};
    const auto log = store::read_log(bench->store, shards);
    const auto entry = domain::decode_entry(log.body(log.rows.back()));
    if (entry->type != domain::EntryType::ended) return std::nullopt;
    return *domain::decode_lent_end(entry->payload);
  }
  void claim_first() {
    bench.emplace(std::vector{[] {
      auto options = queue_of(Affinity::key);
      options.shards = 5;
      return options;
    }()});
    bench->tell_definitions();
    push("orders", "own");
  }
};

TEST_F(EngineBorrow, a_suspect_runs_beside_no_marked_run) {
  claim_first();
  inherit(0);
  EXPECT_EQ(bench->handed(), "own ");
  const auto suspect = run_of(Risk::suspect, 1);
  meet({suspect});
  ASSERT_TRUE(told(1));
  EXPECT_TRUE(told(1)->declined);
  EXPECT_TRUE(told(1)->ends.at(0).outcome.is_not_started()) << "it holds no key";
  EXPECT_EQ(bench->handed(), "own ");
}

TEST_F(EngineBorrow, others_start_beside_a_suspect_once_its_owner_says_that_its_mark_is_shared) {
  claim_first();
  bench->claim([](domain::ShardId id) { return id.index == 0; });
  bench->tick();
  bench->run_one();
  bench->tick();
  auto suspect = run_of(Risk::suspect, 1);
  meet({suspect});
  ASSERT_EQ(bench->handed(), "lent ");
  const auto run = bench->begin();
  bench->clock.now += 20s;
  const auto early = run_of(Risk::witness, 2);
  meet({suspect, early});
  EXPECT_EQ(bench->handed(), "");
  suspect.shares = true;
  meet({suspect, early});
  const auto witness = run_of(Risk::witness, 3);
  const auto other = run_of(Risk::suspect, 4);
  meet({suspect, early, witness, other});
  EXPECT_EQ(bench->handed(), "lent ");
  EXPECT_FALSE(told(3));
  EXPECT_TRUE(told(4)->declined);
}

TEST_F(EngineBorrow, a_suspect_runs_alone) {
  claim_first();
  bench->claim([](domain::ShardId id) { return id.index == 0; });
  bench->tick();
  bench->run_one();
  bench->tick();
  const auto suspect = run_of(Risk::suspect, 1);
  meet({suspect});
  EXPECT_EQ(bench->handed(), "lent ");
  EXPECT_EQ(bench->engine->rooms().at(0).threads, 0u);
  const auto witness = run_of(Risk::witness, 2);
  meet({suspect, witness});
  EXPECT_EQ(bench->handed(), "lent ");
  EXPECT_TRUE(told(2)->declined);
  bench->run_one();
  bench->tick();
  bench->tick();
  EXPECT_EQ(told(1)->ends.at(0).outcome.kind, Outcome::Kind::done);
  EXPECT_GT(bench->engine->rooms().at(0).threads, 0u);
}

TEST_F(EngineBorrow, an_end_that_cannot_be_told_is_waited_for_as_long_as_the_leases_last) {
  claim_first();
  bench->claim([](domain::ShardId id) { return id.index == 0; });
  bench->tick();
  bench->run_one();
  bench->tick();
  meet({run_of(Risk::normal, 1)});
  ASSERT_EQ(bench->handed(), "lent ");
  bench->store.late = true;
  bench->run_one();
  bench->tick();
  EXPECT_EQ(bench->engine->executing(), 1U);
  bench->clock.now += 1h;
  EXPECT_EQ(bench->engine->executing(), 0U) << "its owner takes it back";
  bench->store.answer();
}

TEST_F(EngineBorrow, the_end_of_a_run_fits_into_an_entry) {
  claim_first();
  bench->claim([](domain::ShardId id) { return id.index == 0; });
  bench->tick();
  bench->run_one();
  auto run = run_of(Risk::normal, 1);
  run.jobs.resize(2000, run.jobs[0]);
  meet({run});
  bench->run_one(Outcome::fail(std::string(16U << 10, 'e')));
  bench->tick();
  bench->tick();
  ASSERT_TRUE(told(1));
  EXPECT_EQ(told(1)->ends.size(), 2000u);
  EXPECT_EQ(told(1)->ends.at(0).outcome.text.size(), (16U << 20) / 2000);
}

class EngineStop : public EngineLend {
 protected:
  EngineStop() {
    NodeOptions node;
    node.payload_cache = 0;
    start(Affinity::key, node);
    bench->start();
    domain::Entry entry;
    entry.kind = "orders";
    entry.id = entry.key = "1";
    entry.payload = "bytes";
    bench->append(shard(), entry);
    half_tick();
    EXPECT_EQ(machine().running(), 1u) << "it waits for its payload";
  }
  /// No payload is fetched.
  void half_tick() {
    while (bench->follower->tick() == Follower::Found::something) {
    }
    bench->engine->tick();
  }
};

TEST_F(EngineStop, a_cancel_is_not_lost_on_a_run_that_waits_for_its_payloads) {
  domain::Entry cancel;
  cancel.type = domain::EntryType::cancel;
  cancel.kind = "orders";
  cancel.id = "1";
  bench->append(shard(), cancel);
  half_tick();
  bench->tick();
  bench->tick();
  EXPECT_EQ(bench->handed(), "");
  EXPECT_EQ(machine().jobs(), 0u);
}

TEST_F(EngineStop, a_run_that_waits_for_its_payloads_does_not_start_when_its_node_stops) {
  bench->engine->quiet();
  bench->engine->stop_runs(StopReason::node_stops);
  bench->tick();
  EXPECT_EQ(bench->handed(), "");
  EXPECT_EQ(machine().running(), 0u);
  EXPECT_EQ(machine().counts(bench->store.now()).due, 1u);
}

}  // namespace engine_lend_test
}  // namespace ordo::runtime
