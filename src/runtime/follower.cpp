#include "runtime/follower.h"

#include <algorithm>
#include <iterator>

namespace ordo::runtime {

void Follower::add(std::vector<store::Grant> grants, std::uint64_t losses) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(losses_, losses) != losses) added_.clear();
  added_.insert(added_.end(), grants.begin(), grants.end());  // after what is removed, should it come back
}

void Follower::remove(domain::ShardId shard) {
  const std::lock_guard lock(mutex_);
  std::erase_if(added_, [&](const auto& grant) { return grant.shard == shard; });
  removed_.push_back(shard);
}

Follower::Found Follower::tick() {
  std::vector<store::Grant> added;
  {
    const std::lock_guard lock(mutex_);
    const auto gone = [&](const auto& grant) {
      return std::find(removed_.begin(), removed_.end(), grant.shard) != removed_.end();
    };
    std::erase_if(behind_, gone);
    std::erase_if(adopting_, gone);
    for (const auto shard : removed_) std::erase(shards_, shard);
    removed_.clear();
    if (adopting_.empty()) added = added_;
  }
  if (!added.empty()) adopt(added);
  if (!adopting_.empty()) {
    read_for_adopted();
    return Found::something;
  }
  if (shards_.empty()) return Found::nothing;
  auto chunk = store_.read(cursor_, shards_, kRows);
  cursor_ = chunk.through;
  const bool found = !chunk.rows.empty() || !chunk.at_end;
  if (found) inbox_.post_chunk({std::move(chunk), true});
  std::vector<domain::ShardId> ready;
  std::erase_if(behind_, [&](const store::Grant& grant) {
    if (cursor_ < grant.head) return false;
    ready.push_back(grant.shard);
    return true;
  });
  tell_caught_up(ready);
  return found ? Found::something : Found::nothing;
}

// New shards are read from the beginning to where the others stand. What is then read twice, the engine tells
// by its number.
void Follower::read_for_adopted() {
  std::vector<domain::ShardId> fresh;
  for (const auto& grant : adopting_) fresh.push_back(grant.shard);
  auto chunk = store_.read(adopting_cursor_, fresh, kRows);
  adopting_cursor_ = chunk.through;
  const bool at_end = chunk.at_end;
  inbox_.post_chunk({std::move(chunk), false});
  if (adopting_cursor_ < cursor_ && !at_end) return;
  shards_.insert(shards_.end(), fresh.begin(), fresh.end());
  std::vector<domain::ShardId> ready;
  for (auto& grant : adopting_) {
    if (adopting_cursor_ >= grant.head) {
      ready.push_back(grant.shard);
    } else {
      behind_.push_back(std::move(grant));
    }
  }
  adopting_.clear();
  tell_caught_up(ready);
}

// They stay in `added_` until they are loaded: a store that does not answer is asked again.
void Follower::adopt(const std::vector<store::Grant>& grants) {
  std::vector<domain::ShardId> ids;
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
    // An earlier grant of it may never have reached the engine.
    std::erase(shards_, shard.grant.shard);
    std::erase_if(behind_, [&](const auto& grant) { return grant.shard == shard.grant.shard; });
    adopting_.push_back(shard.grant);
  }
  if (shards_.empty()) cursor_ = 0;
  inbox_.post([&](News& news) { std::move(loaded.begin(), loaded.end(), std::back_inserter(news.log)); });
  adopting_cursor_ = 0;
}

void Follower::tell_caught_up(const std::vector<domain::ShardId>& ready) {
  if (ready.empty()) return;
  inbox_.post([&](News& news) { news.log.emplace_back(CaughtUp{ready}); });
}

}  // namespace ordo::runtime
