#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include <ordo/copy.hpp>

#include "base/clock.h"
#include "client/copy_mark.h"
#include "client/idle_owner.h"
#include "domain/rate_record.h"
#include "domain/records.h"
#include "domain/renumber.h"
#include "store/store.h"

namespace ordo {

/// Throws Error{unsupported}: there is nothing to copy.
void refuse_without_queues(const store::QueueList& from);

/// One copy from store to store (see store_copy.cpp for why it is exact). For one thread; used once.
class StoreCopy {
 public:
  StoreCopy(store::Store& from, store::Store& to, Clock& clock, Duration lease,
            std::function<void(const CopyProgress&)> progress);

  CopyResult run(CopySource source = CopySource::keep);

 private:
  enum class Side : std::uint8_t { from, to };

  /// One shard, in both stores.
  struct Part {
    std::size_t queue = 0;  // index into queues_
    store::Grant from, to;
    CopyMark mark;
    bool is_marked = false;
    bool is_resumed = false;
    bool is_touched = false;  // nodes of TO worked in the open round
    domain::Counts from_counts, to_counts;
    domain::Seq from_position = 0, to_position = 0;
    std::vector<store::StateRow> states;  // FROM's
    domain::RateRows rates;               // likewise
    std::vector<std::uint64_t> entries;   // checksums of the round's entries in FROM
    domain::Seq last = 0;                 // the last of them
    domain::Numbering places;             // FROM's numbers -> places in `entries`, from 1
    std::uint64_t in_to = 0;              // so many of them TO has, as far as it was read

    /// The next entry of TO: whether it is the next of ours, and not one that somebody pushed there.
    bool has_next(std::uint64_t checksum) {
      const bool is_ours = in_to < entries.size() && entries[in_to] == checksum;
      if (is_ours) ++in_to;
      return is_ours;
    }
    bool is_whole() const { return mark.is_open && mark.is_first; }
  };

  /// A queue, in both stores.
  struct Queue {
    store::QueueDefinition from, to;
    bool paused = false;  // what it is to be afterwards
  };

  struct Totals;

  /// Of an entry as it is to be in TO: what it owes to the time of its append is said by itself.
  static std::string settled_bytes(std::string_view bytes, Time at);
  static domain::JobState state_of(const store::StateRow& row);

  /// Gets the bytes of the entry as they are to be in TO.
  using Visit = std::function<void(Part&, const store::LogRow&, const std::string&)>;

  // Both stores (store_copy.cpp)
  void find_queues();
  void own_shards();
  void find_marks();
  void check_marks();
  void refuse_content();
  void check_same_from(const Part& part);
  void open_round();
  void close_round();
  void commit(std::vector<store::Delta> deltas);
  store::Delta delta_of(Part& part);

  // What is in them (store_copy_log.cpp)
  void read_log(Side side, const std::function<bool(const Part&)>& wanted, const Visit& visit,
                const std::function<void()>& after_chunk);
  void leave_touched_rounds();
  void load_states();
  void read_from();
  void match_to();
  void append_missing();
  void write_states();
  void write_rates();
  void write_states_of(Part& part, const domain::Numbering& numbers);
  void copy_dead();
  void copy_kept();
  void copy_rows();
  void copy_kept_responses(const std::string& from, const std::string& to);
  void copy_rows_of(const std::string& from, const std::string& to);
  void each_dead(Side side, const std::function<void(Part&, const store::DeadRow&)>& visit,
                 const std::function<void()>& after_page);

  // Whether they agree (store_copy_check.cpp)
  CopyResult verify();
  void read_back(Totals& totals);

  void report(CopyProgress::Step step, std::uint64_t done);
  void check_owners() const;
  std::uint64_t count_entries() const;

  store::Store& from_;
  store::Store& to_;
  std::function<void(const CopyProgress&)> progress_;
  IdleOwner from_owner_;
  IdleOwner to_owner_;
  std::vector<Queue> queues_;
  std::vector<Part> parts_;  // by queue and index
  std::uint64_t appended_ = 0;
};

}  // namespace ordo
