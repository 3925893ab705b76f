#include "runtime/placement_step.h"

#include <algorithm>
#include <string_view>

namespace ordo::runtime {
namespace {

// A shard is moved to even the nodes out at most once in this time.
constexpr Duration kMoveEvery = std::chrono::seconds{10};
// What is lost again and again as soon as it is claimed is claimed less and less often.
constexpr Duration kFirstLostPause = std::chrono::seconds{1}, kLongestLostPause = std::chrono::minutes{1};

}  // namespace

void PlacementStep::place(const ClusterLook& look, std::span<const domain::LiveNode> live, bool is_alone) {
  bool claiming = false;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [shard, lease] : lost_) note_lost(shard, lease);
    lost_.clear();
    claiming = claiming_;
  }
  look_at_held(look);
  const bool is_forgetful = may_be_forgotten(look);
  std::map<std::uint32_t, std::vector<const store::ShardRow*>> rows;
  for (const auto& row : look.shards) rows[row.shard.queue].push_back(&row);
  std::vector<domain::PlacedShard> placed;
  std::vector<domain::ShardId> standing_still;
  std::set<domain::ShardId> grouped;
  const auto resharded = look.resharded();
  for (const auto& definition : look.queues.queues) {
    const auto group = look.groups.find(definition.name);
    const bool stands_still = resharded.contains(definition.name);
    for (const auto* row : rows[definition.number]) {
      if (stands_still) {
        if (held_.contains(row->shard)) standing_still.push_back(row->shard);
        continue;
      }
      const bool zombie = row->owner == node_id_ && !held_.contains(row->shard);
      const auto needs = look.needs.find(row->shard);
      if (group != look.groups.end()) grouped.insert(row->shard);
      placed.push_back({row->shard, definition.name,
                        zombie || look.is_free(*row) ? "" : std::string_view(row->owner),
                        group == look.groups.end() ? "" : std::string_view(group->second),
                        needs == look.needs.end() ? std::uint16_t{0} : needs->second});
    }
  }
  auto plan = domain::plan_placement({placed, live}, node_id_, options_);
  // What is still this node's in the store after a lost lease is taken again even when it belongs elsewhere:
  // only an owner can give it away.
  std::set<domain::ShardId> wanted(plan.claim.begin(), plan.claim.end());
  for (const auto& row : look.shards) {
    if (row.owner == node_id_ && !held_.contains(row.shard)) wanted.insert(row.shard);
  }
  if (claiming) keep_what_has_just_moved(plan, grouped);
  plan.release.insert(plan.release.end(), standing_still.begin(), standing_still.end());
  if (!plan.release.empty()) hooks_.give_back(std::move(plan.release));
  if (claiming && !wanted.empty() && !is_forgetful && hooks_.may_claim()) claim(wanted, look, is_alone);
}

// What a server that went back shows as free, or as this node's own, may be another's, which goes on until it
// has looked, or until its lease ends (Heartbeat::compared). Who has just started has seen no setback, and
// asks the store. It need not wait where there is nobody else: a server is restarted with all its nodes, too.
bool PlacementStep::may_be_forgotten(const ClusterLook& look) {
  const bool went_back = setbacks_ != look.setbacks;
  if (went_back || !has_looked_) {
    const auto age = store_.setback_age(went_back);
    const auto wait = went_back                 ? look.longest_lease
                      : age && has_others(look) ? look.longest_lease - *age
                                                : Duration{};
    claims_from_ = std::max(claims_from_, clock_.steady() + wait);
    setbacks_ = look.setbacks;
    has_looked_ = true;
  }
  return clock_.steady() < claims_from_;
}

bool PlacementStep::has_others(const ClusterLook& look) const {
  const auto is_other = [&](const std::string& id) { return id != node_id_; };
  return std::ranges::any_of(look.nodes, is_other, &store::NodeRow::id) ||
         std::ranges::any_of(look.in_use, is_other);
}

// A commit would be refused, but a shard with nothing to write would stand still for ever. It is held until
// the engine has dropped it, so that it is not taken anew while its runs are not known to be over.
void PlacementStep::look_at_held(const ClusterLook& look) {
  std::map<domain::ShardId, std::uint64_t> own;
  for (const auto& row : look.shards) {
    if (row.owner == node_id_) own.emplace(row.shard, row.token);
  }
  for (auto& [shard, held] : held_) {
    const auto known = own.find(shard);
    if (held.is_gone || (known != own.end() && known->second == held.lease.token)) continue;
    held.is_gone = true;
    if (hooks_.gone) hooks_.gone(shard, held.lease);
  }
}

