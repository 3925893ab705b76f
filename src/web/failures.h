#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"

namespace ordo::web {

/// How many wrong secrets an address may try: some at once, then one now and then. Thread-safe; it remembers
/// a bounded number of addresses.
class Failures {
 public:
  explicit Failures(Clock& clock) : clock_(clock) {}

  /// How long the address has to wait before it may try again; nothing: not at all.
  std::optional<std::chrono::seconds> wait_of(const std::string& address);
  void note(const std::string& address);

 private:
  Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Duration> forgiven_at_;  ///< when all failures of an address are forgiven; steady
};

}  // namespace ordo::web
