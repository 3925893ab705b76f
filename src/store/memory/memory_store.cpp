// What every store must do, as short as it can be said: no file, no grouping, one mutex. It validates its
// input as the others do, so that the differential test can compare refusals, too.
#include "store/memory/memory_store.h"

#include <algorithm>
#include <set>
#include <utility>

#include <ordo/error.hpp>

#include "store/global_reader.h"
#include "store/limits.h"
#include "store/question_id.h"

namespace ordo::store::memory {

// ----------------------------------------------------------------------------------------------------------
// log

void MemoryStore::append(std::vector<NewEntry> entries, Completion done) {
  std::exception_ptr error;
  try {
    const std::lock_guard lock(mutex_);
    check_append(entries);
    append_all(std::move(entries));
  } catch (const Error&) {
    error = std::current_exception();
  }
  done(error);
}

void MemoryStore::check_append(std::span<const NewEntry> entries) const {
  std::size_t bytes = 0;
  for (const auto& entry : entries) {
    if (!shards_.contains(entry.shard) || is_closed(entry.shard.queue))
      throw unknown_shard(entry.shard.queue, entry.shard.index);
    bytes += entry.bytes.size();
  }
  if (bytes > kMaxAppendBytes) throw too_much_to_append(bytes);
}

void MemoryStore::append_all(std::vector<NewEntry> entries) {
  if (entries.empty()) return;
  last_at_ = std::max(last_at_, clock_.wall());
  auto more = entries.size();
  for (auto& entry : entries) {
    log_[++head_] = {.shard = entry.shard,
                     .at = last_at_,
                     .more = --more,
                     .bytes = std::move(entry.bytes),
                     .set_aside = false};
  }
  changed();
}

class MemoryStore::Reader final : public GlobalReader {
 public:
  explicit Reader(MemoryStore& store) : store_(store) {}

 private:
  Scan scan(Seq after, const ShardSet& wanted, std::size_t max_rows) override {
    const std::lock_guard lock(store_.mutex_);
    LogChunk chunk;
    chunk.through = after;
    const auto& log = store_.log_;
    for (auto at = log.upper_bound(after); at != log.end(); ++at) {
      const auto& [seq, record] = *at;
      const bool is_full =
          chunk.rows.size() >= std::max<std::size_t>(max_rows, 1) || chunk.bytes.size() >= kReadBytes;
      if (is_full && seq > chunk.through) break;
      chunk.through = seq + record.more;
      if (wanted.contains(record.shard))
        chunk.add({.seq = seq, .shard = record.shard, .at = record.at, .set_aside = record.set_aside},
                  record.bytes);
    }
    if (log.upper_bound(chunk.through) == log.end()) chunk.through = std::max(after, store_.head_);
    chunk.at_end = chunk.through >= store_.head_;
    return {std::move(chunk), store_.head_};
  }

  std::uint64_t count_wakes() override {
    const std::lock_guard lock(store_.mutex_);
    return store_.wakes_;
  }

  void wait_for_wake(std::uint64_t seen, Duration at_most) override {
    std::unique_lock lock(store_.mutex_);
    store_.woken_.wait_for(lock, at_most, [&] { return store_.wakes_ != seen; });
  }

