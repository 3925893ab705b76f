#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/entry.h"
#include "domain/lent.h"
#include "domain/records.h"
#include "domain/renumber.h"

namespace ordo::domain {

/// What a queue's shards hold, on its way into shards of another number: everything goes to the shard of its
/// key, that of one key in its order, and job states and lent runs follow their entries. Not thread-safe.
///
/// Memory: 16 bytes an entry until facts() was asked for, if there are any.
class Resharding {
 public:
  /// What a shard holds beside its entries.
  struct Facts {
    std::vector<std::pair<Seq, JobState>> states;
    std::vector<LentRun> lent;
    std::vector<std::pair<Seq, std::string>> lost;  ///< states that cannot be read, as they are
    ScheduleRecords schedules;                      ///< each goes where its jobs go
  };
  struct Copy {
    std::uint32_t shard = 0;
    std::string bytes;
  };

  /// `facts`: of each old shard.
  Resharding(std::uint32_t shards, std::vector<Facts> facts);

  /// The next entry of an old shard, settled: what is to be appended for it, in this order. A control without
  /// a key is meant for what its old shard holds: of each of `keys`, there are entries before it of its kind
  /// and id. The end of a lent run is meant for every shard that has jobs of it.
  std::vector<Copy> pass(std::uint32_t old, Seq seq, Entry entry, const std::vector<std::string>& keys = {});

  /// The next entry of an old shard, which cannot be read: nobody knows where its key belongs.
  Copy pass_unreadable(std::uint32_t old, Seq seq, std::string_view bytes);

  /// The number of the next copy in a new shard.
  void arrived(std::uint32_t shard, Seq number);

  /// What the facts of this old shard speak of was passed. One that is not there needs the log's end to know.
  bool has_passed_all(std::uint32_t old) const { return old_[old].places.is_complete(); }

  /// What each new shard is to hold. Every entry that it speaks of has been passed, and every copy has
  /// arrived. Once. A lent run whose jobs have parted is in the list of each of their shards.
  std::vector<Facts> facts();

 private:
  /// Copies are counted over all shards; the shard stands in the low bits.
  using Place = Seq;

  struct Old {
    Facts facts;
    Numbering places;
  };
  struct Arrivals {
    std::vector<Place> places;
    std::vector<Seq> numbers;

    Seq up_to(Place place) const;
  };

  static std::uint32_t shard_at(Place place);
  static std::set<std::uint32_t> shards_of_run(const Old& old, const LentName& name);
  static std::optional<std::uint32_t> shard_of_job(const Old& old, const LentRun::Job& job);
  JobState renumbered(const Old& old, const Arrivals& arrivals, JobState state) const;
  void carry_lent(const Old& old, std::vector<Facts>& all) const;
  void carry_schedules(Old& old, std::vector<Facts>& all) const;

  std::vector<Old> old_;
  std::vector<Arrivals> arrivals_;
  Seq copies_ = 0;
  bool has_facts_ = false;
};

/// Cancel and run-now without a key: meant for every key of the shard.
bool is_for_every_key(const Entry& entry);

}  // namespace ordo::domain
