// What a look at the counts reads, and what it does not.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include <ordo/error.hpp>

#include "client/admin_impl.h"
#include "domain/wait_note.h"
#include "runtime/node_facts.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace stats_test {

class Look : public testing::Test {
 protected:
  void append(const std::string& queue, std::string bytes) {
    store::append_and_wait(*store_,
                           {{.shard = {store_->define(queue, 1).number, 0}, .bytes = std::move(bytes)}});
  }
  void push(const std::string& queue, std::optional<Time> run_at = {}) {
    domain::Entry entry;
    entry.id = entry.key = "1";
    entry.kind = queue;
    entry.run_at = run_at;
    append(queue, domain::encode(entry));
  }
  bool drained() {
    return admin_.drained([](const std::string& queue) { return queue == "orders"; });
  }

  std::shared_ptr<store::Store> store_ = std::make_shared<store::memory::MemoryStore>(system_clock());
  Admin::Impl admin_{std::make_shared<StoreHandle>(Config{}, system_clock(), store_)};
};

TEST_F(Look, a_drain_reads_nothing_of_queues_that_it_does_not_serve) {
  push("orders");
  append("foreign", "bytes that no reader of entries understands");
  EXPECT_EQ(admin_.stats().total.unreadable, 1U) << "they are read where they count";
  EXPECT_FALSE(drained());
  store_->remove("orders");
  EXPECT_TRUE(drained());
}

TEST_F(Look, a_drain_reads_nothing_of_a_paused_queue) {
  append("orders", "bytes that no reader of entries understands");
  EXPECT_FALSE(drained()) << "they are to be brought to the dead";
  store_->set_paused("orders", true);
  EXPECT_TRUE(drained());
}

TEST_F(Look, a_drain_waits_for_no_entry_of_a_wait) {
  domain::Entry entry;
  entry.type = domain::EntryType::expected;
  entry.id = entry.key = "1";
  entry.kind = "orders";
  const auto note = domain::encode(domain::WaitNote{"w1", "bank", {}, {}});
  entry.payload = note;
  append("orders", domain::encode(entry));
  EXPECT_TRUE(drained()) << "it stays until the wait is over";
  entry.type = domain::EntryType::response;
  append("orders", domain::encode(entry));
  EXPECT_FALSE(drained()) << "it starts a run";
}

/// Something happens right behind the look at the shards.
class ChangingStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  std::vector<store::ShardRow> shards() override {
    auto rows = MemoryStore::shards();
    if (then) std::exchange(then, {})();
    return rows;
  }
  std::function<void()> then;
};

TEST(Drain, asks_again_when_an_owner_wrote_meanwhile) {
  const auto store = std::make_shared<ChangingStore>(system_clock());
  Admin::Impl admin(std::make_shared<StoreHandle>(Config{}, system_clock(), store));
  const auto is_drained = [&] { return admin.drained([](const std::string&) { return true; }); };
  const store::ShardId shard{store->define("orders", 1).number, 0};
  runtime::NodeFacts facts;
  facts.kinds = {{"orders", "orders"}};
  store->join("n1", encode(facts));
  const store::Claim claim{.shard = shard};
  auto grant = store->acquire("n1", 1, std::span(&claim, 1)).at(0);
  domain::Entry entry;
  entry.id = entry.key = "1";
  entry.kind = "orders";
  entry.run_at = store->now() + std::chrono::hours{1};
  store::append_and_wait(*store, {{.shard = shard, .bytes = domain::encode(entry)}});
  entry.type = domain::EntryType::run_now;
  entry.run_at = {};
  store::append_and_wait(*store, {{.shard = shard, .bytes = domain::encode(entry)}});
  std::vector<store::Seq> seqs;
  const auto log = store->open_log();
  log->add(shard, 0);
  const auto chunk = log->read(10);
  for (const auto& row : chunk.rows) seqs.push_back(row.seq);
  ASSERT_EQ(seqs.size(), 2U);
  const auto commit = [&](const domain::Counts& counts, std::size_t position,
                          std::vector<store::Seq> erased) {
    store::commit_and_wait(*store, {{.shard = shard,
                                     .lease = grant.lease,
                                     .batch = ++grant.batch,
                                     .erase = std::move(erased),
                                     .position = seqs.at(position),
                                     .counts = domain::encode(counts)}});
  };
  commit({.scheduled = 1}, 0, {});
  EXPECT_FALSE(is_drained()) << "somebody has asked for it now";
  store->then = [&] { commit({.due = 1}, 1, {seqs[1]}); };
  EXPECT_FALSE(is_drained()) << "it is due";
  commit({.processed = 1}, 1, {seqs[0]});
  EXPECT_TRUE(is_drained());
}

TEST_F(Look, the_lag_is_in_seconds) {
  push("orders", store_->now() - std::chrono::hours{1});
  push("late", Time::min());
  const auto stats = admin_.stats();
  EXPECT_NEAR(stats.by_queue.at(0).second.lag, 3600, 60);
  EXPECT_GT(stats.total.lag, 6e10) << "any time may be pushed, and those before the year 0 are that";
}

TEST_F(Look, names_the_living_nodes_that_cannot_work) {
  runtime::NodeFacts facts;
  store_->join("well", encode(facts));
  facts.commit_error = "disk full";
  facts.commit_error_since = Time{std::chrono::seconds{7}};
  facts.paused.emplace();
  store_->join("full", encode(facts));
  facts.commit_error.clear();
  facts.unable = {{"orders", "charge", "not found"}};
  store_->join("without", encode(facts));
  const auto failing = admin_.stats().failing_nodes;
  ASSERT_EQ(failing.size(), 2U);
  EXPECT_EQ(failing[0].id, "full");
  EXPECT_EQ(failing[0].commit_error, "disk full");
  EXPECT_EQ(failing[0].commit_error_since, Time{std::chrono::seconds{7}});
  EXPECT_TRUE(failing[0].cannot_start.empty());
  EXPECT_EQ(failing[1].id, "without");
  EXPECT_EQ(failing[1].commit_error, "");
  EXPECT_EQ(failing[1].cannot_start.at(0), (CannotStart{"orders", "charge", "not found"}));
}

TEST_F(Look, only_an_owner_that_obeys_this_pause_makes_it_one) {
  push("orders");
  runtime::NodeFacts facts;
  facts.paused.emplace({std::string("orders")});
  store_->join("n1", encode(facts));
  const store::Claim claim{.shard = {store_->queues().queues.at(0).number, 0}};
  store_->acquire("n1", 1, std::span(&claim, 1));
  store_->set_paused("orders", true);
  const auto state = [&] { return admin_.queues().at(0).state; };
  const auto tell = [&](std::uint64_t version) {
    facts.paused_at = version;
    store_->join("n1", encode(facts));
  };
  EXPECT_EQ(state(), QueueState::paused) << "a node of an older version says no more";
  tell(store_->queues().version);
  EXPECT_EQ(state(), QueueState::paused);
  store_->set_paused("orders", false);
  store_->set_paused("orders", true);
  EXPECT_EQ(state(), QueueState::pausing) << "it has said so of the pause before";
  tell(store_->queues().version);
  EXPECT_EQ(state(), QueueState::paused);
}

TEST_F(Look, the_removal_of_an_empty_queue_looks_at_no_other) {
  push("orders");
  append("foreign", "bytes that no reader of entries understands");
  EXPECT_FALSE(admin_.remove("orders", Admin::RemoveJobs::refuse));
  store_->define("empty", 1);
  EXPECT_TRUE(admin_.remove("empty", Admin::RemoveJobs::refuse));
}

}  // namespace stats_test
}  // namespace ordo
