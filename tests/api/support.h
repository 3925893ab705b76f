#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include <ordo/ordo.hpp>

namespace ordo::api {

using namespace std::chrono_literals;

inline constexpr auto kPatience = 240s;  // until a test gives up; nothing waits so long

/// What threads tell a test.
template <class T = std::string>
class Told {
 public:
  void tell(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }

  /// Everything told so far, once it is at least `count`. Throws when it does not come.
  std::vector<T> wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return values_.size() >= count; })) {
      throw std::runtime_error("told " + std::to_string(values_.size()) + " of " + std::to_string(count));
    }
    return values_;
  }

  std::vector<T> now() {
    const std::lock_guard lock(mutex_);
    return values_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> values_;
};

/// Keeps runs until the test lets them go.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  void pass() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return open_; }))
      throw std::runtime_error("the gate stays closed");
  }

  /// Until the run is asked to stop.
  static void wait_for(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, kPatience, [] { return false; });
    if (!stop.stop_requested()) throw std::runtime_error("nobody asked to stop");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Until the condition holds; a look each few ms.
template <class Condition>
void until(const Condition& condition) {
  std::mutex mutex;
  std::condition_variable nobody;
  std::unique_lock lock(mutex);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("it does not come");
    nobody.wait_for(lock, 5ms);
  }
}

/// A store in a folder that goes with the object.
class TemporaryStore {
 public:
  TemporaryStore() : folder_((std::filesystem::temp_directory_path() / "ordo-api-XXXXXX").string()) {
    if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("cannot make " + folder_);
  }
  ~TemporaryStore() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryStore(const TemporaryStore&) = delete;
  TemporaryStore& operator=(const TemporaryStore&) = delete;

  std::string url() const { return "sqlite:" + folder_ + "/ordo.db"; }

 private:
  std::string folder_;
};

inline Config config_of(std::vector<QueueOptions> queues, std::string store = "memory:") {
  Config config;
  config.store = std::move(store);
  config.queues = std::move(queues);
  return config;
}

inline RetryPolicy retry_after(Duration delay) {
  return {.strategy = RetryPolicy::Strategy::fixed, .delay = delay};
}

/// A worker that tells the ids it runs.
inline std::unique_ptr<Worker> telling(Told<>& told) {
  return make_worker([&told](Batch& batch) {
    for (const auto& job : batch.jobs()) told.tell(job.id);
  });
}

/// What an Error{invalid_argument} of the call says; (none): it took it.
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << error.what();
    return error.what();
  }
  return "(none)";
}

}  // namespace ordo::api
