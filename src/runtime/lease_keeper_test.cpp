#include "runtime/lease_keeper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "store/memory/memory_store.h"

namespace ordo::runtime {
namespace {

using namespace std::chrono_literals;

class HandClock final : public Clock {
 public:
  Time wall() override { return Time{std::chrono::hours{24 * 20000}} + now; }
  Duration steady() override { return now; }

  Duration now = 1h;
};

/// A keeper whose engine lets go of a shard as soon as it is asked to.
class Node {
 public:
  Node(const std::string& id, store::Store& store, Clock& clock)
      : lease_(clock, options_.lease),
        keeper_(options_, id, facts(), {{"orders", 4}}, store, clock, Random(1), lease_, hooks()) {
    keeper_.join();
  }

  void tick() { keeper_.tick(); }
  std::size_t shards() const { return held_.size(); }
  std::vector<domain::ShardId> take_given() { return std::exchange(given_, {}); }

  void stop() {
    keeper_.stop_claiming();
    keeper_.tick();
    keeper_.tick();
    keeper_.leave();
  }

 private:
  static NodeFacts facts() {
    NodeFacts facts;
    facts.kinds = {{"orders", "orders"}};
    return facts;
  }
  KeeperHooks hooks() {
    KeeperHooks hooks;
    hooks.granted = [this](const std::vector<store::Grant>& grants) {
      for (const auto& grant : grants) held_[grant.shard] = grant.lease;
    };
    hooks.give_back = [this](const std::vector<domain::ShardId>& shards) {
      for (const auto shard : shards) {
        const auto lease = held_.extract(shard);
        if (lease.empty()) continue;
        given_.push_back(shard);
        keeper_.released(shard, lease.mapped());
      }
    };
    hooks.definitions = [](const auto&) {};
    hooks.kinds_elsewhere = [](const auto&) {};
    hooks.may_claim = [] { return true; };
    return hooks;
  }

  NodeOptions options_;
  LeaseClock lease_;
  std::map<domain::ShardId, store::Lease> held_;
  std::vector<domain::ShardId> given_;
  LeaseKeeper keeper_;
};

class LeaseKeeperTest : public testing::Test {
 protected:
  std::unique_ptr<Node> start(const std::string& id) { return std::make_unique<Node>(id, store_, clock_); }

  void run(std::initializer_list<Node*> nodes, Duration time) {
    for (const auto end = clock_.now + time; clock_.now < end; clock_.now += 500ms) {
      for (auto* node : nodes) node->tick();
    }
  }

  HandClock clock_;
  store::memory::MemoryStore store_{clock_};
};

TEST_F(LeaseKeeperTest, a_node_that_joins_gets_its_part_at_once) {
  const auto one = start("n1");
  run({one.get()}, 1s);
  EXPECT_EQ(one->shards(), 4U);
  const auto two = start("n2");
  run({one.get(), two.get()}, 1s);
  EXPECT_EQ(one->shards(), 2U);
  EXPECT_EQ(two->shards(), 2U);
}

TEST_F(LeaseKeeperTest, a_shard_moves_once_in_ten_seconds_however_often_a_node_comes_and_goes) {
  const auto one = start("n1");
  run({one.get()}, 1s);
  std::map<domain::ShardId, Duration> given;
  for (int round = 0; round < 20; ++round) {
    const auto two = start("n2");
    run({one.get(), two.get()}, 1s);
    for (const auto shard : one->take_given()) {
      if (given.contains(shard)) {
        EXPECT_GE(clock_.now - given[shard], 9s) << shard.index;
      }
      given[shard] = clock_.now;
    }
    two->stop();
    run({one.get()}, 1s);
    EXPECT_EQ(one->shards(), 4U) << "who stops gives back at once, and nobody waits to take it";
  }
  EXPECT_GE(given.size(), 2U);
}

TEST_F(LeaseKeeperTest, then_all_nodes_have_their_part) {
  const auto one = start("n1");
  run({one.get()}, 1s);
  start("n2")->stop();
  const auto two = start("n2"), three = start("n3");
  run({one.get(), two.get(), three.get()}, 1s);
  two->stop();
  run({one.get(), three.get()}, 15s);
  EXPECT_EQ(one->shards(), 2U);
  EXPECT_EQ(three->shards(), 2U);
}

}  // namespace
}  // namespace ordo::runtime
