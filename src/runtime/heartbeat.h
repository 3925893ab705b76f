#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include <ordo/options.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "runtime/lease_clock.h"
#include "runtime/node_facts.h"
#include "runtime/trouble.h"
#include "store/store.h"

namespace ordo::runtime {

/// Whom a heartbeat tells. Called while it renews; must not block.
struct HeartbeatHooks {
  /// The leases last for this long from now.
  std::function<void(Duration)> renewed{};
  /// The renewal was answered too late: the lease had ended.
  std::function<void(const LateRenewal&)> late{};
  /// What was held before is void.
  std::function<void()> lapsed{};
};

/// The node's row in the store: that it lives, and what it says of itself. With each renewal its leases last
/// on. It does nothing else, so that no other question of this node keeps it waiting.
///
/// Thread-safe, once it has joined. One renewal is under way at a time, and nobody waits for it.
class Heartbeat {
 public:
  Heartbeat(const NodeOptions& options, std::string node_id, store::Store& store, Clock& clock, Random random,
            LeaseClock& lease, HeartbeatHooks hooks);

  /// Registers the node. Throws what the store throws.
  void join(const NodeFacts& facts);
  /// Renews when that is due. Says when it is next. Throws what the store throws; the node then goes on until
  /// its lease ends.
  Duration tick();
  /// Says that of the node, at once unless a renewal is under way: then it goes with the next. Throws
  /// likewise.
  void say(const NodeFacts& facts);
  /// What the node holds was compared with what the store has, of which so many setbacks were known before.
  /// Leases do not last on beyond a setback until then, whatever is renewed: some may be forgotten, and
  /// granted to others.
  void compared(std::uint64_t setbacks);
  /// Forgets the node; nothing is renewed any more. False: a renewal is under way, ask again.
  bool leave();

  /// What is granted or lent to a node holds until the next lapse of its leases.
  struct Standing {
    std::uint64_t losses = 0;   ///< of leases, as LeaseClock counts them
    std::uint64_t session = 0;  ///< another one after each

    bool operator==(const Standing&) const = default;
  };
  Standing standing() const;
  /// For how long the store has been asked what it has not answered yet.
  Duration asking_for() const;
  /// For how long renewals have failed.
  Duration lost_for() const;

  const std::string& node_id() const { return node_id_; }
  Duration interval() const { return std::min<Duration>(std::chrono::seconds{3}, options_.lease / 3); }

 private:
  Duration due_in() const;
  void renew();
  void tell();
  void renewed(Duration sent);
  void count(Duration sent);
  void lapse();

  const NodeOptions& options_;
  const std::string node_id_;
  store::Store& store_;
  Clock& clock_;
  LeaseClock& lease_;
  HeartbeatHooks hooks_;

  // Of who renews.
  std::atomic<bool> renewing_{false};
  Random random_;
  std::string told_facts_;
  std::uint64_t told_at_ = 0;  // setbacks of the store
  Duration sent_at_{};         // steady: the last renewal
  bool left_ = false;

  mutable std::mutex mutex_;
  NodeFacts facts_;
  bool has_news_ = false;  // among these
  Standing standing_;
  Duration renew_at_{};                // steady
  std::uint64_t compared_ = 0;         // setbacks of the store, behind which it knows what it holds
  std::optional<Duration> uncounted_;  // steady: a renewal behind another one
  std::atomic<std::int64_t> asking_since_us_{0};
  std::atomic<std::int64_t> lost_since_us_{0};  // steady, of the first renewal that failed; 0: none has
};

}  // namespace ordo::runtime
