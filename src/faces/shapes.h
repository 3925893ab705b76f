#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ordo/admin.hpp>

#include "faces/job_traces.h"

namespace ordo {

/// The JSON that outside programs rely on, and the words it shares with tables.

/// The state as a job shows it: "queued" for due, scheduled and retrying.
std::string_view state_word(JobStatus status);

/// "skip", "once" or "all".
std::string_view missed_word(Missed missed);

std::string job_json(const JobView& job);

/// With what else there is to say of one: why it failed or died, what counts for it by the rules of that
/// config, what it was pushed with; and its failed attempts, if there are any.
std::string whole_job_json(const JobView& job, const Config& config,
                           const std::vector<AttemptView>& attempts = {});
std::string record_json(const RecordView& record);
/// With its failed attempts.
std::string trace_json(const JobTrace& trace);
std::string queue_json(const QueueView& queue);
std::string reshard_json(std::string_view queue, const ReshardResult& result);
std::string limit_json(const LimitView& limit);
std::string audit_json(const AuditEntry& entry);
std::string lock_json(const LockView& lock);
std::string wait_json(const WaitView& wait);
std::string dead_letter_json(const DeadLetter& letter);
std::string node_json(const NodeView& node);
std::string periodic_json(const PeriodicView& schedule);
std::string source_json(const SourceView& source);
std::string stats_json(const Stats& stats);
/// The counts of one queue, as they stand in that.
std::string queue_counts_json(const QueueStats& counts);
/// Those of all, likewise.
std::string total_counts_json(const QueueStats& counts);
std::string failing_nodes_json(const std::vector<FailingNode>& nodes);
std::string shard_json(const ShardStats& shard);

/// One array of what `shape` makes of each item, an item a line.
template <class Item, class Shape>
std::string json_array(const std::vector<Item>& items, const Shape& shape) {
  std::string text = "[";
  for (const Item& item : items) {
    text += text.size() > 1 ? ",\n" : "";
    text += shape(item);
  }
  return text + "]\n";
}

}  // namespace ordo
