#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/code_table.h"
#include "runtime/engine_scope.h"
#include "runtime/owned_shard.h"
#include "runtime/queue_table.h"

namespace ordo::runtime {

/// In the place of a run that asks for payloads: those of jobs that expired.
inline constexpr domain::RunNo kExpired{0};
/// Payloads that are not found so often are gone: an entry may be on its way from one place of the store to
/// another while it is looked for.
inline constexpr int kMisses = 3;

/// The shards of this node, what is read of their logs, and which of them are awake.
///
/// Awake are those that something may happen to by itself. Whatever has no job, or jobs for later only,
/// sleeps until its time has come or somebody asks for it (owned()), so that a tick costs what is at work,
/// and not what there is.
class ShardHost {
 public:
  ShardHost(EngineScope& scope, const QueueTable& queues, const CodeTable& codes)
      : scope_(scope), queues_(queues), codes_(codes), budget_{scope.options.payload_cache, 0} {}

  void adopt(LoadedShard loaded);
  /// Entries, and shards whose log is read up to their acquisition. Leases that are over are the caller's.
  void apply(const store::LogChunk& chunk);
  /// A run of it has ended here.
  void ended(OwnedShard& shard, domain::RunNo no, std::vector<Outcome> outcomes);
  /// It is not this node's any more: its lease, if it was.
  std::optional<store::Lease> remove(domain::ShardId id);
  /// Gives every shard back, these and those to come, as soon as nothing of it runs.
  void release_all();
  bool is_releasing() const { return is_releasing_; }

  /// A placement group starts nothing while a shard of it is elsewhere.
  void gather();
  /// Serves the kinds that came up in it, but for those that wait for another node.
  void look_at_kinds(OwnedShard& shard) const;
  /// All of them anew.
  void forget_kinds();
  /// Says what went to the dead since the last call because it could not be read.
  void tell_unreadable(OwnedShard& shard) const;

  const OwnedShard* find(domain::ShardId id) const;
  /// Who asks for it has something for it: it is awake from now on. Null: it is not this node's.
  OwnedShard* owned(domain::ShardId id);
  /// The same, if it is still the ownership of that epoch.
  OwnedShard* owned(domain::ShardId id, std::uint64_t epoch);

  const std::map<domain::ShardId, std::unique_ptr<OwnedShard>>& all() const { return shards_; }
  const std::map<domain::ShardId, OwnedShard*>& awake() const { return awake_; }
  std::size_t size() const { return shards_.size(); }
  /// Rises when a shard comes or goes.
  std::uint64_t changes() const { return changes_; }
  /// Runs of the queue, with those that are lent.
  std::size_t runs_of(const ServedQueue& queue) const;

  void wake_all();
  /// Those whose time has come.
  void wake_due();
  /// What has expired in those that are awake ends.
  void expire();
  /// Payloads of expired jobs, as asked for with kExpired.
  void provide_expired(const Fetched& fetched);
  /// After much of the log was read all are woken, to write how far.
  void wake_for_positions();
  /// Those that `may_sleep` admits.
  template <class MaySleep>
  void put_to_sleep(MaySleep may_sleep) {
    std::erase_if(awake_, [&](const auto& entry) {
      if (!may_sleep(*entry.second)) return false;
      lay_down(*entry.second);
      return true;
    });
  }
  /// How long until a job of one becomes due.
  Duration next_due() const;

  /// The log of all that are ready, where one scan serves all; 0: there is no such scan.
  domain::Seq read_through() const { return read_through_; }
  /// Entries that such scans have passed.
  std::uint64_t rows_read() const { return rows_read_; }

 private:
  void wake(OwnedShard& shard);
  void lay_down(OwnedShard& shard);
  void forget_timer(OwnedShard& shard);
  void restore(OwnedShard& shard, const LoadedShard& loaded);
  void give_to_newer(OwnedShard& shard, std::uint16_t needs);
  bool trusts_the_clock();

  EngineScope& scope_;
  const QueueTable& queues_;
  const CodeTable& codes_;
  domain::PayloadBudget budget_;
  std::map<domain::ShardId, std::unique_ptr<OwnedShard>> shards_;
  std::map<domain::ShardId, OwnedShard*> awake_;
  std::set<std::pair<Time, domain::ShardId>> timers_;  // of those that sleep until a job is due
  std::uint64_t last_epoch_ = 0;
  std::uint64_t changes_ = 0;
  bool is_releasing_ = false;
  domain::Seq read_through_ = 0;
  std::uint64_t rows_read_ = 0;
  std::uint64_t rows_at_wake_ = 0;       // when all were awake last
  std::optional<Duration> clock_ahead_;  // of the steady one: the store's, when it was looked at last
  Duration expires_from_{};              // on the steady clock
};

}  // namespace ordo::runtime
