#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/connection.h"
#include "store/redis/location.h"
#include "store/redis/sentinel.h"
#include "store/store.h"

namespace ordo::store::redis {

/// What a server of a cluster holds is cut into slots; a command may name keys of one slot only.
using Slot = std::uint16_t;
inline constexpr std::size_t kSlots = 16384;

/// The slot that a cluster keeps `key` in: CRC-16 of what stands in its first braces.
Slot cluster_slot(std::string_view key);

/// A server's answer that says to ask another one. The command was not executed.
struct Redirect {
  Slot slot = 0;
  Address to;
  bool moved = true;  ///< for good; else for this command only, behind ASKING
};

/// What `reply` of the server at `from` says of another; nothing: it is no redirection.
std::optional<Redirect> redirect_of(const Reply& reply, const Address& from);

/// Which server has which slot. A single server is a cluster whose one slot, 0, has all keys; behind
/// sentinels it is the one that they call the master. Thread-safe.
class SlotMap {
 public:
  /// Asks the servers of `location` one by one until one answers. Throws as Connection does, and
  /// Error{unsupported}: several servers are named that are no cluster.
  SlotMap(const Location& location, Duration patience);

  bool is_cluster() const { return is_cluster_; }
  bool fails_over() const {
    return is_cluster_ || sentinels_ != nullptr;
  }  ///< another server may take a slot
  Slot slot_of(std::string_view key) const { return is_cluster_ ? cluster_slot(key) : Slot{0}; }
  Slot slot_of(ShardId shard) const;
  Address server_of(Slot slot) const;

  /// Throws Error{unavailable}: the server was none of a cluster, and is now. Its keys are elsewhere then.
  void check(const Connection& connection, const Address& from);

  /// How often a server was found to have another history than who was there before (Store::setbacks).
  std::uint64_t setbacks() const { return setbacks_; }
  /// A server has lost some of what it had.
  void went_back() { ++setbacks_; }

  /// Those of the servers that have slots, by the server's name. All of them were asked something before.
  std::map<std::string, History> histories();

  /// A key of ours is of another kind, as some command found: who knows all shards looks at theirs.
  void found_odd() { has_odd_ = true; }
  /// Whether that was said since it was asked last. At first it is not known.
  bool take_odd() { return has_odd_.exchange(false); }

  /// What a server has said of a slot.
  void moved(Slot slot, const Address& to);
  /// How often a server was found to have slots that had none: it may have taken another's place, and whoever
  /// is connected to it since before then asks it anew who it is.
  std::uint64_t turns(const Address& server) const;

  /// Asks the servers that are known (or the sentinels) when one of them cannot be reached; nothing happens
  /// if none answers.
  void refresh();

  /// How long to wait for a server to be there: the others of a cluster have to wait with it.
  Duration connect_within() const;

  /// The servers that have slots.
  std::vector<Address> masters() const;

 private:
  void learn(Connection& connection, const Address& from);
  void look_at_history(const Connection& connection, const Address& from);
  /// Under which it is known whose history that is.
  std::string historian(const Address& server) const;

  const Location location_;
  const Duration patience_;
  const std::unique_ptr<Sentinels> sentinels_;
  bool is_cluster_ = false;
  mutable std::mutex mutex_;
  std::vector<Address> servers_;              // all that are known, those of location_ first
  std::uint32_t answered_ = 0;                // place of the one to ask first
  std::vector<std::uint32_t> owners_;         // by slot: places in servers_
  std::map<std::string, History> histories_;  // by the name of the server: the last that it was seen with
  std::map<Address, std::uint64_t> turns_;
  bool knows_all_ = false;  // whoever else has slots takes another's place
  std::atomic<std::uint64_t> setbacks_ = 0;
  std::atomic<bool> has_odd_ = true;
};

}  // namespace ordo::store::redis