// Nodes that come and go do not make shards go to and fro: the idle ones are lent work meanwhile. A group
// that is to be gathered stands still until it is.
void PlacementStep::keep_what_has_just_moved(domain::PlacementPlan& plan,
                                             const std::set<domain::ShardId>& grouped) const {
  if (options_.splitter != SplitterKind::automatic || options_.serves_shard) return;
  std::erase_if(plan.release, [&](domain::ShardId shard) {
    const auto held = held_.find(shard);
    if (held == held_.end() || clock_.steady() >= held->second.stays_until) return false;
    return !grouped.contains(shard);
  });
}

void PlacementStep::claim(const std::set<domain::ShardId>& wanted, const ClusterLook& look, bool is_alone) {
  std::vector<store::Claim> claims;
  std::set<domain::ShardId> new_ones;
  for (const auto& row : look.shards) {
    if (!wanted.contains(row.shard) || held_.contains(row.shard)) continue;
    const auto lost = lost_at_once_.find(row.shard);
    if (lost != lost_at_once_.end() && clock_.steady() < lost->second.again_at) continue;
    store::Claim claim{row.shard, row.owner, row.token, 0};
    const auto owner = std::ranges::lower_bound(look.nodes, row.owner, {}, &store::NodeRow::id);
    if (owner != look.nodes.end() && owner->id == row.owner) claim.seen_renewals = owner->renewals;
    if (row.token == 0) new_ones.insert(row.shard);
    claims.push_back(std::move(claim));
  }
  if (claims.empty()) return;
  auto grants = store_.acquire(node_id_, random_.next(), claims);
  if (!grants.empty() && hooks_.acquired) hooks_.acquired();
  const auto now = clock_.steady();
  const bool starts_alone = !std::exchange(has_claimed_, true) && is_alone;
  for (const auto& grant : grants) {
    const bool has_moved = !new_ones.contains(grant.shard) && !starts_alone;
    held_[grant.shard] = {grant.lease, now, has_moved ? now + kMoveEvery : Duration{}};
  }
  if (!grants.empty()) hooks_.granted(std::move(grants));
}

void PlacementStep::release() {
  std::vector<store::Release> ends;
  {
    const std::lock_guard lock(mutex_);
    ends = to_release_;
  }
  if (ends.empty()) return;
  store_.release(ends);
  {
    const std::lock_guard lock(mutex_);
    to_release_.erase(to_release_.begin(), to_release_.begin() + static_cast<std::ptrdiff_t>(ends.size()));
  }
  for (const auto& end : ends) forget(end.shard, end.lease);
  store_.wake();
}

void PlacementStep::released(const store::Release& end) {
  const std::lock_guard lock(mutex_);
  to_release_.push_back(end);
}

void PlacementStep::lost(domain::ShardId shard, store::Lease lease) {
  const std::lock_guard lock(mutex_);
  lost_.emplace_back(shard, lease);
}

// Somebody else has taken it, or its row is damaged, and no commit will ever be its next. The first time it
// may have been the store that went back.
void PlacementStep::note_lost(domain::ShardId shard, store::Lease lease) {
  const auto held = held_.find(shard);
  if (held == held_.end() || held->second.lease != lease) return;
  const auto now = clock_.steady();
  if (now - held->second.since < kMoveEvery) {
    auto& lost = lost_at_once_[shard];
    if (++lost.times > 1) {
      const auto doubled = std::min(lost.times - 2, 10U);
      lost.again_at = now + std::min<Duration>(kFirstLostPause * (1 << doubled), kLongestLostPause);
    }
  } else {
    lost_at_once_.erase(shard);
  }
  held_.erase(held);
}

// The news may be older than the next lease of the shard.
void PlacementStep::forget(domain::ShardId shard, store::Lease lease) {
  const auto held = held_.find(shard);
  if (held != held_.end() && held->second.lease == lease) held_.erase(held);
}

void PlacementStep::stop_claiming() {
  const std::lock_guard lock(mutex_);
  claiming_ = false;
}

bool PlacementStep::is_claiming() {
  const std::lock_guard lock(mutex_);
  return claiming_;
}

}  // namespace ordo::runtime
