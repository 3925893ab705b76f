#include "runtime/lease_keeper.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ordo/error.hpp>

namespace ordo::runtime {
namespace {

// How often neighbours look for idle threads and lent runs.
constexpr Duration kNeighbourInterval = std::chrono::milliseconds{500};
// A shard is moved to even the nodes out at most once in this time.
constexpr Duration kMoveEvery = std::chrono::seconds{10};

}  // namespace

LeaseKeeper::LeaseKeeper(const NodeOptions& options, std::string node_id, NodeFacts facts,
                         std::vector<std::pair<std::string, std::uint32_t>> queues, store::Store& store,
                         Clock& clock, Random random, LeaseClock& lease, KeeperHooks hooks)
    : options_(options),
      node_id_(std::move(node_id)),
      facts_(std::move(facts)),
      served_(std::move(queues)),
      store_(store),
      clock_(clock),
      random_(random),
      lease_(lease),
      hooks_(std::move(hooks)) {}

void LeaseKeeper::join() {
  for (const auto& [queue, shards] : served_) {
    const auto definition = store_.define(queue, shards);
    if (definition.shards != shards) {
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("queue '{0}' has {1} shards in the store and {2} in the config; set shards = {1}, or "
                      "change the number of the queue (`ordo reshard {0} {2}`)",
                      queue, definition.shards, shards));
    }
  }
  const auto before = clock_.steady();
  facts_.session = random_.next();
  told_facts_ = encode(facts_);
  store_.join(node_id_, told_facts_);
  renewed(before);
  store_.wake();  // its neighbours are to see it
}

Duration LeaseKeeper::tick() {
  if (has_other_facts() || clock_.steady() >= renew_at_) renew();
  release_now();
  look();
  release_now();
  if (wakes_.exchange(false)) store_.wake();
  const auto wait = std::max(renew_at_ - clock_.steady(), Duration{0});
  return has_neighbours_ ? std::min(wait, kNeighbourInterval) : wait;
}

// A thread has room once it was idle in two looks. Who stops says so, so that others take what it gives back.
bool LeaseKeeper::has_other_facts() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(facts_.stopping, !claiming_) != facts_.stopping) return true;
  }
  const auto now = clock_.steady();
  if (!hooks_.rooms || now - asked_rooms_at_ < kNeighbourInterval) return false;
  asked_rooms_at_ = now;
  const auto before = std::exchange(rooms_, has_neighbours_ ? hooks_.rooms() : std::vector<Room>{});
  std::vector<Room> rooms;
  for (std::size_t pool = 0; pool < std::min(before.size(), rooms_.size()); ++pool) {
    const auto threads = std::min(before[pool].threads, rooms_[pool].threads);
    if (threads > 0) rooms.push_back({threads, rooms_[pool].queues});
  }
  return std::exchange(facts_.rooms, rooms) != rooms;
}

// The lease counts from before the renewal was sent.
void LeaseKeeper::renewed(Duration sent) {
  lease_.renewed(sent);
  renew_at_ = sent + heartbeat();
  if (hooks_.renewed) hooks_.renewed(options_.lease - (clock_.steady() - sent));
}

void LeaseKeeper::renew() {
  const auto before = clock_.steady();
  const bool known = store_.renew(node_id_);
  if (known) tell_facts();
  if (!known || !lease_.valid()) {
    // Too late, perhaps only while the store was asked: another node may own the shards. Everything is
    // dropped before anything is claimed again.
    lease_.lose();
    held_.clear();
    facts_.session = random_.next();
    tell_facts();
  }
  renewed(before);
}

void LeaseKeeper::tell_facts() {
  auto facts = encode(facts_);
  if (facts == told_facts_) return;
  store_.join(node_id_, facts);
  told_facts_ = std::move(facts);
}

