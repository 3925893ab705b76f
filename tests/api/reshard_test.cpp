// A queue gets other shards while threads push and nodes run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "support.h"

namespace ordo::api {
namespace reshard_test {

using ::testing::ElementsAre;

using Numbers = std::map<std::string, std::vector<int>>;

/// What ran, key by key, in its order.
class Notes {
 public:
  void note(const BatchJob& job) {
    const std::lock_guard lock(mutex_);
    for (const auto& payload : job.payloads) ran_[job.key].push_back(std::stoi(payload.bytes));
    ++count_;
    changed_.notify_all();
  }

  void wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return count_ >= count; })) {
      throw std::runtime_error("ran " + std::to_string(count_) + " of " + std::to_string(count));
    }
  }

  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

  Numbers ran() {
    const std::lock_guard lock(mutex_);
    return ran_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
  Numbers ran_;
};

TEST(ApiReshard, order_per_key_is_kept_while_threads_push_and_nodes_run) {
  const TemporaryStore store;
  const auto config = config_of({{.name = "orders"}}, store.url());
  Notes notes;
  Server first(config), second(config);
  for (auto* server : {&first, &second}) {
    server->add("orders", make_worker([&](Batch& batch) {
                  for (const auto& job : batch.jobs()) notes.note(job);
                }));
    server->start();
  }
  constexpr std::size_t kAhead = 3000;  // a slow machine is not buried
  std::atomic<std::size_t> total = 0;
  std::atomic<bool> is_over = false;
  std::map<std::string, int> pushed;
  std::mutex pushed_mutex;
  std::vector<std::jthread> producers;
  for (int producer = 0; producer < 3; ++producer) {
    producers.emplace_back([&, producer] {
      Client client(config);
      std::map<std::string, int> next;
      Told<> answers;
      std::size_t asked = 0;
      for (int i = 0; !is_over; ++i) {
        if (const auto ahead = ++total; ahead > kAhead) notes.wait(ahead - kAhead);
        const auto key = std::to_string(producer) + "-" + std::to_string(i % 7);
        NewJob job{.payload = std::to_string(next[key]++), .key = key};
        if (producer == 0) {  // without waiting
          std::vector<NewJob> jobs;
          jobs.push_back(std::move(job));
          client.push_async("orders", std::move(jobs),
                            [&](std::exception_ptr error) { answers.tell(error ? "failed" : "stored"); });
          if (++asked % 50 == 0) answers.wait(asked);
        } else {
          client.push("orders", std::move(job));
        }
      }
      EXPECT_THAT(answers.wait(asked), ::testing::Each("stored"));
      const std::lock_guard lock(pushed_mutex);
      pushed.insert(next.begin(), next.end());
    });
  }
  Admin admin(config);
  for (const std::uint32_t shards : {8u, 3u}) {
    notes.wait(notes.count() + 100);
    EXPECT_EQ(admin.reshard("orders", shards).to, shards);
    EXPECT_EQ(admin.queues().at(0).shards, shards);
  }
  notes.wait(notes.count() + 100);
  is_over = true;
  producers.clear();
  std::size_t all = 0;
  Numbers expected;
  for (const auto& [key, count] : pushed) {
    for (int i = 0; i < count; ++i) expected[key].push_back(i);
    all += static_cast<std::size_t>(count);
  }
  notes.wait(all);
  EXPECT_TRUE(first.drain());
  EXPECT_EQ(notes.ran(), expected);
  const auto stats = admin.stats();
  EXPECT_EQ(stats.by_queue.size(), 1U);
  EXPECT_EQ(stats.total.processed, all);
  EXPECT_EQ(stats.total.length, 0U);
  first.stop();
  second.stop();
}

TEST(ApiReshard, a_running_job_goes_on_and_keeps_its_key) {
  const TemporaryStore store;
  const auto config = config_of({{.name = "orders"}}, store.url());
  Gate gate;
  Told<> started;
  Server server(config);
  server.add("orders", make_worker([&](Batch& batch) {
               started.tell(batch.jobs()[0].id);
               if (batch.jobs()[0].id == "long") gate.pass();
             }));
  server.start();
  auto client = server.client();
  client.push("orders", {.id = "long", .key = "a"});
  started.wait(1);
  client.push("orders", {.id = "same", .key = "a"});
  for (const std::uint32_t shards : {2u, 7u}) {
    EXPECT_EQ(server.admin().reshard("orders", shards).to, shards);
  }
  client.push("orders", {.id = "other", .key = "b"});
  EXPECT_THAT(started.wait(2), ElementsAre("long", "other"));
  gate.open();
  EXPECT_THAT(started.wait(3), ElementsAre("long", "other", "same"));
  EXPECT_TRUE(server.drain());
  EXPECT_EQ(server.admin().stats().total.processed, 3U);
  server.stop();
}

}  // namespace reshard_test
}  // namespace ordo::api
