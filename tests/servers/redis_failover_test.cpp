// A master that dies, and its replica that takes over: what was confirmed by WAIT is there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "base/clock.h"
#include "store/redis/keys.h"
#include "support/redis_cluster.h"
#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_failover_test {

void patiently(const std::function<void()>& call) {
  while (failure_of(call) != "nothing was thrown") std::this_thread::yield();
}

/// Owns all shards of a queue: what it reads it commits as dead, so that it can be counted. A shard that it
/// loses it takes again, and reads it from the beginning.
class Node {
 public:
  Node(Store& store, const QueueDefinition& queue) : store_(store), log_(store.open_log()) {
    for (std::uint32_t index = 0; index < queue.shards; ++index) take({queue.number, index});
  }

  void work() {
    LogChunk chunk;
    failure_of([&] {
      chunk = log_->read(1000);
      if (chunk.rows.empty()) log_->wait(10ms);
    });
    std::map<ShardId, Delta> deltas;
    for (const auto& row : chunk.rows) {
      auto& delta = deltas[row.shard];
      delta.erase.push_back(row.seq);
      delta.dead.push_back({.bytes = std::string(chunk.body(row))});
    }
    for (auto& [shard, delta] : deltas) commit(shard, delta);
  }

 private:
  struct Owned {
    Lease lease;
    std::uint64_t batch = 0;
  };

  void take(ShardId shard) {
    patiently([&] {
      store_.join("n1", "");
      Claim claim{.shard = shard};
      for (const auto& row : store_.shards()) {
        if (row.shard == shard) claim.seen_owner = row.owner, claim.seen_token = row.token;
      }
      for (const auto& node : store_.nodes()) claim.seen_renewals = node.renewals;
      const auto grants = store_.acquire("n1", 1, std::span(&claim, 1));
      if (grants.empty()) throw Error(ErrorKind::unavailable, "somebody else was faster");
      owned_[shard] = {.lease = grants[0].lease, .batch = grants[0].batch};
    });
    log_->add(shard, 0, owned_[shard].lease);
  }

  void commit(ShardId shard, Delta& delta) {
    auto& owned = owned_[shard];
    delta.shard = shard;
    delta.lease = owned.lease;
    delta.batch = ++owned.batch;
    auto result = CommitResult::stale;
    patiently([&] { result = commit_and_wait(store_, {delta}).at(0); });
    if (result == CommitResult::stale) take(shard);
  }

  Store& store_;
  const std::unique_ptr<LogReader> log_;
  std::map<ShardId, Owned> owned_;
};

TEST(RedisFailover, loses_and_doubles_nothing_that_a_replica_has_confirmed) {
  TestCluster cluster(1);
  auto location = cluster.location();
  location.replicas = 1;
  RedisStore store(location);
  QueueDefinition queue;
  patiently([&] { queue = store.define("orders", 8); });
  Node node(store, queue);

  std::atomic<bool> stop = false;
  std::atomic<std::size_t> confirmed = 0;
  std::set<std::string> acknowledged;
  std::jthread producer([&] {
    for (std::uint32_t i = 0; !stop; ++i) {
      const auto body = std::to_string(i);
      failure_of([&] {
        append_and_wait(store, {{.shard = {queue.number, i % queue.shards}, .bytes = body}});
        acknowledged.insert(body);
        ++confirmed;
      });
    }
  });
  std::jthread worker([&] {
    while (!stop) node.work();
  });
  // On this thread: a server ends with the one that started it.
  const auto reach = [&](std::size_t count) {
    TestCluster::wait_until("so many pushes", [&] { return confirmed >= count; });
  };
  reach(200);
  const auto slot = cluster_slot(shard_key({queue.number, 0}, "log"));
  const auto old = cluster.master_of(slot);
  cluster.server(old).kill();
  TestCluster::wait_until("a new master", [&] { return cluster.master_of(slot) != cluster.size(); });
  cluster.server(old).start();  // to be the replica that confirms
  reach(confirmed + 200);
  stop = true;
  producer.join();
  worker.join();

  std::multiset<std::string> committed;
  const auto read_committed = [&] {
    committed.clear();
    for (const auto& row : store.dead(queue.number, 0, 1'000'000)) committed.insert(row.bytes);
  };
  const auto has_all = [&] {
    patiently(read_committed);
    return std::includes(committed.begin(), committed.end(), acknowledged.begin(), acknowledged.end());
  };
  for (const auto end = system_clock().steady() + 30s; !has_all() && system_clock().steady() < end;)
    node.work();
  for (const auto& body : acknowledged) EXPECT_EQ(committed.count(body), 1u) << body;
  for (const auto& body : committed) EXPECT_EQ(committed.count(body), 1u) << body;
}

/// A cluster of masters with a replica each, and a store that has asked all of them.
class RedisSetback : public testing::Test {
 protected:
  RedisSetback() {
    patiently([&] { store_.define("orders", 8); });
    patiently([&] { store_.shards(); });
    EXPECT_EQ(store_.setback_age(false), std::nullopt);
  }

  std::string fact(std::size_t place, std::string_view name) {
    return std::string(server_fact(cluster_.server(place).run({"INFO", "replication"}).text, name));
  }
  std::size_t master() const { return cluster_.master_of(cluster_slot(kNodesKey)); }
  std::size_t replica() { return (master() + TestCluster::kMasters) % cluster_.size(); }

  /// The replica of the master takes over, with all that it had.
  void fail_over() {
    const auto to = replica(), from = master();
    TestCluster::wait_until("it follows", [&] {
      return fact(to, "master_link_status") == "up" &&
             fact(to, "master_replid") == fact(master(), "master_replid");
    });
    TestCluster::wait_until("it has taken over", [&] {  // what is asked too early is given up
      cluster_.server(to).run({"CLUSTER", "FAILOVER"});
      return master() == to && fact(from, "role") == "slave";  // until it knows, it answers
    });
    patiently([&] { store_.shards(); });
  }

  TestCluster cluster_{1, {"--enable-debug-command", "yes"}};
  RedisStore store_{cluster_.location()};
};

// As it does with its first replica. Who is connected to it does not see that.
TEST_F(RedisSetback, is_seen_although_the_master_had_got_another_name) {
  const auto before = fact(master(), "master_replid");
  cluster_.server(master()).run({"DEBUG", "CHANGE-REPL-ID"});
  ASSERT_NE(fact(master(), "master_replid"), before);
  cluster_.server(master()).run({"CLIENT", "KILL", "TYPE", "replica"});  // it hears of it as it comes back
  RedisStore starter(cluster_.location());
  fail_over();
  EXPECT_EQ(store_.setbacks(), 1U);
  patiently([&] { starter.shards(); });
  EXPECT_TRUE(starter.setback_age(false)) << "whoever asks first";
}

TEST_F(RedisSetback, is_seen_when_a_server_takes_over_again) {
  fail_over();
  EXPECT_EQ(store_.setbacks(), 1U);
  fail_over();
  EXPECT_EQ(store_.setbacks(), 2U) << "the connection to it was never lost";
}

}  // namespace redis_failover_test
}  // namespace ordo::store::redis
