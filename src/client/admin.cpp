// The admin surface over the store: listings are rebuilt by the same state machine that owners run, changes
// are entries that owners carry out.
#include <ordo/admin.hpp>

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/time_text.h"
#include "client/admin_impl.h"
#include "client/page_sizes.h"
#include "client/reshard.h"
#include "domain/placement.h"
#include "domain/records.h"
#include "runtime/node_facts.h"

namespace ordo {
namespace {

constexpr std::size_t kDeadPage = 500;
constexpr std::size_t kDeadBytes = 64U << 20;  // of payloads that are kept while the dead are grouped
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

JobView view_of(const std::string& queue, const domain::JobSnapshot& job, Time now) {
  JobView view;
  view.queue = queue;
  view.kind = job.kind;
  view.key = job.key;
  view.id = job.id;
  if (job.place == domain::Place::running) {
    view.state = JobStatus::running;
  } else if (job.run_at <= now) {
    view.state = JobStatus::due;
  } else {
    view.state = job.retry_count >= 0 ? JobStatus::retrying : JobStatus::scheduled;
  }
  for (std::size_t i = 0; i < job.pieces.size(); ++i)
    view.payloads.push_back({job.payloads[i], job.pieces[i].second});
  view.run_at = job.run_at;
  view.retry_count = job.retry_count;
  view.crashes = job.crashes;
  view.error = job.error;
  return view;
}

/// The order of starts over the shards of a queue: what runs, then what is due, then the rest as it becomes
/// due.
class StartsBefore {
 public:
  StartsBefore(QueueOptions options, Time now) : options_(std::move(options)), now_(now) {}

  bool operator()(const domain::JobSnapshot& a, const domain::JobSnapshot& b) const {
    return place_of(a) < place_of(b);
  }

 private:
  using Order = std::tuple<int, Time, std::int32_t, Time, std::int32_t>;

  Order place_of(const domain::JobSnapshot& job) const {
    if (job.place == domain::Place::running) return {0, Time{}, 0, job.run_at, 0};
    if (job.run_at > now_) return {2, Time{}, 0, job.run_at, job.priority};
    if (options_.order == DueOrder::priority) return {1, Time{}, job.priority, job.run_at, 0};
    const auto since = job.run_at.time_since_epoch();
    const auto width = std::max(options_.granularity, Duration{1});
    const Time slot{since - ((since % width) + width) % width};
    return {1, slot, job.priority, job.run_at, 0};
  }

