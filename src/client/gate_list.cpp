// What limits and locks stand at, put together from what owners wrote with their counts.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/fnv.h"
#include "base/name.h"
#include "client/admin_impl.h"
#include "domain/gates.h"
#include "domain/limit_change.h"
#include "domain/placement.h"
#include "domain/records.h"
#include "runtime/node_facts.h"
#include "store/limit_rows.h"

namespace ordo {
namespace {

using LimitKey = std::tuple<std::string, std::string, bool>;

void add_stated(std::map<LimitKey, LimitView>& views, const std::string& name,
                const std::optional<Decimal>& limit, const std::optional<RateLimit>& rate) {
  if (limit) views[{name, {}, false}] = {.name = name, .limit = *limit};
  if (rate) views[{name, {}, true}] = {.name = name, .rate = rate};
}

std::string version_of(const std::optional<domain::LimitChange>& change) {
  return change ? fmt::format("{:016x}", fnv1a(encode(*change))) : "0";
}

/// Also where nothing is used, so that no owner tells of it.
void apply(const domain::LimitChange& change, LimitView& view) {
  if (view.rate) {
    view.is_set = change.rate.has_value();
    if (view.is_set) view.rate = change.rate;
  } else if (view.partition.empty()) {
    view.is_set = change.limit.has_value();
    if (view.is_set) view.limit = *change.limit;
  }
}

/// A run counts with the shard that started it, so the shards of one limit add up.
class LimitList {
 public:
  explicit LimitList(const Config& config) {
    for (const auto& limit : config.limits) add_stated(views_, limit.name, limit.limit, limit.rate);
    for (const auto& queue : config.queues) {
      const bool is_of_queue = queue.rate && queue.rate->each == RateEach::queue;
      add_stated(views_, queue.name, queue.limit, is_of_queue ? queue.rate : std::nullopt);
      if (queue.rate && !is_of_queue) rates_of_values_.emplace(queue.name, *queue.rate);
      add_stated(views_, domain::critical_name(queue.name), queue.critical_limit, std::nullopt);
    }
  }

  void add(const std::string& queue, const domain::Counts& counts) {
    for (const auto& use : counts.limits) {
      auto& view = views_[{use.name, use.partition, use.is_rate}];
      view.name = use.name;
      view.partition = use.partition;
      view.waiting += use.waiting;
      if (!use.is_rate) {
        view.limit = Decimal::of_millionths(use.limit);
        view.used = Decimal::of_millionths(view.used.millionths() + use.used);
        for (const auto& id : use.held_by) view.held_by.push_back({queue, id});
        continue;
      }
      view.is_penalty = view.name.ends_with(domain::kPenaltyEnd);
      if (!view.rate) view.rate = rate_of(use.name, static_cast<std::uint32_t>(use.limit / Decimal::kOne));
      if (use.free_at != Time::max())
        view.free_at = std::max(view.free_at.value_or(use.free_at), use.free_at);
    }
  }

  std::vector<LimitView> take(store::Store& store) {
    const auto now = store.now();
    const auto changes = store::limits_set(store);
    std::vector<LimitView> list;
    for (auto& [key, view] : views_) {
      if (view.free_at && *view.free_at <= now) view.free_at.reset();
      if (view.is_penalty && !view.free_at) continue;  // it is over
      const auto change = changes.find(view.name);
      std::optional<domain::LimitChange> set;
      if (change != changes.end() && change->second) set = *change->second;
      view.version = version_of(set);
      if (set) apply(*set, view);
      list.push_back(std::move(view));
    }
    return list;
  }

 private:
  /// Owners tell no more of a rate than its limit.
  RateLimit rate_of(const std::string& name, std::uint32_t limit) const {
    const auto stated = rates_of_values_.find(name);
    if (stated != rates_of_values_.end() && stated->second.limit == limit) return stated->second;
    return {.limit = limit};
  }

  std::map<LimitKey, LimitView> views_;
  std::map<std::string, RateLimit> rates_of_values_;  ///< by queue: rates that each value of a partition has
};

class LockList {
 public:
  void add(const std::string& queue, const domain::Counts& counts) {
    for (const auto& use : counts.locks) {
      auto& view = views_[{use.name, use.key}];
      view.name = use.name;
      view.key = use.key;
      view.waiting += use.waiting;
      for (const auto& id : use.held_by) view.held_by.push_back({queue, id});
    }
  }

  std::vector<LockView> take() {
    std::vector<LockView> list;
    for (auto& [key, view] : views_) list.push_back(std::move(view));
    return list;
  }

