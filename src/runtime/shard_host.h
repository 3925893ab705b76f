#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "domain/clock_guard.h"
#include "domain/gates.h"
#include "runtime/code_table.h"
#include "runtime/engine_scope.h"
#include "runtime/owned_shard.h"
#include "runtime/queue_table.h"
#include "store/shard_states.h"

namespace ordo::runtime {

/// In the place of a run that asks for payloads: those of jobs that expired.
inline constexpr domain::RunNo kExpired{0};
/// Payloads that are not found so often are gone: an entry may be on its way from one place of the store to
/// another while it is looked for.
inline constexpr int kMisses = 3;

/// The shards of this node, what is read of their logs, and which of them are awake.
///
/// Awake are those that something has happened to since the last tick, and a tick looks at no others. At its
/// end they go to sleep, until somebody asks for them (owned()) or their time has come, so that a tick costs
/// what happens, and not what there is.
class ShardHost {
 public:
  ShardHost(EngineScope& scope, const QueueTable& queues, const CodeTable& codes)
      : scope_(scope), queues_(queues), codes_(codes), budget_{scope.options.payload_cache, 0} {}

  /// Queues share it; before one of them is adopted.
  void add_limit(const NamedLimit& limit) { gates_.add(limit); }
  /// Throttlers may be asked again.
  void begin_round() { gates_.begin_round(); }
  /// Some shard waits for that.
  bool has_next_round() const { return gates_.has_next_round(); }
  /// See Gates.
  void ask_throttlers_at_most(std::size_t questions) { gates_.ask_throttlers_at_most(questions); }
  void set_limits(std::map<std::string, domain::LimitChange, std::less<>> changes);

  void adopt(LoadedShard loaded);
  /// Entries, and shards whose log is read up to their acquisition. Leases that are over are the caller's.
  void apply(const store::LogChunk& chunk);
  /// A run of it has ended here.
  void ended(OwnedShard& shard, domain::RunNo no, std::vector<Outcome> outcomes);
  /// It is not this node's any more: how its ownership ends, if it was.
  std::optional<store::Release> remove(domain::ShardId id);
  /// Gives every shard back, these and those to come, as soon as nothing of it runs.
  void release_all();
  bool is_releasing() const { return is_releasing_; }

  /// It is to be given back as soon as nothing of it runs.
  void release(OwnedShard& shard);

  /// The same for all of a queue.
  void release_all_of(const ServedQueue& queue);
  bool has_shards_of(const ServedQueue& queue) const;
  /// Its limits and locks may be others when a shard of the queue is adopted next. It has none here.
  void forget_rules(const std::string& queue) { gates_.forget(queue); }

  /// A placement group starts nothing while a shard of it is elsewhere.
  void gather();
  /// The nodes were looked at anew: the groups may be others.
  void forget_groups() { is_gathered_ = false; }
  /// Serves the kinds that came up in it and that this node has the code for; the others wait for a node.
  void look_at_kinds(OwnedShard& shard);
  /// Says what went to the dead since the last call because it could not be read.
  void tell_unreadable(OwnedShard& shard) const;

  const OwnedShard* find(domain::ShardId id) const;
  /// Who asks for it has something for it: it is awake from now on. Null: it is not this node's.
  OwnedShard* owned(domain::ShardId id);
  /// The same, if it is still the ownership of that epoch.
  OwnedShard* owned(domain::ShardId id, std::uint64_t epoch);

  const std::map<domain::ShardId, std::unique_ptr<OwnedShard>>& all() const { return shards_; }
  const std::map<domain::ShardId, OwnedShard*>& awake() const { return awake_; }
  /// How often a shard was awake at the end of a tick.
  std::uint64_t looks() const { return looks_; }
  /// Calls `visit(OwnedShard&)` for all that have jobs waiting for something else than their time.
  template <class Visit>
  void each_waiting(Visit visit) const {
    each_of(waiting_, visit);
  }
  /// The same for those that lend runs.
  template <class Visit>
  void each_lending(Visit visit) const {
    each_of(lending_, visit);
  }
  /// One has kinds that only other nodes run.
  bool waits_for_others() const { return !wait_for_others_.empty(); }
  std::size_t size() const { return shards_.size(); }
  /// Rises when a shard comes or goes.
  std::uint64_t changes() const { return changes_; }
  /// Runs of the queue, with those that are lent.
  std::size_t runs_of(const ServedQueue& queue) const;

