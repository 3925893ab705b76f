#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "domain/shard_id.h"

namespace ordo::store {

/// A set of shards that is asked for every row of a log: open addressing, at most half full.
class ShardSet {
 public:
  bool contains(domain::ShardId shard) const {
    for (auto slot = first_slot(shard);; slot = next(slot)) {
      if (slots_[slot] == shard) return true;
      if (slots_[slot] == kFree) return false;
    }
  }

  /// False: it was there.
  bool insert(domain::ShardId shard) {
    if (contains(shard)) return false;
    if (++size_ * 2 > slots_.size()) grow();
    put(shard);
    return true;
  }

  void insert(const ShardSet& others) {
    for (const auto shard : others.slots_) {
      if (shard != kFree) insert(shard);
    }
  }

  /// False: it was not there.
  bool erase(domain::ShardId shard) {
    auto slot = first_slot(shard);
    for (; slots_[slot] != shard; slot = next(slot)) {
      if (slots_[slot] == kFree) return false;
    }
    --size_;
    // What stands behind it and would have stood here comes here, so that no search ends too early.
    for (auto after = next(slot); slots_[after] != kFree; after = next(after)) {
      const auto wanted = first_slot(slots_[after]);
      if (((after - wanted) & mask()) < ((after - slot) & mask())) continue;
      slots_[slot] = slots_[after];
      slot = after;
    }
    slots_[slot] = kFree;
    return true;
  }

  void clear() { *this = {}; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  static constexpr domain::ShardId kFree{.queue = ~0U, .index = ~0U};

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t next(std::size_t slot) const { return (slot + 1) & mask(); }
  std::size_t first_slot(domain::ShardId shard) const {
    const auto id = std::uint64_t{shard.queue} << 32 | shard.index;
    return static_cast<std::size_t>((id * 0x9e3779b97f4a7c15ULL) >> (64 - bits_));
  }
  void put(domain::ShardId shard) {
    auto slot = first_slot(shard);
    while (slots_[slot] != kFree) slot = next(slot);
    slots_[slot] = shard;
  }
  void grow() {
    const auto before = std::move(slots_);
    slots_.assign(std::size_t{1} << ++bits_, kFree);
    for (const auto shard : before) {
      if (shard != kFree) put(shard);
    }
  }

  unsigned bits_ = 2;
  std::size_t size_ = 0;
  std::vector<domain::ShardId> slots_ = std::vector<domain::ShardId>(std::size_t{1} << bits_, kFree);
};

}  // namespace ordo::store