  MemoryStore& store_;
};

std::unique_ptr<LogReader> MemoryStore::open_log() { return std::make_unique<Reader>(*this); }

LogChunk MemoryStore::fetch(ShardId shard, std::span<const Seq> seqs) {
  const std::lock_guard lock(mutex_);
  LogChunk chunk;
  for (const Seq seq : seqs) {
    const auto found = log_.find(seq);
    if (found == log_.end() || found->second.shard != shard) continue;
    chunk.add({.seq = seq, .shard = shard, .at = found->second.at, .set_aside = found->second.set_aside},
              found->second.bytes);
  }
  return chunk;
}

void MemoryStore::wake() {
  const std::lock_guard lock(mutex_);
  changed();
}

void MemoryStore::changed() {
  ++wakes_;
  woken_.notify_all();
}

// --------------------------------------------------------------------------------------------------------
// owner

void MemoryStore::commit(std::vector<Delta> deltas, CommitCompletion done) {
  std::vector<CommitResult> results;
  {
    const std::lock_guard lock(mutex_);
    for (auto& delta : deltas) results.push_back(apply(delta));
  }
  done(std::move(results), nullptr);
}

CommitResult MemoryStore::apply(Delta& delta) {
  const auto found = shards_.find(delta.shard);
  if (found == shards_.end()) return CommitResult::stale;
  auto& shard = found->second;
  if (shard.owner.empty() || shard.lease != delta.lease) return CommitResult::stale;
  if (delta.batch == shard.batch) return CommitResult::applied;  // the retry of an unknown outcome
  if (delta.batch != shard.batch + 1) return CommitResult::stale;

  shard.batch = delta.batch;
  shard.position = delta.position;
  shard.counts = std::move(delta.counts);
  for (const Seq seq : delta.erase) log_.erase(seq);
  for (const Seq seq : delta.set_aside) {
    if (const auto entry = log_.find(seq); entry != log_.end()) entry->second.set_aside = true;
  }
  for (auto& state : delta.states) shard.states[state.seq] = std::move(state.bytes);
  for (const Seq seq : delta.erase_states) shard.states.erase(seq);
  for (auto& row : delta.dead) {
    const auto no = ++last_dead_;
    dead_[no] = {.shard = delta.shard, .no = no, .at = row.at, .bytes = std::move(row.bytes)};
    ++shard.dead;
  }
  if (delta.keep) {
    const auto no = delta.keep->no;
    shard.kept[no] = *std::move(delta.keep);
  }
  for (const auto no : delta.erase_kept) shard.kept.erase(no);
  trim_dead(delta, shard);
  return CommitResult::applied;
}

void MemoryStore::trim_dead(const Delta& delta, Shard& shard) {
  if (shard.dead == 0) return;
  std::set<std::pair<Time, std::uint64_t>> oldest_first;
  for (const auto& [no, row] : dead_) {
    if (row.shard == delta.shard) oldest_first.emplace(row.at, no);
  }
  for (const auto& [at, no] : oldest_first) {
    const bool too_many = delta.max_dead != 0 && shard.dead > delta.max_dead;
    if (!too_many && at >= delta.dead_before) break;
    dead_.erase(no);
    --shard.dead;
    ++shard.dead_trimmed;
  }
}

std::vector<ShardFacts> MemoryStore::load(std::span<const ShardId> shards) {
  const std::lock_guard lock(mutex_);
  std::vector<ShardFacts> facts;
  for (const auto id : shards) {
    auto& fact = facts.emplace_back();
    fact.shard = id;
    const auto found = shards_.find(id);
    if (found == shards_.end()) continue;
    fact.counts = found->second.counts;
    for (const auto& [seq, bytes] : found->second.states) fact.states.push_back({.seq = seq, .bytes = bytes});
  }
  return facts;
}

std::vector<KeptRow> MemoryStore::kept_heads(ShardId shard, std::uint64_t from, std::size_t max_rows) {
  const std::lock_guard lock(mutex_);
  std::vector<KeptRow> rows;
  const auto found = shards_.find(shard);
  if (found == shards_.end()) return rows;
  const auto& kept = found->second.kept;
  for (auto at = kept.lower_bound(from); at != kept.end() && rows.size() < max_rows; ++at)
    rows.push_back({at->first, at->second.head, {}});
  return rows;
}

std::vector<KeptRow> MemoryStore::kept(ShardId shard, std::span<const std::uint64_t> nos) {
  const std::lock_guard lock(mutex_);
  std::vector<KeptRow> rows;
  const auto found = shards_.find(shard);
  if (found == shards_.end()) return rows;
  std::size_t bytes = 0;
  for (const auto no : nos) {
    const auto row = found->second.kept.find(no);
    if (row == found->second.kept.end()) continue;
    bytes += row->second.body.size();
    if (!rows.empty() && bytes > kReadBytes) break;
    rows.push_back(row->second);
  }
  return rows;
}

bool MemoryStore::replace_kept(ShardId shard, const KeptRow& row) {
  const std::lock_guard lock(mutex_);
  if (is_closed(shard.queue)) throw closed_queue(shard.queue);
  const auto found = shards_.find(shard);
  if (found == shards_.end() || !found->second.kept.contains(row.no)) return false;
  found->second.kept[row.no] = row;
  return true;
}

// -------------------------------------------------------------------------------------------------------
// queues

QueueList MemoryStore::queues() {
  const std::lock_guard lock(mutex_);
  return queues_;
}

QueueDefinition* MemoryStore::find_queue(std::string_view name) {
  return const_cast<QueueDefinition*>(std::as_const(queues_).find(name));
}

std::vector<QueueDefinition> MemoryStore::define_all(std::span<const QueueWish> queues) {
  for (const auto& queue : queues) check_definition(queue.name, queue.shards);
  const std::lock_guard lock(mutex_);
  std::vector<QueueDefinition> definitions;
  for (const auto& queue : queues) definitions.push_back(define_one(queue));
  return definitions;
}

QueueDefinition MemoryStore::define_one(const QueueWish& queue) {
  if (const auto* known = find_queue(queue.name)) return *known;
  QueueDefinition made{.number = ++last_queue_, .name = queue.name, .shards = queue.shards, .paused = false};
  queues_.queues.push_back(made);
  for (std::uint32_t index = 0; index < queue.shards; ++index) shards_[{made.number, index}];
  ++queues_.version;
  changed();
  return made;
}

bool MemoryStore::set_paused(std::string_view name, bool paused) {
  const std::lock_guard lock(mutex_);
  auto* queue = find_queue(name);
  if (queue == nullptr) return false;
  queue->paused = paused;
  ++queues_.version;
  changed();
  return true;
}

bool MemoryStore::remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto* queue = find_queue(name);
  if (queue == nullptr) return false;
  std::erase_if(waits_, [&](const auto& entry) {
    return entry.first.first == name || entry.first.first == unique_rows(name);
  });
  drop(queue->number);
  ++queues_.version;
  changed();
  return true;
}

