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
#include "runtime/trouble.h"
#include "store/store.h"

namespace ordo::runtime {

/// What a lease keeper tells the rest of the node. Called on its thread.
struct KeeperHooks {
  std::function<void(std::vector<store::Grant>)> granted{};
  std::function<void(std::vector<domain::ShardId>)> give_back{};
  /// The store does not know this lease any more (it went back, or somebody ended it). Who drops the shard
  /// says so by lost(). Told once.
  std::function<void(domain::ShardId, store::Lease)> gone{};
  std::function<void(const store::QueueList&)> definitions{};
  std::function<void(std::set<std::pair<std::string, std::string>>)> kinds_elsewhere{};
  /// Puts what the engine knows into what the node says of itself.
  std::function<void(NodeFacts&)> complete{};
  /// False while runs of lost shards have not returned yet.
  std::function<bool()> may_claim{};
  std::function<void(const std::string& node)> node_down{};
  /// Somebody wishes something of this node.
  std::function<void(store::NodeRequest)> requested{};
  /// Who is there and what is lent to this node, in every look. Given before anything is claimed.
  std::function<void(ClusterView)> cluster{};
  /// The threads of each pool that have nothing of this node's own to do.
  std::function<std::vector<Room>()> rooms{};
  /// Kinds, with their queues, that this node has code for and cannot start just now.
  std::function<std::vector<std::pair<std::string, std::string>>()> unable{};
  /// The leases last for this long from now.
  std::function<void(Duration)> renewed{};
  /// A renewal was answered too late: the lease had ended.
  std::function<void(const LateRenewal&)> late{};
};

/// What a node that serves the queue wants of the store.
store::QueueWish wish_of(const QueueOptions& queue);

/// Keeps the node's membership and its leases: heartbeats, claims, hand-overs. Decides by domain/placement
/// alone.
///
/// No absolute times are compared: another node is dead when its counter has not moved for a whole lease (the
/// one that it says it has) on this node's own clock, or when the store knows that its process has ended.
/// tick() belongs to one thread; the rest is thread-safe.
class LeaseKeeper {
 public:
  LeaseKeeper(const NodeOptions& options, std::string node_id, NodeFacts facts,
              std::vector<store::QueueWish> queues, store::Store& store, Clock& clock, Random random,
              LeaseClock& lease, KeeperHooks hooks);

  /// Registers the node and defines its queues. Throws what the store throws.
  void join();

  /// One round: renew, look, claim, give back. Says when the next is due. Throws what the store throws; the
  /// node then goes on until its lease ends.
  Duration tick();

  /// The engine has let go of a shard.
  void released(domain::ShardId shard, store::Lease lease);
  void lost(domain::ShardId shard, store::Lease lease);
  /// What stands in the shard takes a newer node: it is left to such nodes. True: that is news.
  bool leave_to_newer(domain::ShardId shard, std::uint16_t needs);

  /// Others are to look at the store: a run was lent.
  void wake_others() { wakes_ = true; }

  /// Claims nothing from now on, and gives everything back.
  void stop_claiming();
  /// From now on the node takes no more jobs; it keeps its shards.
  void say_quiet();
  /// Forgets the node. Its shards were released, or are free as after a crash.
  void leave();

  /// For how long the store has been asked what it has not answered yet.
  Duration asking_for() const;

  const std::string& node_id() const { return node_id_; }
  Duration heartbeat() const { return std::min<Duration>(std::chrono::seconds{3}, options_.lease / 3); }

 private:
  struct Seen {
    std::uint64_t renewals = 0;
    Duration since{};  // steady
    Duration lease{};  // its own
  };
  /// What one look has found.
  struct View {
    store::QueueList queues;
    std::vector<store::NodeRow> nodes;
    std::vector<store::ShardRow> shards;
    std::vector<std::pair<domain::ShardId, domain::LentRun>> lent;
    std::vector<Member> members;                // ascending by id
    std::set<std::string, std::less<>> in_use;  // who owns shards or executes what they lend
  };
  struct Held {
    store::Lease lease;
    Duration stays_until{};  // steady; it was moved, or taken over
    bool is_gone = false;    // as the store has it; the engine was told
  };

  void renew();
  void ask(Duration& spent, const std::function<void()>& what);
  void tell_facts();
  void look_at_newer(const std::vector<domain::LiveNode>& live);
  bool has_other_facts();
  bool look_at_definitions(const store::QueueList& list);
  void watch_nodes(View& view, Duration asked);
  void watch(const std::string& id, const store::NodeRow* row, Duration lease, Duration asked);
  void forget_the_dead(const View& view);
  void tell_of_cluster(View& view);
  void look_at_groups(const store::QueueList& list, ClusterView& news);
  void renewed(Duration sent);
  void look();
  void place(const View& view, const std::vector<domain::LiveNode>& live, bool claiming);
  std::set<std::string> resharded(const View& view) const;
  void look_at_held(const std::vector<store::ShardRow>& shards);
  void look_at_request(const std::vector<store::NodeRow>& nodes);
  void claim(const std::set<domain::ShardId>& wanted, const View& view);
  void keep_what_has_just_moved(domain::PlacementPlan& plan, const std::set<domain::ShardId>& grouped) const;
  void release_now();
  void forget(domain::ShardId shard, store::Lease lease);

  const NodeOptions& options_;
  std::string node_id_;
  NodeFacts facts_;
  std::vector<store::QueueWish> served_;  // in the listed order
  store::Store& store_;
  Clock& clock_;
  Random random_;
  LeaseClock& lease_;
  KeeperHooks hooks_;

  std::map<std::string, Seen> seen_;
  std::set<std::string> dead_;
  std::map<std::string, std::string, std::less<>> groups_;  // of linked queues, by queue
  std::map<domain::ShardId, std::uint16_t> needs_;          // of shards that living nodes could not own
  bool knows_all_ = true;                                   // of the living nodes what they say
  std::map<domain::ShardId, Held> held_;
  bool has_claimed_ = false;
  Duration renew_at_{};
  Duration sent_at_{};  // the last renewal
  Duration looked_{};   // asking the store for other things since then
  std::atomic<std::int64_t> asking_since_us_{0};
  std::string told_facts_;
  bool has_others_ = false;
  std::uint64_t looks_ = 0;
  std::vector<Room> rooms_;  // as the engine told last
  Duration asked_rooms_at_{};
  std::atomic<bool> wakes_{false};
  std::uint64_t definitions_version_ = 0;
  store::NodeRequest request_ = store::NodeRequest::none;

  std::mutex mutex_;
  std::vector<std::pair<domain::ShardId, store::Lease>> to_release_;
  std::vector<std::pair<domain::ShardId, store::Lease>> lost_;
  std::map<domain::ShardId, std::pair<std::uint16_t, Duration>> newer_;  // needs; steady: since when
  std::set<domain::ShardId> told_newer_;
  bool has_newer_ = false;
  bool claiming_ = true;
  bool quiet_ = false;
};

}  // namespace ordo::runtime
