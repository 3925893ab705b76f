#include "runtime/lease_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "domain/records.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"
#include "store/odd_rows.h"

namespace ordo::runtime {
namespace lease_keeper_test {

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
  Node(const std::string& id, store::Store& store, Clock& clock, Duration lease, std::uint16_t level,
       std::vector<std::string> throttled = {})
      : level_(level),
        options_(with(lease)),
        lease_(clock, options_.lease),
        heartbeat_(options_, id, store, clock, Random(2), lease_, {}),
        keeper_(options_, facts(level, std::move(throttled)), {{"orders", 4}}, store, clock, Random(1),
                lease_, heartbeat_, hooks()) {
    keeper_.join();
  }

  void tick() {
    heartbeat_.tick();
    keeper_.tick();
  }
  /// Without a heartbeat.
  void look() { keeper_.tick(); }
  int deaths() const { return deaths_; }
  std::size_t shards() const { return held_.size(); }
  bool has(domain::ShardId shard) const { return held_.contains(shard); }
  std::vector<domain::ShardId> take_given() { return std::exchange(given_, {}); }
  std::vector<domain::ShardId> take_gone() { return std::exchange(gone_, {}); }
  store::Lease lease_of(domain::ShardId shard) const { return held_.at(shard); }
  /// As an engine that has dropped it.
  void drop(domain::ShardId shard) {
    const auto lease = held_.extract(shard);
    keeper_.lost(shard, lease.mapped());
  }

  /// As an engine does that cannot read it.
  void give_to_newer() {
    keeper_.leave_to_newer(newer, 2);
    if (const auto lease = held_.extract(newer)) keeper_.released({newer, lease.mapped()});
  }

  domain::ShardId newer;  ///< what stands in it has level 2
  std::map<domain::ShardId, int> granted;
  std::vector<std::string> left_out, dangers;
  store::QueueList definitions;  ///< as told last
  bool was_paused = false;       ///< "orders", by what was told before the last grant

  void stop() {
    keeper_.stop_claiming();
    keeper_.tick();
    keeper_.tick();
    keeper_.leave();
  }

 private:
  static NodeOptions with(Duration lease) {
    NodeOptions options;
    options.lease = lease;
    return options;
  }
  static NodeFacts facts(std::uint16_t level, std::vector<std::string> throttled) {
    NodeFacts facts;
    facts.throttled = std::move(throttled);
    for (const auto& queue : facts.throttled) facts.groups.emplace_back(queue, "queue:" + queue);
    facts.level = level;
    facts.kinds = {{"orders", "orders"}};
    return facts;
  }
  KeeperHooks hooks() {
    KeeperHooks hooks;
    hooks.granted = [this](const std::vector<store::Grant>& grants, auto) {
      const auto* orders = definitions.find("orders");
      was_paused = orders && orders->paused;
      for (const auto& grant : grants) {
        ++granted[grant.shard];
        held_[grant.shard] = grant.lease;
        if (level_ < 2 && grant.shard == newer) give_to_newer();
      }
    };
    hooks.give_back = [this](const std::vector<domain::ShardId>& shards) {
      for (const auto shard : shards) {
        const auto lease = held_.extract(shard);
        if (lease.empty()) continue;
        given_.push_back(shard);
        keeper_.released({shard, lease.mapped()});
      }
    };
    hooks.gone = [this](auto shard, auto lease) {
      EXPECT_EQ(lease, held_.at(shard));
      gone_.push_back(shard);
    };
    hooks.left_out = [this](const auto& row) { left_out.push_back(row); };
    hooks.danger = [this](const auto& danger) { dangers.push_back(danger); };
    hooks.node_down = [this](const auto&) { ++deaths_; };
    hooks.definitions = [this](const auto& list) { definitions = list; };
    hooks.may_claim = [] { return true; };
    return hooks;
  }