  QueueOptions options_;
  Time now_;
};

/// An owner's own runs as if they were lent: then a rebuilt shard tells the running jobs from those queued
/// beside them, as it does for lent ones.
void list_own_runs(store::ShardId shard, domain::Counts& counts) {
  std::set<domain::Seq> lent;
  for (const auto& run : counts.lent) {
    for (const auto& job : run.jobs) {
      for (const auto& [seq, score] : job.pieces) lent.insert(seq);
    }
  }
  for (const auto last : counts.running_now) {
    if (lent.contains(last)) continue;
    domain::LentRun run;
    run.name = {shard, 0, last};
    run.jobs.push_back({{{last, 0.0}}});
    counts.lent.push_back(std::move(run));
  }
}

/// One that cannot be read is listed with its bytes, and left where it is.
domain::DeadPayload payload_of(const store::DeadRow& row) {
  auto read = domain::decode_dead(row.bytes);
  if (read) return *std::move(read);
  auto dead = domain::dead_entry(0, row.bytes, read.why());
  dead.id = dead.key = "dead-" + std::to_string(row.no);
  dead.is_entry = false;
  return dead;
}

void append_and_wait(store::Store& store, std::vector<store::NewEntry> entries) {
  std::promise<void> stored;
  store.append(std::move(entries), [&](std::exception_ptr error) {
    if (error) {
      stored.set_exception(error);
    } else {
      stored.set_value();
    }
  });
  stored.get_future().get();
}

/// Which of the jobs of an id is meant?
Error several(std::string_view queue, const std::string& id,
              const std::set<std::pair<std::string, std::string>>& kinds_and_keys) {
  constexpr std::size_t kNamed = 10;
  std::string names;
  std::size_t left = kinds_and_keys.size();
  for (const auto& [kind, key] : kinds_and_keys) {
    if (kinds_and_keys.size() - left == kNamed) break;
    names += fmt::format("{}kind '{}' key '{}'", names.empty() ? "" : ", ", kind, key);
    --left;
  }
  if (left > 0) names += fmt::format(" and {} more", left);
  return Error(
      ErrorKind::invalid_argument,
      fmt::format("{} jobs of queue '{}' have the id '{}': {}; nothing was done; name the kind and the key",
                  kinds_and_keys.size(), queue, id, names));
}

}  // namespace

std::vector<QueueView> Admin::Impl::queues() {
  std::vector<QueueView> views;
  const auto list = handle_->store().queues();
  const auto known = list.by_name();
  const auto starting = not_paused_yet(list);
  for (const auto& queue : list.queues) {
    if (queue.is_hidden()) continue;
    const char* state = !queue.paused ? "running" : starting.contains(queue.number) ? "pausing" : "paused";
    if (known.contains(store::QueueDefinition::hidden_name(queue.name))) state = "resharding";
    views.push_back({queue.name, queue.shards, state});
  }
  for (const auto& queue : handle_->config().queues) {
    if (!known.contains(queue.name))
      views.push_back({queue.name, queue.shards.value_or(QueueOptions::kDefaultShards), "running"});
  }
  return views;
}

// Paused queues, by number, of which something runs or an owner has not said that nothing starts any more.
std::set<std::uint32_t> Admin::Impl::not_paused_yet(const store::QueueList& list) {
  std::map<std::uint32_t, std::string> paused;
  for (const auto& queue : list.queues) {
    if (queue.paused) paused.emplace(queue.number, queue.name);
  }
  std::set<std::uint32_t> starting;
  if (paused.empty()) return starting;
  std::map<std::string, std::optional<std::set<std::string>>> nodes;  // what each has said is paused
  for (const auto& node : handle_->store().nodes()) {
    if (node.gone) continue;
    auto& told = nodes[node.id];
    const auto facts = runtime::decode_node_facts(node.facts).or_empty();
    if (facts.paused) told.emplace(facts.paused->begin(), facts.paused->end());
  }
  for (const auto& row : handle_->store().shards()) {
    const auto queue = paused.find(row.shard.queue);
    const auto owner = nodes.find(row.owner);
    if (queue == paused.end() || owner == nodes.end()) continue;
    const auto& told = owner->second;
    const bool obeys = !told || told->contains(queue->second);
    if (!obeys || domain::decode_counts(row.counts).or_empty().running > 0) starting.insert(queue->first);
  }
  return starting;
}

std::vector<NodeView> Admin::Impl::nodes() {
  std::vector<NodeView> views;
  const auto shards = handle_->store().shards();
  const auto nodes = handle_->store().nodes();
  for (const auto& node : nodes) {
    const auto read = runtime::decode_node_facts(node.facts);
    const auto facts = read ? *read : runtime::NodeFacts{.host = "unknown"};
    NodeView view;
    view.id = node.id;
    view.host = facts.host;
    view.pid = facts.pid;
    view.threads = facts.threads;
    view.started = facts.started;
    view.alive = !node.gone;
    view.quiet = node.request != store::NodeRequest::none || facts.stopping || facts.quiet;
    for (const auto& [queue, kind] : facts.kinds) {
      if (view.queues.empty() || view.queues.back() != queue) view.queues.push_back(queue);
    }
    view.shards = static_cast<std::uint64_t>(
        std::count_if(shards.begin(), shards.end(), [&](const auto& row) { return row.owner == node.id; }));
    views.push_back(std::move(view));
  }
  for (const auto& [queues, owner] : groups(nodes, shards)) {
    const auto view = std::ranges::find(views, owner, &NodeView::id);
    if (view != views.end()) view->groups.push_back(queues);
  }
  return views;
}

// Each placement group: its queues, and who owns its first shard.
std::vector<std::pair<std::vector<std::string>, std::string>> Admin::Impl::groups(
    const std::vector<store::NodeRow>& nodes, const std::vector<store::ShardRow>& shards) {
  std::vector<std::pair<std::string, std::string>> told;
  for (const auto& node : nodes) {
    const auto facts = runtime::decode_node_facts(node.facts).or_empty();
    if (!node.gone) told.insert(told.end(), facts.groups.begin(), facts.groups.end());
  }
  std::map<std::string, std::vector<std::string>> linked;
  for (const auto& [queue, group] : domain::link_queues(told)) linked[group].push_back(queue);
  const auto list = handle_->store().queues();
  std::vector<std::pair<std::vector<std::string>, std::string>> groups;
  for (auto& [first, queues] : linked) {
    const auto* queue = list.find(first);
    if (queue == nullptr) continue;
    const auto row = std::ranges::find(shards, domain::ShardId{queue->number, 0}, &store::ShardRow::shard);
    groups.emplace_back(std::move(queues), row == shards.end() ? "" : row->owner);
  }
  return groups;
}

std::vector<Finding> Admin::Impl::examine() {
  auto findings = handle_->store().examine();
  const auto before = handle_->clock().wall();
  const auto there = handle_->store().now();
  const auto here = before + (handle_->clock().wall() - before) / 2;
  const auto apart = std::chrono::duration<double>(there - here).count();
  const auto text = fmt::format("the store's clock is {:+.1f} s from this machine's", apart);
  if (std::abs(apart) < 1) {
    findings.push_back({Finding::Level::good, text, ""});
  } else {
    findings.push_back({Finding::Level::warning, text,
                        "jobs start by the store's clock; let both machines ask a time server"});
  }
  for (const auto& node : nodes()) {
    if (node.alive) continue;
    findings.push_back({Finding::Level::warning, "node " + node.id + " has died and is not forgotten yet",
                        "another node of its queues takes over its shards; start one if there is none"});
  }
  for (const auto& row : handle_->store().nodes()) {
    const auto facts = runtime::decode_node_facts(row.facts).or_empty();
    if (row.gone || facts.commit_error.empty()) continue;
    findings.push_back({Finding::Level::bad,
                        fmt::format("node {} cannot write what has ended since {}: {}", row.id,
                                    format_time(facts.commit_error_since), facts.commit_error),
                        "its jobs wait, or run again on another node: mend the cause, or stop the node"});
  }
  examine_queues(findings);
  examine_kinds(findings);
  examine_records(findings);
  for (const auto& [queues, owner] : groups(handle_->store().nodes(), handle_->store().shards())) {
    if (!owner.empty()) continue;
    findings.push_back({Finding::Level::warning,
                        fmt::format("the placement group of {} is on no node", fmt::join(queues, ", ")),
                        "its jobs wait; start a node that has workers for all of these queues"});
  }
  return findings;
}

void Admin::Impl::examine_queues(std::vector<Finding>& findings) {
  const auto list = handle_->store().queues();
  const auto known = list.by_name();
  const auto shards = handle_->store().shards();
  for (const auto& queue : list.queues) {
    const auto found = known.find(store::QueueDefinition::hidden_name(queue.name));
    if (found == known.end()) continue;
    const auto* next = found->second;
    const bool is_owned = std::ranges::any_of(
        shards, [&](const auto& row) { return row.shard.queue == next->number && !row.owner.empty(); });
    const auto command = fmt::format("`ordo reshard {} {}`", queue.name, next->shards);
    if (is_owned) {
      findings.push_back({Finding::Level::warning, "queue '" + queue.name + "' is being resharded",
                          "if " + command + " does not run any more, run it again"});
    } else {
      findings.push_back({Finding::Level::bad,
                          "the reshard of queue '" + queue.name + "' was stopped half-way" +
                              (queue.closed ? ": its producers and nodes wait" : ""),
                          "run " + command + " again"});
    }
  }
  for (const auto& queue : handle_->config().queues) {
    const auto found = known.find(queue.name);
    if (found == known.end() || found->second->shards == queue.shards.value_or(found->second->shards))
      continue;
    const auto* there = found->second;
    findings.push_back(
        {Finding::Level::bad,
         fmt::format("queue '{}' has {} shards in the store and {} in the config: no node starts "
                     "with it",
                     queue.name, there->shards, *queue.shards),
         fmt::format("set shards = {} in the config, or leave it out", there->shards)});
  }
}

// What of the store cannot be read, and what waits for that.
void Admin::Impl::examine_records(std::vector<Finding>& findings) {
  for (const auto& node : handle_->store().nodes()) {
    const auto facts = runtime::decode_node_facts(node.facts);
    if (facts) continue;
    findings.push_back({Finding::Level::warning,
                        fmt::format("what node {} says of itself cannot be read: {}", node.id, facts.why()),
                        "it works on; nothing is lent to it. Run nodes of the same version"});
  }
  for (const auto& row : handle_->store().shards()) {
    const auto counts = domain::decode_counts(row.counts);
    if (counts || counts.needs() != 0) continue;
    findings.push_back({Finding::Level::warning,
                        fmt::format("the counts of shard {} of queue number {} cannot be read: {}",
                                    row.shard.index, row.shard.queue, counts.why()),
                        "its owner counts anew"});
  }
  for (const auto& [queue, stats] : stats().by_queue) {
    if (stats.unreadable > 0) {
      findings.push_back({Finding::Level::warning,
                          fmt::format("{} stored {} of queue '{}' could not be read and went to the dead",
                                      stats.unreadable, stats.unreadable == 1 ? "record" : "records", queue),
                          fmt::format("see `ordo dead {} list`; a version that can read them runs them after "
                                      "`ordo dead {} retry`",
                                      queue, queue)});
    }
    if (stats.waits_for_newer > 0) {
      findings.push_back(
          {Finding::Level::bad,
           fmt::format("{} {} of queue '{}' {} for a newer node: a newer version of Ordo wrote "
                       "there what this one must not guess",
                       stats.waits_for_newer, stats.waits_for_newer == 1 ? "shard" : "shards", queue,
                       stats.waits_for_newer == 1 ? "waits" : "wait"),
           "start a node of that version; nothing is lost meanwhile"});
    }
  }
}

Admin::Impl::Shards Admin::Impl::rebuild(const store::QueueDefinition& queue,
                                         const std::vector<store::ShardId>& ids,
                                         domain::PayloadBudget& budget, const std::set<store::ShardId>& owned,
                                         std::map<store::ShardId, std::uint64_t>* behind_newer) {
  auto& store = handle_->store();
  const auto* options = handle_->options(queue.name);
  QueueOptions rules = options != nullptr ? *options : QueueOptions{};
  rules.name = queue.name;
  const auto now = store.now();
  Shards shards;
  std::map<store::ShardId, domain::Shard*> by_id;
  // Entries first: what an owner erases meanwhile is then seen at worst too long, never too short.
  const auto facts = store.load(ids);
  for (const auto& fact : facts) {
    auto& shard = *shards.emplace_back(std::make_unique<domain::Shard>(rules, budget));
    by_id[fact.shard] = &shard;
    std::vector<std::pair<domain::Seq, domain::JobState>> states;
    std::vector<std::pair<const store::StateRow*, std::string>> lost;
    store::Seq head = 0;
    for (const auto& row : fact.states) {
      auto state = domain::decode_state(row.bytes);
      if (state) {
        states.emplace_back(row.seq, *std::move(state));
      } else {
        lost.emplace_back(&row, state.why());
        head = ~store::Seq{0};
      }
    }
    auto counts = domain::decode_counts(fact.counts).or_empty();
    if (owned.contains(fact.shard)) list_own_runs(fact.shard, counts);
    shard.load({.head = head}, std::move(states), counts);
    for (const auto& [row, why] : lost) shard.lose_state(row->seq, row->bytes, why);
  }
  std::map<store::ShardId, std::uint64_t> left_out;
  const auto log = store.open_log();
  for (const auto id : ids) log->add(id);
  for (bool at_end = false; !at_end;) {
    const auto chunk = log->read(kLogRows);
    at_end = chunk.at_end;
    for (const auto& row : chunk.rows) {
      const auto entry = domain::decode_entry(chunk.body(row));
      if (entry.needs() != 0 || left_out.contains(row.shard)) {
        ++left_out[row.shard];
      } else if (entry) {
        by_id.at(row.shard)->apply({row.seq, row.at, *entry}, now);
      } else {
        by_id.at(row.shard)->apply_unreadable(row.seq, chunk.body(row), entry.why());
      }
    }
  }
  if (behind_newer != nullptr) *behind_newer = std::move(left_out);
  return shards;
}

// Those with a living owner: what it said last runs there, at most a second ago.
std::set<store::ShardId> Admin::Impl::owned_now() {
  std::set<std::string> alive;
  for (const auto& node : handle_->store().nodes()) {
    if (!node.gone) alive.insert(node.id);
  }
  std::set<store::ShardId> owned;
  for (const auto& row : handle_->store().shards()) {
    if (alive.contains(row.owner)) owned.insert(row.shard);
  }
  return owned;
}

std::vector<JobView> Admin::Impl::jobs(std::string_view name, const JobFilter& filter) {
  if (filter.state == JobStatus::dead) return dead_jobs(name, filter);
  std::vector<JobView> views;
  const auto queue = handle_->existing_queue(name);
  if (!queue) return views;
  std::vector<store::ShardId> ids;
  for (std::uint32_t i = 0; i < queue->shards; ++i) {
    const bool wanted = filter.key.empty() || domain::shard_of(filter.key, queue->shards) == i;
    if (wanted) ids.push_back({queue->number, i});
  }
  domain::PayloadBudget budget;
  const auto now = handle_->store().now();
  const auto shards = rebuild(*queue, ids, budget, owned_now());
  std::vector<std::pair<domain::JobSnapshot, JobView>> found;
  for (const auto& shard : shards) {
    for (auto& job : shard->snapshot(domain::Shard::View::live)) {
      if (!filter.id.empty() && job.id != filter.id) continue;
      if (!filter.kind.empty() && job.kind != filter.kind) continue;
      if (!filter.key.empty() && job.key != filter.key) continue;
      auto view = view_of(queue->name, job, now);
      if (filter.state && view.state != *filter.state) continue;
      found.emplace_back(std::move(job), std::move(view));
    }
  }
  const auto* options = handle_->options(queue->name);
  const StartsBefore before(options != nullptr ? *options : QueueOptions{}, now);
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto& a, const auto& b) { return before(a.first, b.first); });
  if (found.size() > filter.limit) found.resize(filter.limit);
  views.reserve(found.size());
  for (auto& [job, view] : found) views.push_back(std::move(view));
  return views;
}