 private:
  std::map<std::pair<std::string, std::string>, LockView> views_;
};

}  // namespace

std::vector<LimitView> Admin::Impl::limits() {
  LimitList list(handle_->config());
  each_counts([&](const auto& queue, auto, const domain::Counts& counts) { list.add(queue.name, counts); });
  return list.take(handle_->store());
}

bool Admin::Impl::set_limit(std::string_view name, const std::optional<Decimal>& limit,
                            const std::optional<RateLimit>& rate, const std::optional<std::string>& seen) {
  Config probe;
  probe.limits.push_back({std::string(name), limit, rate});
  validate(probe);
  const auto known = limits();
  // The rate of each value can be set, a limit of each value cannot.
  const auto is_stated = [&](bool is_rate) {
    return std::ranges::any_of(known, [&](const LimitView& view) {
      return view.name == name && view.rate.has_value() == is_rate && (is_rate || view.partition.empty());
    });
  };
  if ((limit && !is_stated(false)) || (rate && !is_stated(true))) return false;
  change_limit(name, seen, [&](std::optional<domain::LimitChange> change) {
    if (!change) change.emplace().name = name;
    if (limit) change->limit = limit;
    if (rate) change->rate = rate;
    return change;
  });
  return true;
}

bool Admin::Impl::unset_limit(std::string_view name, const std::optional<std::string>& seen) {
  if (!is_name(name)) return false;
  bool was_set = false;
  change_limit(name, seen, [&](const std::optional<domain::LimitChange>& change) {
    was_set = change.has_value();
    return std::optional<domain::LimitChange>{};
  });
  return was_set;
}

void Admin::Impl::change_limit(
    std::string_view name, const std::optional<std::string>& expected,
    const std::function<std::optional<domain::LimitChange>(std::optional<domain::LimitChange>)>& change) {
  auto& store = handle_->store();
  while (true) {
    const auto seen = store.wait_row(store::Store::kLimitRows, name);
    std::optional<domain::LimitChange> before;
    if (seen) {
      const auto read = domain::decode_limit_change(std::string(name), *seen);
      if (read.needs() != 0)
        throw Error(ErrorKind::unsupported,
                    "cannot change the limit of '" + std::string(name) + "': " + read.why());
      if (read) before = *read;
    }
    if (expected && *expected != version_of(before))
      throw ChangedSince("cannot change the limit of '" + std::string(name) +
                         "': somebody has changed it since it was looked at; look again");
    const auto after = change(before);
    if (!after && !seen) return;
    store::WaitRow row{std::string(name), after ? encode(*after) : std::string{}, after.has_value()};
    if (!after) row.until = Time::min();
    const auto result = store.step_rows(store::Store::kLimitRows, {{std::move(row), seen, {}}}).front();
    if (result.what == store::RowResult::What::done) return;
  }
}

std::vector<LockView> Admin::Impl::locks(const std::optional<std::string>& queue) {
  if (queue) handle_->existing_queue(*queue);
  LockList list;
  each_counts([&](const store::QueueDefinition& definition, auto, const domain::Counts& counts) {
    if (!queue || definition.name == *queue) list.add(definition.name, counts);
  });
  return list.take();
}

QueueGates Admin::Impl::gates_of(const store::QueueDefinition& queue) {
  const auto* options = handle_->options(queue.name);
  QueueOptions rules = options != nullptr ? *options : QueueOptions{};
  rules.name = queue.name;
  QueueGates gates(std::move(rules));
  gates.now = handle_->store().now();
  gates.paused = queue.paused;
  std::vector<std::pair<std::string, std::string>> told;
  std::set<std::string> alive;
  bool is_throttled = false;  // by a node's own code, which no config has
  for (const auto& node : handle_->store().nodes()) {
    if (node.gone) continue;
    alive.insert(node.id);
    const auto facts = runtime::decode_node_facts(node.facts).or_empty();
    told.insert(told.end(), facts.groups.begin(), facts.groups.end());
    gates.coded.add(node.id, facts);
    gates.stuck.insert(gates.stuck.end(), facts.stuck.begin(), facts.stuck.end());
    is_throttled = is_throttled || std::ranges::find(facts.throttled, queue.name) != facts.throttled.end();
  }
  for (const auto& each : handle_->config().queues) gates.limits_of[each.name] = each.limits;
  const auto linked = domain::link_queues(told);
  const auto group = linked.find(queue.name);
  if (group != linked.end() && is_scattered(linked, group->second, alive)) gates.gathers = group->second;
  const bool is_gated = options == nullptr || domain::has_gates(*options) || is_throttled;
  LimitList limits(handle_->config());
  LockList locks;
  each_counts(
      [&](const store::QueueDefinition& definition, store::ShardId shard, const domain::Counts& counts) {
        if (definition.name == queue.name && counts.blocked_by_suspect > 0)
          gates.marked_runs.emplace(shard, counts.marked_runs);
        if (!is_gated) return;
        limits.add(definition.name, counts);
        locks.add(definition.name, counts);
        if (definition.name != queue.name) return;
        for (const auto& job : counts.throttled)
          gates.throttled.emplace(std::pair{shard, job.arrival}, job.until);
        for (const auto& jobs : counts.blocked) {
          if (!jobs.by.empty()) gates.blocked.try_emplace({jobs.partition, jobs.weight, jobs.critical}, jobs);
        }
      });
  if (!is_gated) return gates;
  gates.limits = limits.take(handle_->store());
  gates.locks = locks.take();
  return gates;
}

bool Admin::Impl::is_scattered(const std::map<std::string, std::string, std::less<>>& groups,
                               const std::string& group, const std::set<std::string>& alive) {
  std::set<std::uint32_t> numbers;
  for (const auto& queue : handle_->store().queues().queues) {
    const auto found = groups.find(queue.name);
    if (found != groups.end() && found->second == group) numbers.insert(queue.number);
  }
  std::set<std::string> owners;
  for (const auto& row : handle_->store().shards()) {
    if (numbers.contains(row.shard.queue)) owners.insert(alive.contains(row.owner) ? row.owner : "");
  }
  return owners.size() > 1 || owners.contains("");
}

// Of the shards that have a living owner: what ran elsewhere is over.
void Admin::Impl::each_counts(const SeeCounts& visit) {
  auto& store = handle_->store();
  const auto alive = living_nodes();
  std::map<std::uint32_t, store::QueueDefinition> queues;
  for (auto& queue : store.queues().queues) {
    if (!queue.is_hidden()) queues.emplace(queue.number, std::move(queue));
  }
  for (const auto& row : store.shards()) {
    const auto queue = queues.find(row.shard.queue);
    if (queue != queues.end() && alive.contains(row.owner))
      visit(queue->second, row.shard, domain::decode_counts(row.counts).or_empty());
  }
}

}  // namespace ordo