  const std::uint16_t level_;
  const NodeOptions options_;
  LeaseClock lease_;
  std::map<domain::ShardId, store::Lease> held_;
  std::vector<domain::ShardId> given_, gone_;
  int deaths_ = 0;
  Heartbeat heartbeat_;
  LeaseKeeper keeper_;
};

class LeaseKeeperTest : public testing::Test {
 protected:
  std::unique_ptr<Node> start(const std::string& id, Duration lease = 10s, std::uint16_t level = 1) {
    return std::make_unique<Node>(id, store_, clock_, lease, level);
  }
  /// How long `node` waits until it has all shards of one that has died just now.
  Duration time_to_take_over(Node& node) {
    const auto from = clock_.now;
    while (node.shards() < 4 && clock_.now < from + 5min) run({&node}, 500ms);
    return clock_.now - from;
  }

  void run(std::initializer_list<Node*> nodes, Duration time) {
    for (const auto end = clock_.now + time; clock_.now < end; clock_.now += 500ms) {
      for (auto* node : nodes) node->tick();
    }
  }

  HandClock clock_;
  store::memory::MemoryStore store_{clock_};
};

class CountedStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  std::vector<store::QueueDefinition> define_all(std::span<const store::QueueWish> queues) override {
    ++calls;
    return MemoryStore::define_all(queues);
  }
  store::QueueList queues() override {
    ++calls;
    return MemoryStore::queues();
  }
  std::vector<store::ShardRow> shards() override {
    ++calls;
    return MemoryStore::shards();
  }
  std::vector<store::Grant> acquire(const std::string& node, std::uint64_t holder,
                                    std::span<const store::Claim> claims) override {
    ++calls;
    return MemoryStore::acquire(node, holder, claims);
  }

  int calls = 0;
};

// After a failover its version may come to where it was, with other definitions.
class CountingAgainStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  store::QueueList queues() override {
    auto list = MemoryStore::queues();
    list.version = 1;
    return list;
  }
};

TEST_F(LeaseKeeperTest, definitions_that_changed_are_told_whatever_their_version) {
  CountingAgainStore store(clock_);
  Node one("one", store, clock_, 10s, 1);
  run({&one}, 5s);
  ASSERT_EQ(one.shards(), 4U);
  const auto before = store.queues().find("orders")->number;
  store.remove("orders");
  run({&one}, 20s);
  ASSERT_NE(store.queues().find("orders"), nullptr);
  const auto now = store.queues().find("orders")->number;
  EXPECT_NE(now, before);
  EXPECT_EQ(one.definitions.find("orders")->number, now);
}

// A queue is paused after a node has looked, and before the node takes shards of it.
class PausedStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  std::vector<store::Grant> acquire(const std::string& node, std::uint64_t holder,
                                    std::span<const store::Claim> claims) override {
    set_paused("orders", true);
    return MemoryStore::acquire(node, holder, claims);
  }
};

TEST_F(LeaseKeeperTest, knows_of_a_pause_before_it_has_shards) {
  PausedStore store(clock_);
  Node one("one", store, clock_, 10s, 1);
  for (int looks = 0; one.granted.empty() && looks < 100; ++looks) run({&one}, 500ms);
  ASSERT_FALSE(one.granted.empty());
  EXPECT_TRUE(one.was_paused);
}

// Somebody else has written into its rows.
class OddStore final : public store::memory::MemoryStore, public store::LeavesOut {
 public:
  using MemoryStore::MemoryStore;

  store::QueueList queues() override {
    auto list = MemoryStore::queues();
    if (is_odd) std::erase_if(list.queues, [](const auto& queue) { return queue.name == "orders"; });
    return list;
  }
  std::vector<store::NodeRow> nodes() override {
    auto rows = MemoryStore::nodes();
    if (is_odd) rows.push_back({.id = kId, .renewals = 5, .facts = "?"});
    return rows;
  }
  void leave(const std::string& node, std::optional<std::uint64_t> renewals) override {
    if (node == kId) is_odd = false;
    MemoryStore::leave(node, renewals);
  }
  std::vector<std::string> left_out() override {
    return is_odd ? std::vector<std::string>{store::odd_definition("orders")} : std::vector<std::string>{};
  }

