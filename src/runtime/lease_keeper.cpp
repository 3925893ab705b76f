#include "runtime/lease_keeper.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/finally.h"

namespace ordo::runtime {
namespace {

// How often nodes look for idle threads and lent runs.
constexpr Duration kLookInterval = std::chrono::milliseconds{500};
// A shard is moved to even the nodes out at most once in this time.
constexpr Duration kMoveEvery = std::chrono::seconds{10};
// A shard that takes a newer node is tried again after this time, if there is none.
constexpr Duration kTryNewerEvery = std::chrono::minutes{1};

}  // namespace

store::QueueWish wish_of(const QueueOptions& queue) {
  return {queue.name, queue.shards.value_or(QueueOptions::kDefaultShards), !queue.shards};
}

LeaseKeeper::LeaseKeeper(const NodeOptions& options, std::string node_id, NodeFacts facts,
                         std::vector<store::QueueWish> queues, store::Store& store, Clock& clock,
                         Random random, LeaseClock& lease, KeeperHooks hooks)
    : options_(options),
      node_id_(std::move(node_id)),
      facts_(std::move(facts)),
      served_(std::move(queues)),
      store_(store),
      clock_(clock),
      random_(random),
      lease_(lease),
      hooks_(std::move(hooks)) {
  facts_.lease = options_.lease;
}

void LeaseKeeper::join() {
  std::size_t place = 0;
  for (const auto& definition : store_.define_all(served_)) {
    const auto& [queue, shards, takes_any] = served_[place++];
    if (definition.shards != shards && !takes_any) {
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("queue '{0}' has {1} shards in the store and {2} in the config; set shards = {1}, or "
                      "leave it out, or change the number of the queue (`ordo reshard {0} {2}`)",
                      queue, definition.shards, shards));
    }
  }
  const auto before = clock_.steady();
  facts_.session = random_.next();
  told_facts_ = encode(facts_);
  store_.join(node_id_, told_facts_);
  renewed(before);
  store_.wake();  // the other nodes are to see it
}

Duration LeaseKeeper::tick() {
  if (has_other_facts() || clock_.steady() >= renew_at_) renew();
  ask(looked_, [&] {
    release_now();
    look();
    release_now();
  });
  if (wakes_.exchange(false)) store_.wake();
  const auto wait = std::max(renew_at_ - clock_.steady(), Duration{0});
  return has_others_ ? std::min(wait, kLookInterval) : wait;
}

// A thread has room once it was idle in two looks. Who stops says so, so that others take what it gives back.
bool LeaseKeeper::has_other_facts() {
  {
    const std::lock_guard lock(mutex_);
    const bool was_stopping = std::exchange(facts_.stopping, !claiming_);
    const bool was_quiet = std::exchange(facts_.quiet, quiet_);
    if (facts_.stopping != was_stopping || facts_.quiet != was_quiet) return true;
    if (std::exchange(has_newer_, false)) {
      facts_.newer.clear();
      for (const auto& [shard, found] : newer_) facts_.newer.push_back({shard, found.first});
      return true;
    }
  }
  if (hooks_.complete) {
    auto facts = facts_;
    hooks_.complete(facts);
    if (facts != facts_) {
      facts_ = std::move(facts);
      return true;
    }
  }
  const auto now = clock_.steady();
  if (!hooks_.rooms || now - asked_rooms_at_ < kLookInterval) return false;
  asked_rooms_at_ = now;
  const auto before = std::exchange(rooms_, has_others_ ? hooks_.rooms() : std::vector<Room>{});
  std::vector<Room> rooms;
  for (std::size_t pool = 0; pool < std::min(before.size(), rooms_.size()); ++pool) {
    const auto threads = std::min(before[pool].threads, rooms_[pool].threads);
    if (threads > 0) rooms.push_back({threads, rooms_[pool].queues});
  }
  auto unable = hooks_.unable ? hooks_.unable() : decltype(facts_.unable){};
  const bool same = facts_.rooms == rooms && facts_.unable == unable;
  facts_.rooms = std::move(rooms);
  facts_.unable = std::move(unable);
  return !same;
}

// The lease counts from before the renewal was sent.
void LeaseKeeper::renewed(Duration sent) {
  lease_.renewed(sent);
  sent_at_ = sent;
  looked_ = {};
  renew_at_ = sent + heartbeat();
  if (hooks_.renewed) hooks_.renewed(options_.lease - (clock_.steady() - sent));
}

void LeaseKeeper::ask(Duration& spent, const std::function<void()>& what) {
  const auto began = clock_.steady();
  asking_since_us_ = began.count();
  const Finally over([&] {
    asking_since_us_ = 0;
    spent += clock_.steady() - began;
  });
  what();
}

