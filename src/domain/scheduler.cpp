#include "domain/scheduler.h"

#include <algorithm>
#include <limits>

#include <ordo/error.hpp>

#include "base/saturate.h"

namespace ordo::domain {
namespace {

constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

}  // namespace

Scheduler::Scheduler(const NodeOptions& options)
    : kind_(options.scheduler), function_(options.choose_shard) {}

Scheduler::Rank Scheduler::rank_of(const StartableShard& shard) const {
  const std::int64_t place = shard.queue_place, index = shard.id.index, number = shard.id.queue;
  const auto due = shard.due.time_since_epoch().count();
  if (function_) return {place, index, number, 0};
  switch (kind_) {
    case SchedulerKind::lag:
      return {due, place, index, number};
    case SchedulerKind::strict:
    case SchedulerKind::weighted:
      return {place, due, index, number};
    case SchedulerKind::sequential:
      return {place, index, number, 0};
  }
  return {};
}

void Scheduler::put(const StartableShard& shard) {
  const auto known = shards_.find(shard.id);
  if (known != shards_.end()) {
    if (known->second == shard) return;
    remove(shard.id);
  }
  lines_[shard.thread].emplace(rank_of(shard), shard.id);
  direct_ += shard.needs_free_thread;
  shards_.emplace(shard.id, shard);
}

void Scheduler::remove(ShardId id) {
  const auto known = shards_.extract(id);
  if (known.empty()) return;
  direct_ -= known.mapped().needs_free_thread;
  const auto line = lines_.find(known.mapped().thread);
  line->second.erase(rank_of(known.mapped()));
  if (line->second.empty()) lines_.erase(line);
}

std::optional<StartableShard> Scheduler::choose(Time now, const std::function<bool(int thread)>& is_free) {
  open_.clear();
  for (const auto& [thread, line] : lines_) {
    if (is_free(thread)) open_.push_back(&line);
  }
  if (open_.empty()) return std::nullopt;
  const auto chosen = function_                            ? ask(open_, now)
                      : kind_ == SchedulerKind::sequential ? next(open_)
                      : kind_ == SchedulerKind::weighted   ? of_richest(open_)
                                                           : first(open_);
  return chosen ? std::optional(shards_.at(*chosen)) : std::nullopt;
}

std::optional<ShardId> Scheduler::first(const Open& open) const {
  const auto* best = &*open.front()->begin();
  for (const auto* line : open) best = line->begin()->first < best->first ? &*line->begin() : best;
  return best->second;
}

// First those behind the last one.
std::optional<ShardId> Scheduler::next(const Open& open) const {
  if (!last_) return first(open);
  const std::pair<const Rank, ShardId>* best = nullptr;
  for (const auto* line : open) {
    const auto at = line->upper_bound({last_->first, last_->second, kMost, kMost});
    if (at != line->end() && (best == nullptr || at->first < best->first)) best = &*at;
  }
  return best == nullptr ? first(open) : best->second;
}

// Each queue that has something to start earns its weight with each start, and the one that is served pays
// for all: over any stretch of starts each gets its part, and the turns of a heavy one are spread. A queue
// with nothing to do saves nothing.
std::optional<ShardId> Scheduler::of_richest(const Open& open) {
  earning_.clear();
  std::map<std::uint32_t, const std::pair<const Rank, ShardId>*> fronts;
  for (const auto* line : open) {
    for (auto at = line->begin(); at != line->end();) {
      const auto place = static_cast<std::uint32_t>(at->first[0]);
      auto& front = fronts[place];
      if (front == nullptr || at->first < front->first) front = &*at;
      earning_[place] = shards_.at(at->second).weight;
      at = line->lower_bound({at->first[0] + 1, std::numeric_limits<std::int64_t>::min(), 0, 0});
    }
  }
  const auto wealth = [&](const auto& entry) {
    const auto credit = credits_.find(entry.first);
    return std::pair(-std::int64_t{entry.second} - (credit == credits_.end() ? 0 : credit->second),
                     entry.first);
  };
  return fronts.at(std::ranges::min_element(earning_, {}, wealth)->first)->second;
}

void Scheduler::served(const StartableShard& chosen) {
  last_ = {chosen.queue_place, chosen.id.index};
  if (kind_ != SchedulerKind::weighted || function_) return;
  std::int64_t sum = 0;
  for (const auto& [place, weight] : earning_) {
    sum += weight;
    credits_[place] += weight;
  }
  credits_[chosen.queue_place] -= sum;
}

const StartableShard* Scheduler::front() const {
  const StartableShard* front = nullptr;
  for (const auto& [thread, line] : lines_) {
    const auto& first = shards_.at(line.begin()->second);
    if (front == nullptr || first.queue_place < front->queue_place) front = &first;
  }
  return front;
}

std::optional<ShardId> Scheduler::ask(const Open& open, Time now) {
  std::vector<ShardId> ids;
  for (const auto* line : open) {
    for (const auto& [rank, id] : *line) ids.push_back(id);
  }
  loads_.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& shard = shards_.at(ids[i]);
    loads_[i].queue.assign(shard.queue);
    loads_[i].shard = shard.id.index;
    loads_[i].lag = saturating_sub(now, shard.due);
  }
  const auto chosen = function_(loads_);
  if (!chosen) return std::nullopt;
  if (*chosen >= ids.size()) {
    throw Error(ErrorKind::invalid_argument, "cannot serve shard number " + std::to_string(*chosen) + " of " +
                                                 std::to_string(ids.size()) +
                                                 ": choose_shard must answer with an index into its list");
  }
  return ids[*chosen];
}

}  // namespace ordo::domain
