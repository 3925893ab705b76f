#include <gtest/gtest.h>

#include "client/admin_impl.h"
#include "client/page_sizes.h"
#include "domain/records.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace retry_dead_test {

class NotingStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  std::size_t revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                     std::vector<store::NewEntry> entries) override {
    std::size_t bytes = 0;
    for (const auto& entry : entries) bytes += entry.bytes.size();
    most_at_once = std::max(most_at_once, bytes);
    return MemoryStore::revive(queue, nos, std::move(entries));
  }

  std::size_t most_at_once = 0;
};

TEST(RetryDead, brings_large_payloads_back_in_pieces) {
  const auto store = std::make_shared<NotingStore>(system_clock());
  const store::ShardId shard{store->define("orders", 1).number, 0};
  store->join("n1", "");
  const store::Claim claim{.shard = shard};
  const auto grant = store->acquire("n1", 1, std::span(&claim, 1)).at(0);
  store::Delta delta{.shard = shard, .lease = grant.lease, .batch = grant.batch + 1};
  domain::DeadPayload dead;
  dead.payload = std::string(1U << 20, 'a');
  delta.dead.assign(20, {.bytes = domain::encode(dead)});
  store::commit_and_wait(*store, {delta});

  Admin::Impl admin(std::make_shared<StoreHandle>(Config{}, system_clock(), store));
  EXPECT_EQ(admin.change_dead("orders", {}, true, {}), 20U);
  EXPECT_LE(store->most_at_once, kAppendBytes + (1U << 20));
}

}  // namespace retry_dead_test
}  // namespace ordo
