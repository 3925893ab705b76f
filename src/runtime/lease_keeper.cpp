#include "runtime/lease_keeper.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "store/limit_rows.h"
#include "store/odd_rows.h"

namespace ordo::runtime {
namespace {

// How often nodes look for idle threads and lent runs.
constexpr Duration kLookInterval = std::chrono::milliseconds{500};
constexpr Duration kToldAgain = std::chrono::minutes{1};

}  // namespace

store::QueueWish wish_of(const QueueOptions& queue) {
  return {queue.name, queue.shards.value_or(QueueOptions::kDefaultShards), !queue.shards, queue.max_dead};
}

LeaseKeeper::LeaseKeeper(const NodeOptions& options, NodeFacts facts, std::vector<store::QueueWish> queues,
                         store::Store& store, Clock& clock, Random random, LeaseClock& lease,
                         Heartbeat& heartbeat, KeeperHooks hooks)
    : options_(options),
      facts_(std::move(facts)),
      served_(std::move(queues)),
      store_(store),
      clock_(clock),
      lease_(lease),
      heartbeat_(heartbeat),
      hooks_(std::move(hooks)),
      watch_(clock),
      newer_(clock),
      placement_(options, heartbeat.node_id(), store, clock, random, placement_hooks()) {}

// What is granted is void once the leases have lapsed, however late the grant is told.
PlacementHooks LeaseKeeper::placement_hooks() {
  PlacementHooks hooks;
  // A queue may have been paused since the look, and whoever asks whether it is sees owners alone.
  hooks.acquired = [this] { look_at_definitions(store_.queues(), /*is_last=*/true); };
  hooks.granted = [this](auto grants) { hooks_.granted(std::move(grants), standing_.losses); };
  hooks.give_back = hooks_.give_back;
  hooks.gone = hooks_.gone;
  hooks.may_claim = hooks_.may_claim;
  return hooks;
}

void define_queues(store::Store& store, const std::vector<store::QueueWish>& wishes) {
  std::size_t place = 0;
  for (const auto& definition : store.define_all(wishes)) {
    const auto& [queue, shards, takes_any, max_dead] = wishes[place++];
    if (!store::is_definition(definition)) continue;  // it is left out
    if (definition.shards != shards && !takes_any) {
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("queue '{0}' has {1} shards in the store and {2} in the config; set shards = {1}, or "
                      "leave it out, or change the number of the queue (`ordo reshard {0} {2}`)",
                      queue, definition.shards, shards));
    }
  }
}

void LeaseKeeper::join() {
  define_queues(store_, served_);
  heartbeat_.join(facts_);
  standing_ = heartbeat_.standing();
  store_.wake();  // the other nodes are to see it
}

void LeaseKeeper::restate(const NodeFacts& facts, std::vector<store::QueueWish> queues) {
  const std::lock_guard lock(mutex_);
  restated_.emplace(facts, std::move(queues));
}

bool LeaseKeeper::take_restated() {
  const std::lock_guard lock(mutex_);
  if (!restated_) return false;
  auto& [facts, queues] = *restated_;
  facts_.kinds = std::move(facts.kinds);
  facts_.groups = std::move(facts.groups);
  facts_.throttled = std::move(facts.throttled);
  for (auto& what : facts.unable) {
    const bool is_known = std::ranges::any_of(facts_.unable, [&](const CannotStart& known) {
      return known.queue == what.queue && known.kind == what.kind;
    });
    if (!is_known) facts_.unable.push_back(std::move(what));
  }
  facts_.threads = facts.threads;
  facts_.schedules = std::move(facts.schedules);
  served_ = std::move(queues);
  definitions_are_told_ = false;
  restated_.reset();
  wakes_ = true;
  return true;
}

Duration LeaseKeeper::tick() {
  const bool is_restated = take_restated();
  if (has_other_facts() || is_restated) heartbeat_.say(facts_);
  const auto standing = heartbeat_.standing();
  if (std::exchange(standing_, standing) != standing) {
    placement_.drop_all();
    watch_.start_over();
  }
  placement_.release();
  look();
  placement_.release();
  if (wakes_.exchange(false)) store_.wake();
  return watch_.has_others() ? std::min(kLookInterval, heartbeat_.interval()) : heartbeat_.interval();
}

// Who stops says so, so that others take what it gives back.
bool LeaseKeeper::has_other_facts() {
  auto facts = facts_;
  facts.stopping = !placement_.is_claiming();
  facts.quiet = quiet_;
  if (auto newer = newer_.take_changed()) facts.newer = *std::move(newer);
  if (hooks_.complete) hooks_.complete(facts);
  const bool differs = facts != facts_;
  facts_ = std::move(facts);
  return has_other_rooms() || differs;
}

