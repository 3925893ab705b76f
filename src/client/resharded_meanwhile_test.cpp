// An operator's wish that a reshard overtakes is carried out in the queue as it is then.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "client/admin_impl.h"
#include "client/reshard.h"
#include "domain/records.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace resharded_meanwhile_test {

constexpr Duration kLease = std::chrono::seconds{10};

/// Does something just before the next change of a queue, and before the next look at its jobs.
class OvertakenStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  void append(std::vector<store::NewEntry> entries, store::Completion done) override {
    meet(before_change);
    MemoryStore::append(std::move(entries), std::move(done));
  }
  std::size_t revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                     std::vector<store::NewEntry> entries) override {
    meet(before_change);
    return MemoryStore::revive(queue, nos, std::move(entries));
  }
  std::size_t erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) override {
    meet(before_change);
    return MemoryStore::erase_dead(queue, nos);
  }
  std::vector<store::ShardFacts> load(std::span<const store::ShardId> shards) override {
    meet(before_look);
    return MemoryStore::load(shards);
  }

  std::function<void()> before_change, before_look;

 private:
  static void meet(std::function<void()>& act) {
    if (act) std::exchange(act, nullptr)();
  }
};

class ReshardedMeanwhile : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto* id : {"a", "b", "c", "d", "e"}) push(id);
  }
  void push(const std::string& id) {
    domain::Entry entry;
    entry.kind = entry.key = entry.id = id;
    entry.kind = "orders";
    entry.run_at = store_->now() + std::chrono::hours{1};
    store::append_and_wait(*store_,
                           {{{queue_.number, domain::shard_of(id, queue_.shards)}, domain::encode(entry)}});
  }
  void die(const std::string& id) {
    const store::ShardId shard{queue_.number, domain::shard_of(id, queue_.shards)};
    store_->join("n1", "");
    const store::Claim claim{.shard = shard};
    const auto grant = store_->acquire("n1", 1, std::span(&claim, 1)).at(0);
    store::Delta delta{.shard = shard, .lease = grant.lease, .batch = grant.batch + 1};
    domain::DeadPayload dead;
    dead.kind = "orders";
    dead.key = dead.id = id;
    delta.dead = {{.bytes = domain::encode(dead)}};
    store::commit_and_wait(*store_, {delta});
    store_->leave("n1", {});
  }
  void reshard(std::uint32_t shards = 8) {
    Reshard(*store_, system_clock(), kLease, "orders", {}).run(shards);
  }
  std::size_t due() { return admin_.count_jobs("orders", {.states = {JobStatus::due}}); }

  std::shared_ptr<OvertakenStore> store_ = std::make_shared<OvertakenStore>(system_clock());
  store::QueueDefinition queue_ = store_->define("orders", 2);
  Admin::Impl admin_{std::make_shared<StoreHandle>(Config{}, system_clock(), store_)};
};

TEST_F(ReshardedMeanwhile, one_job_is_run_now_once_it_was_found) {
  store_->before_change = [&] { reshard(); };
  EXPECT_TRUE(admin_.control("orders", {.id = "c"}, domain::EntryType::run_now));
  EXPECT_EQ(due(), 1U);
}

TEST_F(ReshardedMeanwhile, one_job_is_found_in_the_queue_that_replaced_its_own) {
  store_->before_look = [&] { reshard(); };
  EXPECT_TRUE(admin_.control("orders", {.id = "c"}, domain::EntryType::run_now));
  EXPECT_EQ(due(), 1U);
  EXPECT_FALSE(admin_.control("orders", {.id = "z"}, domain::EntryType::run_now));
}

TEST_F(ReshardedMeanwhile, all_jobs_are_run_now_and_counted_once) {
  const JobFilter later{.states = {JobStatus::scheduled}};
  store_->before_change = [&] { reshard(); };
  EXPECT_EQ(admin_.control_all("orders", later, domain::EntryType::run_now), 5U);
  EXPECT_EQ(due(), 5U);
}

TEST_F(ReshardedMeanwhile, all_jobs_are_cancelled_although_their_shards_have_gone) {
  const JobFilter later{.states = {JobStatus::scheduled}};
  store_->before_look = [&] { reshard(); };
  EXPECT_EQ(admin_.control_all("orders", later, domain::EntryType::cancel), 5U);
  EXPECT_EQ(admin_.count_jobs("orders", {}), 0U);
}

TEST_F(ReshardedMeanwhile, the_dead_come_back_once) {
  die("x");
  store_->before_change = [&] { reshard(); };
  EXPECT_EQ(admin_.change_dead("orders", {}, true, {}), 1U);
  EXPECT_EQ(admin_.count_dead("orders", {}).payloads, 0U);
  EXPECT_EQ(admin_.count_jobs("orders", {}), 6U);
}

TEST_F(ReshardedMeanwhile, the_dead_are_deleted) {
  die("x");
  store_->before_change = [&] { reshard(); };
  EXPECT_EQ(admin_.change_dead("orders", {}, false, {}), 1U);
  EXPECT_EQ(admin_.count_dead("orders", {}).payloads, 0U);
}

TEST_F(ReshardedMeanwhile, a_cursor_of_the_queue_before_is_refused) {
  die("x");
  const auto all = [](const JobView&) { return true; };
  std::uint32_t shards = 3;
  for (const auto sort : {JobSort::start, JobSort::run_at, JobSort::id}) {
    const auto jobs = admin_.jobs("orders", {.limit = 2, .listing = {.sort = sort}}, all);
    const auto dead = admin_.dead_jobs("orders", {}, {.sort = sort}, all);
    reshard(shards++);
    EXPECT_THROW(admin_.jobs("orders", {.listing = {.sort = sort, .after = jobs}}, all), OldCursor);
    EXPECT_THROW(admin_.dead_jobs("orders", {}, {.sort = sort, .after = dead}, all), OldCursor);
  }
}

TEST_F(ReshardedMeanwhile, a_list_that_it_interrupts_fails) {
  const auto all = [](const JobView&) { return true; };
  store_->before_look = [&] { reshard(); };
  EXPECT_THROW(admin_.jobs("orders", JobFilter{}, all), Error);
  store_->before_look = [&] { reshard(4); };
  EXPECT_THROW(admin_.export_jobs("orders", {}, all), Error);
  store_->before_look = [&] { reshard(8); };
  EXPECT_THROW(static_cast<void>(admin_.count_jobs("orders", {})), Error);
  EXPECT_EQ(admin_.jobs("orders", JobFilter{}).size(), 5U);
}

}  // namespace resharded_meanwhile_test
}  // namespace ordo