std::vector<JobView> Admin::Impl::dead_jobs(std::string_view name, const JobFilter& filter) {
  std::vector<JobView> views;
  const auto ids = filter.id.empty() ? std::vector<std::string>{} : std::vector{filter.id};
  dead(name, ids, [&](const DeadView& row) {
    if (!filter.kind.empty() && row.kind != filter.kind) return true;
    if (!filter.key.empty() && row.key != filter.key) return true;
    const bool is_more = !views.empty() && views.back().id == row.id && views.back().kind == row.kind &&
                         views.back().key == row.key;
    if (!is_more && views.size() == filter.limit) return false;
    if (!is_more) {
      auto& job = views.emplace_back();
      job.queue = name;
      job.kind = row.kind;
      job.key = row.key;
      job.id = row.id;
      job.state = JobStatus::dead;
    }
    JobView& job = views.back();
    job.payloads.push_back(row.payload);
    job.run_at = row.died_at;
    job.retry_count = row.retry_count;
    job.crashes = row.crashes;
    job.error = row.error;
    return true;
  });
  return views;
}

bool Admin::Impl::control(std::string_view name, const JobName& job, domain::EntryType type) {
  if (job.id.empty()) throw Error(ErrorKind::invalid_argument, "a job needs an id");
  const auto queue = handle_->open_queue(name);
  std::set<std::pair<std::string, std::string>> fitting;  // (kind, key)
  for (const auto& found : jobs(name, {.id = job.id, .kind = job.kind, .key = job.key, .limit = kNoLimit})) {
    fitting.emplace(found.kind, found.key);
  }
  if (fitting.empty()) return false;
  if (fitting.size() > 1) throw several(name, job.id, fitting);
  domain::Entry entry;
  entry.type = type;
  entry.id = job.id;
  std::tie(entry.kind, entry.key) = *fitting.begin();
  append_and_wait(handle_->store(),
                  {{{queue.number, domain::shard_of(entry.key, queue.shards)}, domain::encode(entry)}});
  return true;
}

