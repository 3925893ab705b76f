#include "domain/scheduler.h"

#include <tuple>
#include <utility>

#include <ordo/error.hpp>

namespace ordo::domain {
namespace {

auto place_of(const StartableShard& shard) { return std::pair(shard.queue_place, shard.shard); }

template <class Rank>  // the lowest rank is served
std::optional<std::size_t> lowest(std::span<const StartableShard> shards, Rank rank) {
  if (shards.empty()) return std::nullopt;
  std::size_t best = 0;
  auto best_rank = rank(shards[0]);
  for (std::size_t i = 1; i < shards.size(); ++i) {
    auto other = rank(shards[i]);
    if (!(other < best_rank)) continue;
    best = i;
    best_rank = other;
  }
  return best;
}

}  // namespace

Scheduler::Scheduler(const NodeOptions& options)
    : kind_(options.scheduler), function_(options.choose_shard) {}

std::optional<std::size_t> Scheduler::choose(std::span<const StartableShard> shards) {
  if (function_) return ask(shards);
  switch (kind_) {
    case SchedulerKind::lag:
      return lowest(shards,
                    [](const StartableShard& shard) { return std::pair(-shard.lag, place_of(shard)); });
    case SchedulerKind::strict:
      return lowest(shards, [](const StartableShard& shard) {
        return std::tuple(shard.queue_place, -shard.lag, shard.shard);
      });
    case SchedulerKind::sequential:
      return lowest(shards, [this](const StartableShard& shard) {
        return std::pair(last_ && place_of(shard) <= *last_,
                         place_of(shard));  // first those behind the last one
      });
    case SchedulerKind::weighted: {
      if (shards.empty()) return std::nullopt;
      const auto place = richest(shards);
      return lowest(shards, [place](const StartableShard& shard) {
        return std::tuple(shard.queue_place != place, -shard.lag, shard.shard);
      });
    }
  }
  return std::nullopt;
}

// Each queue that has something to start earns its weight with each start, and the one that is served pays
// for all: over any stretch of starts each gets its part, and the turns of a heavy one are spread. A queue
// with nothing to do saves nothing.
std::uint32_t Scheduler::richest(std::span<const StartableShard> shards) const {
  const auto best = lowest(shards, [this](const StartableShard& shard) {
    const auto purse = purses_.find(shard.queue_place);
    const auto credit = purse == purses_.end() ? 0 : purse->second.credit;
    return std::pair(-credit - std::int64_t{shard.weight}, shard.queue_place);
  });
  return shards[*best].queue_place;
}

void Scheduler::served(std::span<const StartableShard> shards, std::size_t chosen) {
  last_ = place_of(shards[chosen]);
  if (kind_ != SchedulerKind::weighted || function_) return;
  ++turn_;
  std::int64_t sum = 0;
  for (const auto& shard : shards) {
    auto& purse = purses_[shard.queue_place];
    if (std::exchange(purse.turn, turn_) == turn_) continue;  // another shard of the queue
    sum += shard.weight;
    purse.credit += shard.weight;
  }
  purses_[shards[chosen].queue_place].credit -= sum;
}

std::optional<std::size_t> Scheduler::ask(std::span<const StartableShard> shards) {
  if (shards.empty()) return std::nullopt;
  loads_.resize(shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    loads_[i].queue.assign(shards[i].queue);
    loads_[i].shard = shards[i].shard;
    loads_[i].lag = shards[i].lag;
  }
  const auto chosen = function_(loads_);
  if (chosen && *chosen >= shards.size()) {
    throw Error(ErrorKind::invalid_argument, "cannot serve shard number " + std::to_string(*chosen) + " of " +
                                                 std::to_string(shards.size()) +
                                                 ": choose_shard must answer with an index into its list");
  }
  return chosen;
}

}  // namespace ordo::domain