  bool is_odd = false;
  static constexpr const char* kId = "zz\x1b[31m";
};

TEST_F(LeaseKeeperTest, goes_on_beside_rows_that_cannot_be_and_tells_of_them_once) {
  OddStore store(clock_);
  Node one("one", store, clock_, 10s, 1);
  run({&one}, 5s);
  ASSERT_EQ(one.shards(), 4U);
  store.is_odd = true;
  run({&one}, 5s);
  EXPECT_EQ(one.left_out, std::vector{store::odd_definition("orders")});
  run({&one}, 2min);
  EXPECT_FALSE(store.is_odd) << "who is silent is forgotten, whatever its id is";
  EXPECT_EQ(one.shards(), 4U);
  EXPECT_EQ(one.left_out.size(), 1U);
}

class DangerousStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  std::vector<std::string> dangers() override {
    std::vector<std::string> dangers;
    if (evicts) dangers.emplace_back("it evicts");
    if (evicted > 0) dangers.push_back("evicted " + std::to_string(evicted));
    return dangers;
  }

  bool evicts = false;
  int evicted = 0;
};

TEST_F(LeaseKeeperTest, tells_of_dangers_at_once_and_of_rising_counts_each_minute) {
  DangerousStore store(clock_);
  Node one("one", store, clock_, 10s, 1);
  run({&one}, 2min);
  ASSERT_TRUE(one.dangers.empty());
  store.evicts = true;
  run({&one}, 2min);
  EXPECT_EQ(one.dangers, (std::vector<std::string>{"it evicts"}));
  for (int i = 0; i < 90; ++i) {
    ++store.evicted;
    run({&one}, 1s);
  }
  EXPECT_EQ(one.dangers.size(), 3U);
  EXPECT_EQ(one.dangers.at(1), "evicted 1");
  run({&one}, 1min);
  EXPECT_EQ(one.dangers.at(3), "evicted 90");
  store.evicts = false;
  run({&one}, 1s);
  store.evicts = true;
  run({&one}, 1s);
  EXPECT_EQ(one.dangers.back(), "it evicts");
  EXPECT_EQ(one.dangers.size(), 5U);
}

TEST_F(LeaseKeeperTest, many_queues_take_no_more_calls_of_the_store_than_one) {
  const auto calls_of = [&](int queues) {
    CountedStore store(clock_);
    std::vector<store::QueueWish> served;
    for (int i = 0; i < queues; ++i) served.push_back({"queue-" + std::to_string(i), 2});
    NodeOptions options;
    LeaseClock lease(clock_, options.lease);
    std::size_t granted = 0;
    KeeperHooks hooks;
    hooks.granted = [&](const std::vector<store::Grant>& grants, auto) { granted += grants.size(); };
    hooks.definitions = [](const auto&) {};
    hooks.may_claim = [] { return true; };
    NodeFacts facts;
    for (const auto& queue : served) facts.kinds.emplace_back(queue.name, queue.name);
    Heartbeat heartbeat(options, "n1", store, clock_, Random(2), lease, {});
    LeaseKeeper keeper(options, facts, served, store, clock_, Random(1), lease, heartbeat, std::move(hooks));
    keeper.join();
    keeper.tick();
    EXPECT_EQ(granted, served.size() * 2);
    return store.calls;
  };
  EXPECT_EQ(calls_of(200), calls_of(1));
}

class FrozenStore final : public store::memory::MemoryStore {
 public:
  explicit FrozenStore(HandClock& clock) : MemoryStore(clock), clock_(clock) {}

  std::vector<store::NodeRow> nodes() override {
    auto rows = MemoryStore::nodes();
    clock_.now += std::exchange(freeze, {});
    return rows;
  }
  store::QueueList queues() override {
    clock_.now += std::exchange(freeze_before, {});
    return MemoryStore::queues();
  }

  Duration freeze{}, freeze_before{};

 private:
  HandClock& clock_;
};

