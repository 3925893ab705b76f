// Schedules as people see and change them: what nodes state, and what the shards of their keys have written.
#include <ordo/error.hpp>

#include "base/nearest.h"
#include "base/shorten.h"
#include "client/admin_impl.h"
#include "domain/records.h"
#include "domain/schedule.h"
#include "runtime/node_facts.h"
#include "store/blocking.h"

namespace ordo {
namespace {

constexpr std::size_t kShownTicks = 5;

std::vector<Time> ticks_after(const domain::Ticks& ticks, Time now, std::size_t count) {
  std::vector<Time> next;
  for (auto at = ticks.next(now); at != Time::max() && next.size() < count; at = ticks.next(at))
    next.push_back(at);
  return next;
}

std::vector<Time> known_ticks(const PeriodicOptions& schedule, Time now) {
  std::string why;
  const auto ticks = domain::Ticks::of(schedule, why);
  return ticks ? ticks_after(*ticks, now, kShownTicks) : std::vector<Time>();
}

}  // namespace

std::vector<Time> next_ticks(const PeriodicOptions& schedule, Time after, std::size_t count) {
  std::string why;
  const auto ticks = domain::Ticks::of(schedule, why);
  if (!ticks) throw Error(ErrorKind::invalid_argument, why);
  return ticks_after(*ticks, after, count);
}

std::map<std::string, PeriodicOptions> Admin::Impl::stated_schedules() {
  std::vector<domain::Statement> statements;
  for (const auto& node : handle_->store().nodes()) {
    auto facts = runtime::decode_node_facts(node.facts).or_empty();
    if (!node.gone && !facts.schedules.empty())
      statements.push_back({facts.started, node.id, std::move(facts.schedules)});
  }
  return domain::in_force(std::move(statements));
}

std::vector<PeriodicView> Admin::Impl::periodic() {
  std::map<std::string, PeriodicView> views;
  for (auto& [name, options] : stated_schedules()) {
    views[name].options = std::move(options);
    views[name].stated = true;
  }
  for (const auto& options : handle_->config().periodic)
    views.try_emplace(options.name, PeriodicView{.options = options});
  const auto queues = handle_->store().queues();
  std::map<store::ShardId, domain::ScheduleRecords> records;
  for (const auto& row : handle_->store().shards())
    records[row.shard] = domain::decode_counts(row.counts).or_empty().schedules;
  const auto now = handle_->store().now();
  std::vector<PeriodicView> list;
  for (auto& [name, view] : views) {
    view.next = known_ticks(view.options, now);
    if (const auto* queue = queues.find(view.options.queue)) {
      const auto index = domain::shard_of(domain::key_of(view.options), queue->shards);
      const auto& there = records[{queue->number, index}];
      if (const auto record = there.find(name); record != there.end()) {
        view.paused = record->second.paused;
        if (record->second.ticked != Time::min()) view.last = record->second.ticked;
        view.pushed = record->second.pushed;
        view.skipped = record->second.skipped;
        view.missed = record->second.ticks - record->second.pushed - view.skipped;
        view.held_by = record->second.held_by;
        view.failing = record->second.failing;
        view.failures = record->second.failures;
      }
    }
    list.push_back(std::move(view));
  }
  return list;
}

PeriodicOptions Admin::Impl::schedule(std::string_view name) {
  auto known = stated_schedules();
  for (const auto& options : handle_->config().periodic) known.try_emplace(options.name, options);
  const auto found = known.find(std::string(name));
  if (found != known.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [other, options] : known) names.push_back(other);
  throw Error(ErrorKind::invalid_argument, "neither a node nor this config states a schedule " +
                                               in_quotes(name) + "; " + nearest_hint(name, names));
}

// Like any push: in order behind what has the same key.
std::string Admin::Impl::run_periodic(std::string_view name) {
  const auto options = schedule(name);
  const auto queue = handle_->open_queue(options.queue);
  const auto id = options.name + "@" + handle_->new_id();
  domain::Entry entry;
  entry.kind = domain::kind_of(options);
  entry.key = domain::key_of(options);
  entry.id = id;
  entry.options.priority = options.priority;
  entry.payload = options.payload;
  store::append_and_wait(
      handle_->store(), {{{queue.number, domain::shard_of(entry.key, queue.shards)}, domain::encode(entry)}});
  return id;
}

void Admin::Impl::control_periodic(std::string_view name, domain::EntryType type) {
  const auto options = schedule(name);
  const auto queue = handle_->open_queue(options.queue);
  domain::Entry entry;
  entry.type = type;
  entry.id = options.name;
  entry.key = domain::key_of(options);
  entry.run_at = handle_->store().now();
  store::append_and_wait(
      handle_->store(), {{{queue.number, domain::shard_of(entry.key, queue.shards)}, domain::encode(entry)}});
}

}  // namespace ordo
