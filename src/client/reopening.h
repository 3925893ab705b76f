#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/fork.h"
#include "client/store_callback.h"

namespace ordo {

/// What uses a store, until the files of an SQLite store were deleted or replaced; then another one that has
/// opened what is there now. Queues have other numbers in it, so nothing that was known is kept. Thread-safe.
template <class User>
class Reopening {
 public:
  using Reopen = std::function<std::shared_ptr<User>(User& before)>;

  /// Without `reopen` it stays the first one.
  explicit Reopening(std::shared_ptr<User> first, Reopen reopen = {})
      : now_(std::move(first)), reopen_(std::move(reopen)) {}

  /// Throws what `reopen` throws; the next call tries again. Throws in the child of a fork.
  std::shared_ptr<User> get() {
    if (forks() != forks_) now_->handle().check_process();  // a thread of the parent may have held the lock
    std::unique_lock lock(mutex_);
    if (!is_over()) return now_;
    auto next = reopen_(*now_);
    const auto before = std::exchange(now_, next);
    lock.unlock();  // it waits for its callbacks, and these may come here
    return next;
  }

  /// Nobody else uses this any more.
  std::shared_ptr<User> last() { return std::move(now_); }

 private:
  bool is_over() const {
    if (!reopen_ || StoreCallback::is_here()) return false;
    const auto& handle = now_->handle();
    return !handle.is_of_parent() && handle.is_replaced();
  }

  const std::uint64_t forks_ = forks();
  std::mutex mutex_;
  std::shared_ptr<User> now_;
  const Reopen reopen_;
};

}  // namespace ordo