void LeaseKeeper::look() {
  const auto list = store_.queues();
  if (list.version != definitions_version_) {
    // A queue that was removed meanwhile comes back empty.
    bool missing = false;
    for (const auto& [queue, shards] : served_) {
      if (list.find(queue) != nullptr) continue;
      store_.define(queue, shards);
      missing = true;
    }
    if (missing) return look();
    definitions_version_ = list.version;
    hooks_.definitions(list);
  }
  const auto asked = clock_.steady();
  const auto nodes = store_.nodes();
  watch_nodes(nodes, asked);
  const auto shards = store_.shards();
  auto members = members_of(nodes);
  std::vector<domain::LiveNode> live;
  std::set<std::pair<std::string, std::string>> elsewhere;
  for (const auto& member : members) {
    if (!member.alive) continue;
    auto& node = live.emplace_back(domain::LiveNode{member.id, {}});
    for (const auto& [queue, kinds] : member.kinds) {
      if (!member.stopping) node.queues.insert(queue);
      if (member.id == node_id_) continue;
      for (const auto& kind : kinds) elsewhere.emplace(queue, kind);
    }
  }
  meet(list, std::move(members), shards);
  hooks_.kinds_elsewhere(std::move(elsewhere));
  look_at_request(nodes);

  bool claiming = false;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [shard, lease] : lost_) forget(shard, lease);
    lost_.clear();
    claiming = claiming_;
  }
  std::vector<domain::PlacedShard> placed;
  std::vector<domain::ShardId> standing_still;
  for (const auto& definition : list.queues) {
    const auto group = groups_.find(definition.name);
    const bool stands_still = is_resharded(definition, list, shards);
    for (const auto& row : shards) {
      if (row.shard.queue != definition.number) continue;
      if (stands_still) {
        if (held_.contains(row.shard)) standing_still.push_back(row.shard);
        continue;
      }
      const bool zombie = row.owner == node_id_ && !held_.contains(row.shard);
      placed.push_back({row.shard, definition.name,
                        dead_.contains(row.owner) || zombie ? "" : std::string_view(row.owner),
                        group == groups_.end() ? "" : std::string_view(group->second)});
    }
  }
  // A dead node that holds nothing any more is forgotten.
  for (const auto& id : dead_) {
    const bool holds =
        std::any_of(shards.begin(), shards.end(), [&](const auto& row) { return row.owner == id; });
    if (!holds) store_.leave(id, seen_.at(id).renewals);
  }
  auto plan = domain::plan_placement({placed, live}, node_id_, options_);
  // What is still this node's in the store after a lost lease is taken again even when it belongs elsewhere:
  // only an owner can give it away.
  for (const auto& row : shards) {
    const bool planned = std::find(plan.claim.begin(), plan.claim.end(), row.shard) != plan.claim.end();
    if (row.owner == node_id_ && !held_.contains(row.shard) && !planned) plan.claim.push_back(row.shard);
  }
  if (claiming) keep_what_has_just_moved(plan, placed);
  plan.release.insert(plan.release.end(), standing_still.begin(), standing_still.end());
  if (!plan.release.empty()) hooks_.give_back(std::move(plan.release));
  if (claiming && !plan.claim.empty() && hooks_.may_claim()) claim(plan.claim, shards, nodes);
}

// What the nodes say of themselves: ascending by id, the dead among them. Notes the placement groups.
std::vector<Member> LeaseKeeper::members_of(const std::vector<store::NodeRow>& nodes) {
  std::vector<Member> members;
  std::vector<std::pair<std::string, std::string>> groups;
  for (const auto& node : nodes) {
    auto facts = node.id == node_id_ ? facts_ : decode_node_facts(node.facts);
    auto& member = members.emplace_back();
    member.id = node.id;
    member.alive = !dead_.contains(node.id);
    member.stopping = facts.stopping;
    member.session = facts.session;
    member.rooms = std::move(facts.rooms);
    for (auto& [queue, kind] : facts.kinds) member.kinds[queue].insert(std::move(kind));
    if (member.alive) groups.insert(groups.end(), facts.groups.begin(), facts.groups.end());
  }
  std::ranges::sort(members, {}, &Member::id);
  groups_ = domain::link_queues(groups);
  return members;
}

// Runs are lent to a session: after a lapse nothing of before is started.
void LeaseKeeper::meet(const store::QueueList& list, std::vector<Member> members,
                       const std::vector<store::ShardRow>& shards) {
  has_neighbours_ = members.size() > dead_.size() + 1;
  Neighbours news;
  news.self = node_id_;
  news.session = facts_.session;
  news.members = std::move(members);
  news.losses = lease_.losses();
  for (const auto& row : shards) {
    for (auto& run : domain::lent_runs_of(row.counts)) {
      if (run.node == node_id_ && run.session == facts_.session)
        news.borrowed.emplace_back(row.shard, std::move(run));
    }
  }
  look_at_groups(list, news);
  if (hooks_.neighbours) hooks_.neighbours(std::move(news));
}

void LeaseKeeper::look_at_groups(const store::QueueList& list, Neighbours& news) {
  std::map<std::string_view, std::vector<domain::ShardId>> shards;
  for (const auto& definition : list.queues) {
    const auto group = groups_.find(definition.name);
    if (group == groups_.end()) continue;
    for (std::uint32_t i = 0; i < definition.shards; ++i)
      shards[group->second].push_back({definition.number, i});
  }
  for (auto& [group, all] : shards) news.groups.push_back(std::move(all));
}

// A living node fills the new shards, or has done so: the old ones are its own alone.
bool LeaseKeeper::is_resharded(const store::QueueDefinition& queue, const store::QueueList& list,
                               const std::vector<store::ShardRow>& shards) const {
  if (queue.closed) return true;
  const auto* next = list.find(store::QueueDefinition::hidden_name(queue.name));
  return next != nullptr && std::any_of(shards.begin(), shards.end(), [&](const store::ShardRow& row) {
           return row.shard.queue == next->number && !row.owner.empty() && !dead_.contains(row.owner);
         });
}

