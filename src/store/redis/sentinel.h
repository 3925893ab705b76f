#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <ordo/finding.hpp>

#include "store/redis/connection.h"
#include "store/redis/location.h"

namespace ordo::store::redis {

/// Asks sentinels which server is the master. One that was cut off tells what was: so more than half of them
/// are asked, and what stands under the highest epoch is believed. Thread-safe.
class Sentinels {
 public:
  /// What one of them says, or why it says nothing.
  struct Opinion {
    Address sentinel;
    std::optional<Address> master;
    std::uint64_t epoch = 0;
    std::uint64_t replicas = 0;
    std::string why;
  };

  Sentinels(const Location& location, Duration patience);

  /// Throws Error{unavailable}: none of them answers, or knows the master, or only a few do, which tell what
  /// was before.
  Address master();

  /// As all of them say.
  std::vector<Opinion> opinions() const;

 private:
  Opinion ask(const Address& sentinel) const;

  const Location location_;
  const Duration patience_;
  std::mutex mutex_;
  std::size_t first_ = 0;    // who answered last
  std::uint64_t epoch_ = 0;  // of what was believed last
};

/// Hears from a sentinel that there is another master, so that one which was cut off with its clients is left
/// although it answers them. Has a thread of its own.
class SentinelWatch {
 public:
  /// Calls `look` when there is news, or may have been some.
  SentinelWatch(const Location& location, Duration patience, std::function<void()> look);
  ~SentinelWatch();
  SentinelWatch(const SentinelWatch&) = delete;
  SentinelWatch& operator=(const SentinelWatch&) = delete;

 private:
  void loop(const std::stop_token& stop);
  void listen_to(const Address& sentinel, const std::stop_token& stop);

  const Location location_;
  const Duration patience_;
  const std::function<void()> look_;
  const int bell_;  // rings when it is to end
  std::jthread thread_;
};

/// What an operator should know of them.
std::vector<Finding> examine_sentinels(const Location& location,
                                       const std::vector<Sentinels::Opinion>& opinions);

}  // namespace ordo::store::redis
