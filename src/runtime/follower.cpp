#include "runtime/follower.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <ordo/error.hpp>

namespace ordo::runtime {

void Follower::add(std::vector<store::Grant> grants, std::uint64_t losses) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(losses_, losses) != losses) {
    added_.clear();
    loading_.clear();
  }
  added_.insert(added_.end(), grants.begin(), grants.end());  // after what is removed, should it come back
}

void Follower::remove(domain::ShardId shard, store::Lease lease) {
  const std::lock_guard lock(mutex_);
  forget_added(shard, lease);
  removed_.emplace_back(shard, lease);
}

void Follower::lose(domain::ShardId shard, store::Lease lease) {
  const std::lock_guard lock(mutex_);
  forget_added(shard, lease);
  lost_.emplace_back(shard, lease);
}

void Follower::forget_added(domain::ShardId shard, store::Lease lease) {
  const auto is_it = [&](const auto& grant) { return grant.shard == shard && grant.lease == lease; };
  std::erase_if(added_, is_it);
  std::erase_if(loading_, is_it);
}

Follower::Found Follower::tick() {
  store::LogChunk lost;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [shard, lease] : removed_) {
      const auto known = read_.find(shard);
      if (known == read_.end() || known->second != lease) continue;
      log_->remove(shard);
      read_.erase(known);
    }
    removed_.clear();
    lost.lost = std::exchange(lost_, {});
  }
  if (!lost.lost.empty()) inbox_.post_chunk(std::move(lost));
  const auto failure = adopt();
  const auto look = look_.load();
  const bool has_all = !has_added();  // what was granted before that look is among them
  auto chunk = log_->read(kRows);
  const bool woken = chunk.woken, at_end = chunk.at_end;
  const bool is_empty = chunk.rows.empty() && chunk.caught_up.empty() && chunk.lost.empty();
  if (!is_empty || !at_end) inbox_.post_chunk(std::move(chunk));
  was_woken_ = was_woken_ || woken;
  if (failure) std::rethrow_exception(failure);
  if (at_end && has_all && std::exchange(told_look_, look) != look)
    inbox_.post([&](News& news) { news.log.emplace_back(AllRead{look}); });
  if (at_end && !asked_.empty())
    inbox_.post([&](News& news) { news.log.emplace_back(std::exchange(asked_, {})); });
  if (was_woken_) look_for_questions();
  if (!is_empty || !at_end || !has_all || !asked_.empty()) return Found::something;
  return woken ? Found::a_wake : Found::nothing;
}

// That they cannot be read is no reason not to read the logs.
void Follower::look_for_questions() {
  was_woken_ = false;
  if (node_.empty()) return;
  std::set<std::string> found;
  try {
    for (auto& question : store_.questions(node_)) {
      found.insert(question.id);
      if (!seen_.contains(question.id)) asked_.push_back(std::move(question));
    }
  } catch (const Error&) {
    return;
  }
  seen_ = std::move(found);
}

bool Follower::has_added() {
  const std::lock_guard lock(mutex_);
  return !added_.empty() || !loading_.empty();
}

/// Some at a time, so that what is loaded is read before all is. Why the next ones could not be loaded: they
/// are asked for again, one by one, and behind the others.
std::exception_ptr Follower::adopt() {
  for (std::size_t states = 0; states < kStates;) {
    std::vector<store::Grant> grants;
    {
      const std::lock_guard lock(mutex_);
      const auto end = added_.begin() + static_cast<std::ptrdiff_t>(std::min(at_once_, added_.size()));
      loading_.assign(added_.begin(), end);
      added_.erase(added_.begin(), end);
      grants = loading_;
    }
    if (grants.empty()) {
      at_once_ = kAtOnce;
      break;
    }
    try {
      const auto found = adopt(grants);
      states += found;
      const bool are_small = found < grants.size() && grants.size() == at_once_;
      if (are_small && at_once_ >= kAtOnce) at_once_ = std::min(2 * at_once_, kMostAtOnce);
    } catch (const Error&) {
      const std::lock_guard lock(mutex_);
      added_.insert(added_.end(), loading_.begin(), loading_.end());
      loading_.clear();
      at_once_ = 1;
      return std::current_exception();
    }
  }
  return nullptr;
}

// What was removed meanwhile is not among `loading_` any more. Returns how many states they have.
std::size_t Follower::adopt(const std::vector<store::Grant>& grants) {
  std::vector<domain::ShardId> ids;
  ids.reserve(grants.size());
  for (const auto& grant : grants) ids.push_back(grant.shard);
  auto facts = store_.load(ids);
  std::size_t states = 0;
  for (const auto& fact : facts) states += fact.states.size();
  std::vector<LoadedShard> loaded;
  {
    const std::lock_guard lock(mutex_);
    auto wanted = loading_.begin();
    for (std::size_t i = 0; i < grants.size(); ++i) {
      const bool is_wanted =
          wanted != loading_.end() && wanted->shard == grants[i].shard && wanted->lease == grants[i].lease;
      if (!is_wanted) continue;
      ++wanted;
      loaded.push_back({grants[i], std::move(facts[i]), losses_});
    }
    loading_.clear();
  }
  for (const auto& shard : loaded) {
    log_->add(shard.grant.shard, 0, shard.grant.lease);
    read_[shard.grant.shard] = shard.grant.lease;
  }
  inbox_.post([&](News& news) { std::move(loaded.begin(), loaded.end(), std::back_inserter(news.log)); });
  return states;
}

}  // namespace ordo::runtime
