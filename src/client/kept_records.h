#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "domain/kept_book.h"
#include "store/store.h"

namespace ordo {

/// A block of records in a store.
struct StoredBlock {
  Time newest{};  ///< of its records
  store::ShardId shard;
  std::uint64_t no = 0;
  std::uint32_t bytes = 0;
};

/// Those of the shards that are wanted by their heads, in no order. `from`: the first number of each shard.
std::vector<StoredBlock> find_blocks(store::Store& store, const std::map<store::ShardId, std::uint64_t>& from,
                                     const std::function<bool(const domain::KeptHead&)>& wanted);

/// Takes the first of the blocks off `left` and reads them, some at a time: about 8 MiB. Those that were
/// trimmed meanwhile are left out.
void read_some_blocks(store::Store& store, std::span<const StoredBlock>& left,
                      const std::function<void(store::ShardId, const store::KeptRow&)>& visit);

/// Calls `visit` for all records of these shards, block by block, in about the order of their ends. `between`
/// is called now and then.
void each_kept_record(store::Store& store, const std::vector<store::ShardId>& shards,
                      const std::function<void(store::ShardId, const domain::KeptRecord&)>& visit,
                      const std::function<void()>& between);

/// Makes the blocks of a shard anew, of records that another had.
class KeptFiller {
 public:
  /// `keep`: as the owner of the other was told.
  explicit KeptFiller(Duration keep) : keep_(keep), book_({}) {}

  /// A block that is full goes with the next delta.
  std::optional<store::KeptRow> add(const domain::KeptRecord& record);
  /// The rest.
  std::optional<store::KeptRow> take();
  /// With all blocks that were given out.
  domain::KeptCounts counts() const;

 private:
  Duration keep_;
  domain::KeptBook book_;
  domain::KeptBlock block_;
};

}  // namespace ordo
