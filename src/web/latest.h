#pragma once

#include <mutex>
#include <optional>

#include "base/clock.h"

namespace ordo::web {

/// What a look has found, kept for a while: many ask for the same at once, and a look costs much.
/// Thread-safe.
template <class Value>
class Latest {
 public:
  /// `ask()` looks; what it found is good for `lasts(found)`.
  template <class Ask, class Lasts>
  Value look(Ask ask, Lasts lasts) {
    const std::lock_guard lock(mutex_);
    if (!value_ || system_clock().steady() >= until_) {
      value_ = ask();
      until_ = system_clock().steady() + lasts(*value_);
    }
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::optional<Value> value_;
  Duration until_{};  // steady
};

}  // namespace ordo::web
