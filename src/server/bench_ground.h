#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ordo/bench.hpp>
#include <ordo/client.hpp>
#include <ordo/config.hpp>

#include "base/clock.h"

/// What the measurements of bench.cpp stand on.
namespace ordo::bench {

inline constexpr std::size_t kPayload = 100;
inline constexpr const char* kQueue = "ordo-bench";
inline constexpr const char* kBacklog = "ordo-bench-backlog";

/// The queues of one measurement: kQueue, and more beside it.
struct Layout {
  std::size_t queues = 1;
  std::optional<std::uint32_t> shards{};
  std::function<void(QueueOptions&)> rules{};  ///< of the first; none: blank

  std::string queue(std::size_t no) const { return kQueue + (no == 0 ? "" : "-" + std::to_string(no)); }
};

/// A store for one measurement: a file in a folder of its own, gone afterwards; or a server, on which the
/// queues of the benchmark are removed before and after.
class Ground {
 public:
  explicit Ground(const BenchOptions& options, Layout layout = {});
  ~Ground();
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  const std::string& url() const { return url_; }
  Config config(const BenchOptions& options) const;

 private:
  void remove_queues();

  std::filesystem::path folder_;
  std::string url_;
  Layout layout_;
};

/// Counts ended runs and lets one thread wait for a number of them.
class Counter {
 public:
  void add(std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    count_ += count;
    if (count_ >= wanted_) changed_.notify_all();
  }
  void wait_for(std::uint64_t wanted) {
    std::unique_lock lock(mutex_);
    wanted_ = wanted;
    changed_.wait(lock, [&] { return count_ >= wanted; });
  }

 private:
  std::uint64_t count_ = 0, wanted_ = ~0ULL;
  std::mutex mutex_;
  std::condition_variable changed_;
};

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(system_clock().steady() - start_).count(); }

 private:
  Duration start_ = system_clock().steady();
};

std::string payload_of(std::uint64_t i);

/// Jobs of a bulk. Each is pushed with a payload of kPayload bytes.
struct Bulk {
  std::vector<std::string> queues;
  std::uint64_t jobs = 0;
  std::uint64_t ids = 0;  ///< so many different ones
  std::optional<Duration> delay{};
  std::function<void(NewJob&, std::uint64_t no)> change{};
};

/// Pushes them in large calls, some at a time: little memory is left behind. Each call goes to the next
/// queue.
void push_bulk(Client& client, const Bulk& bulk);

}  // namespace ordo::bench
