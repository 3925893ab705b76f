#pragma once

#include <mutex>
#include <vector>

#include "runtime/inbox.h"
#include "store/store.h"

namespace ordo::runtime {

/// Reads the log for the shards of this node and hands it to the engine, in order: new shards from the
/// beginning, then everything that is appended. One scan serves all shards.
///
/// tick() belongs to one thread; the rest is thread-safe.
class Follower {
 public:
  Follower(store::Store& store, Inbox& inbox) : store_(store), inbox_(inbox) {}

  /// Shards to read from now on. `losses`: how often the node had lost its leases when it was granted them.
  void add(std::vector<store::Grant> grants, std::uint64_t losses);
  void remove(domain::ShardId shard);

  enum class Found {
    something,  ///< there may be more: tick again
    nothing,    ///< all was read
  };
  /// One read. Throws what the store throws; the next tick goes on where this one stood.
  Found tick();

 private:
  void adopt(const std::vector<store::Grant>& grants);
  void read_for_adopted();
  void tell_caught_up(const std::vector<domain::ShardId>& ready);

  static constexpr std::size_t kRows = 8192;

  store::Store& store_;
  Inbox& inbox_;

  std::mutex mutex_;
  std::vector<store::Grant> added_;
  std::uint64_t losses_ = 0;  // at the grant of these
  std::vector<domain::ShardId> removed_;

  // Of the ticking thread
  std::vector<domain::ShardId> shards_;
  std::vector<store::Grant> behind_;    // not yet read to the head of their acquisition
  std::vector<store::Grant> adopting_;  // not yet read to the cursor
  store::Seq adopting_cursor_ = 0;
  store::Seq cursor_ = 0;
};

}  // namespace ordo::runtime