void MemoryStore::drop(std::uint32_t queue) {
  std::erase_if(log_, [&](const auto& entry) { return entry.second.shard.queue == queue; });
  std::erase_if(dead_, [&](const auto& entry) { return entry.second.shard.queue == queue; });
  std::erase_if(shards_, [&](const auto& entry) { return entry.first.queue == queue; });
  std::erase_if(queues_.queues, [&](const QueueDefinition& other) { return other.number == queue; });
}

bool MemoryStore::is_closed(std::uint32_t queue) const {
  return std::any_of(queues_.queues.begin(), queues_.queues.end(),
                     [&](const QueueDefinition& known) { return known.number == queue && known.closed; });
}

bool MemoryStore::close(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto* queue = find_queue(name);
  if (queue == nullptr) return false;
  queue->closed = true;
  ++queues_.version;
  changed();
  return true;
}

bool MemoryStore::replace(std::string_view name, std::uint32_t by) {
  const std::lock_guard lock(mutex_);
  const auto* queue = find_queue(name);
  const auto next = std::find_if(queues_.queues.begin(), queues_.queues.end(),
                                 [&](const QueueDefinition& other) { return other.number == by; });
  if (queue == nullptr || !queue->closed || next == queues_.queues.end() || &*next == queue) return false;
  next->name = name;
  next->paused = queue->paused;
  drop(queue->number);
  ++queues_.version;
  changed();
  return true;
}

// --------------------------------------------------------------------------------------------- nodes and
// leases

void MemoryStore::join(const std::string& node, const std::string& facts) {
  check_node(node);
  const std::lock_guard lock(mutex_);
  auto& row = nodes_[node];
  row.id = node;
  row.facts = facts;
  row.gone = false;
  row.renewals = std::max(row.renewals + 1, now_us());
}

bool MemoryStore::renew(const std::string& node, Duration) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return false;
  found->second.renewals = std::max(found->second.renewals + 1, now_us());
  return true;
}

void MemoryStore::leave(const std::string& node, std::optional<std::uint64_t> seen_renewals) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  if (seen_renewals && found->second.renewals != *seen_renewals) return;
  for (auto& [id, shard] : shards_) {
    if (shard.owner != node || node.empty()) continue;
    shard.owner.clear();
    shard.crashed = found->second.gone;
  }
  nodes_.erase(found);
}

bool MemoryStore::request(const std::string& node, NodeRequest request) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return false;
  found->second.request = request;
  changed();
  return true;
}

void MemoryStore::kill_node(const std::string& node) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) found->second.gone = true;
}

void MemoryStore::forget_node(const std::string& node) {
  const std::lock_guard lock(mutex_);
  nodes_.erase(node);
}

void MemoryStore::forget_lease(ShardId shard) {
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(shard);
  if (found == shards_.end()) return;
  found->second.lease = {found->second.lease.token + 1, 0};
  ++setbacks_;
}

void MemoryStore::forget_grant(ShardId shard) {
  forget_lease(shard);
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(shard);
  if (found != shards_.end()) found->second.owner = found->second.owner_before;
}

void MemoryStore::forget_batch(ShardId shard) {
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(shard);
  if (found == shards_.end() || found->second.batch == 0) return;
  --found->second.batch;
  ++setbacks_;
}

