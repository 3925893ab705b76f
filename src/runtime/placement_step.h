#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ordo/options.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "domain/placement.h"
#include "runtime/cluster_look.h"
#include "store/store.h"

namespace ordo::runtime {

/// Whom a placement step tells. Called on its thread.
struct PlacementHooks {
  /// Shards were acquired, and nothing of them starts before this returns. What it throws leaves them to
  /// whoever claims them next.
  std::function<void()> acquired{};
  std::function<void(std::vector<store::Grant>)> granted{};
  std::function<void(std::vector<domain::ShardId>)> give_back{};
  /// The store does not know this lease any more (it went back, or somebody ended it). Who drops the shard
  /// says so by lost(). Told once.
  std::function<void(domain::ShardId, store::Lease)> gone{};
  /// False while runs of lost shards have not returned yet.
  std::function<bool()> may_claim{};
};

/// The shards that this node holds by its own account, and how it comes to what domain/placement says: what
/// it claims, gives back, and lets stand still for a while.
///
/// released(), lost() and stop_claiming() are thread-safe; the rest belongs to one thread.
class PlacementStep {
 public:
  PlacementStep(const NodeOptions& options, const std::string& node_id, store::Store& store, Clock& clock,
                Random random, PlacementHooks hooks)
      : options_(options),
        node_id_(node_id),
        store_(store),
        clock_(clock),
        random_(random),
        hooks_(std::move(hooks)) {}

  /// Claims and gives back what it takes, as the look sees it. `is_alone`: it shows no other node.
  void place(const ClusterLook& look, std::span<const domain::LiveNode> live, bool is_alone);
  /// Tells the store of what the engine has let go of.
  void release();
  /// The engine has not yet dropped all that was found to be gone.
  bool waits_for_drops() const {
    return std::ranges::any_of(held_, [](const auto& entry) { return entry.second.is_gone; });
  }
  /// The leases have ended: nothing is held any more.
  void drop_all() { held_.clear(); }

  /// The engine has let go of a shard.
  void released(const store::Release& end);
  void lost(domain::ShardId shard, store::Lease lease);
  /// Claims nothing from now on.
  void stop_claiming();
  bool is_claiming();

 private:
  struct Held {
    store::Lease lease;
    Duration since{};        // steady
    Duration stays_until{};  // likewise; it was moved, or taken over
    bool is_gone = false;    // as the store has it; the engine was told
  };

  /// A shard that was lost whenever it had just been claimed.
  struct Lost {
    unsigned times = 0;
    Duration again_at{};  // steady
  };

  void forget(domain::ShardId shard, store::Lease lease);
  void note_lost(domain::ShardId shard, store::Lease lease);
  void look_at_held(const ClusterLook& look);
  bool may_be_forgotten(const ClusterLook& look);
  bool has_others(const ClusterLook& look) const;
  void keep_what_has_just_moved(domain::PlacementPlan& plan, const std::set<domain::ShardId>& grouped) const;
  void claim(const std::set<domain::ShardId>& wanted, const ClusterLook& look, bool is_alone);

  const NodeOptions& options_;
  const std::string& node_id_;
  store::Store& store_;
  Clock& clock_;
  Random random_;
  PlacementHooks hooks_;
  std::map<domain::ShardId, Held> held_;
  std::map<domain::ShardId, Lost> lost_at_once_;
  bool has_claimed_ = false;
  bool has_looked_ = false;
  std::uint64_t setbacks_ = 0;  // of the store, that are known
  Duration claims_from_{};      // steady

  std::mutex mutex_;
  std::vector<store::Release> to_release_;
  std::vector<std::pair<domain::ShardId, store::Lease>> lost_;
  bool claiming_ = true;
};

}  // namespace ordo::runtime
