#include "runtime/queue_table.h"

#include <algorithm>
#include <utility>

#include "domain/gates.h"

namespace ordo::runtime {

ServedQueue& QueueTable::serve(const QueueOptions& options, std::size_t pool, const ServedQueue* before) {
  auto& queue = queues_[options.name];
  queue = std::make_unique<ServedQueue>(ServedQueue{.options = options, .pool = pool});
  queue->is_gated = domain::has_gates(options);
  queue->place = before != nullptr ? before->place : ++last_place_;
  const auto known = std::ranges::find(names_, options.name, [](const auto& entry) { return entry.second; });
  if (known != names_.end()) {
    queue->number = known->first;
    by_number_[queue->number] = queue.get();
  }
  if (before != nullptr) {
    queue->options.shards = before->options.shards;
    queue->phase = before->phase;
    queue->told = before->told;
    pauses_ = true;
  }
  return *queue;
}

std::unique_ptr<ServedQueue> QueueTable::leave(const std::string& name) {
  auto left = queues_.extract(name);
  if (left.empty()) return nullptr;
  auto queue = std::move(left.mapped());
  queue->is_leaving = true;
  if (find(queue->number) == queue.get()) by_number_.erase(queue->number);
  pauses_ = true;
  return queue;
}

void QueueTable::list(const std::vector<std::string>& names) {
  std::uint32_t place = 0;
  for (const auto& name : names) {
    const auto found = queues_.find(name);
    if (found != queues_.end()) found->second->place = ++place;
  }
  const std::set<std::string_view> listed(names.begin(), names.end());
  for (auto& [name, queue] : queues_) {
    if (!listed.contains(name)) queue->place = ++place;
  }
  last_place_ = std::max(last_place_, place);
}

bool QueueTable::rules_are_free(const std::string& name) {
  const auto found = queues_.find(name);
  if (found == queues_.end()) return true;
  return std::exchange(found->second->waits_for_rules, false);
}

std::string QueueTable::name_of(std::uint32_t number) const {
  const auto known = names_.find(number);
  if (known == names_.end()) return std::to_string(number);
  return known->second.substr(0, known->second.find(store::QueueDefinition::kHiddenEnd));
}

ServedQueue* QueueTable::find(std::uint32_t number) const {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

const ServedQueue* QueueTable::find(const std::string& name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() || find(found->second->number) != found->second.get() ? nullptr
                                                                                      : found->second.get();
}

std::vector<const ServedQueue*> QueueTable::define(const store::QueueList& list) {
  std::vector<const ServedQueue*> changed;
  by_number_.clear();
  names_.clear();
  version_ = list.version;
  for (const auto& definition : list.queues) {
    names_.emplace(definition.number, definition.name);
    const auto found = queues_.find(definition.name);
    if (found == queues_.end()) continue;
    auto& queue = *found->second;
    by_number_[definition.number] = &queue;
    queue.number = definition.number;
    queue.options.shards = definition.shards;
    pauses_ = true;
    if (queue.set_paused(definition.paused)) changed.push_back(&queue);
  }
  return changed;
}

void QueueTable::tell_pauses(const std::function<std::size_t(const ServedQueue&)>& runs_of) {
  using Phase = ServedQueue::Phase;
  if (!std::exchange(pauses_, false)) return;
  paused_.clear();
  for (auto& [name, queue] : queues_) {
    if (queue->told != queue->phase) {
      tell(name, queue->phase == Phase::running ? EventType::queue_running : EventType::queue_pausing);
      queue->told = queue->phase;
    }
    if (queue->phase == Phase::pausing && runs_of(*queue) == 0) {
      tell(name, EventType::queue_paused);
      queue->phase = queue->told = Phase::paused;
    }
    pauses_ = pauses_ || queue->phase == Phase::pausing;
    if (queue->phase == Phase::paused) paused_.push_back(name);
  }
  paused_at_ = paused_.empty() ? 0 : version_;
}

void QueueTable::tell(const std::string& queue, EventType type) const {
  if (!scope_.watch) return;
  Event event;
  event.type = type;
  event.queue = queue;
  event.at = scope_.now;
  scope_.hooks.events({std::move(event)});
}

bool QueueTable::has_full() const {
  return std::ranges::any_of(queues_, [](const auto& entry) { return !entry.second->full.empty(); });
}

}  // namespace ordo::runtime
