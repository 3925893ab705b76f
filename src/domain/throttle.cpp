#include "domain/throttle.h"

#include <exception>

#include "base/assert.h"

namespace ordo::domain {
namespace {

std::vector<ThrottlerLimit> limits_of(const Claim& claim, Time now) {
  std::vector<ThrottlerLimit> limits;
  for (const auto* limiter : claim.limiters) {
    if (limiter->is_penalty) continue;
    auto& told = limits.emplace_back();
    told.name = limiter->name;
    told.partition = limiter->partition;
    told.is_rate = limiter->type == Limiter::Type::rate;
    if (!told.is_rate) {
      told.used = Decimal::of_millionths(limiter->used);
      told.limit = Decimal::of_millionths(limiter->limit);
      continue;
    }
    told.limit = Decimal::of_millionths(std::int64_t{limiter->rate.limit} * Decimal::kOne);
    if (const auto next = limiter->next_start(now); next > now) told.free_at = next;
  }
  return limits;
}

}  // namespace

void Throttle::look_at_round() {
  if (round_ == rounds_.number) return;
  round_ = rounds_.number;
  asked_ = to_be_asked_ = 0;
  sharing_ = again_.size();
  again_.clear();
  has_failed_ = false;
}

bool Throttle::has_turn(ShardId shard) {
  look_at_round();
  if (asked_ < rounds_.most_questions) return true;
  late_through_ = round_ + 1;
  rounds_.go_on.insert(shard);
  return false;
}

bool Throttle::has_failed() {
  look_at_round();
  return has_failed_;
}

bool Throttle::may_ask_again(ShardId shard) {
  look_at_round();
  if (has_failed_) return false;
  auto& own = again_[shard];
  const auto share = std::max<std::size_t>(1, rounds_.most_questions / std::max<std::size_t>(1, sharing_));
  if (own < share && asked_ + to_be_asked_ < rounds_.most_questions && round_ > late_through_) {
    ++own;
    ++to_be_asked_;
    return true;
  }
  rounds_.go_on.insert(shard);
  return false;
}

Throttle::Verdict Throttle::ask(const std::string& queue, const ThrottledJob& candidate, const Claim& claim,
                                Time now) {
  look_at_round();
  ++asked_;
  if (to_be_asked_ > 0) --to_be_asked_;
  const auto limits = limits_of(claim, now);
  std::string error;
  try {
    return {throttler_({queue, candidate, running_, limits, now}), {}};
  } catch (const std::exception& exception) {
    error = exception.what();
  } catch (...) {
    error = "an unknown exception";
  }
  has_failed_ = true;
  return {ThrottleAnswer::skip(), "the throttler threw: " + error};
}

void Throttle::started(const Job& job, ThrottledJob told) {
  const bool is_new = running_at_.emplace(&job, running_.size()).second;
  ORDO_ASSERT(is_new);
  running_.push_back(std::move(told));
  running_jobs_.push_back(&job);
}

void Throttle::forget(const Job& job) {
  const auto found = running_at_.find(&job);
  ORDO_ASSERT(found != running_at_.end());
  const auto place = found->second;
  running_at_.erase(found);
  if (place + 1 != running_.size()) {
    running_[place] = std::move(running_.back());
    running_jobs_[place] = running_jobs_.back();
    running_at_.at(running_jobs_[place]) = place;
  }
  running_.pop_back();
  running_jobs_.pop_back();
}

}  // namespace ordo::domain