void LeaseKeeper::look_at_request(const std::vector<store::NodeRow>& nodes) {
  for (const auto& node : nodes) {
    if (node.id != node_id_ || std::exchange(request_, node.request) == node.request) continue;
    if (hooks_.requested && node.request != store::NodeRequest::none) hooks_.requested(node.request);
  }
}

// A count is known to stand still from the answer that showed it first to the question that showed it last.
void LeaseKeeper::watch_nodes(const std::vector<store::NodeRow>& nodes, Duration asked) {
  const auto now = clock_.steady();
  std::set<std::string> present;
  for (const auto& node : nodes) {
    present.insert(node.id);
    if (node.id == node_id_) continue;
    auto [seen, is_new] = seen_.try_emplace(node.id, Seen{node.renewals, now});
    if (seen->second.renewals != node.renewals) seen->second = {node.renewals, now};
    const bool dead = node.gone || asked - seen->second.since >= options_.lease;
    if (!dead) {
      dead_.erase(node.id);
    } else if (dead_.insert(node.id).second && hooks_.node_down) {
      hooks_.node_down(node.id);
    }
  }
  std::erase_if(seen_, [&](const auto& entry) { return !present.contains(entry.first); });
  std::erase_if(dead_, [&](const auto& id) { return !present.contains(id); });
}

// Nodes that come and go do not make shards go to and fro: the idle ones are lent work meanwhile. A group
// that is to be gathered stands still until it is.
void LeaseKeeper::keep_what_has_just_moved(domain::PlacementPlan& plan,
                                           const std::vector<domain::PlacedShard>& placed) const {
  if (options_.splitter != SplitterKind::automatic || options_.serves_shard) return;
  std::erase_if(plan.release, [&](domain::ShardId shard) {
    const auto held = held_.find(shard);
    if (held == held_.end() || clock_.steady() >= held->second.stays_until) return false;
    return std::ranges::find(placed, shard, &domain::PlacedShard::shard)->group.empty();
  });
}

void LeaseKeeper::claim(const std::vector<domain::ShardId>& wanted,
                        const std::vector<store::ShardRow>& shards,
                        const std::vector<store::NodeRow>& nodes) {
  std::vector<store::Claim> claims;
  for (const auto& row : shards) {
    if (std::find(wanted.begin(), wanted.end(), row.shard) == wanted.end() || held_.contains(row.shard))
      continue;
    store::Claim claim{row.shard, row.owner, row.token, 0};
    for (const auto& node : nodes) {
      if (node.id == row.owner) claim.seen_renewals = node.renewals;
    }
    claims.push_back(std::move(claim));
  }
  if (claims.empty()) return;
  auto grants = store_.acquire(node_id_, random_.next(), claims);
  const auto now = clock_.steady();
  const bool starts_alone = !std::exchange(has_claimed_, true) && !has_neighbours_;
  for (const auto& grant : grants) {
    const auto wish = std::ranges::find(claims, grant.shard, &store::Claim::shard);
    const bool has_moved = wish->seen_token != 0 && !starts_alone;
    held_[grant.shard] = {grant.lease, has_moved ? now + kMoveEvery : Duration{}};
  }
  if (!grants.empty()) hooks_.granted(std::move(grants));
}

void LeaseKeeper::release_now() {
  std::vector<std::pair<domain::ShardId, store::Lease>> leases;
  {
    const std::lock_guard lock(mutex_);
    leases = to_release_;
  }
  if (leases.empty()) return;
  store_.release(leases);
  {
    const std::lock_guard lock(mutex_);
    to_release_.erase(to_release_.begin(), to_release_.begin() + static_cast<std::ptrdiff_t>(leases.size()));
  }
  for (const auto& [shard, lease] : leases) forget(shard, lease);
  store_.wake();
}

void LeaseKeeper::released(domain::ShardId shard, store::Lease lease) {
  const std::lock_guard lock(mutex_);
  to_release_.emplace_back(shard, lease);
}

void LeaseKeeper::lost(domain::ShardId shard, store::Lease lease) {
  const std::lock_guard lock(mutex_);
  lost_.emplace_back(shard, lease);
}

// The news may be older than the next lease of the shard.
void LeaseKeeper::forget(domain::ShardId shard, store::Lease lease) {
  const auto held = held_.find(shard);
  if (held != held_.end() && held->second.lease == lease) held_.erase(held);
}

void LeaseKeeper::stop_claiming() {
  const std::lock_guard lock(mutex_);
  claiming_ = false;
}

void LeaseKeeper::leave() {
  release_now();
  store_.leave(node_id_);
  store_.wake();
}

}  // namespace ordo::runtime
