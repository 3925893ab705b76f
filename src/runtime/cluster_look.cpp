#include "runtime/cluster_look.h"

#include <algorithm>

#include "domain/records.h"

namespace ordo::runtime {

void ClusterLook::read(store::Store& store) {
  known_setbacks = store.setbacks();
  nodes = store.nodes();
  std::ranges::sort(nodes, {}, &store::NodeRow::id);  // a server may have an order of its own
  shards = store.shards();
  setbacks = store.setbacks();
  for (const auto& row : shards) {
    if (!row.owner.empty()) in_use.insert(row.owner);
    for (auto& run : domain::lent_runs_of(row.counts)) {
      in_use.insert(run.node);
      lent.emplace_back(row.shard, std::move(run));
    }
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
