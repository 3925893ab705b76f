// Shards as their owners would have them, from the store alone: by the state machine that owners run.
#include <algorithm>
#include <map>
#include <set>

#include "client/admin_impl.h"
#include "client/page_sizes.h"
#include "domain/records.h"
#include "store/shard_states.h"

namespace ordo {
namespace {

/// The entries of jobs that are lent, or that their living owner said to run.
std::set<domain::Seq> entries_of_runs(const domain::Counts& counts) {
  std::set<domain::Seq> entries(counts.running_now.begin(), counts.running_now.end());
  for (const auto& run : counts.lent) {
    for (const auto& job : run.jobs) {
      for (const auto& [seq, score] : job.pieces) entries.insert(seq);
    }
  }
  return entries;
}

/// An owner's own runs as if they were lent: then a rebuilt shard tells the running jobs from those queued
/// beside them, as it does for lent ones.
void list_own_runs(store::ShardId shard, domain::Counts& counts) {
  const auto running_now = std::exchange(counts.running_now, {});
  const auto lent = entries_of_runs(counts);
  for (const auto last : running_now) {
    if (lent.contains(last)) continue;
    domain::LentRun run;
    run.name = {shard, 0, last};
    run.jobs.push_back({{{last, 0.0}}});
    counts.lent.push_back(std::move(run));
  }
}

/// A shard that is being read.
struct Growing {
  using Wanted = std::function<bool(const domain::Entry&)>;
  void read(const store::LogRow& row, std::string_view bytes, const Wanted& wanted, Time now);

  std::unique_ptr<domain::Shard> machine;
  std::set<domain::Seq> of_runs;  // without all of them, an end in the log would mean nothing
  std::uint64_t entries = 0;
  std::uint64_t behind_newer = 0;
};

Growing before_its_log(const store::ShardFacts& facts, const QueueOptions& rules,
                       domain::PayloadBudget& budget, bool is_owned) {
  Growing growing;
  growing.machine = std::make_unique<domain::Shard>(rules, budget);
  growing.machine->sets_aside(false);
  auto states = store::read_states(facts.states);
  const store::Seq head = states.lost.empty() ? 0 : ~store::Seq{0};
  auto counts = domain::decode_counts(facts.counts).or_empty();
  if (is_owned) list_own_runs(facts.shard, counts);
  growing.of_runs = entries_of_runs(counts);
  growing.machine->load({.head = head}, std::move(states.jobs), counts);
  for (const auto& [seq, bytes, why] : states.lost) growing.machine->lose_state(seq, bytes, why);
  return growing;
}

void Growing::read(const store::LogRow& row, std::string_view bytes, const Wanted& wanted, Time now) {
  const auto entry = domain::decode_entry(bytes);
  if (entry.needs() != 0 || behind_newer != 0) {
    ++behind_newer;
  } else if (!entry) {
    machine->apply_unreadable(row.seq, {}, entry.why());  // counted; nobody is shown its bytes here
  } else {
    const bool may_be_left_out = wanted && domain::is_payload(entry->type) && !of_runs.contains(row.seq);
    if (may_be_left_out && !wanted(*entry)) return;
    machine->apply({row.seq, row.at, *entry}, now);
    ++entries;
  }
}

}  // namespace

void Admin::Impl::each_rebuilt(const store::QueueDefinition& queue, const Rebuild& what,
                               const std::function<void(const Rebuilt&)>& visit) {
  std::map<store::ShardId, std::uint64_t> left;  // and how many jobs its owner counted
  for (const auto id : what.shards) left[id] = 0;
  for (const auto& row : handle_->store().shards()) {
    const auto found = left.find(row.shard);
    if (found == left.end()) continue;
    const auto counts = domain::decode_counts(row.counts).or_empty();
    found->second = counts.queued() + counts.running;
  }
  while (!left.empty()) {
    std::vector<store::ShardId> next;
    std::uint64_t jobs = 0;
    for (const auto& [id, counted] : left) {
      jobs += counted;
      if (jobs > what.most_jobs && !next.empty()) break;
      next.push_back(id);
    }
    rebuild_some(queue, next, what, [&](const Rebuilt& rebuilt) {
      left.erase(rebuilt.id);
      visit(rebuilt);
    });
  }
}

// At least the first of the shards: those that turn out too large to be in memory together are left for
// later.
void Admin::Impl::rebuild_some(const store::QueueDefinition& queue, const std::vector<store::ShardId>& ids,
                               const Rebuild& what, const std::function<void(const Rebuilt&)>& visit) {
  auto& store = handle_->store();
  const auto* options = handle_->options(queue.name);
  QueueOptions rules = options != nullptr ? *options : QueueOptions{};
  rules.name = queue.name;
  const auto now = store.now();
  domain::PayloadBudget no_payloads{.limit = 0};
  std::map<store::ShardId, Growing> shards;
  for (const auto& fact : store.load(ids)) {
    shards.emplace(fact.shard, before_its_log(fact, rules, no_payloads, what.owned.contains(fact.shard)));
  }
  const auto log = store.open_log();
  for (const auto& [id, growing] : shards) log->add(id);
  std::uint64_t entries = 0;
  for (bool at_end = false; !at_end;) {
    const auto chunk = log->read(kRows);
    at_end = chunk.at_end;
    for (const auto& row : chunk.rows) {
      const auto found = shards.find(row.shard);
      if (found == shards.end()) continue;
      const auto before = found->second.entries;
      found->second.read(row, chunk.body(row), what.wanted, now);
      entries += found->second.entries - before;
    }
    while (entries > what.most_jobs && shards.size() > 1) {
      const auto last = std::prev(shards.end());
      entries -= last->second.entries;
      log->remove(last->first);
      shards.erase(last);
    }
  }
  for (auto& [id, growing] : shards) visit({id, *growing.machine, growing.behind_newer});
}

std::set<std::string> Admin::Impl::living_nodes() {
  std::set<std::string> alive;
  for (const auto& node : handle_->store().nodes()) {
    if (!node.gone) alive.insert(node.id);
  }
  return alive;
}

// Those with a living owner: what it said last runs there, at most a second ago.
std::set<store::ShardId> Admin::Impl::owned_now() {
  const auto alive = living_nodes();
  std::set<store::ShardId> owned;
  for (const auto& row : handle_->store().shards()) {
    if (alive.contains(row.owner)) owned.insert(row.shard);
  }
  return owned;
}

}  // namespace ordo
