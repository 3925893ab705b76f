#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "runtime/lease_clock.h"
#include "store/store.h"

namespace ordo {

/// A copy as the owner of shards: a node of one store that runs nothing. A thread of its own renews its
/// leases.
///
/// For one thread; the store must outlive it. Its end without give_back() leaves the shards as a crash does.
class CopyOwner {
 public:
  /// Joins. `name` is what messages call the store; `lease` as the nodes of the store have it.
  CopyOwner(store::Store& store, std::string name, Clock& clock, Duration lease);
  ~CopyOwner();
  CopyOwner(const CopyOwner&) = delete;
  CopyOwner& operator=(const CopyOwner&) = delete;

  /// Owns the shards, at once or when their dead owners' leases have run out. Throws Error{unavailable} if a
  /// living node has one.
  std::map<store::ShardId, store::Grant> own(const std::vector<store::ShardId>& shards);

  /// Throws Error{unavailable} when the leases are lost.
  void check() const;

  /// The last owner did not release the shard: a node that finds it so is careful with its jobs.
  bool is_unclean(store::ShardId shard) const { return !grants_.at(shard).clean; }

  /// Frees the shards: those of `unclean` as a crash would, the others as at a clean stop.
  void give_back(const std::set<store::ShardId>& unclean);

 private:
  struct Seen {
    std::uint64_t renewals = 0;
    Duration since{};  // steady
  };

  void keep(const std::stop_token& stop);
  static bool has_work(const std::string& node, const store::ShardRow& row);
  bool may_claim(const std::vector<store::NodeRow>& nodes, const std::vector<store::ShardRow>& shards);
  [[noreturn]] void refuse(const store::NodeRow& owner) const;
  void claim(const std::vector<store::NodeRow>& nodes, const std::vector<store::ShardRow>& shards);
  void pause_a_moment();

  store::Store& store_;
  const std::string name_;
  Clock& clock_;
  const Duration lease_;
  std::string id_;
  std::uint64_t holder_ = 0;
  runtime::LeaseClock valid_;
  std::map<std::string, Seen> seen_;
  std::map<store::ShardId, store::Grant> grants_;
  std::mutex mutex_;
  std::condition_variable_any tick_;
  std::jthread thread_;
};

}  // namespace ordo
