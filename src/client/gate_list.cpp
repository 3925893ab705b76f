// What limits and locks stand at, put together from what owners wrote with their counts.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "client/admin_impl.h"
#include "domain/records.h"

namespace ordo {
namespace {

using LimitKey = std::tuple<std::string, std::string, bool>;

void add_stated(std::map<LimitKey, LimitView>& views, const std::string& name,
                const std::optional<Decimal>& limit, const std::optional<RateLimit>& rate) {
  if (limit) views[{name, {}, false}] = {.name = name, .limit = *limit};
  if (rate) views[{name, {}, true}] = {.name = name, .rate = rate};
}

}  // namespace

// A run counts with the shard that started it, so the shards of one limit add up.
std::vector<LimitView> Admin::Impl::limits() {
  std::map<LimitKey, LimitView> views;
  for (const auto& limit : handle_->config().limits) add_stated(views, limit.name, limit.limit, limit.rate);
  for (const auto& queue : handle_->config().queues) {
    const bool is_of_queue = queue.rate && queue.rate->each == RateEach::queue;
    add_stated(views, queue.name, queue.limit, is_of_queue ? queue.rate : std::nullopt);
    add_stated(views, queue.name + " critical", queue.critical_limit, std::nullopt);
  }
  each_counts([&](const store::QueueDefinition&, const domain::Counts& counts) {
    for (const auto& use : counts.limits) {
      auto& view = views[{use.name, use.partition, use.is_rate}];
      view.name = use.name;
      view.partition = use.partition;
      view.waiting += use.waiting;
      if (!use.is_rate) {
        view.limit = Decimal::of_millionths(use.limit);
        view.used = Decimal::of_millionths(view.used.millionths() + use.used);
        continue;
      }
      if (!view.rate) view.rate = RateLimit{.limit = static_cast<std::uint32_t>(use.limit / Decimal::kOne)};
      if (use.free_at != Time::max())
        view.free_at = std::max(view.free_at.value_or(use.free_at), use.free_at);
    }
  });
  const auto now = handle_->store().now();
  std::vector<LimitView> list;
  for (auto& [key, view] : views) {
    if (view.free_at && *view.free_at <= now) view.free_at.reset();
    list.push_back(std::move(view));
  }
  return list;
}

std::vector<LockView> Admin::Impl::locks(const std::optional<std::string>& queue) {
  if (queue) handle_->existing_queue(*queue);
  std::map<std::pair<std::string, std::string>, LockView> views;
  each_counts([&](const store::QueueDefinition& definition, const domain::Counts& counts) {
    if (queue && definition.name != *queue) return;
    for (const auto& use : counts.locks) {
      auto& view = views[{use.name, use.key}];
      view.name = use.name;
      view.key = use.key;
      view.waiting += use.waiting;
      for (const auto& id : use.held_by) view.held_by.push_back({definition.name, id});
    }
  });
  std::vector<LockView> list;
  for (auto& [key, view] : views) list.push_back(std::move(view));
  return list;
}

// Of the shards that have a living owner: what ran elsewhere is over.
void Admin::Impl::each_counts(
    const std::function<void(const store::QueueDefinition&, const domain::Counts&)>& visit) {
  auto& store = handle_->store();
  const auto alive = living_nodes();
  std::map<std::uint32_t, store::QueueDefinition> queues;
  for (auto& queue : store.queues().queues) {
    if (!queue.is_hidden()) queues.emplace(queue.number, std::move(queue));
  }
  for (const auto& row : store.shards()) {
    const auto queue = queues.find(row.shard.queue);
    if (queue != queues.end() && alive.contains(row.owner))
      visit(queue->second, domain::decode_counts(row.counts).or_empty());
  }
}

}  // namespace ordo
