// A node under a steady load, for tests/soak/soak.py: pushes and runs jobs at a rate and prints, window by
// window, how long it took from push to start.
//
//     ordo_soak URL SECONDS WINDOW_SECONDS JOBS_PER_SECOND
//
// 1 of 100 jobs fails once, 1 of 20 is for a few seconds later, 50,000 keys, and 100,000 jobs are far ahead.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <ordo/server.hpp>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kQueue[] = "soak", kAhead[] = "ahead";
constexpr std::uint64_t kKeys = 50'000, kJobsAhead = 100'000, kCall = 1000;
constexpr std::uint64_t kFailing = 100, kDelayed = 20;  // one of so many
constexpr std::uint64_t kCallsUnderWay = 64;
constexpr milliseconds kTick{10};

std::int64_t now_us() {
  return std::chrono::duration_cast<microseconds>(Clock::now().time_since_epoch()).count();
}

/// Times by their logarithm, within 5 %: the memory of the process is measured, too.
class Times {
 public:
  void add(std::int64_t us) {
    const auto place =
        static_cast<std::size_t>(std::log(static_cast<double>(std::max<std::int64_t>(us, 1))) / kStep);
    ++counts_[std::min(place, counts_.size() - 1)];
  }
  /// Those of a window, and forgets them: how many, the median and the one that 1 of 100 exceeds.
  std::array<double, 3> take() {
    std::array<std::uint64_t, kPlaces> counts{};
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kPlaces; ++i) sum += counts[i] = counts_[i].exchange(0);
    const auto at = [&](double part) {
      auto left = static_cast<std::uint64_t>(part * static_cast<double>(sum));
      std::size_t i = 0;
      for (; i + 1 < kPlaces && counts[i] <= left; ++i) left -= counts[i];
      return std::exp((static_cast<double>(i) + 0.5) * kStep);
    };
    return {static_cast<double>(sum), at(0.5), at(0.99)};
  }

 private:
  static constexpr double kStep = 0.05;
  static constexpr std::size_t kPlaces = 400;
  std::array<std::atomic<std::uint64_t>, kPlaces> counts_{};
};

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

class Soak {
 public:
  Soak(const std::string& url, std::uint64_t rate)
      : rate_(rate), server_(config(url)), client_(server_.client()) {
    server_.add(kQueue, ordo::make_worker([this](ordo::Batch& batch) { run(batch); }));
    server_.add(kAhead, ordo::make_worker([](ordo::Batch&) {}));
    server_.start();
    for (std::uint64_t i = 0; i < kJobsAhead;) {
      std::vector<ordo::NewJob> jobs;
      for (; jobs.size() < kCall; ++i)
        jobs.push_back({.id = std::to_string(i),
                        .payload = std::string(100, '.'),
                        .delay = std::chrono::hours{24 * 30}});
      client_.push_many(kAhead, std::move(jobs));
    }
  }

  void go_on(std::int64_t all_us, std::int64_t window_us) {
    const auto began = now_us();
    auto next_window = began + window_us;
    for (std::int64_t tick = 0; tick * microseconds(kTick).count() < all_us; ++tick) {
      const auto due = began + tick * microseconds(kTick).count();
      wait_until(due);
      push(due);
      if (now_us() < next_window) continue;
      next_window += window_us;
      tell(now_us() - began);
    }
    tell(all_us);
    server_.stop(ordo::Server::Stop::now);
  }

 private:
  static ordo::Config config(const std::string& url) {
    ordo::Config config;
    config.store = url;
    config.queues.push_back({.name = kQueue});
    config.queues.back().retry = {.strategy = ordo::RetryPolicy::Strategy::fixed, .delay = seconds{1}};
    config.queues.push_back({.name = kAhead});
    return config;
  }

  // What is late is pushed with the time it was meant for: nothing is left out while the store stands still.
  void push(std::int64_t due) {
    std::vector<ordo::NewJob> jobs;
    for (std::uint64_t left = rate_ * kTick.count() / 1000; left > 0; --left, ++pushed_) {
      const auto chance = pushed_ * 0x9e3779b97f4a7c15ULL >> 20;
      auto& job = jobs.emplace_back();
      job.id = std::to_string(pushed_);
      job.key = std::to_string(chance % kKeys);
      const bool is_delayed = pushed_ % kDelayed == 0;
      if (is_delayed) job.delay = milliseconds{1000 + static_cast<std::int64_t>(chance % 4000)};
      job.payload = (is_delayed ? "later" : std::to_string(due)) + (pushed_ % kFailing == 1 ? "!" : " ");
      job.payload.resize(100, '.');
    }
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return under_way_ < kCallsUnderWay; });
      ++under_way_;
    }
    client_.push_async(kQueue, std::move(jobs), [this](const std::exception_ptr& error) {
      const std::lock_guard lock(mutex_);
      --under_way_;
      failed_ += error != nullptr;
      changed_.notify_all();
    });
  }

  void run(ordo::Batch& batch) {
    const auto now = now_us();
    for (const auto& job : batch.jobs()) {
      const auto& bytes = job.payloads.front().bytes;
      const bool is_first = job.retry_count < 0;
      if (is_first && bytes.front() != 'l') times_.add(now - std::atoll(bytes.c_str()));
      ++ran_;
      if (is_first && bytes.find('!') != std::string::npos) throw std::runtime_error("once");
    }
  }

  void wait_until(std::int64_t us) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, Clock::time_point(microseconds(us)), [&] { return now_us() >= us; });
  }

  void tell(std::int64_t us) {
    const auto [starts, p50, p99] = times_.take();
    std::printf(
        "{\"second\":%.0f,\"starts\":%.0f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"memory_mb\":%.1f,\"pushed\":%llu,"
        "\"ran\":%llu,\"failed_pushes\":%llu}\n",
        static_cast<double>(us) / 1e6, starts, p50, p99, resident_mb(),
        static_cast<unsigned long long>(pushed_), static_cast<unsigned long long>(ran_),
        static_cast<unsigned long long>(failed_));
    std::fflush(stdout);
  }

  const std::uint64_t rate_;
  Times times_;
  std::atomic<std::uint64_t> ran_{0};
  std::uint64_t pushed_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t under_way_ = 0, failed_ = 0;
  ordo::Server server_;
  ordo::Client client_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const auto us = [&](int place) { return static_cast<std::int64_t>(std::atof(argv[place]) * 1e6); };
  Soak(argv[1], std::strtoull(argv[4], nullptr, 10)).go_on(us(2), us(3));
  return 0;
}
