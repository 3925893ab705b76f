// The admin surface over the store: listings are rebuilt by the same state machine that owners run, changes
// are entries that owners carry out.
#include <ordo/admin.hpp>

#include <algorithm>
#include <cmath>
#include <future>
#include <set>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "client/admin_impl.h"
#include "client/reshard.h"
#include "domain/placement.h"
#include "domain/records.h"
#include "runtime/node_facts.h"

namespace ordo {
namespace {

constexpr std::size_t kDeadPage = 500;

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

}  // namespace

std::vector<QueueView> Admin::Impl::queues() {
  std::vector<QueueView> views;
  const auto list = handle_->store().queues();
  const auto numbers = stats();
  const auto running_of = [&](const std::string& name) {
    for (const auto& [queue, counts] : numbers.by_queue) {
      if (queue == name) return counts.running;
    }
    return std::uint64_t{0};
  };
  for (const auto& queue : list.queues) {
    if (queue.is_hidden()) continue;
    const char* state = !queue.paused ? "running" : running_of(queue.name) > 0 ? "pausing" : "paused";
    if (list.find(store::QueueDefinition::hidden_name(queue.name)) != nullptr) state = "resharding";
    views.push_back({queue.name, queue.shards, state});
  }
  for (const auto& queue : handle_->config().queues) {
    if (list.find(queue.name) == nullptr) views.push_back({queue.name, queue.shards, "running"});
  }
  return views;
}

std::vector<NodeView> Admin::Impl::nodes() {
  std::vector<NodeView> views;
  const auto shards = handle_->store().shards();
  const auto nodes = handle_->store().nodes();
  for (const auto& node : nodes) {
    const auto facts = runtime::decode_node_facts(node.facts);
    NodeView view;
    view.id = node.id;
    view.host = facts.host;
    view.pid = facts.pid;
    view.threads = facts.threads;
    view.started = facts.started;
    view.alive = !node.gone;
    view.quiet = node.request != store::NodeRequest::none || facts.stopping;
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
    const auto facts = runtime::decode_node_facts(node.facts);
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
  examine_queues(findings);
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
  const auto shards = handle_->store().shards();
  for (const auto& queue : list.queues) {
    const auto* next = list.find(store::QueueDefinition::hidden_name(queue.name));
    if (next == nullptr) continue;
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
    const auto* there = list.find(queue.name);
    if (there == nullptr || there->shards == queue.shards) continue;
    findings.push_back(
        {Finding::Level::bad,
         fmt::format("queue '{}' has {} shards in the store and {} in the config: no node starts "
                     "with it",
                     queue.name, there->shards, queue.shards),
         fmt::format("set shards = {} in the config", there->shards)});
  }
}

Admin::Impl::Shards Admin::Impl::rebuild(const store::QueueDefinition& queue,
                                         const std::vector<store::ShardId>& ids,
                                         domain::PayloadBudget& budget) {
  auto& store = handle_->store();
  const auto* options = handle_->config().find(queue.name);
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
    for (const auto& row : fact.states) states.emplace_back(row.seq, domain::decode_state(row.bytes));
    shard.load({}, std::move(states), domain::decode_counts(fact.counts));
  }
  const auto log = store.open_log();
  for (const auto id : ids) log->add(id);
  for (bool at_end = false; !at_end;) {
    const auto chunk = log->read(kLogRows);
    at_end = chunk.at_end;
    for (const auto& row : chunk.rows) {
      by_id.at(row.shard)->apply({row.seq, row.at, domain::decode_entry(chunk.body(row))}, now);
    }
  }
  return shards;
}

// As the owners said last, at most a second ago.
std::map<store::ShardId, std::set<domain::Seq>> Admin::Impl::running_now() {
  std::set<std::string> alive;
  for (const auto& node : handle_->store().nodes()) {
    if (!node.gone) alive.insert(node.id);
  }
  std::map<store::ShardId, std::set<domain::Seq>> running;
  for (const auto& row : handle_->store().shards()) {
    if (!alive.contains(row.owner)) continue;
    const auto counts = domain::decode_counts(row.counts);
    running[row.shard].insert(counts.running_now.begin(), counts.running_now.end());
  }
  return running;
}

std::vector<JobView> Admin::Impl::jobs(std::string_view name, const JobFilter& filter) {
  std::vector<JobView> views;
  if (filter.state == JobStatus::dead) {
    dead(name, filter.id.empty() ? std::vector<std::string>{} : std::vector{filter.id},
         [&](const DeadView& row) {
           if (!filter.kind.empty() && row.kind != filter.kind) return true;
           if (!filter.key.empty() && row.key != filter.key) return true;
           JobView* last = views.empty() ? nullptr : &views.back();
           if (last != nullptr && last->id == row.id && last->kind == row.kind && last->key == row.key) {
             last->payloads.push_back(row.payload);
             return true;
           }
           if (views.size() == filter.limit) return false;
           views.push_back({std::string(name),
                            row.kind,
                            row.key,
                            row.id,
                            JobStatus::dead,
                            {row.payload},
                            row.died_at,
                            row.retry_count,
                            row.crashes,
                            row.error});
           return true;
         });
    return views;
  }
  const auto queue = handle_->existing_queue(name);
  if (!queue) return views;
  std::vector<store::ShardId> ids;
  for (std::uint32_t i = 0; i < queue->shards; ++i) {
    const bool wanted = filter.key.empty() || domain::shard_of(filter.key, queue->shards) == i;
    if (wanted) ids.push_back({queue->number, i});
  }
  domain::PayloadBudget budget;
  const auto now = handle_->store().now();
  auto running = running_now();
  const auto shards = rebuild(*queue, ids, budget);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto& runs = running[ids[i]];
    for (auto& job : shards[i]->snapshot(domain::Shard::View::live)) {
      const auto first = std::min_element(job.pieces.begin(), job.pieces.end());
      if (runs.contains(first->first)) job.place = domain::Place::running;
      if (!filter.id.empty() && job.id != filter.id) continue;
      if (!filter.kind.empty() && job.kind != filter.kind) continue;
      if (!filter.key.empty() && job.key != filter.key) continue;
      auto view = view_of(queue->name, job, now);
      if (filter.state && view.state != *filter.state) continue;
      views.push_back(std::move(view));
    }
  }
  std::stable_sort(views.begin(), views.end(),
                   [](const auto& a, const auto& b) { return a.run_at < b.run_at; });
  if (views.size() > filter.limit) views.resize(filter.limit);
  return views;
}

