#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <ordo/time.hpp>

namespace ordo::runtime {

/// The threads of a node, those of runs aside. What one throws ends it, and is told; the others go on.
class NodeThreads {
 public:
  using Body = std::function<void(const std::stop_token&)>;

  /// `failed`: called on the thread, while the exception is handled. `wake`: brings all out of what they wait
  /// on, once they were asked to stop.
  NodeThreads(std::function<void(const char* what)> failed, std::function<void()> wake)
      : failed_(std::move(failed)), wake_(std::move(wake)) {}
  ~NodeThreads() { join(); }

  void start(const char* what, Body body) { threads_.push_back(make(what, std::move(body))); }
  /// One that its owner joins.
  std::jthread make(const char* what, Body body);

  /// Asks all to stop, the one that was started last when the others are over: it may tell what they left.
  /// False: some go on after `patience`. The calling thread, if it is one of them, is not waited for.
  bool stop(Duration patience);
  /// Asks all to stop and waits for them.
  void join();

  bool is_empty() const { return threads_.empty(); }
  /// Whether the calling thread is one of them.
  bool is_own() const;

  /// Until then, or until it is asked to stop.
  static void pause(const std::stop_token& stop, Duration time);

 private:
  void ask_to_stop(std::size_t first, std::size_t end);
  bool wait_for(Duration at_most, std::size_t live);

  const std::function<void(const char* what)> failed_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t live_ = 0;  // whose bodies go on
  std::vector<std::jthread> threads_;
};

}  // namespace ordo::runtime
