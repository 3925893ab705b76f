#include "runtime/node.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "store/memory/memory_store.h"

namespace ordo::runtime {
namespace {

using namespace std::chrono_literals;

/// A store that answers a look at the shards only once it was renewed some more times.
class SlowLooks final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  bool renew(const std::string& node) override {
    const std::lock_guard lock(mutex_);
    ++renewals_;
    changed_.notify_all();
    return MemoryStore::renew(node);
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

TEST(Node, renews_its_leases_while_the_store_is_asked_for_other_things) {
  SlowLooks store(system_clock());
  NodePlan plan;
  plan.options.lease = 300ms;
  plan.queues.emplace_back().name = "orders";
  plan.log = [](LogLevel, const std::string&) {};
  Node node(std::move(plan), store, system_clock());
  EXPECT_TRUE(store.wait_for_a_look());
  EXPECT_EQ(node.stop(0s), 0U);
}

}  // namespace
}  // namespace ordo::runtime