void MemoryStore::spoil_state(ShardId shard, Seq first, std::string bytes) {
  const std::lock_guard lock(mutex_);
  shards_.at(shard).states.at(first) = std::move(bytes);
}

std::uint64_t MemoryStore::setbacks() {
  const std::lock_guard lock(mutex_);
  return setbacks_;
}

std::optional<Duration> MemoryStore::setback_age(bool is_known) {
  const std::lock_guard lock(mutex_);
  const auto now = clock_.steady();
  if (std::exchange(noted_setbacks_, setbacks_) != setbacks_ || is_known) noted_at_ = now;
  return noted_at_ ? std::optional(now - *noted_at_) : std::nullopt;
}

std::vector<NodeRow> MemoryStore::nodes() {
  const std::lock_guard lock(mutex_);
  std::vector<NodeRow> rows;
  for (const auto& [id, row] : nodes_) rows.push_back(row);
  return rows;
}

std::vector<ShardRow> MemoryStore::shards() {
  const std::lock_guard lock(mutex_);
  std::vector<ShardRow> rows;
  for (const auto& [id, shard] : shards_) {
    rows.push_back({.shard = id,
                    .owner = shard.owner,
                    .token = shard.lease.token,
                    .batch = shard.batch,
                    .position = shard.position,
                    .counts = shard.counts,
                    .dead = shard.dead,
                    .dead_trimmed = shard.dead_trimmed});
  }
  return rows;
}

bool MemoryStore::is_still_so(const Claim& claim, const Shard& shard) const {
  if (shard.owner != claim.seen_owner || shard.lease.token != claim.seen_token) return false;
  if (shard.owner.empty()) return true;
  const auto owner = nodes_.find(shard.owner);
  return owner == nodes_.end() || owner->second.gone || owner->second.renewals == claim.seen_renewals;
}

std::vector<Grant> MemoryStore::acquire(const std::string& node, std::uint64_t holder,
                                        std::span<const Claim> claims) {
  const std::lock_guard lock(mutex_);
  std::vector<Grant> grants;
  if (!nodes_.contains(node)) return grants;
  for (const auto& claim : claims) {
    const auto found = shards_.find(claim.shard);
    if (found == shards_.end() || !is_still_so(claim, found->second)) continue;
    auto& shard = found->second;
    const auto owner = nodes_.find(shard.owner);
    const bool crashed = shard.crashed || (owner != nodes_.end() && owner->second.gone);
    if (shard.owner != node) shard.owner_before = std::exchange(shard.owner, node);
    shard.lease = {.token = std::max(shard.lease.token + 1, now_us()), .holder = holder};
    grants.push_back({.shard = claim.shard,
                      .lease = shard.lease,
                      .batch = shard.batch,
                      .head = head_,
                      .clean = shard.clean,
                      .crashed = crashed});
    shard.clean = false;
    shard.crashed = false;
  }
  return grants;
}

void MemoryStore::release(std::span<const Release> ends) {
  const std::lock_guard lock(mutex_);
  for (const auto& end : ends) {
    const auto found = shards_.find(end.shard);
    if (found == shards_.end() || found->second.owner.empty() || found->second.lease != end.lease) continue;
    found->second.owner.clear();
    found->second.clean = end.clean;
    found->second.crashed = end.crashed;
  }
}

// ----------------------------------------------------------------------------------------------------- the
// dead

std::vector<DeadRow> MemoryStore::dead(std::uint32_t queue, std::uint64_t after, std::size_t max_rows) {
  const std::lock_guard lock(mutex_);
  std::vector<DeadRow> rows;
  for (auto at = dead_.upper_bound(after); at != dead_.end() && rows.size() < max_rows; ++at) {
    if (at->second.shard.queue == queue) rows.push_back(at->second);
  }
  return rows;
}

std::vector<ShardId> MemoryStore::oldest_dead(std::uint32_t queue, std::size_t max_rows) {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<Time, ShardId>> rows;
  for (const auto& [no, row] : dead_) {
    if (row.shard.queue == queue) rows.emplace_back(row.at, row.shard);
  }
  std::ranges::stable_sort(rows, {}, &std::pair<Time, ShardId>::first);
  std::vector<ShardId> oldest;
  for (const auto& [at, shard] : rows) {
    if (oldest.size() < max_rows) oldest.push_back(shard);
  }
  return oldest;
}