void Admin::Impl::control(std::string_view name, const JobName& job, domain::EntryType type) {
  if (job.id.empty()) throw Error(ErrorKind::invalid_argument, "a job needs an id");
  const auto queue = handle_->open_queue(name);
  domain::Entry entry;
  entry.type = type;
  entry.id = job.id;
  entry.kind = job.kind.empty() ? std::string_view(queue.name) : job.kind;
  entry.key = job.key;
  std::vector<store::NewEntry> entries;
  for (std::uint32_t i = 0; i < queue.shards; ++i) {
    const bool asked = job.key.empty() || domain::shard_of(job.key, queue.shards) == i;
    if (asked) entries.push_back({{queue.number, i}, domain::encode(entry)});
  }
  append_and_wait(handle_->store(), std::move(entries));
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
      const auto payload = domain::decode_dead(row.bytes);
      if (ids && !wanted.contains(payload.id)) continue;
      if (!visit(*queue, row, payload)) return;
    }
    if (rows.size() < kDeadPage) return;
  }
}

void Admin::Impl::dead(std::string_view queue, const std::vector<std::string>& ids,
                       const std::function<bool(const DeadView&)>& visit) {
  each_dead(queue, ids.empty() ? std::nullopt : std::optional(ids),
            [&](const auto&, const store::DeadRow& row, const domain::DeadPayload& dead) {
              DeadView view{
                  row.no, dead.kind,        dead.key,     dead.id,         {dead.payload, dead.score},
                  row.at, dead.retry_count, dead.crashes, dead.error_kind, dead.error};
              return visit(view);
            });
}

std::size_t Admin::Impl::change_dead(std::string_view name,
                                     const std::optional<std::vector<std::string>>& ids, bool revive) {
  if (handle_->existing_queue(name)) handle_->open_queue(name);
  std::size_t changed = 0;
  std::uint32_t number = 0;
  std::vector<std::uint64_t> nos;
  std::vector<store::NewEntry> entries;
  const auto flush = [&] {
    if (nos.empty()) return;
    auto& store = handle_->store();
    changed += revive ? store.revive(number, nos, std::exchange(entries, {})) : store.erase_dead(number, nos);
    nos.clear();
  };
  each_dead(
      name, ids,
      [&](const store::QueueDefinition& queue, const store::DeadRow& row, const domain::DeadPayload& dead) {
        number = queue.number;
        nos.push_back(row.no);
        if (revive) {
          domain::Entry entry;
          entry.type = domain::EntryType::revive;
          entry.kind = dead.kind;
          entry.key = dead.key;
          entry.id = dead.id;
          entry.score = dead.score;
          entry.options = dead.options;
          entry.payload = dead.payload;
          entries.push_back({row.shard, domain::encode(entry)});
        }
        if (nos.size() == kDeadPage) flush();
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
Admin::Admin(Admin&&) noexcept = default;
Admin& Admin::operator=(Admin&&) noexcept = default;

Stats Admin::stats() { return impl_->stats(); }
std::vector<QueueView> Admin::queues() { return impl_->queues(); }
std::vector<NodeView> Admin::nodes() { return impl_->nodes(); }
std::vector<Finding> Admin::examine() { return impl_->examine(); }
bool Admin::quiet_node(const std::string& id) { return impl_->request(id, store::NodeRequest::quiet); }
bool Admin::stop_node(const std::string& id) { return impl_->request(id, store::NodeRequest::stop); }
std::vector<JobView> Admin::jobs(std::string_view queue, const JobFilter& filter) {
  return impl_->jobs(queue, filter);
}
void Admin::cancel(std::string_view queue, const JobName& job) {
  impl_->control(queue, job, domain::EntryType::cancel);
}
void Admin::run_now(std::string_view queue, const JobName& job) {
  impl_->control(queue, job, domain::EntryType::run_now);
}
void Admin::dead(std::string_view queue, const std::vector<std::string>& ids,
                 const std::function<bool(const DeadView&)>& visit) {
  impl_->dead(queue, ids, visit);
}
std::size_t Admin::retry_dead(std::string_view queue, const std::optional<std::vector<std::string>>& ids) {
  return impl_->retry_dead(queue, ids);
}
std::size_t Admin::delete_dead(std::string_view queue, const std::optional<std::vector<std::string>>& ids) {
  return impl_->delete_dead(queue, ids);
}
void Admin::pause(std::string_view queue) { impl_->set_paused(queue, true); }
void Admin::resume(std::string_view queue) { impl_->set_paused(queue, false); }
bool Admin::remove(std::string_view queue, RemoveJobs jobs) { return impl_->remove(queue, jobs); }
ReshardResult Admin::reshard(std::string_view queue, std::uint32_t shards,
                             const std::function<void(const ReshardProgress&)>& progress) {
  return impl_->reshard(queue, shards, progress);
}

}  // namespace ordo