// A thread has room once it was idle in two looks.
bool LeaseKeeper::has_other_rooms() {
  const auto now = clock_.steady();
  if (!hooks_.rooms || now - asked_rooms_at_ < kLookInterval) return false;
  asked_rooms_at_ = now;
  const auto before = std::exchange(rooms_, watch_.has_others() ? hooks_.rooms() : std::vector<Room>{});
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

// False: a queue that was removed meanwhile was made again, empty; look once more. One that is still not
// there then cannot be read.
bool LeaseKeeper::look_at_definitions(const store::QueueList& list, bool is_last) {
  if (list == definitions_ && definitions_are_told_) return true;  // a store that went back counts again
  const auto known = list.by_name();
  std::vector<store::QueueWish> missing;
  for (const auto& queue : served_) {
    if (!known.contains(queue.name)) missing.push_back(queue);
  }
  if (!missing.empty() && !is_last) {
    store_.define_all(missing);
    return false;
  }
  definitions_ = list;
  definitions_are_told_ = true;
  hooks_.definitions(list);
  return true;
}

// Before what is claimed by this look is told of: limits are in force when its shards are.
void LeaseKeeper::look_at_limits() {
  LimitChanges limits;
  for (const auto& [name, change] : store::limits_set(store_)) {
    const auto before = limits_.find(name);
    if (change) {
      limits.emplace(name, *change);
    } else if (before != limits_.end()) {
      limits.insert(*before);  // what cannot be read is no reason to be laxer than before
    }
  }
  if (limits == limits_) return;
  limits_ = limits;
  hooks_.limits(std::move(limits));
}

void LeaseKeeper::tell_of_left_out() {
  const auto rows = store::left_out(store_);
  for (const auto& row : rows) {
    if (!left_out_.contains(row) && hooks_.left_out) hooks_.left_out(row);
  }
  left_out_ = {rows.begin(), rows.end()};
}

// What stays the same but for a count that rises is told once a minute.
void LeaseKeeper::tell_of_dangers() {
  auto dangers = store_.dangers();
  if (dangers.size() < dangers_.size()) {
    std::erase_if(dangers_,
                  [&](const auto& told) { return std::ranges::find(dangers, told) == dangers.end(); });
  }
  const auto now = clock_.steady();
  if (dangers == dangers_ || (dangers.size() == dangers_.size() && now - told_dangers_at_ < kToldAgain))
    return;
  for (const auto& danger : dangers) {
    if (std::ranges::find(dangers_, danger) == dangers_.end() && hooks_.danger) hooks_.danger(danger);
  }
  dangers_ = std::move(dangers);
  told_dangers_at_ = now;
}

// The dangers first: the rest may fail for what they have done.
void LeaseKeeper::look() {
  ClusterLook look;
  look.queues = store_.queues();
  tell_of_dangers();
  if (!look_at_definitions(look.queues, /*is_last=*/false)) {
    look.queues = store_.queues();
    look_at_definitions(look.queues, /*is_last=*/true);
  }
  look_at_limits();
  const auto asked = clock_.steady();
  look.read(store_);
  look.find_dead_to_go(store_, served_);
  tell_of_left_out();
  // Perhaps all nodes were frozen together, and none has had the time to renew.
  if (lease_.is_over() || lease_.losses() != standing_.losses) return;
  facts_.session = standing_.session;
  facts_.lease = options_.lease;
  for (const auto& node : watch_.look(look, asked, heartbeat_.node_id(), facts_)) {
    if (hooks_.node_down) hooks_.node_down(node);
  }
  const auto live = look.live();
  newer_.look(live, look.needs);
  tell_of_cluster(look, asked);
  look_at_request(look.nodes);
  forget_the_dead(look);
  placement_.place(look, live, !watch_.has_others());
  if (!placement_.waits_for_drops()) heartbeat_.compared(look.known_setbacks);
}

// Runs are lent to a session: after a lapse nothing of before is started.
void LeaseKeeper::tell_of_cluster(ClusterLook& look, Duration asked) {
  ClusterView news;
  news.self = heartbeat_.node_id();
  news.session = standing_.session;
  news.members = std::move(look.members);
  news.losses = standing_.losses;
  news.look = ++looks_;
  news.setbacks = look.setbacks;
  news.longest_lease = look.longest_lease;
  for (auto& [shard, run] : look.lent) {
    if (run.node == news.self && run.session == news.session)
      news.borrowed.emplace_back(shard, std::move(run));
  }
  news.asked = asked;
  news.dead = std::move(look.dead_rows);
  news.dead_to_go = std::move(look.dead_to_go);
  news.groups = look.grouped();
  if (hooks_.cluster) hooks_.cluster(std::move(news));
}

void LeaseKeeper::look_at_request(const std::vector<store::NodeRow>& nodes) {
  for (const auto& node : nodes) {
    if (node.id != heartbeat_.node_id() || std::exchange(request_, node.request) == node.request) continue;
    if (hooks_.requested && node.request != store::NodeRequest::none) hooks_.requested(node.request);
  }
}

// Once it holds nothing any more, and what it was lent was taken back.
void LeaseKeeper::forget_the_dead(const ClusterLook& look) {
  for (const auto& row : look.nodes) {
    if (look.dead.contains(row.id) && !look.in_use.contains(row.id)) store_.leave(row.id, row.renewals);
  }
}

bool LeaseKeeper::leave() {
  placement_.release();
  if (!heartbeat_.leave()) return false;
  store_.wake();
  return true;
}

}  // namespace ordo::runtime
