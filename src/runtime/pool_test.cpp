#include "runtime/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

namespace ordo::runtime {
namespace pool_test {

/// Counts the runs of each job, and keeps some waiting until it is opened.
class Gate final : public Worker {
 public:
  void perform(Batch& batch) override {
    std::unique_lock lock(mutex_);
    ran_.insert(batch.jobs().front().id);
    changed_.notify_all();
    if (batch.jobs().front().id.starts_with("slow")) changed_.wait(lock, [&] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_for(std::size_t runs) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ran_.size() >= runs; });
  }
  std::multiset<std::string> ran() {
    const std::lock_guard lock(mutex_);
    return ran_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<std::string> ran_;
  bool open_ = false;
};

class PoolTest : public testing::Test {
 protected:
  std::vector<Assignment> runs(const std::string& prefix, std::size_t count) {
    std::vector<Assignment> runs;
    for (std::size_t i = 0; i < count; ++i) {
      auto& run = runs.emplace_back();
      run.no = ++last_;
      run.queue = &queue_;
      run.worker = &gate_;
      run.kind = queue_;
      run.jobs.resize(1);
      run.jobs[0].id = prefix + std::to_string(last_);
      run.control = std::make_shared<RunControl>();
    }
    return runs;
  }
  std::size_t ends() { return inbox_.take().ends.size(); }

  const std::string queue_ = "orders";
  Gate gate_;
  Inbox inbox_;
  domain::RunNo last_ = 0;
  Performer perform_ = [](Worker& worker, Batch& batch) { worker.perform(batch); };
};

// A run is either executed or taken back, whoever is faster.
TEST_F(PoolTest, a_run_is_started_or_taken_back_never_both) {
  constexpr std::size_t kRounds = 200, kRuns = 64;
  std::size_t recalled = 0, ended = 0;
  {
    Pool pool(4, inbox_, system_clock(), perform_);
    for (std::size_t round = 0; round < kRounds; ++round) {
      pool.submit(-1, runs("job", kRuns / 2));
      pool.submit(static_cast<int>(round % 4), runs("job", kRuns / 2));
      recalled += pool.recall([&](const Assignment& run) { return run.no % 3 != 0; }).size();
      recalled += pool.recall_overdue().size();
      ended += ends();
    }
    gate_.wait_for(kRounds * kRuns - recalled);
  }
  ended += ends();
  EXPECT_EQ(ended + recalled, kRounds * kRuns);
  const auto ran = gate_.ran();
  EXPECT_EQ(ran.size(), ended);
  EXPECT_EQ(std::set(ran.begin(), ran.end()).size(), ran.size()) << "a run was executed twice";
}

TEST(PerformBatch, keeps_of_an_error_what_is_stored) {
  class Wordy final : public Worker {
   public:
    void perform(Batch& batch) override {
      batch.fail(0, std::string(12U << 20, 'e'));
      throw std::runtime_error(std::string(12U << 20, 'e'));
    }
  } worker;
  Batch batch("orders", "orders", std::vector<BatchJob>(2), Duration{}, 0, {});
  const auto outcomes = perform_batch([](Worker& each, Batch& all) { each.perform(all); }, worker, batch);
  EXPECT_EQ(outcomes.at(0).text.size(), 16U << 10);
  EXPECT_EQ(outcomes.at(1).text.size(), 16U << 10);
}

TEST_F(PoolTest, what_waits_behind_long_runs_is_taken_back_and_no_more_is_wanted) {
  Pool pool(2, inbox_, system_clock(), perform_);
  std::vector<std::size_t> room;
  // Until its runs are known to be short.
  for (std::size_t ran = 0; ran == 0 || room[0] <= 1; pool.look(room)) {
    pool.submit(-1, runs("job", 1));
    gate_.wait_for(++ran);
  }
  const auto short_runs = last_;
  pool.submit(-1, runs("slow", 20));
  gate_.wait_for(short_runs + 2);
  for (std::size_t recalled = 0; recalled < 18; recalled += pool.recall_overdue().size()) {
    ASSERT_NE(pool.overdue_in(), Duration::max()) << recalled;
  }
  EXPECT_EQ(pool.overdue_in(), Duration::max()) << "nothing waits any more";
  pool.look(room);
  EXPECT_EQ(room, (std::vector<std::size_t>{0, 0}));
  gate_.open();
}

}  // namespace pool_test
}  // namespace ordo::runtime
