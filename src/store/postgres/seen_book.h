#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace ordo::store::postgres {

/// How far an owner's reader has read, and what it may have left out, for the owner's commits: each stores it
/// beside its delta, so that the next owner knows which entries must not stay where they are. Thread-safe.
class SeenBook {
 public:
  /// Before the entries of the read that found `unseen` are returned: a delta that knows of them is committed
  /// with what is noted here, or later.
  void note(ShardId shard, Lease lease, std::int64_t seen, std::vector<std::int64_t> unseen);
  void forget(ShardId shard, Lease lease);

  /// All that are noted.
  std::vector<std::pair<ShardId, Lease>> leases();

  struct Note {
    std::int64_t seen = 0;
    std::string unseen = "{}";  ///< transactions, as PostgreSQL writes an array
  };
  /// Nothing, where nobody reads for this lease.
  Note find(ShardId shard, Lease lease);

 private:
  struct Page {
    Lease lease;
    std::int64_t seen = 0;
    std::vector<std::int64_t> unseen;
  };
  std::mutex mutex_;
  std::map<ShardId, Page> pages_;
};

}  // namespace ordo::store::postgres
