#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/admin_impl.h"
#include "client/page_sizes.h"
#include "domain/entry.h"
#include "domain/records.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"
#include "store/test_log.h"

namespace ordo {
namespace retry_dead_test {

using ::testing::ElementsAre;

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

class RetryDeadUnique : public ::testing::Test {
 protected:
  RetryDeadUnique() {
    store_->join("n1", "");
    const store::Claim claim{.shard = shard_};
    grant_ = store_->acquire("n1", 1, std::span(&claim, 1)).at(0);
  }

  /// One that had the key "k" until its start.
  void bury(const std::string& id, const std::string& payload) {
    domain::DeadPayload dead;
    dead.kind = "orders";
    dead.key = dead.id = id;
    dead.payload = payload;
    dead.options.freed_row = "k";
    store::Delta delta{.shard = shard_, .lease = grant_.lease, .batch = ++grant_.batch};
    delta.dead = {{.bytes = domain::encode(dead)}};
    store::commit_and_wait(*store_, {delta});
  }

  std::size_t retry() {
    skipped_.clear();
    return admin_.change_dead("orders", {}, true, [&](const SkippedRetry& job) {
      skipped_.push_back(job.id + " by " + job.existing);
    });
  }
  std::size_t dead() { return store_->dead(shard_.queue, 0, 100).size(); }

  /// Payloads of the log: those that take the key are in brackets.
  std::vector<std::string> log() {
    std::vector<std::string> payloads;
    const auto chunk = store::read_log(*store_, std::span(&shard_, 1));
    for (const auto& row : chunk.rows) {
      const auto entry = domain::decode_entry(chunk.body(row));
      payloads.push_back(entry->options.unique.empty() ? std::string(entry->payload)
                                                       : "[" + std::string(entry->payload) + "]");
    }
    return payloads;
  }
  std::string holder() {
    const auto row = store_->wait_row(store::Store::unique_rows("orders"), "k");
    return row ? domain::decode_unique_row(*row)->id : "";
  }

  std::shared_ptr<store::memory::MemoryStore> store_ =
      std::make_shared<store::memory::MemoryStore>(system_clock());
  store::ShardId shard_{store_->define("orders", 1).number, 0};
  store::Grant grant_;
  Admin::Impl admin_{std::make_shared<StoreHandle>(Config{}, system_clock(), store_)};
  std::vector<std::string> skipped_;
};

TEST_F(RetryDeadUnique, takes_the_key_again_that_was_free_from_the_start_on) {
  bury("x", "1");
  bury("y", "2");
  bury("x", "3");
  EXPECT_EQ(retry(), 2U);
  EXPECT_THAT(log(), ElementsAre("[1]", "3")) << "payloads of one job come back together";
  EXPECT_EQ(holder(), "x");
  EXPECT_THAT(skipped_, ElementsAre("y by x"));
  EXPECT_EQ(dead(), 1U);
}

TEST_F(RetryDeadUnique, merges_into_the_job_of_its_names_that_waits) {
  bury("x", "1");
  EXPECT_EQ(retry(), 1U);
  bury("x", "2");
  EXPECT_EQ(retry(), 1U);
  EXPECT_THAT(log(), ElementsAre("[1]", "2"));
  EXPECT_EQ(holder(), "x");
  EXPECT_EQ(dead(), 0U);
}

}  // namespace retry_dead_test
}  // namespace ordo
