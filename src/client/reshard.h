#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ordo/admin.hpp>

#include "base/clock.h"
#include "client/checksum.h"
#include "client/idle_owner.h"
#include "domain/rate_record.h"
#include "domain/records.h"
#include "domain/resharding.h"
#include "store/store.h"

namespace ordo {

/// One change of a queue's number of shards (see reshard.cpp for why nothing is lost). For one thread; used
/// once.
class Reshard {
 public:
  using Progress = std::function<void(const ReshardProgress&)>;
  static constexpr const char* kTask = "reshard";  ///< what an IdleOwner calls it

  Reshard(store::Store& store, Clock& clock, Duration lease, std::string queue, Progress progress,
          std::unique_ptr<Pace> pace = real_pace(), Random random = Random::from_system());

  /// Throws Error.
  ReshardResult run(std::uint32_t shards);

 private:
  /// A new shard.
  struct Part {
    store::Grant grant;
    Checksum appended, arrived;
    domain::Counts counts;  // as its owners will find them
  };
  /// A control without a key: its old shard, and its number there.
  using Control = std::pair<std::uint32_t, store::Seq>;

  void begin(const store::QueueList& list, std::uint32_t shards);
  void own_old_shards();
  void copy_what_was_there();
  void catch_up();
  void copy(const std::function<bool(const store::LogChunk&)>& is_enough);
  std::map<Control, std::vector<std::string>> find_keys(const store::LogChunk& chunk);
  void read_back();
  void write_states();
  void copy_dead();
  void copy_kept();
  void write_counts();
  store::Delta delta_of(std::uint32_t part);
  void commit(std::vector<store::Delta> deltas);
  void report(ReshardProgress::Step step, std::uint64_t done);

  store::Store& store_;
  const std::string name_;
  Progress progress_;
  IdleOwner owner_;
  store::QueueDefinition old_, next_;
  Duration keep_{};                                // of records, as the old shards' owners were told
  std::uint64_t trimmed_ = 0;                      // of them
  bool is_unclean_ = false, has_crashed_ = false;  // one of the old shards
  std::vector<store::ShardId> old_shards_;
  std::vector<Part> parts_;
  domain::RateRows rates_;  // of the old shards
  std::optional<domain::Resharding> resharding_;
  std::unique_ptr<store::LogReader> old_log_, new_log_;
  std::uint64_t expected_ = 0;
  bool is_closing_ = false;
  ReshardResult result_;
};

}  // namespace ordo
