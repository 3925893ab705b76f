#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ordo/admin.hpp>

#include "client/coded.h"
#include "domain/listing.h"
#include "domain/records.h"

namespace ordo {

/// What nodes and owners have told of the gates of one queue: at most a second old.
class QueueGates {
 public:
  /// `options`: its rules, as far as this program's config has them.
  explicit QueueGates(QueueOptions options) : options_(std::move(options)) {}

  Time now{};
  bool paused = false;
  Coded coded;
  std::string gathers;            ///< its placement group, while that is not on one node; else empty
  std::vector<LimitView> limits;  ///< of all queues
  std::vector<LockView> locks;    ///< likewise
  /// Runs that do not stop, of all queues, and the named limits that those of a queue count in, where this
  /// program's config has it.
  std::vector<StuckRun> stuck;
  std::map<std::string, std::vector<std::string>> limits_of;
  /// What of its own shards is refused: by partition value, weight and whether it is critical.
  std::map<std::tuple<std::string, std::int64_t, bool>, domain::BlockedJobs> blocked;
  /// Its own jobs that its throttler has refused, by shard and first entry: until when, or Time::max().
  std::map<std::pair<domain::ShardId, domain::Seq>, Time> throttled;

  /// Marked runs that due jobs of its shards wait for.
  std::map<domain::ShardId, domain::MarkedRunsGate> marked_runs;

  /// Those of a kind of its.
  const QueueOptions& rules_of(const std::string& kind);

 private:
  QueueOptions options_;
  std::map<std::string, QueueOptions> rules_;
};

using domain::JobGates;

/// All that holds the job up: in the order in which a job is counted by the first of them (docs/stats.md).
/// `rules` are those of its kind.
std::vector<WaitsFor> waits_for(const JobView& job, const JobGates& asks, const QueueOptions& rules,
                                const QueueGates& gates);

}  // namespace ordo
