#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "domain/shard.h"
#include "runtime/queue_table.h"
#include "runtime/run.h"
#include "store/store.h"

namespace ordo::runtime {

/// One shard in the hands of its owner: the state machine, and what is on its way to the store.
struct OwnedShard {
  OwnedShard(store::ShardId shard_id, ServedQueue& served, const store::Grant& grant,
             domain::PayloadBudget& budget, domain::Gates& gates)
      : id(shard_id),
        queue(&served),
        lease(grant.lease),
        unused(grant.unused()),
        batch(grant.batch),
        machine(served.options, budget, &gates) {}

  store::ShardId id;
  ServedQueue* queue;
  store::Lease lease;
  store::Release unused;    ///< gives it back while it is not ready: nothing was written or started
  std::uint64_t batch;      ///< of the last delta made
  std::uint64_t epoch = 0;  ///< tells this ownership from earlier ones in news that comes late
  domain::Shard machine;

  bool ready = false;                       ///< the log is read up to the acquisition: runs may start
  std::optional<Duration> releasing_since;  ///< steady; see release_from()
  int thread = -1;                          ///< affinity = shard: the thread its batches run on
  std::size_t kinds_seen = 0;
  domain::RunNo last_sent = 0;  ///< the run that was handed over last ...
  std::shared_ptr<RunControl> last_control;
  bool ungathered = false;        ///< others of its placement group are not here yet: nothing starts
  bool is_early = false;          ///< see starts_at
  bool is_in_append = false;      ///< what is read last of its log is not all of an append
  bool waits_for_others = false;  ///< it has kinds that this node has no code for
  std::uint16_t needs = 0;        ///< level of the formats that what is read next takes: nothing more is read
  Duration starts_at{};  ///< steady; before that, runs that nobody lists any more may go on elsewhere

  /// No more starts; released once nothing runs here and all is durable. The first time counts.
  void release_from(Duration steady) {
    if (!releasing_since) releasing_since = steady;
  }
  bool may_start() const {
    return ready && !releasing_since && !ungathered && !is_early && !is_in_append && !queue->is_paused();
  }

  /// Nothing of it runs here, and all that is known of it is written.
  bool is_free() const {
    const bool is_written = !in_flight && !machine.has_changes() && !machine.has_rows();
    return machine.running() == machine.lent() && (is_written || !ready);
  }

  std::map<domain::RunNo, int> misses;  ///< how often the store had not all payloads of these runs

  /// Runs that have ended here, and whose ends the next delta has no room for.
  std::deque<std::pair<domain::RunNo, std::vector<domain::JobEnd>>> later_ends;
  /// What one delta of `max_rows` has no room for goes on running, as far as the shard is told, until the
  /// next.
  void take_ends(std::size_t max_rows, Time now) {
    while (!later_ends.empty() && machine.changed_rows() < max_rows && machine.kept_bytes() < kDeltaBytes) {
      const auto [no, ends] = std::move(later_ends.front());
      later_ends.pop_front();
      machine.ended(no, ends, now);
    }
  }

  static constexpr std::size_t kDeltaBytes = 4U << 20;  // of records

  std::optional<store::Delta> in_flight;  ///< kept to be sent again, byte-equal, if its outcome is unknown
  bool lends = false;                     ///< it lends runs
  bool is_in_doubt = false;               ///< what was called durable may be lost: the next delta shows it
  domain::Counts written;                 ///< counts of the last delta
  Time written_at{};
  Time listed_at = Time::min();     ///< when these told last who uses limits and locks
  Time trimmed_at{};                ///< its dead payloads, ...
  std::uint64_t trimmed_look = 0;   ///< ... by the counts of that look
  std::uint64_t buried = 0;         ///< payloads that died since look `buried_look`, ...
  std::uint64_t buried_before = 0;  ///< ... and between that look and the one before
  std::uint64_t buried_look = 0;
  Duration buried_at{};                   ///< when that was last known to be durable (steady); max: it is not
  std::uint64_t read_since_written = 0;   ///< entries that a reader of the counts would look through, ...
  std::uint64_t passed_when_written = 0;  ///< ... and those that one scan for all shards had passed by then
  bool awake = false;                     ///< see ShardHost
  std::optional<Time> wakes_at;           ///< its timer
  bool waits = false, has_lent = false;   ///< see ShardHost::each_waiting() and each_lending()
};

}  // namespace ordo::runtime
