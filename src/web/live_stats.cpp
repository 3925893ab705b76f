#include "web/live_stats.h"

#include <utility>

#include <fmt/format.h>

#include <ordo/json.hpp>

#include "faces/object_text.h"
#include "faces/shapes.h"

namespace ordo::web {
namespace {

/// The members that differ; both objects have the same ones.
std::string changes_of(const std::string& before, const std::string& now) {
  if (before == now) return {};
  const auto old = Json::parse(before);
  const auto fresh = Json::parse(now);
  ObjectText changed;
  for (const auto& name : fresh.keys()) {
    const auto value = fresh[name];
    if (!old.contains(name) || !(old[name] == value)) changed.raw(name, value.dump());
  }
  return changed.end();
}

}  // namespace

void LiveStats::take(Time at, Stats stats) {
  const std::lock_guard lock(mutex_);
  ++number_;
  at_ = at;
  stats_ = std::move(stats);
}

void LiveStats::prepare_text() {
  const std::lock_guard lock(mutex_);
  prepare();
}

void LiveStats::prepare() {
  if (prepared_ == number_) return;
  has_changes_ = prepared_ != 0 && prepared_ + 1 == number_ && queues_.size() == stats_.by_queue.size();
  std::map<std::string, Part> queues;
  const auto part_of = [&](std::string whole, const Part& before) {
    auto changed = has_changes_ ? changes_of(before.whole, whole) : std::string();
    return Part{std::move(whole), std::move(changed)};
  };
  for (const auto& [name, counts] : stats_.by_queue) {
    has_changes_ = has_changes_ && queues_.contains(name);
    queues.emplace(name, part_of(queue_counts_json(counts), queues_[name]));
  }
  queues_ = std::move(queues);
  total_ = part_of(total_counts_json(stats_.total), total_);
  auto failing = failing_nodes_json(stats_.failing_nodes);
  const bool is_same = failing == failing_.whole;
  failing_ = {failing, is_same ? std::string() : failing};
  prepared_ = number_;
}

void LiveStats::tell(std::uint64_t& seen, const std::set<std::string>& queues, std::string& text) {
  const std::lock_guard lock(mutex_);
  if (number_ == 0 || seen == number_) return;
  prepare();
  const bool is_whole = !has_changes_ || seen + 1 != number_;
  seen = number_;
  ObjectText of_queues;
  const auto add = [&](const std::string& name, const Part& part) {
    if (is_whole || !part.changed.empty()) of_queues.raw(name, is_whole ? part.whole : part.changed);
  };
  if (queues.empty()) {
    for (const auto& [name, counts] : stats_.by_queue) add(name, queues_.at(name));  // in the order of /stats
  }
  for (const auto& name : queues) {
    if (const auto found = queues_.find(name); found != queues_.end()) add(name, found->second);
  }
  ObjectText event;
  event.time("at", at_).flag("whole", is_whole);
  if (queues.empty() && (is_whole || !total_.changed.empty()))
    event.raw("total", is_whole ? total_.whole : total_.changed);
  event.raw("by_queue", of_queues.end());
  // They name other queues, too.
  if (queues.empty() && (is_whole || !failing_.changed.empty())) event.raw("failing_nodes", failing_.whole);
  text += fmt::format("event: stats\ndata: {}\n\n", event.end());
}

}  // namespace ordo::web
