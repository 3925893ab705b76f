#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ordo/options.hpp>

#include "domain/kept.h"

namespace ordo::domain {

/// The blocks of a shard: which numbers they have, and which of them are to go. What is in them is for the
/// store to know: the heads of the oldest are asked for when some of them may go.
class KeptBook {
 public:
  explicit KeptBook(const QueueOptions& queue);

  void load(const KeptCounts& counts);
  const KeptCounts& counts() const { return counts_; }

  /// The number of a new block.
  std::uint64_t add(const KeptHead& head);
  /// The block of that number found no room.
  void lose(std::uint64_t no);

  /// The oldest blocks, as the store has them from `counts().first` on: `is_all`: there are no others.
  using Heads = std::vector<std::pair<std::uint64_t, KeptHead>>;
  /// From which number on they are to be asked for; nothing: nobody needs them now. Asked for once, until
  /// learn() or forget_wish(), and while no delta is in flight.
  std::optional<std::uint64_t> wanted(Time now);
  void learn(const Heads& heads, bool is_all);
  void forget_wish() { asked_.reset(); }

  /// Some of the blocks that are known may go.
  bool may_trim(Time now) const { return !known_.empty() && is_over(known_.front().second, now); }
  /// Those that go with the next delta.
  std::vector<std::uint64_t> trim(Time now);
  /// When the next one may go; nothing: none is there.
  std::optional<Time> next_trim(Time now) const;

  static constexpr std::size_t kMostHeads = 1001;  ///< to be asked for at once

 private:
  struct Known {
    Time oldest{}, newest{};
    std::uint64_t records = 0, bytes = 0;
  };
  bool is_over(const Known& block, Time now) const;
  bool is_too_big() const { return counts_.bytes > most_bytes_; }

  Duration keep_{};               // of the kind that keeps for the longest
  std::uint64_t most_bytes_ = 0;  // of this shard
  KeptCounts counts_;
  std::deque<std::pair<std::uint64_t, Known>> known_;  // the oldest, by number, without a gap
  std::optional<std::pair<std::uint64_t, Known>> last_added_;
  std::optional<std::uint64_t> asked_;  // and what was the next number then
};

}  // namespace ordo::domain