Duration LeaseKeeper::asking_for() const {
  const Duration since{asking_since_us_.load()};
  return since == Duration{0} ? Duration{0} : clock_.steady() - since;
}

void LeaseKeeper::renew() {
  const auto before = clock_.steady();
  bool known = false;
  Duration took{};
  ask(took, [&] {
    known = store_.renew(node_id_);
    if (known) tell_facts();
  });
  if (const auto since = clock_.steady() - sent_at_; since >= options_.lease && hooks_.late)
    hooks_.late({since, looked_, took});
  if (!known || !lease_.valid()) {
    // Too late, perhaps only while the store was asked: another node may own the shards. Everything is
    // dropped before anything is claimed again.
    lease_.lose();
    held_.clear();
    seen_.clear();  // perhaps all were frozen together: whoever wakes up with this node gets time to say so
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

// False: a queue that was removed meanwhile was made again, empty; look once more.
bool LeaseKeeper::look_at_definitions(const store::QueueList& list) {
  if (list.version == definitions_version_) return true;
  const auto known = list.by_name();
  std::vector<store::QueueWish> missing;
  for (const auto& queue : served_) {
    if (!known.contains(queue.name)) missing.push_back(queue);
  }
  if (!missing.empty()) {
    store_.define_all(missing);
    return false;
  }
  definitions_version_ = list.version;
  hooks_.definitions(list);
  return true;
}

void LeaseKeeper::look() {
  View view;
  do {
    view.queues = store_.queues();
  } while (!look_at_definitions(view.queues));
  const auto asked = clock_.steady();
  view.nodes = store_.nodes();
  std::ranges::sort(view.nodes, {}, &store::NodeRow::id);  // a server may have an order of its own
  view.shards = store_.shards();
  for (const auto& row : view.shards) {
    if (!row.owner.empty()) view.in_use.insert(row.owner);
    for (auto& run : domain::lent_runs_of(row.counts)) {
      view.in_use.insert(run.node);
      view.lent.emplace_back(row.shard, std::move(run));
    }
  }
  watch_nodes(view, asked);
  std::vector<domain::LiveNode> live;
  std::set<std::pair<std::string, std::string>> elsewhere;
  for (const auto& member : view.members) {
    if (!member.alive) continue;
    auto& node = live.emplace_back(domain::LiveNode{member.id, {}, member.level});
    for (const auto& [queue, kinds] : member.kinds) {
      if (!member.stopping) node.queues.insert(queue);
      if (member.id == node_id_) continue;
      for (const auto& kind : kinds) elsewhere.emplace(queue, kind);
    }
  }
  if (!knows_all_) {
    for (const auto& queue : served_) elsewhere.emplace(queue.name, "");
  }
  look_at_newer(live);
  tell_of_cluster(view);
  hooks_.kinds_elsewhere(std::move(elsewhere));
  look_at_request(view.nodes);

  bool claiming = false;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [shard, lease] : lost_) forget(shard, lease);
    lost_.clear();
    claiming = claiming_;
  }
  look_at_held(view.shards);
  forget_the_dead(view);
  place(view, live, claiming);
}

// Decides what is claimed and given back.
void LeaseKeeper::place(const View& view, const std::vector<domain::LiveNode>& live, bool claiming) {
  std::map<std::uint32_t, std::vector<const store::ShardRow*>> rows;
  for (const auto& row : view.shards) rows[row.shard.queue].push_back(&row);
  std::vector<domain::PlacedShard> placed;
  std::vector<domain::ShardId> standing_still;
  std::set<domain::ShardId> grouped;
  const auto standing_queues = resharded(view);
  for (const auto& definition : view.queues.queues) {
    const auto group = groups_.find(definition.name);
    const bool stands_still = standing_queues.contains(definition.name);
    for (const auto* row : rows[definition.number]) {
      if (stands_still) {
        if (held_.contains(row->shard)) standing_still.push_back(row->shard);
        continue;
      }
      const bool zombie = row->owner == node_id_ && !held_.contains(row->shard);
      if (group != groups_.end()) grouped.insert(row->shard);
      placed.push_back({row->shard, definition.name,
                        dead_.contains(row->owner) || zombie ? "" : std::string_view(row->owner),
                        group == groups_.end() ? "" : std::string_view(group->second),
                        needs_.contains(row->shard) ? needs_.at(row->shard) : std::uint16_t{0}});
    }
  }
  auto plan = domain::plan_placement({placed, live}, node_id_, options_);
  // What is still this node's in the store after a lost lease is taken again even when it belongs elsewhere:
  // only an owner can give it away.
  std::set<domain::ShardId> wanted(plan.claim.begin(), plan.claim.end());
  for (const auto& row : view.shards) {
    if (row.owner == node_id_ && !held_.contains(row.shard)) wanted.insert(row.shard);
  }
  if (claiming) keep_what_has_just_moved(plan, grouped);
  plan.release.insert(plan.release.end(), standing_still.begin(), standing_still.end());
  if (!plan.release.empty()) hooks_.give_back(std::move(plan.release));
  if (claiming && !wanted.empty() && hooks_.may_claim()) claim(wanted, view);
}

