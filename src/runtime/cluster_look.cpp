#include "runtime/cluster_look.h"

#include <algorithm>

#include "domain/records.h"

namespace ordo::runtime {
namespace {

constexpr std::uint64_t kMostDeadToGo = 5000;  // of a queue, by one look

std::map<domain::ShardId, std::uint64_t> dead_rows_of(const std::vector<store::ShardRow>& shards) {
  std::map<domain::ShardId, std::uint64_t> dead;
  for (const auto& row : shards) {
    if (row.dead > 0) dead[row.shard] = row.dead;
  }
  return dead;
}

std::uint64_t sum_of(const std::map<domain::ShardId, std::uint64_t>& dead, std::uint32_t queue) {
  std::uint64_t sum = 0;
  for (auto at = dead.lower_bound({queue, 0}); at != dead.end() && at->first.queue == queue; ++at)
    sum += at->second;
  return sum;
}

}  // namespace

void ClusterLook::read(store::Store& store) {
  known_setbacks = store.setbacks();
  nodes = store.nodes();
  std::ranges::sort(nodes, {}, &store::NodeRow::id);  // a server may have an order of its own
  shards = store.shards();
  setbacks = store.setbacks();
  dead_rows = dead_rows_of(shards);
  for (const auto& row : shards) {
    if (!row.owner.empty()) in_use.insert(row.owner);
    for (auto& run : domain::lent_runs_of(row.counts)) {
      in_use.insert(run.node);
      lent.emplace_back(row.shard, std::move(run));
    }
  }
}

// Others may trim meanwhile. They are counted once more behind the list, so what is listed and gone by then
// makes none go that is within the bound.
void ClusterLook::find_dead_to_go(store::Store& store, const std::vector<store::QueueWish>& served) {
  struct Listed {
    std::uint32_t queue = 0;
    std::uint64_t max_dead = 0;
    std::vector<domain::ShardId> oldest;
  };
  std::vector<Listed> lists;
  const auto known = queues.by_name();
  for (const auto& wish : served) {
    const auto found = known.find(wish.name);
    if (wish.max_dead == 0 || found == known.end()) continue;
    const auto queue = found->second->number;
    const auto sum = sum_of(dead_rows, queue);
    if (sum <= wish.max_dead) continue;
    const auto excess = std::min(sum - wish.max_dead, kMostDeadToGo);
    lists.push_back({queue, wish.max_dead, store.oldest_dead(queue, static_cast<std::size_t>(excess))});
  }
  if (lists.empty()) return;
  dead_rows = dead_rows_of(store.shards());
  for (const auto& [queue, max_dead, oldest] : lists) {
    const auto sum = sum_of(dead_rows, queue);
    const auto excess = std::min<std::uint64_t>(sum - std::min(sum, max_dead), oldest.size());
    for (std::size_t i = 0; i < excess; ++i) ++dead_to_go[oldest[i]];
  }
}

// What a throttler of one node holds back, nobody without it may start.
std::vector<domain::LiveNode> ClusterLook::live() const {
  std::set<std::string_view> throttled;
  for (const auto& member : members) {
    if (member.alive) throttled.insert(member.throttled.begin(), member.throttled.end());
  }
  std::vector<domain::LiveNode> live;
  for (const auto& member : members) {
    if (!member.alive) continue;
    auto& node = live.emplace_back(domain::LiveNode{member.id, {}, member.level});
    if (member.stopping) continue;
    for (const auto& [queue, kinds] : member.kinds) {
      if (!throttled.contains(queue) || member.throttled.contains(queue)) node.queues.insert(queue);
    }
  }
  return live;
}

std::vector<std::vector<domain::ShardId>> ClusterLook::grouped() const {
  std::map<std::string_view, std::vector<domain::ShardId>> by_group;
  for (const auto& definition : queues.queues) {
    const auto group = groups.find(definition.name);
    if (group == groups.end()) continue;
    for (std::uint32_t i = 0; i < definition.shards; ++i)
      by_group[group->second].push_back({definition.number, i});
  }
  std::vector<std::vector<domain::ShardId>> all;
  for (auto& [group, shards_of_it] : by_group) all.push_back(std::move(shards_of_it));
  return all;
}

std::set<std::string> ClusterLook::resharded() const {
  std::set<std::string> names;
  for (const auto& queue : queues.queues) {
    if (queue.closed) names.insert(queue.name);
    if (!queue.is_hidden()) continue;
    const bool is_filled = std::ranges::any_of(
        shards, [&](const store::ShardRow& row) { return row.shard.queue == queue.number && !is_free(row); });
    if (is_filled) names.emplace(queue.shown_name());
  }
  return names;
}

}  // namespace ordo::runtime