// ---------------------------------------------------------------------------------------------------------
// the dead

void Admin::Impl::each_dead(std::string_view name, const std::optional<std::vector<std::string>>& ids,
                            const std::function<bool(const store::QueueDefinition&, const store::DeadRow&,
                                                     const domain::DeadPayload&)>& visit) {
  const auto queue = handle_->existing_queue(name);
  if (!queue) return;
  const std::set<std::string> wanted = ids ? std::set(ids->begin(), ids->end()) : std::set<std::string>{};
  std::uint64_t after = 0;
  while (true) {
    const auto rows = handle_->store().dead(queue->number, after, kDeadPage);
    for (const auto& row : rows) {
      after = row.no;
      const auto payload = payload_of(row);
      if (ids && !wanted.contains(payload.id)) continue;
      if (!visit(*queue, row, payload)) return;
    }
    if (rows.size() < kDeadPage) return;
  }
}

// Grouped: one look at all rows tells which belong together. Payloads beyond a budget are read again, one by
// one, when it is their turn.
void Admin::Impl::dead(std::string_view queue, const std::vector<std::string>& ids,
                       const std::function<bool(const DeadView&)>& visit) {
  struct Row {
    std::uint64_t no = 0;
    std::optional<DeadView> view;
  };
  const auto view_of_row = [](const store::DeadRow& row, const domain::DeadPayload& dead) {
    return DeadView{row.no, dead.kind,        dead.key,     dead.id,         {dead.payload, dead.score},
                    row.at, dead.retry_count, dead.crashes, dead.error_kind, dead.error};
  };
  std::vector<std::vector<Row>> jobs;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  std::size_t kept = 0;
  std::uint32_t number = 0;
  const auto wanted = ids.empty() ? std::nullopt : std::optional(ids);
  each_dead(queue, wanted, [&](const auto& definition, const auto& row, const auto& payload) {
    number = definition.number;
    const auto [place, is_new] = places.try_emplace({payload.kind, payload.key, payload.id}, jobs.size());
    if (is_new) jobs.emplace_back();
    auto& added = jobs[place->second].emplace_back(Row{row.no, {}});
    kept += row.bytes.size();
    if (kept <= kDeadBytes) added.view = view_of_row(row, payload);
    return true;
  });
  for (auto& job : jobs) {
    for (auto& row : job) {
      if (!row.view) {
        const auto again = handle_->store().dead(number, row.no - 1, 1);
        if (again.empty() || again.front().no != row.no) continue;  // it has been brought back meanwhile
        row.view = view_of_row(again.front(), payload_of(again.front()));
      }
      if (!visit(*row.view)) return;
      row.view.reset();
    }
  }
}