// Who is there, what they say of themselves, and which of them are dead. Notes the placement groups.
void LeaseKeeper::watch_nodes(View& view, Duration asked) {
  std::vector<std::pair<std::string, std::string>> groups;
  needs_.clear();
  knows_all_ = true;
  std::set<std::string, std::less<>> present;
  for (const auto& row : view.nodes) {
    present.insert(row.id);
    auto& member = view.members.emplace_back();
    member.id = row.id;
    auto read = row.id == node_id_ ? facts_ : decode_node_facts(row.facts);
    // It lives and keeps what it owns. Nothing is lent to it, and nothing is meant for it.
    member.is_unknown = !read;
    auto facts = std::move(read).or_empty();
    if (member.is_unknown) facts.level = 0;
    if (row.id != node_id_) watch(row.id, &row, facts.lease_to_wait_for(), asked);
    member.alive = !dead_.contains(row.id);
    member.stopping = facts.stopping;
    member.session = facts.session;
    member.level = facts.level;
    member.rooms = std::move(facts.rooms);
    for (auto& [queue, kind] : facts.kinds) member.kinds[queue].insert(std::move(kind));
    member.unable.insert(facts.unable.begin(), facts.unable.end());
    if (!member.alive) continue;
    knows_all_ = knows_all_ && !member.is_unknown;
    groups.insert(groups.end(), facts.groups.begin(), facts.groups.end());
    for (const auto& [shard, needs] : facts.newer) needs_[shard] = std::max(needs_[shard], needs);
  }
  groups_ = domain::link_queues(groups);
  // A server that went back may have forgotten a node that goes on until it tries to renew.
  for (const auto& id : view.in_use) {
    if (id == node_id_ || !present.insert(id).second) continue;
    watch(id, nullptr, NodeFacts{}.lease_to_wait_for(), asked);
    auto& member = view.members.emplace_back();
    member.id = id;
    member.alive = !dead_.contains(id);
    member.stopping = member.is_unknown = true;
  }
  std::ranges::sort(view.members, {}, &Member::id);
  std::erase_if(seen_, [&](const auto& entry) { return !present.contains(entry.first); });
  std::erase_if(dead_, [&](const auto& id) { return !present.contains(id); });
}

// A count is known to stand still from the answer that showed it first to the question that showed it last.
// It stands still, too, while there is none.
void LeaseKeeper::watch(const std::string& id, const store::NodeRow* row, Duration lease, Duration asked) {
  const auto now = clock_.steady();
  const auto [found, is_new] = seen_.try_emplace(id, Seen{row != nullptr ? row->renewals : 0, now, lease});
  auto& seen = found->second;
  if (row != nullptr) {
    if (seen.renewals != row->renewals) seen = {row->renewals, now, lease};
    seen.lease = lease;
  }
  const bool is_dead = (row != nullptr && row->gone) || asked - seen.since >= seen.lease;
  if (!is_dead) {
    dead_.erase(id);
  } else if (dead_.insert(id).second && hooks_.node_down) {
    hooks_.node_down(id);
  }
}

// Once it holds nothing any more, and what it was lent was taken back.
void LeaseKeeper::forget_the_dead(const View& view) {
  for (const auto& row : view.nodes) {
    if (dead_.contains(row.id) && !view.in_use.contains(row.id)) store_.leave(row.id, row.renewals);
  }
}

// Runs are lent to a session: after a lapse nothing of before is started.
void LeaseKeeper::tell_of_cluster(View& view) {
  has_others_ = view.members.size() > dead_.size() + 1;
  ClusterView news;
  news.self = node_id_;
  news.session = facts_.session;
  news.members = std::move(view.members);
  news.losses = lease_.losses();
  news.look = ++looks_;
  for (auto& [shard, run] : view.lent) {
    if (run.node == node_id_ && run.session == facts_.session)
      news.borrowed.emplace_back(shard, std::move(run));
  }
  for (const auto& row : view.shards) {
    if (row.dead > 0) news.dead[row.shard] = row.dead;
  }
  look_at_groups(view.queues, news);
  if (hooks_.cluster) hooks_.cluster(std::move(news));
}

