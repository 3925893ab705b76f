#include "domain/scheduler.h"

#include <tuple>

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

Scheduler::Scheduler(const NodeOptions& options) : kind_(options.scheduler), function_(options.choose_shard) {
  if (!function_ && kind_ == SchedulerKind::weighted) {
    throw Error(ErrorKind::invalid_argument,
                "cannot use the scheduler 'weighted': it is not there yet; take lag, sequential or strict");
  }
}

std::optional<std::size_t> Scheduler::choose(std::span<const StartableShard> shards) {
  if (function_) return ask(shards);
  switch (kind_) {
    case SchedulerKind::lag:
    case SchedulerKind::weighted:
      return lowest(shards,
                    [](const StartableShard& shard) { return std::pair(-shard.lag, place_of(shard)); });
    case SchedulerKind::strict:
      return lowest(shards, [](const StartableShard& shard) {
        return std::tuple(shard.queue_place, -shard.lag, shard.shard);
      });
    case SchedulerKind::sequential: {
      const auto chosen = lowest(shards, [this](const StartableShard& shard) {
        return std::pair(last_ && place_of(shard) <= *last_,
                         place_of(shard));  // first those behind the last one
      });
      if (chosen) last_ = place_of(shards[*chosen]);
      return chosen;
    }
  }
  return std::nullopt;
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