std::size_t Admin::Impl::change_dead(std::string_view name,
                                     const std::optional<std::vector<std::string>>& ids, bool revive) {
  if (handle_->existing_queue(name)) handle_->open_queue(name);
  std::size_t changed = 0;
  std::uint32_t number = 0;
  std::vector<std::uint64_t> nos;
  std::vector<store::NewEntry> entries;
  std::size_t bytes = 0;
  const auto flush = [&] {
    if (nos.empty()) return;
    auto& store = handle_->store();
    changed += revive ? store.revive(number, nos, std::exchange(entries, {})) : store.erase_dead(number, nos);
    nos.clear();
    bytes = 0;
  };
  each_dead(
      name, ids,
      [&](const store::QueueDefinition& queue, const store::DeadRow& row, const domain::DeadPayload& dead) {
        if (revive && !domain::decode_dead(row.bytes)) return true;  // for a version that can read it
        number = queue.number;
        nos.push_back(row.no);
        if (revive && dead.is_entry) {
          // As it stood in the log; who can read it knows, after a reshard, too, where its key belongs.
          const auto entry = domain::decode_entry(dead.payload);
          const auto index = entry ? domain::shard_of(entry->key, queue.shards) : row.shard.index;
          entries.push_back({{queue.number, index}, dead.payload});
        } else if (revive) {
          domain::Entry entry;
          entry.type = domain::EntryType::revive;
          entry.kind = dead.kind;
          entry.key = dead.key;
          entry.id = dead.id;
          entry.score = dead.score;
          entry.options = dead.options;
          entry.payload = dead.payload;
          entry.fields = dead.entry_fields;
          entries.push_back({row.shard, domain::encode(entry)});
        }
        bytes += row.bytes.size();
        if (nos.size() == kDeadPage || bytes >= kAppendBytes) flush();
        return true;
      });
  flush();
  return changed;
}

