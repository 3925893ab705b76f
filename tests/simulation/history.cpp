#include "simulation/history.h"

#include <algorithm>

#include "store/test_log.h"

namespace ordo::simulation {
std::int64_t slot_of(Time at, Duration granularity) {
  const auto us = at.time_since_epoch().count();
  const auto width = std::max<std::int64_t>(granularity.count(), 1);
  return us >= 0 ? us / width : (us - width + 1) / width;
}

bool sorts_before(const QueueOptions& options, const SortKey& a, const SortKey& b) {
  if (options.order == DueOrder::priority) {
    return std::tie(a.priority, a.run_at, a.arrival) < std::tie(b.priority, b.run_at, b.arrival);
  }
  return std::tie(a.slot, a.priority, a.run_at, a.arrival) <
         std::tie(b.slot, b.priority, b.run_at, b.arrival);
}

void History::read_log() {
  std::vector<ShardId> all;
  for (const auto& row : store_.shards()) all.push_back(row.shard);
  const auto chunk = store::read_log(store_, all, seen_);
  for (const auto& row : chunk.rows) {
    const auto entry = domain::decode_entry(chunk.body(row));
    SeenEntry seen;
    seen.seq = row.seq;
    seen.shard = row.shard;
    seen.at = row.at;
    seen.type = entry.type;
    seen.name = {std::string(entry.kind), std::string(entry.key), std::string(entry.id)};
    seen.payload = entry.payload;
    seen.run_at = entry.run_at;
    seen.options = entry.options;
    world_.say("log {} shard {}.{} type {} {}/{}/{} '{}'", seen.seq, seen.shard.queue, seen.shard.index,
               static_cast<int>(seen.type), seen.name.kind, seen.name.key, seen.name.id, seen.payload);
    if (seen.is_payload()) ++totals.pushed;
    seen_ = std::max(seen_, row.seq);
    entries.emplace(row.seq, std::move(seen));
  }
}

SeenRun* History::find_run(const std::string& node, ShardId shard, std::uint64_t epoch, std::uint64_t no) {
  for (auto at = runs.rbegin(); at != runs.rend(); ++at) {
    auto& run = **at;
    if (run.no == no && run.epoch == epoch && run.shard == shard && run.node == node) return &run;
  }
  return nullptr;
}

std::optional<domain::LentRun> History::lent_run(const domain::LentName& name) const {
  for (const auto& row : store_.shards()) {
    for (auto& run : domain::lent_runs_of(row.counts)) {
      if (run.name == name) return std::move(run);
    }
  }
  return std::nullopt;
}

std::optional<domain::JobState> History::state_of(ShardId shard, Seq first) const {
  for (const auto& fact : store_.load(std::vector{shard})) {
    for (const auto& row : fact.states) {
      if (row.seq == first) return domain::decode_state(row.bytes);
    }
  }
  return std::nullopt;
}

bool History::any_live(const std::vector<Seq>& seqs) const {
  return std::any_of(seqs.begin(), seqs.end(), [&](Seq seq) { return entries.at(seq).live; });
}

Seq History::last_live(ShardId shard) const {
  for (auto at = entries.rbegin(); at != entries.rend(); ++at) {
    if (at->second.live && at->second.shard == shard) return at->first;
  }
  return 0;
}

bool History::targets(const SeenEntry& control, const JobName& name, ShardId shard) const {
  return control.shard == shard && control.name.kind == name.kind && control.name.id == name.id &&
         (control.name.key.empty() || control.name.key == name.key);
}

bool History::is_cancelled(const JobName& name, ShardId shard, Seq after, Seq through) const {
  for (auto at = entries.upper_bound(after); at != entries.end() && at->first <= through; ++at) {
    if (at->second.type == domain::EntryType::cancel && targets(at->second, name, shard)) return true;
  }
  return false;
}

bool History::has_live_cancel(const SeenEntry& entry) const {
  return std::any_of(entries.upper_bound(entry.seq), entries.end(), [&](const auto& at) {
    return at.second.live && at.second.type == domain::EntryType::cancel &&
           targets(at.second, entry.name, entry.shard);
  });
}

bool History::has_moves(const JobName& name, ShardId shard) const {
  return std::any_of(entries.begin(), entries.end(), [&](const auto& at) {
    const auto& entry = at.second;
    if (entry.type == domain::EntryType::run_now) return targets(entry, name, shard);
    return entry.type == domain::EntryType::revive && entry.shard == shard && entry.name == name;
  });
}

std::optional<SortKey> History::clean_sort(const JobName& name, ShardId shard, Seq through) const {
  if (has_moves(name, shard)) return std::nullopt;
  std::optional<SortKey> key;
  for (const auto& [seq, entry] : entries) {
    if (seq > through) break;
    if (!entry.live || !entry.is_payload() || entry.shard != shard || entry.name != name) continue;
    if (is_cancelled(name, shard, seq, through)) continue;
    if (was_started(seq) || state_of(shard, seq)) return std::nullopt;
    if (!key) {
      key.emplace();
      key->run_at = entry.run_at.value_or(entry.at);
      key->arrival = seq;
      key->slot = slot_of(key->run_at, options(shard).granularity);
    }
    if (entry.options.priority) key->priority = *entry.options.priority;
  }
  return key;
}

}  // namespace ordo::simulation
