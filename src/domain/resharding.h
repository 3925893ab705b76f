#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "domain/entry.h"
#include "domain/records.h"
#include "domain/renumber.h"

namespace ordo::domain {

/// What a queue's shards hold, on its way into shards of another number: everything goes to the shard of its
/// key, that of one key in its order, and job states follow their entries. Not thread-safe.
///
/// Memory: 16 bytes an entry until states() was asked for, if there is any.
class Resharding {
 public:
  using States = std::vector<std::pair<Seq, JobState>>;
  struct Copy {
    std::uint32_t shard = 0;
    std::string bytes;
  };

  /// `states`: those of each old shard.
  Resharding(std::uint32_t shards, std::vector<States> states);

  /// The next entry of an old shard, settled: what is to be appended for it, in this order. A control without
  /// a key is meant for what its old shard holds: of each of `keys`, there are entries before it of its kind
  /// and id. Ends of lent runs are dropped: nothing is lent.
  std::vector<Copy> pass(std::uint32_t old, Seq seq, Entry entry, const std::vector<std::string>& keys = {});

  /// The number of the next copy in a new shard.
  void arrived(std::uint32_t shard, Seq number);

  /// The states for each new shard. Every entry that they speak of has been passed, and every copy has
  /// arrived. Once.
  std::vector<States> states();

 private:
  /// Copies are counted over all shards; the shard stands in the low bits.
  using Place = Seq;

  struct Old {
    States states;
    Numbering places;
  };
  struct Arrivals {
    std::vector<Place> places;
    std::vector<Seq> numbers;

    Seq up_to(Place place) const;
  };

  JobState renumbered(const Old& old, const Arrivals& arrivals, JobState state) const;

  std::vector<Old> old_;
  std::vector<Arrivals> arrivals_;
  Seq copies_ = 0;
  bool has_states_ = false;
};

/// Cancel and run-now without a key: meant for every key of the shard.
bool is_for_every_key(const Entry& entry);

}  // namespace ordo::domain
