#pragma once

#include <cstdint>
#include <map>

#include "store/shard_set.h"
#include "store/store.h"

namespace ordo::store {

/// A LogReader for stores that number the entries of all shards in one row: one scan serves all shards. New
/// ones are first read on their own, up to where the others stand.
class GlobalReader : public LogReader {
 public:
  void add(ShardId shard, Seq after, Lease lease) final;
  void remove(ShardId shard) final;
  LogChunk read(std::size_t max_rows) final;
  void wait(Duration at_most) final { wait_for_wake(wakes_, at_most); }

 protected:
  struct Scan {
    LogChunk chunk;  ///< `through` may pass its last row, by entries of other shards
    Seq head = 0;    ///< number of the last append
  };

  /// The entries of `shards` behind `after`.
  virtual Scan scan(Seq after, const ShardSet& shards, std::size_t max_rows) = 0;
  /// Counts appends, changed definitions and wakes.
  virtual std::uint64_t count_wakes() = 0;
  /// Returns once the count differs from `seen`, or after `at_most`.
  virtual void wait_for_wake(std::uint64_t seen, Duration at_most) = 0;

 private:
  struct Place {
    Seq after = 0;  // the shard is read up to here, if further than the others
    Seq goal = 0;   // caught up there; 0: it was
  };

  LogChunk read_new(std::size_t max_rows);
  void take(LogChunk& chunk, const ShardSet& shards, Seq through, Seq head);

  std::uint64_t wakes_ = 0;  // before the last read
  ShardSet shards_;
  ShardSet new_;  // not read to the cursor yet
  Seq new_cursor_ = 0;
  Seq cursor_ = 0;
  std::map<ShardId, Place> places_;  // of new shards, and of those that are not like the others
};

}  // namespace ordo::store
