#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
/// how often it was asked in this round, and which shards wait for the next round or the next end of a run.
class Throttle {
 public:
  Throttle(Throttler throttler, ThrottlerRounds& rounds)
      : throttler_(std::move(throttler)), rounds_(rounds) {}

  /// False: it was asked often enough in this round. The shard goes on in the next one.
  bool has_turn(ShardId shard);
  /// It has thrown in this round, in which nothing more starts.
  bool has_failed();
  /// The same for a job that was skipped: jobs of all shards that were not asked for yet come first, and no
  /// shard takes the questions of the others.
  bool may_ask_again(ShardId shard);

  struct Verdict {
    ThrottleAnswer answer;
    std::string error;  ///< what it threw; empty: nothing
  };
  Verdict ask(const std::string& queue, const ThrottledJob& candidate, const Claim& claim, Time now);

  void started(const Job& job, ThrottledJob told);
  /// It runs no more: it was not started after all, or has ended().
  void forget(const Job& job);
  void ended(const Job& job) {
    forget(job);
    ++ends_;
  }
  /// How many runs of the queue have ended.
  std::uint64_t ends() const { return ends_; }
  /// The shard has jobs that were skipped.
  void note_skipped(ShardId shard) { skipped_in_.insert(shard); }
  /// To be woken by an end.
  std::set<ShardId> take_skipped() { return std::exchange(skipped_in_, {}); }

 private:
  void look_at_round();

  Throttler throttler_;
  ThrottlerRounds& rounds_;
  std::uint64_t round_ = 0;
  std::size_t asked_ = 0, to_be_asked_ = 0;  // of those that came back
  std::map<ShardId, std::size_t> again_;     // how many of each shard came back in this round
  std::size_t sharing_ = 0;                  // the shards that wished so in the round before
  bool has_failed_ = false;
  std::uint64_t late_through_ = 0;  // the round in which those come that were too late to be asked for
  std::vector<ThrottledJob> running_;
  std::vector<const Job*> running_jobs_;                    // likewise
  std::unordered_map<const Job*, std::size_t> running_at_;  // places in these
  std::uint64_t ends_ = 0;
  std::set<ShardId> skipped_in_;
};

/// That decides whether the job starts; null: none, or it has started before.
Throttle* throttle_of(const Job& job);

}  // namespace ordo::domain