std::size_t Admin::Impl::retry_dead(std::string_view queue,
                                    const std::optional<std::vector<std::string>>& ids) {
  return change_dead(queue, ids, true);
}

std::size_t Admin::Impl::delete_dead(std::string_view queue,
                                     const std::optional<std::vector<std::string>>& ids) {
  return change_dead(queue, ids, false);
}

void Admin::Impl::set_paused(std::string_view queue, bool paused) {
  handle_->queue(queue);
  handle_->store().set_paused(queue, paused);
}

bool Admin::Impl::remove(std::string_view name, RemoveJobs jobs) {
  const auto queue = handle_->existing_queue(name);
  if (!queue) return true;
  if (jobs == RemoveJobs::refuse) {
    const auto now = tally([&](const auto& each) { return each.name == name; });
    for (const auto& [each, counts] : now.stats.by_queue) {
      if (each == name && counts.length + counts.running + counts.awaiting + counts.dead > 0) return false;
    }
  }
  handle_->store().remove(store::QueueDefinition::hidden_name(name));
  handle_->store().remove(name);
  return true;
}

ReshardResult Admin::Impl::reshard(std::string_view name, std::uint32_t shards,
                                   const std::function<void(const ReshardProgress&)>& progress) {
  handle_->queue(name);
  return Reshard(handle_->store(), handle_->clock(), handle_->config().node.lease, std::string(name),
                 progress)
      .run(shards);
}

