#include "simulation/history.h"

#include <algorithm>

#include "runtime/node_facts.h"
#include "simulation/versions.h"
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

std::set<std::uint32_t> History::hidden() const {
  std::set<std::uint32_t> numbers;
  for (const auto& queue : store_.queues().queues) {
    if (queue.is_hidden()) numbers.insert(queue.number);
  }
  return numbers;
}

void History::read_log() {
  std::vector<ShardId> all;
  for (const auto& row : store_.shards()) all.push_back(row.shard);
  const auto hidden = this->hidden();
  const auto raw = store::read_log(store_, all, seen_);
  const auto chunk = read_by_newer(raw);
  for (std::size_t i = 0; i < chunk.rows.size(); ++i) {
    const auto& row = chunk.rows[i];
    const auto read = domain::decode_entry(chunk.body(row));
    // It dies under this name.
    const auto odd = domain::dead_entry(row.seq, chunk.body(row), "");
    const auto entry =
        read ? *read : domain::Entry{.kind = odd.kind, .key = odd.key, .id = odd.id, .payload = odd.payload};
    if (!read) ++totals.unreadable;
    if (raw.rows[i].size != row.size) ++totals.newer;
    SeenEntry seen;
    seen.seq = seen.origin = row.seq;
    seen.copied = hidden.contains(row.shard.queue);
    seen.shard = row.shard;
    seen.at = entry.came.value_or(row.at);
    seen.type = entry.type;
    seen.name = {std::string(entry.kind), std::string(entry.key), std::string(entry.id)};
    seen.payload = entry.payload;
    seen.is_odd = !read;
    seen.run_at = entry.run_at;
    seen.score = entry.score;
    seen.options = entry.options;
    if (entry.tick) {
      seen.schedule = entry.tick->schedule;
      seen.tick = entry.tick->at;
    }
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

void History::forget_run(const std::string& node, const runtime::RunName& name) {
  const auto* run = find_run(node, name.shard, name.epoch, name.no);
  if (run == nullptr) world_.fail("{} takes back a run that was never handed over", node);
  const auto fresh = run->fresh;
  std::erase_if(runs, [&](const auto& other) { return other.get() == run; });
  for (const auto seq : fresh) {  // unless another node has started it since
    const auto has_it = [&](const SeenJob& job) { return std::ranges::count(job.seqs, seq) > 0; };
    if (std::ranges::none_of(runs,
                             [&](const auto& other) { return std::ranges::any_of(other->jobs, has_it); }))
      started.erase(seq);
  }
}

std::optional<domain::LentRun> History::lent_run(const domain::LentName& name) const {
  for (const auto& row : store_.shards()) {
    for (auto& run : domain::lent_runs_of(row.counts)) {
      if (run.name == name) return std::move(run);
    }
  }
  return std::nullopt;
}

std::size_t History::queue_of(ShardId shard) const {
  const auto known = numbers_.find(shard.queue);
  if (known != numbers_.end()) return known->second;
  for (const auto& definition : store_.queues().queues) {
    const auto queue = std::ranges::find(queues_, definition.shown_name(), &QueueOptions::name);
    numbers_[definition.number] = static_cast<std::size_t>(queue - queues_.begin());
  }
  return numbers_.at(shard.queue);
}

void History::removed(std::uint32_t queue) {
  queue_of({queue, 0});  // to know it later
  for (auto& [seq, entry] : entries) {
    if (entry.shard.queue == queue) entry.live = false;
  }
}

History::Keys History::payloads_of(std::uint32_t queue) const {
  Keys keys;
  for (const auto& [seq, entry] : entries) {
    if (entry.live && domain::is_payload(entry.type) && entry.shard.queue == queue)
      keys[entry.is_odd ? "unreadable " + entry.payload : entry.name.key].push_back(seq);
  }
  return keys;
}

void History::replaced(std::uint32_t queue, std::uint32_t by) {
  const auto before = payloads_of(queue);
  auto after = payloads_of(by);
  std::map<Seq, Seq> moved;
  for (const auto& [key, seqs] : before) {
    const auto& now = after[key];
    bool same = now.size() == seqs.size();
    for (std::size_t i = 0; same && i < seqs.size(); ++i) {
      const auto &old = entries.at(seqs[i]), &copy = entries.at(now[i]);
      const bool same_name = old.is_odd ? copy.is_odd : old.name == copy.name;
      same = same_name && old.payload == copy.payload && old.options == copy.options;
      moved[seqs[i]] = now[i];
    }
    if (!same)
      world_.fail("reshard: key {} had entries {} and has {}", key, fmt::join(seqs, ","),
                  fmt::join(now, ","));
  }
  for (const auto& [key, now] : after) {
    if (!before.contains(key))
      world_.fail("reshard: key {} had no entries and has {}", key, fmt::join(now, ","));
  }
  removed(queue);
  follow(moved);
}

// What was said of the old entries holds for their copies.
void History::follow(const std::map<Seq, Seq>& moved) {
  const auto rename = [&](std::set<Seq>& seqs) {
    std::vector<Seq> now;
    for (const auto seq : seqs) {
      if (const auto copy = moved.find(seq); copy != moved.end()) now.push_back(copy->second);
    }
    seqs.insert(now.begin(), now.end());
  };
  rename(started);
  rename(finished);
  for (const auto& [old, copy] : moved) entries.at(copy).origin = entries.at(old).origin;
  for (auto& run : runs) {
    for (auto& job : run->jobs) {
      for (auto& seq : job.seqs) {
        if (const auto copy = moved.find(seq); copy != moved.end()) seq = copy->second;
      }
    }
  }
}

void History::note_end(const domain::LentEnd& end) {
  const auto run = lent_run(end.name);
  if (!run) return;
  for (const auto& node : store_.nodes()) {
    if (node.id != run->node || runtime::decode_node_facts(node.facts).or_empty().session != run->session)
      continue;
    for (const auto& job : run->jobs) {
      if (job.place >= end.ends.size()) continue;
      const auto kind = end.ends[job.place].outcome.kind;
      if (kind != Outcome::Kind::done && kind != Outcome::Kind::discarded) continue;
      for (const auto& [seq, score] : job.pieces) finished.insert(seq);
    }
  }
}

std::optional<domain::JobState> History::state_of(ShardId shard, Seq first) const {
  for (const auto& fact : store_.load(std::vector{shard})) {
    for (const auto& row : fact.states) {
      if (row.seq != first) continue;
      auto state = domain::decode_state(read_by_newer(RecordType::state, garbage.before(row.bytes)));
      if (state) return *std::move(state);
    }
  }
  return std::nullopt;
}

bool History::has_lost_state(ShardId shard, const std::vector<Seq>& seqs) const {
  if (garbage.empty()) return false;
  const auto facts = store_.load(std::vector{shard});
  return std::ranges::any_of(facts.at(0).states, [&](const auto& row) {
    if (std::ranges::count(seqs, row.seq) == 0) return false;
    // A reshard writes it once more, under its new number.
    const bool is_moved = !domain::decode_state(read_by_newer(RecordType::state, garbage.before(row.bytes)));
    return is_moved || garbage.is_loaded(row.bytes);
  });
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
  return control.shard == shard && concerns(control, name);
}

bool History::concerns(const SeenEntry& control, const JobName& name) {
  return control.name.kind == name.kind && control.name.id == name.id &&
         (control.name.key.empty() || control.name.key == name.key);
}

// Of what acted before the queue was resharded no copy is left.
bool History::acts_on(const SeenEntry& control, const JobName& name, ShardId shard) const {
  if (control.shard.queue == shard.queue) return targets(control, name, shard);
  return !control.copied && same_queue(control.shard, shard) && concerns(control, name);
}

bool History::is_cancelled(const JobName& name, ShardId shard, Seq after, Seq through) const {
  return has_control(domain::EntryType::cancel, name, shard, after, through);
}

bool History::is_killed(const JobName& name, ShardId shard, Seq after, Seq through) const {
  return has_control(domain::EntryType::kill, name, shard, after, through);
}

bool History::has_control(domain::EntryType type, const JobName& name, ShardId shard, Seq after,
                          Seq through) const {
  const auto origin = entries.at(after).origin;
  for (auto at = entries.upper_bound(origin); at != entries.end() && at->first <= through; ++at) {
    const auto& control = at->second;
    if (control.type != type || !acts_on(control, name, shard)) continue;
    if (control.shard.queue != shard.queue || at->first > after) return true;
  }
  return false;
}

bool History::has_live_cancel(const SeenEntry& entry) const {
  return std::any_of(entries.upper_bound(entry.seq), entries.end(), [&](const auto& at) {
    const auto& control = at.second;
    const bool ends = control.type == domain::EntryType::cancel || control.type == domain::EntryType::kill;
    return control.live && ends && targets(control, entry.name, entry.shard);
  });
}

bool History::has_moves(const JobName& name, ShardId shard) const {
  return std::any_of(entries.begin(), entries.end(), [&](const auto& at) {
    const auto& entry = at.second;
    if (entry.type == domain::EntryType::run_now) return acts_on(entry, name, shard);
    return entry.type == domain::EntryType::revive && same_queue(entry.shard, shard) && entry.name == name;
  });
}

std::optional<SortKey> History::clean_sort(const JobName& name, ShardId shard, Seq through) const {
  if (has_moves(name, shard)) return std::nullopt;
  std::optional<SortKey> key;
  for (const auto& [seq, entry] : entries) {
    if (seq > through) break;
    if (!entry.live || !entry.is_payload() || entry.shard != shard || entry.name != name) continue;
    if (is_cancelled(name, shard, seq, through)) continue;
    if (is_killed(name, shard, seq, through)) return std::nullopt;  // it may have run just then
    if (was_started(seq) || state_of(shard, seq)) return std::nullopt;
    if (!entry.options.windows.empty()) return std::nullopt;
    // By any clock: it may have been chosen before one that went back.
    if (entry.options.expires && *entry.options.expires <= world_.latest_wall()) return std::nullopt;
    if (!key) {
      key.emplace();
      key->run_at = entry.run_at.value_or(entry.at);
      key->own_time = entry.run_at.has_value();
      key->arrival = seq;
      key->slot = slot_of(key->run_at, options(shard).granularity);
    }
    if (entry.options.priority) key->priority = *entry.options.priority;
  }
  return key;
}

Time History::latest_believed(const std::string& process) const {
  const auto since = lives_since.find(process);
  return world_.latest_believed(since == lives_since.end() ? Duration{0} : since->second);
}

void History::note_put_off(const std::string& queue, const std::string& id, Time until) {
  auto& last = put_off_.try_emplace({queue, id}, until).first->second;
  last = std::max(last, until);
}

bool History::is_put_off(const std::string& queue, const std::string& id, Time chosen) const {
  const auto found = put_off_.find({queue, id});
  return found != put_off_.end() && chosen < found->second;
}

bool History::may_turn(const SortKey& a, const SortKey& b) const {
  if (!times_go_back) return false;
  if (a.priority != b.priority) return true;
  const auto has_own_time = [&](const SortKey& key) {
    const auto entry = entries.find(key.arrival);
    return entry == entries.end() || entry->second.run_at || entry->second.at != key.run_at;
  };
  const auto apart = a.run_at < b.run_at ? b.run_at - a.run_at : a.run_at - b.run_at;
  return apart <= kMostBack && (has_own_time(a) || has_own_time(b));
}

}  // namespace ordo::simulation