bool MemoryStore::take_dead(std::uint32_t queue, std::uint64_t no) {
  const auto found = dead_.find(no);
  if (found == dead_.end() || found->second.shard.queue != queue) return false;
  --shards_.at(found->second.shard).dead;
  dead_.erase(found);
  return true;
}

std::size_t MemoryStore::erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) {
  const std::lock_guard lock(mutex_);
  if (is_closed(queue)) throw closed_queue(queue);
  return static_cast<std::size_t>(
      std::count_if(nos.begin(), nos.end(), [&](std::uint64_t no) { return take_dead(queue, no); }));
}

std::size_t MemoryStore::revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                                std::vector<NewEntry> entries) {
  check_revive(nos.size(), entries.size());
  const std::lock_guard lock(mutex_);
  check_append(entries);
  if (is_closed(queue)) throw closed_queue(queue);
  std::vector<NewEntry> revived;
  for (std::size_t i = 0; i < nos.size(); ++i) {
    if (take_dead(queue, nos[i])) revived.push_back(std::move(entries[i]));
  }
  const auto count = revived.size();
  append_all(std::move(revived));
  return count;
}

// ------------------------------------------------------------------------------------------------------
// waits

void MemoryStore::trim_waits() {
  const auto now = believed_now();
  std::erase_if(waits_, [&](const auto& entry) { return entry.second.until <= now; });
}

std::optional<std::string> MemoryStore::wait_row(std::string_view queue, std::string_view key) {
  check_wait_key(key);
  const std::lock_guard lock(mutex_);
  trim_waits();
  const auto found = waits_.find({std::string(queue), std::string(key)});
  return found == waits_.end() ? std::nullopt : std::optional(found->second.bytes);
}

std::size_t MemoryStore::sweep_rows(std::string_view queue, std::size_t max_rows) {
  const std::lock_guard lock(mutex_);
  const auto now = believed_now();
  std::size_t swept = 0;
  std::erase_if(waits_, [&](const auto& entry) {
    const bool goes = swept < max_rows && entry.first.first == queue && entry.second.until <= now;
    swept += goes ? 1 : 0;
    return goes;
  });
  return swept;
}

std::vector<WaitRow> MemoryStore::wait_rows(std::string_view queue, std::string_view after,
                                            std::size_t max_rows) {
  const std::lock_guard lock(mutex_);
  trim_waits();
  std::vector<WaitRow> rows;
  for (const auto& [name, row] : waits_) {
    if (rows.size() < max_rows && name.first == queue && row.key > after && row.listed) rows.push_back(row);
  }
  return rows;
}

// ------------------------------------------------------------------------------------------------ unique
// keys

std::vector<RowResult> MemoryStore::step_rows(std::string_view rows, std::vector<RowStep> steps) {
  using What = RowResult::What;
  for (const auto& step : steps) check_wait_key(step.row.key);
  const std::lock_guard lock(mutex_);
  std::vector<RowResult> results;
  for (auto& step : steps) {
    trim_waits();
    const std::pair name{std::string(rows), step.row.key};
    const auto found = waits_.find(name);
    const auto there = found == waits_.end() ? std::nullopt : std::optional(found->second.bytes);
    if (there != step.seen) {
      results.push_back({What::conflict, there});
    } else if (!can_append(step.entries)) {
      results.push_back({What::refused, {}});
    } else {
      waits_[name] = std::move(step.row);
      append_all(std::move(step.entries));
      results.push_back({What::done, {}});
    }
  }
  trim_waits();
  return results;
}

// --------------------------------------------------------------------------------------------------
// questions

std::string MemoryStore::ask(const std::string& node, std::string bytes) {
  check_question(node, bytes);
  auto id = asked_.ask(node, std::move(bytes), clock_.wall());
  const std::lock_guard lock(mutex_);
  changed();
  return id;
}

std::vector<Question> MemoryStore::questions(const std::string& node) {
  return asked_.open(node, clock_.wall());
}

void MemoryStore::answer(const std::string& node, const std::string& id, std::string bytes) {
  check_answer(bytes);
  asked_.answer(node, id, std::move(bytes), clock_.wall());
}

std::optional<std::string> MemoryStore::take_answer(const std::string& node, const std::string& id) {
  return asked_.take_answer(node, id, clock_.wall());
}

bool MemoryStore::can_append(std::span<const NewEntry> entries) const {
  return std::ranges::all_of(entries, [&](const NewEntry& entry) {
    return shards_.contains(entry.shard) && !is_closed(entry.shard.queue);
  });
}

}  // namespace ordo::store::memory