// Whoever wakes up with this node gets time to say that it lives, whatever this node was doing.
TEST(FrozenTogether, nodes_take_nothing_from_each_other) {
  HandClock clock;
  for (const auto freeze : {&FrozenStore::freeze, &FrozenStore::freeze_before}) {
    FrozenStore store(clock);
    Node one("n1", store, clock, 10s, 1), two("n2", store, clock, 10s, 1);
    for (int i = 0; i < 40; ++i, clock.now += 500ms) one.tick(), two.tick();
    ASSERT_EQ(one.shards() + two.shards(), 4U);
    store.*freeze = 1min;
    one.look();
    EXPECT_EQ(one.shards(), 2U);
    one.tick();
    two.tick();
    EXPECT_EQ(store.nodes().size(), 2U);
    EXPECT_EQ(one.deaths(), 0);
  }
}

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

// It is tried again now and then only: what took a newer node may be done by then.
TEST_F(LeaseKeeperTest, a_shard_that_takes_a_newer_node_waits_for_one) {
  const auto one = start("n1");
  run({one.get()}, 1s);
  const auto two = start("n2");
  run({one.get(), two.get()}, 20s);
  const domain::ShardId shard{store_.queues().find("orders")->number, 1};
  one->newer = two->newer = shard;
  (one->has(shard) ? one : two)->give_to_newer();
  run({one.get(), two.get()}, 30s);
  EXPECT_FALSE(one->has(shard) || two->has(shard));
  EXPECT_EQ(one->shards() + two->shards(), 3U);
  const auto tries = one->granted[shard] + two->granted[shard];
  EXPECT_LE(tries, 2) << "each node found out by itself at most";
  run({one.get(), two.get()}, 60s);
  EXPECT_LE(one->granted[shard] + two->granted[shard], tries + 2);
  const auto three = start("n3", 10s, 2);
  run({one.get(), two.get(), three.get()}, 5s);
  EXPECT_TRUE(three->has(shard));
  run({one.get(), two.get(), three.get()}, 5min);
  EXPECT_TRUE(three->has(shard)) << "it does not go to and fro";
  EXPECT_EQ(three->granted[shard], 1);
}

TEST_F(LeaseKeeperTest, a_queue_with_a_throttler_goes_to_who_has_it_as_long_as_that_lives) {
  const auto plain = start("n1");
  run({plain.get()}, 1s);
  EXPECT_EQ(plain->shards(), 4U);
  const auto throttled =
      std::make_unique<Node>("n2", store_, clock_, 10s, 1, std::vector<std::string>{"orders"});
  run({plain.get(), throttled.get()}, 2s);
  EXPECT_EQ(plain->shards(), 0U);
  EXPECT_EQ(throttled->shards(), 4U);
  run({plain.get(), throttled.get()}, 1min);
  EXPECT_EQ(throttled->shards(), 4U);
  throttled->stop();
  run({plain.get()}, 2s);
  EXPECT_EQ(plain->shards(), 4U);
}

