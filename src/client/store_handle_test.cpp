#include "client/store_handle.h"

#include <gtest/gtest.h>

#include "store/memory/memory_store.h"

namespace ordo {
namespace store_handle_test {

class DefiningStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  std::vector<store::QueueDefinition> define_all(std::span<const store::QueueWish> queues) override {
    ++definitions;
    return MemoryStore::define_all(queues);
  }

  int definitions = 0;
};

TEST(StoreHandle, writes_no_queue_that_is_there) {  // what makes room on a full disk asks for queues, too
  const auto store = std::make_shared<DefiningStore>(system_clock());
  Config config;
  config.queues.emplace_back().name = "orders";
  StoreHandle handle(config, system_clock(), store);
  handle.open_queue("orders");
  EXPECT_EQ(store->definitions, 1);
  handle.open_queue("orders");
  EXPECT_EQ(store->definitions, 1);
}

}  // namespace store_handle_test
}  // namespace ordo
