#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace ordo::store {

/// Where one thread waits for what another gives it, once. May stand on the waiter's stack: the giver does
/// not touch it after it is given.
template <class Result>
class Answer {
 public:
  void give(Result result) {
    const std::lock_guard lock(mutex_);
    result_.emplace(std::move(result));
    given_.notify_one();
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    given_.notify_one();
  }

  /// Returns or throws what was given.
  Result wait() {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [&] { return result_.has_value() || error_ != nullptr; });
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    return std::move(*result_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  std::optional<Result> result_;
  std::exception_ptr error_;
};

}  // namespace ordo::store