// -------------------------------------------------------------------------------------------------------------------

Admin::Admin(Config config)
    : impl_(std::make_shared<Impl>(std::make_shared<StoreHandle>(std::move(config), system_clock()))) {}
Admin::Admin(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Admin::~Admin() = default;
Admin::Impl& Admin::impl() {
  if (!impl_)
    throw Error(ErrorKind::invalid_argument, "this Admin was moved from: use the one it was moved to");
  return *impl_;
}
Admin::Admin(Admin&&) noexcept = default;
Admin& Admin::operator=(Admin&&) noexcept = default;

Stats Admin::stats() { return impl().stats(); }
std::vector<QueueView> Admin::queues() { return impl().queues(); }
std::vector<NodeView> Admin::nodes() { return impl().nodes(); }
std::vector<Finding> Admin::examine() { return impl().examine(); }
bool Admin::quiet_node(const std::string& id) { return impl().request(id, store::NodeRequest::quiet); }
bool Admin::stop_node(const std::string& id) { return impl().request(id, store::NodeRequest::stop); }
std::vector<JobView> Admin::jobs(std::string_view queue, const JobFilter& filter) {
  return impl().jobs(queue, filter);
}
bool Admin::cancel(std::string_view queue, const JobName& job) {
  return impl().control(queue, job, domain::EntryType::cancel);
}
bool Admin::run_now(std::string_view queue, const JobName& job) {
  return impl().control(queue, job, domain::EntryType::run_now);
}
void Admin::dead(std::string_view queue, const std::vector<std::string>& ids,
                 const std::function<bool(const DeadView&)>& visit) {
  impl().dead(queue, ids, visit);
}
std::size_t Admin::retry_dead(std::string_view queue, const std::optional<std::vector<std::string>>& ids) {
  return impl().retry_dead(queue, ids);
}
std::size_t Admin::delete_dead(std::string_view queue, const std::optional<std::vector<std::string>>& ids) {
  return impl().delete_dead(queue, ids);
}
void Admin::pause(std::string_view queue) { impl().set_paused(queue, true); }
void Admin::resume(std::string_view queue) { impl().set_paused(queue, false); }
bool Admin::remove(std::string_view queue, RemoveJobs jobs) { return impl().remove(queue, jobs); }
ReshardResult Admin::reshard(std::string_view queue, std::uint32_t shards,
                             const std::function<void(const ReshardProgress&)>& progress) {
  return impl().reshard(queue, shards, progress);
}

}  // namespace ordo
