#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <ordo/options.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "domain/placement.h"
#include "runtime/inbox.h"
#include "runtime/lease_clock.h"
#include "runtime/node_facts.h"
#include "store/store.h"

namespace ordo::runtime {

/// What a lease keeper tells the rest of the node. Called on its thread.
struct KeeperHooks {
  std::function<void(std::vector<store::Grant>)> granted{};
  std::function<void(std::vector<domain::ShardId>)> give_back{};
  std::function<void(const store::QueueList&)> definitions{};
  std::function<void(std::set<std::pair<std::string, std::string>>)> kinds_elsewhere{};
  /// False while runs of lost shards have not returned yet.
  std::function<bool()> may_claim{};
  std::function<void(const std::string& node)> node_down{};
  /// Somebody wishes something of this node.
  std::function<void(store::NodeRequest)> requested{};
  /// Who is there and what is lent to this node, in every look. Given before anything is claimed.
  std::function<void(Neighbours)> neighbours{};
  /// The threads of each pool that have nothing of this node's own to do.
  std::function<std::vector<Room>()> rooms{};
  /// The leases last for this long from now.
  std::function<void(Duration)> renewed{};
};

/// Keeps the node's membership and its leases: heartbeats, claims, hand-overs. Decides by domain/placement
/// alone.
///
/// No absolute times are compared: another node is dead when its counter has not moved for a whole lease on
/// this node's own clock, or when the store knows that its process has ended. tick() belongs to one thread;
/// the rest is thread-safe.
class LeaseKeeper {
 public:
  LeaseKeeper(const NodeOptions& options, std::string node_id, NodeFacts facts,
              std::vector<std::pair<std::string, std::uint32_t>> queues, store::Store& store, Clock& clock,
              Random random, LeaseClock& lease, KeeperHooks hooks);

  /// Registers the node and defines its queues. Throws what the store throws.
  void join();

  /// One round: renew, look, claim, give back. Says when the next is due. Throws what the store throws; the
  /// node then goes on until its lease ends.
  Duration tick();

  /// The engine has let go of a shard.
  void released(domain::ShardId shard, store::Lease lease);
  void lost(domain::ShardId shard, store::Lease lease);

  /// Others are to look at the store: a run was lent.
  void wake_others() { wakes_ = true; }

  /// Claims nothing from now on, and gives everything back.
  void stop_claiming();
  /// Forgets the node. Its shards were released, or are free as after a crash.
  void leave();

  const std::string& node_id() const { return node_id_; }
  Duration heartbeat() const { return std::min<Duration>(std::chrono::seconds{3}, options_.lease / 3); }

 private:
  struct Seen {
    std::uint64_t renewals = 0;
    Duration since{};  // steady
  };
  struct Held {
    store::Lease lease;
    Duration stays_until{};  // steady; it was moved, or taken over
  };

  void renew();
  void tell_facts();
  bool has_other_facts();
  std::vector<Member> members_of(const std::vector<store::NodeRow>& nodes);
  void meet(const store::QueueList& list, std::vector<Member> members,
            const std::vector<store::ShardRow>& shards);
  void look_at_groups(const store::QueueList& list, Neighbours& news);
  void renewed(Duration sent);
  void look();
  bool is_resharded(const store::QueueDefinition& queue, const store::QueueList& list,
                    const std::vector<store::ShardRow>& shards) const;
  void look_at_request(const std::vector<store::NodeRow>& nodes);
  void watch_nodes(const std::vector<store::NodeRow>& nodes, Duration asked);
  void claim(const std::vector<domain::ShardId>& wanted, const std::vector<store::ShardRow>& shards,
             const std::vector<store::NodeRow>& nodes);
  void keep_what_has_just_moved(domain::PlacementPlan& plan,
                                const std::vector<domain::PlacedShard>& placed) const;
  void release_now();
  void forget(domain::ShardId shard, store::Lease lease);

  const NodeOptions& options_;
  std::string node_id_;
  NodeFacts facts_;
  std::vector<std::pair<std::string, std::uint32_t>> served_;  // queue and shards, in the listed order
  store::Store& store_;
  Clock& clock_;
  Random random_;
  LeaseClock& lease_;
  KeeperHooks hooks_;

  std::map<std::string, Seen> seen_;
  std::set<std::string> dead_;
  std::map<std::string, std::string, std::less<>> groups_;  // of linked queues, by queue
  std::map<domain::ShardId, Held> held_;
  bool has_claimed_ = false;
  Duration renew_at_{};
  std::string told_facts_;
  bool has_neighbours_ = false;
  std::vector<Room> rooms_;  // as the engine told last
  Duration asked_rooms_at_{};
  std::atomic<bool> wakes_{false};
  std::uint64_t definitions_version_ = 0;
  store::NodeRequest request_ = store::NodeRequest::none;

  std::mutex mutex_;
  std::vector<std::pair<domain::ShardId, store::Lease>> to_release_;
  std::vector<std::pair<domain::ShardId, store::Lease>> lost_;
  bool claiming_ = true;
};

}  // namespace ordo::runtime
