#include "runtime/follower.h"

#include <algorithm>
#include <iterator>

namespace ordo::runtime {

void Follower::add(std::vector<store::Grant> grants, std::uint64_t losses) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(losses_, losses) != losses) added_.clear();
  added_.insert(added_.end(), grants.begin(), grants.end());  // after what is removed, should it come back
}

void Follower::remove(domain::ShardId shard, store::Lease lease) {
  const std::lock_guard lock(mutex_);
  std::erase_if(added_, [&](const auto& grant) { return grant.shard == shard && grant.lease == lease; });
  removed_.emplace_back(shard, lease);
}

Follower::Found Follower::tick() {
  std::vector<store::Grant> added;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [shard, lease] : removed_) {
      const auto known = read_.find(shard);
      if (known == read_.end() || known->second != lease) continue;
      log_->remove(shard);
      read_.erase(known);
    }
    removed_.clear();
    added = added_;
  }
  if (!added.empty()) adopt(added);
  auto chunk = log_->read(kRows);
  const bool woken = chunk.woken;
  if (chunk.rows.empty() && chunk.caught_up.empty() && chunk.at_end) {
    return woken ? Found::a_wake : Found::nothing;
  }
  inbox_.post_chunk(std::move(chunk));
  return Found::something;
}

// They stay in `added_` until they are loaded: a store that does not answer is asked again.
void Follower::adopt(const std::vector<store::Grant>& grants) {
  std::vector<domain::ShardId> ids;
  ids.reserve(grants.size());
  for (const auto& grant : grants) ids.push_back(grant.shard);
  auto facts = store_.load(ids);
  std::vector<LoadedShard> loaded;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < grants.size(); ++i) {
      const bool wanted = std::erase_if(added_, [&](const auto& grant) {
                            return grant.shard == grants[i].shard && grant.lease == grants[i].lease;
                          }) > 0;
      if (wanted) loaded.push_back({grants[i], std::move(facts[i]), losses_});
    }
  }
  for (const auto& shard : loaded) {
    log_->add(shard.grant.shard, 0, shard.grant.lease);
    read_[shard.grant.shard] = shard.grant.lease;
  }
  inbox_.post([&](News& news) { std::move(loaded.begin(), loaded.end(), std::back_inserter(news.log)); });
}

}  // namespace ordo::runtime