TEST_F(LeaseKeeperTest, a_node_whose_facts_cannot_be_read_keeps_what_it_owns) {
  const auto one = start("n1");
  run({one.get()}, 1s);
  store_.join("odd", "garbage");
  const domain::ShardId shard{store_.define("orders", 4).number, 1};
  one->newer = shard;
  run({one.get()}, 1s);
  EXPECT_EQ(one->shards(), 4U);
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

// Its runs go on for as long as its own lease says.
TEST_F(LeaseKeeperTest, a_dead_node_is_given_the_time_of_its_own_lease) {
  for (const auto lease : {1s, 10s, 40s}) {
    auto one = start("n1", lease);
    const auto two = start("n2", 2s);
    run({one.get(), two.get()}, 15s);
    ASSERT_EQ(two->shards(), 2U);
    one = nullptr;
    const auto time = time_to_take_over(*two);
    EXPECT_GE(time, lease - std::min<Duration>(lease / 3, 3s) - 500ms) << "its last renewal was so long ago";
    EXPECT_LE(time, lease + 2s);
    two->stop();
  }
}

TEST_F(LeaseKeeperTest, a_node_that_says_nothing_of_its_lease_is_given_a_minute) {
  store_.join("n0", "what nobody can read");
  const auto queue = store_.define("orders", 4).number;
  const std::vector<store::Claim> claims{{.shard = {queue, 0}}, {.shard = {queue, 3}}};
  ASSERT_EQ(store_.acquire("n0", 1, claims).size(), 2U);
  const auto one = start("n1", 1s);
  const auto time = time_to_take_over(*one);
  EXPECT_GE(time, 60s);
  EXPECT_LE(time, 61s);
}

// A failover of the registry: the node goes on until it tries to renew.
TEST_F(LeaseKeeperTest, an_owner_whose_row_is_gone_is_given_the_time_of_its_lease) {
  auto one = start("n1", 10s);
  const auto two = start("n2", 1s);
  run({one.get(), two.get()}, 15s);
  store_.forget_node("n1");
  const auto time = time_to_take_over(*two);
  EXPECT_GE(time, 6s) << "its last renewal was seen up to a heartbeat ago";
  EXPECT_LE(time, 12s);
}

TEST_F(LeaseKeeperTest, a_dead_node_stays_known_while_it_is_listed_as_a_borrower) {
  auto one = start("n1", 1s);
  const auto two = start("n2", 1s);
  run({one.get(), two.get()}, 15s);
  auto row = store_.shards().at(0);
  const std::string borrower = row.owner == "n1" ? "n2" : "n1";
  domain::Counts counts;
  counts.lent = {
      {.name = {row.shard, row.token, 1}, .node = borrower, .kind = "orders", .jobs = {{{{1, 1.0}}, -1}}}};
  auto& lender = row.owner == "n1" ? *one : *two;
  store::Delta delta{.shard = row.shard, .lease = lender.lease_of(row.shard), .batch = row.batch + 1};
  delta.counts = domain::encode(counts);
  ASSERT_EQ(store::commit_and_wait(store_, {delta}).at(0), store::CommitResult::applied);
  const auto knows = [&] { return std::ranges::count(store_.nodes(), borrower, &store::NodeRow::id) == 1; };
  run({&lender}, 20s);
  EXPECT_TRUE(knows());
  delta.batch += 1;
  delta.counts = domain::encode(domain::Counts{});
  ASSERT_EQ(store::commit_and_wait(store_, {delta}).at(0), store::CommitResult::applied);
  run({&lender}, 2s);
  EXPECT_FALSE(knows());
}

// After a failover: nothing is to be written, so that no commit is refused.
TEST_F(LeaseKeeperTest, a_lease_that_the_store_has_forgotten_is_told_and_taken_anew_once_it_is_dropped) {
  const auto one = start("n1");
  run({one.get()}, 1s);
  const auto shard = store_.shards().at(2).shard;
  const auto before = one->lease_of(shard);
  store_.forget_lease(shard);
  run({one.get()}, 5s);
  EXPECT_EQ(one->take_gone(), std::vector{shard});
  EXPECT_EQ(one->lease_of(shard), before) << "runs of it may still go on";
  one->drop(shard);
  run({one.get()}, 10s);
  EXPECT_EQ(one->take_gone(), std::vector<domain::ShardId>{});
  EXPECT_EQ(one->lease_of(shard).token, store_.shards().at(2).token);
  EXPECT_NE(one->lease_of(shard), before);
}

TEST_F(LeaseKeeperTest, a_shard_that_is_anothers_is_told) {
  const auto one = start("n1");
  run({one.get()}, 1s);
  const auto row = store_.shards().at(1);
  store_.kill_node("n1");  // by mistake
  store_.join("thief", "");
  const store::Claim claim{row.shard, row.owner, row.token, 0};
  ASSERT_EQ(store_.acquire("thief", 1, std::span(&claim, 1)).size(), 1U);
  run({one.get()}, 5s);
  EXPECT_EQ(one->take_gone(), std::vector{row.shard});
}

}  // namespace lease_keeper_test
}  // namespace ordo::runtime
