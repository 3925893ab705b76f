#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ordo/options.hpp>

#include "domain/shard_id.h"

namespace ordo::domain {

/// How many bytes of waiting payloads a node keeps in memory. Shared by its shards; used by one thread.
struct PayloadBudget {
  std::uint64_t limit = ~0ULL;
  std::uint64_t used = 0;

  /// What is not due yet takes half of the room at most: the rest is for what starts sooner.
  bool has_room(std::uint64_t bytes, bool is_due) const {
    return used + bytes <= (is_due ? limit : limit / 2);
  }
};

/// A payload's bytes in memory, or nothing: then they are in the store only. Eight bytes wide.
class CachedBytes {
 public:
  CachedBytes() = default;
  CachedBytes(std::string_view bytes, PayloadBudget& budget);
  ~CachedBytes() { drop(); }
  CachedBytes(CachedBytes&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  CachedBytes& operator=(CachedBytes&& other) noexcept;

  bool present() const { return block_ != nullptr; }
  std::string_view view() const;

 private:
  struct Block;
  void drop();

  Block* block_ = nullptr;
};

/// One payload of a job, known by the entry that brought it.
struct Piece {
  Seq seq = 0;
  double score = 0;
  CachedBytes bytes;
  Seq newest = 0;  ///< of equal ones the entry that came last, where that says its place; 0: its own
};

/// What a queue or kind with these rules does about equal payloads.
inline EqualPayloads equal_payloads_of(const QueueOptions& rules) {
  const bool is_last = rules.payloads == PayloadChoice::last;
  return rules.equal_payloads.value_or(is_last ? EqualPayloads::newest : EqualPayloads::oldest);
}

/// Those of a job's pieces that a run receives. `pieces` are in (score, arrival) order, and at least one.
template <class T>
std::span<const T> delivered(std::span<const T> pieces, PayloadChoice choice) {
  switch (choice) {
    case PayloadChoice::first:
      return pieces.first(1);
    case PayloadChoice::last:
      return pieces.last(1);
    case PayloadChoice::all:
      break;
  }
  return pieces;
}

/// The payloads of one job: a set by bytes, kept in (score, arrival) order (rules: merging). Where the newest
/// of equal payloads counts, that is the arrival of the last of them. Never empty but
/// when moved from or taken apart.
///
/// Equal payloads are found only among bytes in memory; merge_duplicates() finishes the work once all are.
class PayloadSet {
 public:
  PayloadSet() = default;
  explicit PayloadSet(Piece first) : one_(std::move(first)) {}

  /// In (score, arrival) order.
  std::span<const Piece> pieces() const;
  std::size_t size() const { return many_ ? many_->pieces.size() : 1; }

  /// Arrival of the job: its lowest entry.
  Seq arrival() const { return many_ ? many_->arrival : one_.seq; }

  /// The highest entry of the set.
  Seq last() const;

  /// What an equal payload did to the set.
  struct Merged {
    Seq kept = 0;
    Seq duplicate = 0;           ///< the entry that is not needed any more
    bool score_changed = false;  ///< the kept entry's score or place is not its own any more
    double score = 0;            ///< of the kept entry
    Seq newest = 0;              ///< likewise
  };

  /// Adds a payload. An equal one is kept once: the earlier entry, with the score and place that `which`
  /// says.
  std::optional<Merged> add(Piece piece, EqualPayloads which = EqualPayloads::oldest);

  /// Joins the pieces that turned out equal.
  std::vector<Merged> merge_duplicates(EqualPayloads which = EqualPayloads::oldest);

  /// Takes the piece at `index` out.
  Piece remove(std::size_t index);

  /// Takes those of these entries out, which are not all.
  void drop(std::span<const Seq> entries);

  /// Takes the first `count` out, which are not all.
  std::vector<Piece> take_first(std::size_t count);

  /// Takes everything out.
  std::vector<Piece> take_all();

  /// Takes in the bytes that `find` (std::optional<std::string_view>(Seq)) has for pieces without any.
  template <class Find>
  void provide(Find find, PayloadBudget& budget) {
    if (many_) many_->forget_index();
    for (auto& piece : stored()) {
      if (piece.bytes.present()) continue;
      if (const std::optional<std::string_view> bytes = find(piece.seq)) piece.bytes = {*bytes, budget};
    }
  }

  /// Leaves the bytes to the store.
  void forget_bytes();

  bool all_present() const;
  /// The pieces whose bytes are not in memory.
  std::vector<std::pair<Seq, double>> absent() const;
  /// Leaves them out; at least one stays.
  void drop_absent();

 private:
  /// Sorted only when somebody looks, and found by their bytes, so that thousands of payloads merge in no
  /// time.
  struct Many {
    explicit Many(std::vector<Piece> all);
    void add(Piece piece);
    void sort();
    Piece* find(const Piece& equal);
    void forget_index();

    Seq arrival = 0, last = 0;
    std::vector<Piece> pieces;
    bool sorted = true;
    std::unordered_multimap<std::size_t, std::uint32_t> by_bytes;  // hash → place
    std::size_t indexed = 0;                                       // pieces up to here are in it
  };

  std::span<Piece> stored() { return many_ ? std::span<Piece>(many_->pieces) : std::span<Piece>(&one_, 1); }
  void settle(std::vector<Piece> pieces);

  Piece one_;
  std::unique_ptr<Many> many_;
};

}  // namespace ordo::domain
