#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ordo/options.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "runtime/cluster_look.h"
#include "runtime/heartbeat.h"
#include "runtime/inbox.h"
#include "runtime/lease_clock.h"
#include "runtime/newer_shards.h"
#include "runtime/node_facts.h"
#include "runtime/node_watch.h"
#include "runtime/placement_step.h"
#include "store/store.h"

namespace ordo::runtime {

/// What a lease keeper tells the rest of the node. Called on its thread.
using LimitChanges = std::map<std::string, domain::LimitChange, std::less<>>;

struct KeeperHooks {
  /// `losses`: how often the leases had been lost when it was claimed.
  std::function<void(std::vector<store::Grant>, std::uint64_t losses)> granted{};
  /// See PlacementHooks for this and the two that follow.
  std::function<void(std::vector<domain::ShardId>)> give_back{};
  std::function<void(domain::ShardId, store::Lease)> gone{};
  std::function<bool()> may_claim{};
  std::function<void(const store::QueueList&)> definitions{};
  /// What was set of limits is something else than before.
  std::function<void(LimitChanges)> limits{};
  /// Puts what the engine knows into what the node says of itself.
  std::function<void(NodeFacts&)> complete{};
  std::function<void(const std::string& node)> node_down{};
  /// What of the store cannot be read and is left out: once.
  std::function<void(const std::string&)> left_out{};
  /// Why what is stored may be lost, or was: when that is new, and as it changes at most once a minute.
  std::function<void(const std::string&)> danger{};
  /// Somebody wishes something of this node.
  std::function<void(store::NodeRequest)> requested{};
  /// Who is there and what is lent to this node, in every look. Given before anything is claimed.
  std::function<void(ClusterView)> cluster{};
  /// The threads of each pool that have nothing of this node's own to do.
  std::function<std::vector<Room>()> rooms{};
  /// Kinds, with their queues, that this node has code for and cannot start just now.
  std::function<std::vector<CannotStart>()> unable{};
};

/// What a node that serves the queue wants of the store.
store::QueueWish wish_of(const QueueOptions& queue);

/// Makes the queues that are not there. Throws Error{invalid_argument} for one that has another number of
/// shards than is wished for, and what the store throws.
void define_queues(store::Store& store, const std::vector<store::QueueWish>& wishes);

/// Looks at the cluster: defines queues, says of this node what has changed, and brings what is seen to those
/// who act on it. Its leases last as long as its heartbeat renews them.
///
/// tick() belongs to one thread; the rest is thread-safe.
class LeaseKeeper {
 public:
  LeaseKeeper(const NodeOptions& options, NodeFacts facts, std::vector<store::QueueWish> queues,
              store::Store& store, Clock& clock, Random random, LeaseClock& lease, Heartbeat& heartbeat,
              KeeperHooks hooks);

  /// Registers the node and defines its queues. Throws what the store throws.
  void join();

  /// One round: look, claim, give back. Says when the next is due. Throws what the store throws; the node
  /// then goes on until its lease ends.
  Duration tick();

  /// The engine has let go of a shard.
  void released(const store::Release& end) { placement_.released(end); }
  void lost(domain::ShardId shard, store::Lease lease) { placement_.lost(shard, lease); }
  /// What stands in the shard takes a newer node: it is left to such nodes. True: that is news.
  bool leave_to_newer(domain::ShardId shard, std::uint16_t needs) { return newer_.leave(shard, needs); }

  /// The node serves other queues: `facts` says which kinds, groups, threads and schedules it has now. The
  /// next tick tells the others.
  void restate(const NodeFacts& facts, std::vector<store::QueueWish> queues);

  /// Others are to look at the store: a run was lent.
  void wake_others() { wakes_ = true; }

  /// Claims nothing from now on, and gives everything back.
  void stop_claiming() { placement_.stop_claiming(); }
  /// From now on the node takes no more jobs; it keeps its shards.
  void say_quiet() { quiet_ = true; }
  /// Forgets the node. Its shards were released, or are free as after a crash.
  /// False: ask again in a moment.
  bool leave();

 private:
  PlacementHooks placement_hooks();
  bool take_restated();
  bool has_other_facts();
  bool has_other_rooms();
  bool look_at_definitions(const store::QueueList& list, bool is_last);
  void look_at_limits();
  void tell_of_left_out();
  void tell_of_dangers();
  void look();
  void tell_of_cluster(ClusterLook& look, Duration asked);
  void look_at_request(const std::vector<store::NodeRow>& nodes);
  void forget_the_dead(const ClusterLook& look);

  const NodeOptions& options_;
  NodeFacts facts_;
  std::vector<store::QueueWish> served_;  // in the listed order
  store::Store& store_;
  Clock& clock_;
  LeaseClock& lease_;
  Heartbeat& heartbeat_;
  KeeperHooks hooks_;

  Heartbeat::Standing standing_;  // what is held and seen is so under these leases
  NodeWatch watch_;
  NewerShards newer_;
  PlacementStep placement_;
  std::uint64_t looks_ = 0;
  std::vector<Room> rooms_;  // as the engine told last
  Duration asked_rooms_at_{};
  store::QueueList definitions_;
  LimitChanges limits_;
  std::set<std::string> left_out_;    // that were told of
  std::vector<std::string> dangers_;  // that were told of
  Duration told_dangers_at_{};
  bool definitions_are_told_ = true;  // to those that serve now
  store::NodeRequest request_ = store::NodeRequest::none;
  std::atomic<bool> wakes_{false}, quiet_{false};
  std::mutex mutex_;
  std::optional<std::pair<NodeFacts, std::vector<store::QueueWish>>> restated_;
};

}  // namespace ordo::runtime
