#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "store/store.h"

namespace ordo::sources {

/// How many more jobs some queues may get, so that those that are due or run stay about within a bound. After
/// a count, as many may be added as were missing; the next count is not soon, and costs a tenth of the time
/// at most. Belongs to one thread.
class QueueRoom {
 public:
  /// Store and clock must outlive it.
  QueueRoom(store::Store& store, Clock& clock, std::set<std::string, std::less<>> queues, std::uint64_t most)
      : store_(store), clock_(clock), queues_(std::move(queues)), most_(most) {}

  /// Throws Error{unavailable}.
  std::uint64_t left();
  void added(std::uint64_t jobs) { left_ -= std::min(left_, jobs); }

  /// Not sooner after a count that has found no room, or little.
  static constexpr Duration kRecount = std::chrono::milliseconds{100};

 private:
  std::uint64_t count();

  store::Store& store_;
  Clock& clock_;
  const std::set<std::string, std::less<>> queues_;
  const std::uint64_t most_;
  std::unique_ptr<store::LogReader> log_;  // null: it has not counted yet
  std::set<store::ShardId> shards_;        // that the log reader reads
  std::uint64_t left_ = 0;
  std::optional<Duration> next_count_;  // steady
};

}  // namespace ordo::sources