  void wake_all();
  /// The store may have lost deltas that it had called durable: each shard writes one more, which is refused
  /// then.
  void doubt_all();
  void wake_all_of(const ServedQueue& queue);
  /// At the start of a tick.
  void look_at_clock();
  /// Those whose time has come.
  void wake_due();
  /// Those that limits or locks may admit again; which they are.
  std::set<domain::ShardId> wake_admitted();
  /// What has expired in those that are awake ends.
  void expire();
  /// The store's time has not run away from the steady clock within the last minute.
  bool trusts_the_clock() const { return clock_.trusts(); }
  /// When the store's clock has leapt last, as it says since then, and by how much. 1970: it has not.
  Time leapt_at() const { return leapt_at_; }
  Duration leap() const { return leap_; }
  /// Payloads of expired jobs, as asked for with kExpired.
  void provide_expired(const Fetched& fetched);
  /// Asks the store to close what has timed out or is not waited for any more.
  void close_waits();
  void wait_closed(const WaitClosed& closed);
  /// Asks the store to keep responses that no job will handle.
  void keep_responses();
  void response_kept(const ResponseKept& kept);
  /// Asks the store to take rows of unique keys away.
  void free_rows();
  void row_freed(RowFreed freed);
  /// Asks the store which blocks of records are old, where some are.
  void look_at_kept();
  void kept_read(const KeptRead& read);
  /// How long until the store is asked again.
  Duration next_close() const;
  /// After much of the log was read all are woken, to write how far.
  void wake_for_positions();
  /// All that are awake, until `wakes_at` says of each: Time::max(), until it is asked for; one whose time
  /// has come stays awake.
  template <class WakesAt>
  void put_to_sleep(WakesAt wakes_at) {
    looks_ += awake_.size();
    std::erase_if(awake_,
                  [&](const auto& entry) { return lay_down(*entry.second, wakes_at(*entry.second)); });
  }
  /// How long until the time of one has come.
  Duration next_due() const;

  /// The log of all that are ready, where one scan serves all; 0: there is no such scan.
  domain::Seq read_through() const { return read_through_; }
  /// Entries that such scans have passed.
  std::uint64_t rows_read() const { return rows_read_; }

 private:
  using Set = std::map<domain::ShardId, OwnedShard*>;
  template <class Visit>
  void each_of(const Set& set, Visit visit) const {
    for (const auto& [id, shard] : awake_) visit(*shard);
    for (const auto& [id, shard] : set) {
      if (!shard->awake) visit(*shard);
    }
  }
  void wake(OwnedShard& shard);
  bool lay_down(OwnedShard& shard, Time wakes_at);
  void forget_timer(OwnedShard& shard);
  void restore(OwnedShard& shard, const LoadedShard& loaded, store::ShardStates states);
  void give_to_newer(OwnedShard& shard, std::uint16_t needs);

  EngineScope& scope_;
  const QueueTable& queues_;
  const CodeTable& codes_;
  domain::PayloadBudget budget_;
  domain::Gates gates_;
  std::map<domain::ShardId, std::unique_ptr<OwnedShard>> shards_;
  std::unordered_map<domain::ShardId, OwnedShard*> by_id_;  // the same
  Set awake_;
  Set waiting_, lending_, wait_for_others_;            // as they were when they went to sleep
  std::set<std::pair<Time, domain::ShardId>> timers_;  // of those that sleep for a time
  Time looked_at_{};                                   // these
  std::uint64_t looks_ = 0;
  std::set<domain::ShardId> ungathered_;
  bool is_gathered_ = true;  // nothing has changed since the groups were looked at
  std::uint64_t last_epoch_ = 0;
  std::uint64_t changes_ = 0;
  bool is_releasing_ = false;
  domain::Seq read_through_ = 0;
  std::uint64_t rows_read_ = 0;
  std::set<std::string> told_of_penalties_;  // queues that cannot keep them
  std::uint64_t rows_at_wake_ = 0;           // when all were awake last
  domain::ClockGuard clock_;
  Duration excess_{};  // as the gates were told
  Time leapt_at_{};
  Duration leap_{};
  struct CloseAgain {
    Duration at{};  // steady
    domain::ShardId shard;
    std::uint64_t epoch = 0;
    std::string wait;
  };
  std::deque<CloseAgain> close_again_;
  std::deque<std::pair<Duration, RowFreed>> free_again_;      // by when, steady
  std::deque<std::pair<Duration, ResponseKept>> keep_again_;  // likewise
};

}  // namespace ordo::runtime
