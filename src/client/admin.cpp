// The admin surface over the store: queues, nodes, and what each call goes to.
#include <ordo/admin.hpp>

#include <algorithm>
#include <set>

#include <ordo/error.hpp>

#include "base/check_function.h"
#include "client/admin_impl.h"
#include "client/audit.h"
#include "client/reopening.h"
#include "client/reshard.h"
#include "domain/placement.h"
#include "domain/records.h"
#include "runtime/node_facts.h"

namespace ordo {

std::vector<QueueView> Admin::Impl::queues() {
  std::vector<QueueView> views;
  const auto list = handle_->store().queues();
  const auto known = list.by_name();
  const auto starting = not_paused_yet(list);
  for (const auto& queue : list.queues) {
    if (queue.is_hidden()) continue;
    auto state = QueueState::running;
    if (queue.paused) state = starting.contains(queue.number) ? QueueState::pausing : QueueState::paused;
    if (known.contains(store::QueueDefinition::hidden_name(queue.name))) state = QueueState::resharding;
    views.push_back({queue.name, queue.shards, state, queue.number});
  }
  for (const auto& queue : handle_->config().queues) {
    if (!known.contains(queue.name))
      views.push_back({.name = queue.name, .shards = queue.shards.value_or(QueueOptions::kDefaultShards)});
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
    if (!facts.paused) continue;
    told.emplace();
    // Of a pause before this one nothing is to be concluded: it may have been resumed meanwhile.
    if (!facts.paused_at || *facts.paused_at >= list.version)
      told->insert(facts.paused->begin(), facts.paused->end());
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
  const auto now = handle_->store().now();
  for (const auto& node : nodes) {
    const auto read = runtime::decode_node_facts(node.facts);
    const auto facts = read ? *read : runtime::NodeFacts{.host = "unknown"};
    NodeView view;
    view.id = node.id;
    view.host = facts.host;
    view.pid = facts.pid;
    view.threads = facts.threads;
    view.sources = facts.sources;
    view.started = facts.started;
    view.alive = !node.gone;
    view.version = facts.version;
    view.clock = facts.clock;
    const auto renewed = Time{Duration{static_cast<Duration::rep>(node.renewals)}};
    view.heartbeat_age = std::max(now - renewed, Duration{});
    view.lost = view.alive && view.heartbeat_age > facts.lease_to_wait_for();
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

bool Admin::Impl::set_paused(std::string_view queue, bool paused) {
  if (handle_->queue(queue).paused == paused) return false;
  handle_->store().set_paused(queue, paused);
  return true;
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

namespace {

AuditEntry entry_of(std::string_view action, std::string_view queue, std::string filter) {
  return {.action = std::string(action), .queue = std::string(queue), .filter = std::move(filter)};
}

std::string_view name_of(JobChange change) {
  switch (change) {
    case JobChange::cancel:
      return "cancel";
    case JobChange::kill:
      return "kill";
    case JobChange::run_now:
      break;
  }
  return "run_now";
}

}  // namespace

class Admin::Place : public Reopening<Impl> {
 public:
  using Reopening::Reopening;
};

Admin::Admin(Config config)
    : place_(std::make_shared<Place>(
          std::make_shared<Impl>(
              std::make_shared<StoreHandle>(std::move(config), system_clock(), store::Missing::refused)),
          [](Impl& before) { return std::make_shared<Impl>(before.handle().reopened()); })) {}
Admin::Admin(std::shared_ptr<Impl> impl) : place_(std::make_shared<Place>(std::move(impl))) {}
Admin::Admin(std::shared_ptr<Place> place, std::string who)
    : place_(std::move(place)), who_(std::move(who)) {}
Admin::~Admin() = default;
std::shared_ptr<Admin::Impl> Admin::impl() {
  if (!place_)
    throw Error(ErrorKind::invalid_argument, "this Admin was moved from: use the one it was moved to");
  return place_->get();
}
Admin::Admin(Admin&&) noexcept = default;
Admin& Admin::operator=(Admin&&) noexcept = default;

template <class Change>
auto Admin::change(AuditEntry entry, const Change& change) {
  const auto place = impl();
  entry.who = who_.empty() ? user_of_process() : who_;
  return audited(*place, std::move(entry), [&] { return change(*place); });
}

Admin Admin::acting_as(std::string who) const { return {place_, std::move(who)}; }
std::string Admin::audit(const AuditFilter& filter, const std::function<bool(const AuditEntry&)>& visit) {
  check_function("Admin::audit()", visit);
  return impl()->audit(filter, visit);
}
void Admin::note(AuditEntry entry) {
  entry.who = who_.empty() ? user_of_process() : who_;
  impl()->note(std::move(entry));
}

Stats Admin::stats(const std::vector<std::string>& queues) { return impl()->stats(queues); }
std::vector<ShardStats> Admin::shard_stats(const std::vector<std::string>& queues) {
  return impl()->shard_stats(queues);
}
std::vector<QueueView> Admin::queues() { return impl()->queues(); }
std::vector<NodeView> Admin::nodes() { return impl()->nodes(); }
std::vector<LimitView> Admin::limits() { return impl()->limits(); }
bool Admin::set_limit(std::string_view name, const std::optional<Decimal>& limit,
                      const std::optional<RateLimit>& rate, const std::optional<std::string>& seen) {
  return change({.action = "set_limit", .filter = limit_filter(name, limit, rate)},
                [&](Impl& impl) { return impl.set_limit(name, limit, rate, seen); });
}
bool Admin::unset_limit(std::string_view name, const std::optional<std::string>& seen) {
  return change({.action = "unset_limit", .filter = filter_json("limit", name)},
                [&](Impl& impl) { return impl.unset_limit(name, seen); });
}
std::vector<LockView> Admin::locks(const std::optional<std::string>& queue) { return impl()->locks(queue); }
std::vector<Finding> Admin::examine() { return impl()->examine(); }
std::vector<Finding> Admin::problems() { return impl()->problems(); }
std::vector<WindowView> Admin::windows(std::string_view queue, Duration ahead) {
  return impl()->windows(queue, ahead);
}
bool Admin::quiet_node(const std::string& id) {
  return change({.action = "quiet_node", .filter = filter_json("node", id)},
                [&](Impl& impl) { return impl.request(id, store::NodeRequest::quiet); });
}
bool Admin::stop_node(const std::string& id) {
  return change({.action = "stop_node", .filter = filter_json("node", id)},
                [&](Impl& impl) { return impl.request(id, store::NodeRequest::stop); });
}
std::vector<JobView> Admin::jobs(std::string_view queue, const JobFilter& filter) {
  return impl()->jobs(queue, filter);
}
std::string Admin::jobs(std::string_view queue, const JobFilter& filter,
                        const std::function<bool(JobView)>& visit) {
  check_function("Admin::jobs()", visit);
  return impl()->jobs(queue, filter, visit);
}
std::string Admin::records(std::string_view queue, const RecordFilter& filter,
                           const std::function<bool(const RecordView&)>& visit) {
  check_function("Admin::records()", visit);
  return impl()->records(queue, filter, visit);
}
std::size_t Admin::forget(std::string_view queue, const JobName& job) {
  return change(entry_of("forget", queue, filter_json(job)),
                [&](Impl& impl) { return impl.forget(queue, job); });
}
void Admin::export_jobs(std::string_view queue, const JobFilter& filter,
                        const std::function<bool(JobView)>& visit) {
  check_function("Admin::export_jobs()", visit);
  impl()->export_jobs(queue, filter, visit);
}
std::uint64_t Admin::count_jobs(std::string_view queue, const JobFilter& filter) {
  return impl()->count_jobs(queue, filter);
}
std::uint64_t Admin::change_jobs(std::string_view queue, const JobFilter& filter, JobChange change) {
  const auto type = [&] {
    switch (change) {
      case JobChange::cancel:
        return domain::EntryType::cancel;
      case JobChange::kill:
        return domain::EntryType::kill;
      case JobChange::run_now:
        break;
    }
    return domain::EntryType::run_now;
  };
  return this->change(entry_of(name_of(change), queue, filter_json(filter)),
                      [&](Impl& impl) { return impl.control_all(queue, filter, type()); });
}
bool Admin::cancel(std::string_view queue, const JobName& job) {
  return change(entry_of("cancel", queue, filter_json(job)),
                [&](Impl& impl) { return impl.control(queue, job, domain::EntryType::cancel); });
}
bool Admin::run_now(std::string_view queue, const JobName& job) {
  return change(entry_of("run_now", queue, filter_json(job)),
                [&](Impl& impl) { return impl.control(queue, job, domain::EntryType::run_now); });
}
bool Admin::kill(std::string_view queue, const JobName& job) {
  return change(entry_of("kill", queue, filter_json(job)),
                [&](Impl& impl) { return impl.control(queue, job, domain::EntryType::kill); });
}
bool Admin::reschedule(std::string_view queue, const JobName& job, Time run_at) {
  return change(entry_of("reschedule", queue, filter_json(job)),
                [&](Impl& impl) { return impl.control(queue, job, domain::EntryType::run_now, run_at); });
}
bool Admin::edit(std::string_view queue, const JobName& job, const std::string& payload,
                 std::optional<double> score) {
  return change(entry_of("edit", queue, filter_json(job)),
                [&](Impl& impl) { return impl.edit(queue, job, payload, score); });
}
bool Admin::edit_dead(std::string_view queue, const JobName& job, const std::string& payload,
                      std::optional<double> score) {
  return change(entry_of("edit_dead", queue, filter_json(job)),
                [&](Impl& impl) { return impl.edit_dead(queue, job, payload, score); });
}
void Admin::dead(std::string_view queue, const DeadFilter& filter,
                 const std::function<bool(const DeadView&)>& visit) {
  check_function("Admin::dead()", visit);
  impl()->dead(queue, filter, {}, [&](const DeadView& dead, const auto&) { return visit(dead); });
}
std::string Admin::dead_jobs(std::string_view queue, const DeadFilter& filter, const Listing& listing,
                             const std::function<bool(JobView)>& visit) {
  check_function("Admin::dead_jobs()", visit);
  return impl()->dead_jobs(queue, filter, listing, visit);
}
DeadCount Admin::count_dead(std::string_view queue, const DeadFilter& filter) {
  return impl()->count_dead(queue, filter);
}
std::size_t Admin::retry_dead(std::string_view queue, const DeadFilter& filter,
                              const std::function<void(const SkippedRetry&)>& skipped) {
  return change(entry_of("retry_dead", queue, filter_json(filter)),
                [&](Impl& impl) { return impl.change_dead(queue, filter, true, skipped); });
}
std::size_t Admin::delete_dead(std::string_view queue, const DeadFilter& filter) {
  return change(entry_of("delete_dead", queue, filter_json(filter)),
                [&](Impl& impl) { return impl.change_dead(queue, filter, false, {}); });
}
ImportCounts Admin::importable(const SourceOptions& from) { return impl()->importable(from); }
ImportCounts Admin::importable(const LowkiqImport& from) { return impl()->importable(from); }
ImportResult Admin::import_jobs(
    const SourceOptions& from, const std::function<void(std::uint64_t found, std::uint64_t left)>& progress) {
  return change({.action = "import", .queue = from.queue, .filter = "{}"},
                [&](Impl& impl) { return impl.import_jobs(from, progress); });
}
ImportResult Admin::import_jobs(
    const LowkiqImport& from, const std::function<void(std::uint64_t found, std::uint64_t left)>& progress) {
  return change({.action = "import", .queue = from.queue, .filter = "{}"},
                [&](Impl& impl) { return impl.import_jobs(from, progress); });
}
std::vector<SourceView> Admin::sources() { return impl()->sources(); }
void Admin::reset_source(std::string_view source) {
  change({.action = "reset_source", .filter = filter_json("source", source)},
         [&](Impl& impl) { impl.reset_source(source); });
}
std::vector<PeriodicView> Admin::periodic() { return impl()->periodic(); }
std::string Admin::run_periodic(std::string_view schedule) {
  return change({.action = "run_periodic", .filter = filter_json("schedule", schedule)},
                [&](Impl& impl) { return impl.run_periodic(schedule); });
}
void Admin::pause_periodic(std::string_view schedule) {
  change({.action = "pause_periodic", .filter = filter_json("schedule", schedule)},
         [&](Impl& impl) { impl.control_periodic(schedule, domain::EntryType::pause_ticks); });
}
void Admin::resume_periodic(std::string_view schedule) {
  change({.action = "resume_periodic", .filter = filter_json("schedule", schedule)},
         [&](Impl& impl) { impl.control_periodic(schedule, domain::EntryType::resume_ticks); });
}
bool Admin::pause(std::string_view queue) {
  return change(entry_of("pause", queue, "{}"), [&](Impl& impl) { return impl.set_paused(queue, true); });
}
bool Admin::resume(std::string_view queue) {
  return change(entry_of("resume", queue, "{}"), [&](Impl& impl) { return impl.set_paused(queue, false); });
}
bool Admin::remove(std::string_view queue, RemoveJobs jobs) {
  return change(entry_of("remove", queue, "{}"), [&](Impl& impl) { return impl.remove(queue, jobs); });
}
ReshardResult Admin::reshard(std::string_view queue, std::uint32_t shards,
                             const std::function<void(const ReshardProgress&)>& progress) {
  return change(entry_of("reshard", queue, filter_json("shards", std::to_string(shards))),
                [&](Impl& impl) { return impl.reshard(queue, shards, progress); });
}

}  // namespace ordo
