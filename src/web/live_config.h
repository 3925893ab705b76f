#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include <ordo/options.hpp>

namespace ordo::web {

/// The config of this process as it is by now: it may be read again while the process runs. Thread-safe.
class LiveConfig {
 public:
  explicit LiveConfig(Config config) : config_(std::make_shared<const Config>(std::move(config))) {}

  /// What it is at this moment: an answer is made with one of them from beginning to end.
  std::shared_ptr<const Config> now() const {
    const std::lock_guard lock(mutex_);
    return config_;
  }
  void change(Config config) {
    auto changed = std::make_shared<const Config>(std::move(config));
    const std::lock_guard lock(mutex_);
    config_ = std::move(changed);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Config> config_;
};

}  // namespace ordo::web
