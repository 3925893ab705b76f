#include "runtime/node.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>

#include "domain/entry.h"
#include "store/memory/memory_store.h"

namespace ordo::runtime {
namespace node_test {

using namespace std::chrono_literals;

/// A store that answers a look at the shards only once it was renewed some more times.
class SlowLooks final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  bool renew(const std::string& node, Duration patience) override {
    const std::lock_guard lock(mutex_);
    ++renewals_;
    changed_.notify_all();
    return MemoryStore::renew(node, patience);
  }
  std::vector<store::ShardRow> shards() override {
    std::unique_lock lock(mutex_);
    const auto wanted = renewals_ + 3;
    was_renewed_ = changed_.wait_for(lock, 20s, [&] { return renewals_ >= wanted; });
    ++looks_;
    changed_.notify_all();
    return MemoryStore::shards();
  }
  /// Whether it was renewed in the middle of the look.
  bool wait_for_a_look() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return looks_ > 0; });
    return was_renewed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int renewals_ = 0, looks_ = 0;
  bool was_renewed_ = false;
};

/// A store with a verb that runs out of memory.
class Broken final : public store::memory::MemoryStore {
 public:
  enum class Verb : std::uint8_t { load, fetch, shards, renew };
  Broken(Clock& clock, Verb broken) : MemoryStore(clock), broken_(broken) {}

  std::vector<store::ShardFacts> load(std::span<const store::ShardId> shards) override {
    return use(Verb::load), MemoryStore::load(shards);
  }
  store::LogChunk fetch(store::ShardId shard, std::span<const store::Seq> seqs) override {
    return use(Verb::fetch), MemoryStore::fetch(shard, seqs);
  }
  std::vector<store::ShardRow> shards() override {
    // The first look claims.
    if (looks_++ > 0) use(Verb::shards);
    return MemoryStore::shards();
  }
  bool renew(const std::string& node, Duration patience) override {
    return use(Verb::renew), MemoryStore::renew(node, patience);
  }
  void leave(const std::string& node, std::optional<std::uint64_t> seen) override {
    MemoryStore::leave(node, seen);
    const std::lock_guard lock(mutex_);
    is_left_ = true;
    changed_.notify_all();
  }
  bool wait_until_left() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return is_left_; });
  }

 private:
  void use(Verb verb) const {
    if (verb == broken_) throw std::bad_alloc();
  }

  const Verb broken_;
  std::atomic<int> looks_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_left_ = false;
};

class NoWork final : public Worker {
 public:
  void perform(Batch&) override {}
};

// By itself: nobody calls stop().
TEST(Node, gives_its_shards_back_whichever_of_its_threads_has_failed) {
  using Verb = Broken::Verb;
  for (const auto verb : {Verb::load, Verb::fetch, Verb::shards, Verb::renew}) {
    SCOPED_TRACE(static_cast<int>(verb));
    Broken store(system_clock(), verb);
    NoWork work;
    const auto queue = store.define("orders", 2);
    const domain::Entry entry{.kind = "orders", .key = "1", .id = "1", .payload = "1"};
    store.append({{{queue.number, 0}, domain::encode(entry)}}, [](const auto&) {});
    NodePlan plan;
    plan.options.lease = 1s;
    plan.options.payload_cache = 0;
    plan.queues.emplace_back().name = "orders";
    plan.workers[{"orders", "orders"}] = std::shared_ptr<Worker>(&work, [](Worker*) {});
    plan.log = [](LogLevel, std::string_view) {};
    Node node(std::move(plan), store, system_clock());
    EXPECT_TRUE(store.wait_until_left());
    EXPECT_THROW(node.check(), std::bad_alloc);
    EXPECT_EQ(store.nodes().size(), 0U);
    EXPECT_EQ(node.stop(0s), 0U);
  }
}

TEST(Node, renews_its_leases_while_the_store_is_asked_for_other_things) {
  SlowLooks store(system_clock());
  NodePlan plan;
  plan.options.lease = 300ms;
  plan.queues.emplace_back().name = "orders";
  plan.log = [](LogLevel, std::string_view) {};
  Node node(std::move(plan), store, system_clock());
  EXPECT_TRUE(store.wait_for_a_look());
  EXPECT_EQ(node.stop(0s), 0U);
}

}  // namespace node_test
}  // namespace ordo::runtime
