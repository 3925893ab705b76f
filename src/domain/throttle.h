#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ordo/throttler.hpp>

#include "domain/gates.h"
#include "domain/shard_id.h"

namespace ordo::domain {

/// The throttler of a queue, as the owner of its shards asks it (rules §9.7, §9.11): what runs of the queue,
/// how often it was asked in this round, and which shards wait for the next end of a run.
class Throttle {
 public:
  /// `round`: the number of the round that goes on.
  Throttle(Throttler throttler, const std::uint64_t& round)
      : throttler_(std::move(throttler)), current_(round) {}

  /// False: it was asked often enough in this round. The next one may begin at once, and comes by no shard
  /// whose jobs are new to it before those that were asked already.
  bool has_turns_left();
  /// It has thrown in this round, in which nothing more starts.
  bool has_failed();
  /// Some shard came too late in this round or the one before: jobs that were skipped wait for it.
  bool has_latecomers();

  struct Verdict {
    ThrottleAnswer answer;
    std::string error;  ///< what it threw; empty: nothing
  };
  Verdict ask(const std::string& queue, const ThrottledJob& candidate, const Claim& claim, Time now);

  void started(const Job& job, ThrottledJob told);
  void ended(const Job& job);
  /// How many have ended: who was skipped before the last one is asked for again.
  std::uint64_t ends() const { return ends_; }
  /// The shard has jobs that were skipped.
  void note_skipped(ShardId shard) { skipped_in_.insert(shard); }
  /// To be woken by an end.
  std::set<ShardId> take_skipped() { return std::exchange(skipped_in_, {}); }

 private:
  void look_at_round();

  Throttler throttler_;
  const std::uint64_t& current_;
  std::uint64_t round_ = 0;
  std::size_t asked_ = 0;
  bool has_failed_ = false;
  bool is_late_ = false, was_late_ = false;
  std::vector<ThrottledJob> running_;
  std::vector<const Job*> running_jobs_;                    // likewise
  std::unordered_map<const Job*, std::size_t> running_at_;  // places in these
  std::uint64_t ends_ = 0;
  std::set<ShardId> skipped_in_;
};

}  // namespace ordo::domain
