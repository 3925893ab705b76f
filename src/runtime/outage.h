#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <ordo/time.hpp>

namespace ordo::runtime {

/// The store as the threads of a node find it: when one of them cannot do its work that is told once, again
/// each minute while it lasts, and once more when all can. Thread-safe.
class Outage {
 public:
  /// `what` could not be done, as in "read the log". A line for the log; nothing: it is told.
  std::optional<std::string> failed(const std::string& what, const std::string& error, Duration steady);
  /// It was done.
  std::optional<std::string> succeeded(const std::string& what, Duration steady);

 private:
  std::atomic<std::size_t> failing_{0};  // the size of what_: mostly 0, and asked all the time
  std::mutex mutex_;
  std::set<std::string> what_;
  Duration since_{}, said_at_{};  // steady
};

}  // namespace ordo::runtime
