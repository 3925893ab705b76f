#include "runtime/follower.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

void Follower::lose(domain::ShardId shard, store::Lease lease) {
  const std::lock_guard lock(mutex_);
  std::erase_if(added_, [&](const auto& grant) { return grant.shard == shard && grant.lease == lease; });
  lost_.emplace_back(shard, lease);
}

Follower::Found Follower::tick() {
  std::vector<store::Grant> added;
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
    added = added_;
  }
  if (!lost.lost.empty()) inbox_.post_chunk(std::move(lost));
  if (!added.empty()) adopt(added);
  const auto look = look_.load();
  auto chunk = log_->read(kRows);
  const bool woken = chunk.woken, at_end = chunk.at_end;
  const bool is_empty = chunk.rows.empty() && chunk.caught_up.empty() && chunk.lost.empty();
  if (!is_empty || !at_end) inbox_.post_chunk(std::move(chunk));
  if (at_end && std::exchange(told_look_, look) != look)
    inbox_.post([&](News& news) { news.log.emplace_back(AllRead{look}); });
  if (!is_empty || !at_end) return Found::something;
  return woken ? Found::a_wake : Found::nothing;
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
