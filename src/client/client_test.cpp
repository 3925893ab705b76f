// Where a push goes when its queue takes nothing just now.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "client/client_impl.h"
#include "store/limits.h"
#include "store/memory/memory_store.h"
#include "store/test_log.h"

namespace ordo {
namespace client_test {

using std::chrono::seconds;

class MovedClock final : public Clock {
 public:
  Time wall() override { return Time{} + steady(); }
  Duration steady() override { return Duration{now_.load()}; }
  void move(Duration by) { now_ += by.count(); }

 private:
  std::atomic<Duration::rep> now_{Duration{seconds{1'700'000'000}}.count()};
};

/// How pushes ended, in the order in which they did.
class Ends {
 public:
  std::function<void(std::exception_ptr)> of(const std::string& name) {
    return [this, name](std::exception_ptr error) {
      const std::lock_guard lock(mutex_);
      names_.push_back(error ? name + " failed" : name);
      errors_.push_back(error);
      changed_.notify_all();
    };
  }

  std::vector<std::string> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return names_.size() >= count; });
    return names_;
  }

  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return names_.size();
  }

  std::exception_ptr error(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return errors_.at(index);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> names_;
  std::vector<std::exception_ptr> errors_;
};

class ClosedQueue : public testing::Test {
 protected:
  static Config config() {
    Config config;
    config.queues = {{.name = "orders", .shards = 1}};
    return config;
  }

  void push(const std::string& id) {
    std::vector<NewJob> jobs;
    jobs.push_back({.id = id, .payload = id, .key = "k"});
    client_.push_async("orders", std::move(jobs), ends_.of(id));
  }

  std::vector<std::string> stored() {
    std::vector<std::string> ids;
    const auto queue = *store_->queues().find("orders");
    const store::ShardId shard{queue.number, domain::shard_of("k", queue.shards)};
    const auto chunk = store::read_log(*store_, std::span(&shard, 1));
    for (const auto& row : chunk.rows) ids.emplace_back(domain::decode_entry(chunk.body(row))->id);
    return ids;
  }

  MovedClock clock_;
  std::shared_ptr<store::memory::MemoryStore> store_ = std::make_shared<store::memory::MemoryStore>(clock_);
  Ends ends_;
  Client::Impl client_{std::make_shared<StoreHandle>(config(), clock_, store_)};
};

using Names = std::vector<std::string>;

TEST_F(ClosedQueue, pushes_wait_for_its_new_shards_in_their_order) {
  push("before");
  const auto next = store_->define("orders>", 3);
  store_->close("orders");
  for (const auto* id : {"a", "b", "c"}) push(id);
  EXPECT_EQ(ends_.count(), 1U);
  ASSERT_TRUE(store_->replace("orders", next.number));
  for (const auto* id : {"d", "e"}) push(id);
  EXPECT_EQ(ends_.wait(6), (Names{"before", "a", "b", "c", "d", "e"}));
  EXPECT_EQ(stored(), (Names{"a", "b", "c", "d", "e"}));
  push("f");
  EXPECT_EQ(ends_.wait(7).back(), "f");
}

TEST_F(ClosedQueue, a_future_has_the_error) {
  Client client(std::shared_ptr<Client::Impl>(std::shared_ptr<void>(), &client_));
  EXPECT_EQ(client.push_async("orders", {{.id = "1"}}).get(), Names{"1"});
  store_->close("orders");
  auto push = client.push_async("orders", {{.id = "2"}});
  EXPECT_EQ(push.wait_for(Duration{0}), std::future_status::timeout);
  clock_.move(seconds{31});
  EXPECT_THROW(push.get(), Error);
}

TEST_F(ClosedQueue, pushes_fail_after_a_while_and_leave_nothing) {
  push("before");
  store_->close("orders");
  push("a");
  push("b");
  clock_.move(seconds{29});
  EXPECT_EQ(ends_.count(), 1U);
  clock_.move(seconds{31});
  EXPECT_EQ(ends_.wait(2).at(1), "a failed");
  clock_.move(seconds{31});  // perhaps it waits only since it was found behind the other
  EXPECT_EQ(ends_.wait(3), (Names{"before", "a failed", "b failed"}));
  try {
    std::rethrow_exception(ends_.error(1));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_NE(std::string(error.what()).find("'orders' is being resharded"), std::string::npos);
  }
  const auto next = store_->define("orders>", 2);
  store_->replace("orders", next.number);
  push("c");
  EXPECT_EQ(ends_.wait(4).back(), "c");
  EXPECT_EQ(stored(), (Names{"c"}));
}

TEST_F(ClosedQueue, that_was_removed_is_defined_anew_if_the_config_knows_it) {
  push("before");
  store_->remove("orders");
  push("a");
  EXPECT_EQ(ends_.wait(2), (Names{"before", "a"}));
  EXPECT_EQ(stored(), (Names{"a"}));
}

TEST_F(ClosedQueue, that_nobody_knows_any_more_refuses) {
  store_->define("mails", 1);
  std::vector<NewJob> jobs(1);
  client_.push("mails", jobs);
  store_->remove("mails");
  EXPECT_THROW(client_.push("mails", jobs), Error);
  EXPECT_THROW(client_.push("mails", jobs), Error);
}

// As a Redis Cluster may: a shard of another slot is there still.
class HalfClosedStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  void append(std::vector<store::NewEntry> entries, store::Completion done) override {
    if (!std::exchange(refuses_a_part, false))
      return MemoryStore::append(std::move(entries), std::move(done));
    std::erase_if(entries, [](const auto& entry) { return entry.shard.index != 0; });
    MemoryStore::append(std::move(entries), [](auto) {});
    const auto queue = queues().find("orders")->number;
    replace("orders", define("orders>", 1).number);
    done(std::make_exception_ptr(store::PartlyRefused({{queue, 0}})));
  }

  bool replace(std::string_view name, std::uint32_t by) override {
    const auto queue = queues().find(name)->number;
    const store::ShardId old{queue, 0};
    const auto chunk = store::read_log(*this, std::span(&old, 1));
    for (const auto& row : chunk.rows) copied.emplace_back(chunk.body(row));
    close(name);
    return MemoryStore::replace(name, by);
  }

  bool refuses_a_part = true;
  std::vector<std::string> copied;
};

TEST(HalfClosedQueue, what_is_stored_is_not_pushed_again) {
  MovedClock clock;
  const auto store = std::make_shared<HalfClosedStore>(clock);
  store->define("orders", 2);
  Ends ends;
  Client::Impl client(std::make_shared<StoreHandle>(Config{}, clock, store));
  std::vector<NewJob> jobs(20);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].id = std::to_string(i);
  client.push_async("orders", std::move(jobs), ends.of("a"));
  EXPECT_EQ(ends.wait(1), Names{"a"});
  const store::ShardId shard{store->queues().find("orders")->number, 0};
  EXPECT_GT(store->copied.size(), 0U);
  EXPECT_EQ(store->copied.size() + store::read_log(*store, std::span(&shard, 1)).rows.size(), 20U);
}

TEST(ClosedQueueAtTheEnd, pushes_that_still_wait_fail) {
  MovedClock clock;
  const auto store = std::make_shared<store::memory::MemoryStore>(clock);
  Ends ends;
  store->define("orders", 1);
  store->close("orders");
  {
    Client::Impl client(std::make_shared<StoreHandle>(Config{}, clock, store));
    client.push_async("orders", std::vector<NewJob>(1), ends.of("a"));
  }
  EXPECT_EQ(ends.wait(1), Names{"a failed"});
}

}  // namespace client_test
}  // namespace ordo
