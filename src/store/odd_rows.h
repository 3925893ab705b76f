#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/store.h"

// What other programs wrote into the rows of a store, or a failing disk. What cannot be read is left out and
// told of, and everything else goes on.
namespace ordo::store {

/// Rows that the last looks have left out. Thread-safe.
class LeftOut {
 public:
  /// What the last look at `what` has left out, in words: in place of what the one before did.
  void set(const char* what, std::vector<std::string> rows) {
    const std::lock_guard lock(mutex_);
    rows_[what] = std::move(rows);
  }

  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all;
    for (const auto& [what, rows] : rows_) all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> rows_;
};

/// A store that leaves out what it cannot read.
class LeavesOut {
 public:
  virtual ~LeavesOut() = default;

  /// Of the last queues(), nodes(), shards(), load() and dead().
  virtual std::vector<std::string> left_out() = 0;
};

/// Nothing: it leaves nothing out.
std::vector<std::string> left_out(Store& store);

/// Whether a node may have this id.
bool is_node(std::string_view id);

/// Whether there can be a queue with this name, number and number of shards.
bool is_definition(std::string_view name, std::int64_t number, std::int64_t shards);
inline bool is_definition(const QueueDefinition& queue) {
  return is_definition(queue.name, queue.number, queue.shards);
}
/// What is told of one that is left out as there cannot.
std::string odd_definition(std::string_view name);

/// A number that stands in a node's row; one of no request of ours is none.
NodeRequest request_of(std::uint64_t number);

/// Takes out the shards whose token or batch leaves no room to count on. What is told of them.
std::vector<std::string> take_used_up(std::vector<ShardRow>& rows);

/// Adds what is to be told of the time of the newest entry: that it is far ahead.
void examine_newest(std::vector<Finding>& findings, Time newest, Time now);

}  // namespace ordo::store
