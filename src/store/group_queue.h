#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include <ordo/time.hpp>

namespace ordo::store {

/// What many threads hand in and one takes out in groups: while one group is on its way the next one gathers,
/// without a timer. Who hands in wakes the other only if it waits.
template <class Item>
class GroupQueue {
 public:
  /// From any thread. Never blocks.
  void push(Item item) {
    bool must_wake = false;
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(item));
      must_wake = std::exchange(is_idle_, false);
    }
    if (must_wake) arrived_.notify_one();
  }

  /// From one thread. Waits until there is something, or for `at_most`, or until a stop; then appends the
  /// first items to `group`, in the order of push(), as long as `takes(item)`.
  template <class Takes>
  void take(const std::stop_token& stop, std::vector<Item>& group, std::optional<Duration> at_most,
            Takes takes) {
    std::unique_lock lock(mutex_);
    const auto has_some = [&] { return !waiting_.empty(); };
    is_idle_ = waiting_.empty();
    if (at_most) {
      arrived_.wait_for(lock, stop, *at_most, has_some);
    } else {
      arrived_.wait(lock, stop, has_some);
    }
    is_idle_ = false;
    while (!waiting_.empty() && takes(waiting_.front())) {
      group.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Item> waiting_;
  bool is_idle_ = false;
};

}  // namespace ordo::store