void LeaseKeeper::look_at_groups(const store::QueueList& list, ClusterView& news) {
  std::map<std::string_view, std::vector<domain::ShardId>> shards;
  for (const auto& definition : list.queues) {
    const auto group = groups_.find(definition.name);
    if (group == groups_.end()) continue;
    for (std::uint32_t i = 0; i < definition.shards; ++i)
      shards[group->second].push_back({definition.number, i});
  }
  for (auto& [group, all] : shards) news.groups.push_back(std::move(all));
}

// Queues whose new shards a living node fills, or has filled: the old ones are its own alone.
std::set<std::string> LeaseKeeper::resharded(const View& view) const {
  std::set<std::string> names;
  for (const auto& queue : view.queues.queues) {
    if (queue.closed) names.insert(queue.name);
    if (!queue.is_hidden()) continue;
    const bool is_filled = std::ranges::any_of(view.shards, [&](const store::ShardRow& row) {
      return row.shard.queue == queue.number && !row.owner.empty() && !dead_.contains(row.owner);
    });
    if (is_filled) names.emplace(queue.shown_name());
  }
  return names;
}

// A commit would be refused, but a shard with nothing to write would stand still for ever. It is held until
// the engine has dropped it, so that it is not taken anew while its runs are not known to be over.
void LeaseKeeper::look_at_held(const std::vector<store::ShardRow>& shards) {
  std::map<domain::ShardId, std::uint64_t> own;
  for (const auto& row : shards) {
    if (row.owner == node_id_) own.emplace(row.shard, row.token);
  }
  for (auto& [shard, held] : held_) {
    const auto known = own.find(shard);
    if (held.is_gone || (known != own.end() && known->second == held.lease.token)) continue;
    held.is_gone = true;
    if (hooks_.gone) hooks_.gone(shard, held.lease);
  }
}

void LeaseKeeper::look_at_request(const std::vector<store::NodeRow>& nodes) {
  for (const auto& node : nodes) {
    if (node.id != node_id_ || std::exchange(request_, node.request) == node.request) continue;
    if (hooks_.requested && node.request != store::NodeRequest::none) hooks_.requested(node.request);
  }
}

// Nodes that come and go do not make shards go to and fro: the idle ones are lent work meanwhile. A group
// that is to be gathered stands still until it is.
void LeaseKeeper::keep_what_has_just_moved(domain::PlacementPlan& plan,
                                           const std::set<domain::ShardId>& grouped) const {
  if (options_.splitter != SplitterKind::automatic || options_.serves_shard) return;
  std::erase_if(plan.release, [&](domain::ShardId shard) {
    const auto held = held_.find(shard);
    if (held == held_.end() || clock_.steady() >= held->second.stays_until) return false;
    return !grouped.contains(shard);
  });
}

void LeaseKeeper::claim(const std::set<domain::ShardId>& wanted, const View& view) {
  std::vector<store::Claim> claims;
  std::set<domain::ShardId> new_ones;
  for (const auto& row : view.shards) {
    if (!wanted.contains(row.shard) || held_.contains(row.shard)) continue;
    store::Claim claim{row.shard, row.owner, row.token, 0};
    const auto owner = std::ranges::lower_bound(view.nodes, row.owner, {}, &store::NodeRow::id);
    if (owner != view.nodes.end() && owner->id == row.owner) claim.seen_renewals = owner->renewals;
    if (row.token == 0) new_ones.insert(row.shard);
    claims.push_back(std::move(claim));
  }
  if (claims.empty()) return;
  auto grants = store_.acquire(node_id_, random_.next(), claims);
  const auto now = clock_.steady();
  const bool starts_alone = !std::exchange(has_claimed_, true) && !has_others_;
  for (const auto& grant : grants) {
    const bool has_moved = !new_ones.contains(grant.shard) && !starts_alone;
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

void LeaseKeeper::say_quiet() {
  const std::lock_guard lock(mutex_);
  quiet_ = true;
}

bool LeaseKeeper::leave_to_newer(domain::ShardId shard, std::uint16_t needs) {
  const std::lock_guard lock(mutex_);
  newer_[shard] = {needs, clock_.steady()};
  has_newer_ = true;
  return told_newer_.insert(shard).second;
}

// Who else could own it? What took a newer node may be done by now.
void LeaseKeeper::look_at_newer(const std::vector<domain::LiveNode>& live) {
  const std::lock_guard lock(mutex_);
  const auto is_hopeless = [&](std::uint16_t needs) {
    return std::ranges::none_of(live, [&](const auto& node) { return node.level >= needs; });
  };
  const auto tries_again = [&](const auto& entry) {
    const auto& [needs, since] = entry.second;
    return is_hopeless(needs) && clock_.steady() - since >= kTryNewerEvery;
  };
  has_newer_ = has_newer_ || std::erase_if(newer_, tries_again) > 0;
  for (const auto& [shard, found] : newer_) needs_[shard] = std::max(needs_[shard], found.first);
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
