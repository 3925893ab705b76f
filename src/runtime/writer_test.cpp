// The shards of a node and what they write, without anything that starts or reads by itself.
#include "runtime/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"
#include "store/test_log.h"

namespace ordo::runtime {
namespace writer_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class WriterTest : public testing::Test {
 protected:
  WriterTest() {
    bench.store.define("orders", 1);
    queues.serve(RoomBench::queue_of("orders"), 0);
    queues.define(bench.store.queues());
    bench.store.join("me", "");
    bench.lease.renewed(bench.clock.now);
    bench.scope.now = bench.store.now();
  }
  domain::ShardId shard() { return {bench.store.queues().find("orders")->number, 0}; }
  /// Grants the shard to this node, which has read nothing of it yet.
  void adopt() {
    const std::vector claims{store::Claim{shard(), {}, 0, 0}};
    host.adopt({bench.store.acquire("me", 7, claims).at(0), {}, bench.lease.losses()});
  }
  void push(const std::string& id, Duration later = {}) {
    domain::Entry entry;
    entry.kind = "orders";
    entry.id = id;
    if (later > Duration{}) entry.run_at = bench.scope.now + later;
    bench.store.append({{shard(), domain::encode(entry)}}, [](const auto&) {});
  }
  void read() {
    const std::vector shards{shard()};
    auto chunk = store::read_log(bench.store, shards, host.find(shard())->machine.through());
    chunk.caught_up.push_back(shard());
    host.apply(chunk);
  }
  void run_all() {
    auto& owned = *host.owned(shard());
    domain::Run run;
    while (owned.machine.take(bench.scope.now, {}, run) != domain::Shard::Taken::none) {
      host.ended(owned, run.no, std::vector<Outcome>(run.jobs.size(), Outcome::done()));
    }
  }
  /// What came back from the store since the last call.
  std::vector<Writer::Settled> settle() {
    std::vector<Writer::Settled> all;
    for (const auto& end : bench.scope.inbox->take().commits) all.push_back(writer.settle(end));
    return all;
  }

  RoomBench bench;
  QueueTable queues{bench.scope};
  CodeTable codes{bench.scope};
  ShardHost host{bench.scope, queues, codes};
  Writer writer{bench.scope, host};
};

TEST_F(WriterTest, sends_a_delta_of_unknown_outcome_again_with_its_batch_number) {
  push("1");
  adopt();
  read();
  run_all();
  bench.store.failure = "no connection";
  writer.flush();
  const auto batch = host.find(shard())->batch;
  EXPECT_THAT(settle().at(0).durable, ElementsAre());
  EXPECT_EQ(writer.trouble().error, "no connection");
  writer.flush();
  EXPECT_TRUE(settle().empty()) << "not at once";
  bench.store.failure.clear();
  bench.clock.now += writer.next_retry();
  writer.flush();
  EXPECT_THAT(settle().at(0).durable, ElementsAre(host.owned(shard())));
  EXPECT_EQ(host.find(shard())->batch, batch);
  EXPECT_EQ(writer.trouble().error, "");
  const std::vector shards{shard()};
  EXPECT_TRUE(store::read_log(bench.store, shards).rows.empty());
}

TEST_F(WriterTest, one_delta_of_a_shard_is_under_way) {
  push("1");
  adopt();
  read();
  run_all();
  bench.store.late = true;
  writer.flush();
  push("2");
  read();
  run_all();
  writer.flush();
  const auto batch = host.find(shard())->batch;
  bench.store.answer();
  settle();
  writer.flush();
  EXPECT_EQ(host.find(shard())->batch, batch + 1);
}

TEST_F(WriterTest, a_shard_with_another_owner_is_stale) {
  push("1");
  adopt();
  read();
  run_all();
  const std::vector released{store::Release{shard(), host.find(shard())->lease}};
  bench.store.release(released);
  writer.flush();
  EXPECT_THAT(settle().at(0).stale, ElementsAre(shard()));
}

TEST_F(WriterTest, a_shard_without_jobs_sleeps_until_it_is_asked_for) {
  adopt();
  EXPECT_EQ(host.awake().size(), 1u);
  read();
  const auto put_to_sleep = [&] {
    host.put_to_sleep([&](OwnedShard& owned) { return writer.wakes_at(owned); });
    return host.awake().empty();
  };
  EXPECT_TRUE(put_to_sleep());
  EXPECT_NE(host.find(shard()), nullptr);
  EXPECT_TRUE(put_to_sleep()) << "who only looks wakes nobody";
  push("1");
  read();
  EXPECT_FALSE(put_to_sleep());
}

TEST_F(WriterTest, a_shard_with_jobs_for_later_sleeps_until_the_first_is_due) {
  adopt();
  push("1", 1h);
  push("2", 1min);
  read();
  const auto tick = [&] {
    bench.scope.now = bench.store.now();
    host.wake_due();
    const auto is_awake = !host.awake().empty();
    for (const auto& [id, owned] : host.awake()) owned->machine.due_since(bench.scope.now, {});
    writer.flush();
    settle();
    host.put_to_sleep([&](OwnedShard& owned) { return writer.wakes_at(owned); });
    return is_awake;
  };
  EXPECT_TRUE(tick()) << "it tells how many wait";
  EXPECT_FALSE(tick());
  EXPECT_EQ(host.next_due(), 1min);
  bench.clock.now += 59s;
  EXPECT_FALSE(tick());
  push("3", 1s);
  read();
  bench.lease.renewed(bench.clock.now);
  EXPECT_TRUE(tick()) << "there is news of it";
  bench.clock.now += 1s;
  EXPECT_TRUE(tick());
  bench.clock.now += 1s;
  EXPECT_TRUE(tick()) << "what is due is counted";
  bench.clock.now += 999ms;
  EXPECT_FALSE(tick()) << "it waits for a thread";
}

TEST_F(WriterTest, a_shard_that_is_lost_in_its_sleep_is_not_woken) {
  adopt();
  push("1", 1min);
  read();
  for (int i = 0; i < 3; ++i) {
    writer.flush();
    settle();
    host.put_to_sleep([&](OwnedShard& owned) { return writer.wakes_at(owned); });
  }
  EXPECT_TRUE(host.awake().empty());
  host.remove(shard());
  bench.clock.now += 1min;
  bench.scope.now = bench.store.now();
  host.wake_due();
  EXPECT_TRUE(host.awake().empty());
}

TEST_F(WriterTest, a_grant_that_is_of_no_use_is_given_back_and_an_old_one_ignored) {
  const std::vector claims{store::Claim{shard(), {}, 0, 0}};
  const auto grant = bench.store.acquire("me", 7, claims).at(0);
  bench.lease.lose();
  host.adopt({grant, {}, 0});
  EXPECT_EQ(host.size(), 0u);
  EXPECT_TRUE(bench.refused.empty()) << "the leases have ended since";
  queues.define({});
  const auto before = host.changes();
  host.adopt({grant, {}, bench.lease.losses()});
  EXPECT_EQ(host.size(), 0u);
  EXPECT_EQ(host.changes(), before);
  EXPECT_THAT(bench.refused, ElementsAre(grant.unused()));
}

}  // namespace writer_test
}  // namespace ordo::runtime
