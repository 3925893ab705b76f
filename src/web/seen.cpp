// Lists for tokens that are for some queues only: they leave out what is of others.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/shorten.h"
#include "web/desk.h"
#include "web/problem.h"
#include "web/veil.h"

namespace ordo::web {
namespace {

constexpr Duration kSourcesLast = std::chrono::seconds{2};
constexpr Duration kTroubledSourcesLast = std::chrono::minutes{1};

/// As Admin::stats() takes them: a name, or the beginning of one with a * behind.
bool fits(std::string_view name, std::string_view wanted) {
  return wanted.ends_with('*') ? name.starts_with(wanted.substr(0, wanted.size() - 1)) : name == wanted;
}

}  // namespace

void refuse_unseen(const Call& call, std::string_view queue) {
  if (!call.sees(queue))
    throw Problem(403, fmt::format("this token is not for {}", in_quotes(std::string(queue))));
}

std::vector<QueueView> seen_queues(Desk& desk, const Call& call) {
  auto queues = desk.admin.queues();
  std::erase_if(queues, [&](const QueueView& queue) { return !call.sees(queue.name); });
  return queues;
}

Stats seen_stats(Desk& desk, const Call& call, const std::vector<std::string>& wanted) {
  if (call.sees_all()) return desk.admin.stats(wanted);
  for (const auto& name : wanted) {
    if (!name.ends_with('*')) refuse_unseen(call, name);
  }
  std::vector<std::string> names;
  for (const auto& queue : seen_queues(desk, call)) {
    const auto is_wanted = [&](const std::string& each) { return fits(queue.name, each); };
    if (wanted.empty() || std::ranges::any_of(wanted, is_wanted)) names.push_back(queue.name);
  }
  auto stats = names.empty() ? Stats{} : desk.admin.stats(names);  // no names at all would mean all queues
  stats.failing_nodes.clear();  // what is wrong with a node names other queues, too, and so do sources
  stats.sources.clear();
  return stats;
}

std::vector<NodeView> seen_nodes(Desk& desk, const Call& call) {
  auto nodes = desk.admin.nodes();
  if (call.sees_all()) return nodes;
  const auto is_unseen = [&](const std::string& queue) { return !call.sees(queue); };
  for (NodeView& node : nodes) {
    std::erase_if(node.queues, is_unseen);
    node.sources.clear();
    for (auto& group : node.groups) std::erase_if(group, is_unseen);
    std::erase_if(node.groups, [](const auto& group) { return group.empty(); });
  }
  std::erase_if(nodes, [](const NodeView& node) { return node.queues.empty(); });
  return nodes;
}

std::vector<SourceView> seen_sources(Desk& desk, const Call& call) {
  const auto is_troubled = [](const SourceView& source) { return !source.trouble.empty(); };
  auto sources = desk.sources->look([&] { return desk.admin.sources(); },
                                    [&](const std::vector<SourceView>& found) -> Duration {
                                      if (std::ranges::any_of(found, is_troubled))
                                        return kTroubledSourcesLast;
                                      return kSourcesLast;
                                    });
  std::erase_if(sources, [&](const SourceView& source) { return !call.sees(source.options.queue); });
  return sources;
}

std::vector<LimitView> seen_limits(Desk& desk, const Call& call) {
  auto limits = desk.admin.limits();
  if (call.sees_all()) return limits;
  std::set<std::string, std::less<>> names;
  const auto config = desk.config->now();
  for (const auto& queue : config->queues) {
    if (call.sees(queue.name)) names.insert(queue.limits.begin(), queue.limits.end());
  }
  std::erase_if(limits, [&](const LimitView& limit) {
    const auto first = std::string_view(limit.name).substr(0, limit.name.find(' '));  // "orders critical"
    return !call.sees(first) && !names.contains(limit.name);
  });
  return limits;
}

std::vector<LockView> seen_locks(Desk& desk, const Call& call) {
  const auto wanted = call.target.find("queue");
  if (wanted) refuse_unseen(call, *wanted);
  if (wanted || call.sees_all()) return desk.admin.locks(wanted);
  std::vector<LockView> locks;
  for (const auto& queue : seen_queues(desk, call)) {
    for (auto& lock : desk.admin.locks(queue.name)) {
      const auto is_same = [&](const LockView& each) {
        return each.name == lock.name && each.key == lock.key;
      };
      if (std::ranges::none_of(locks, is_same)) locks.push_back(std::move(lock));  // queues may share one
    }
  }
  return locks;
}

std::vector<PeriodicView> seen_periodic(Desk& desk, const Call& call) {
  auto schedules = desk.admin.periodic();
  std::erase_if(schedules, [&](const PeriodicView& each) { return !call.sees(each.options.queue); });
  const Veil veil(*desk.config);
  for (PeriodicView& each : schedules) each.options.payload = veil.covered(each.options.payload);
  return schedules;
}

}  // namespace ordo::web
