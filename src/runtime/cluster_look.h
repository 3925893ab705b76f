#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/placement.h"
#include "runtime/inbox.h"
#include "store/store.h"

namespace ordo::runtime {

/// What one look at the cluster has found.
struct ClusterLook {
  store::QueueList queues;
  std::vector<store::NodeRow> nodes;  ///< ascending by id
  std::vector<store::ShardRow> shards;
  std::vector<std::pair<domain::ShardId, domain::LentRun>> lent;
  std::set<std::string, std::less<>> in_use;            ///< who owns shards or executes what they lend
  std::map<domain::ShardId, std::uint64_t> dead_rows;   ///< of shards that have any
  std::map<domain::ShardId, std::uint64_t> dead_to_go;  ///< of these, beyond the bound of the queue
  std::uint64_t known_setbacks = 0;                     ///< of the store, behind which all of it was read
  std::uint64_t setbacks = 0;                           ///< of the store by then

  // What NodeWatch says of them.
  std::vector<Member> members;                             ///< ascending by id
  std::set<std::string, std::less<>> dead;                 ///< of these
  std::map<std::string, std::string, std::less<>> groups;  ///< of linked queues, by queue
  std::map<domain::ShardId, std::uint16_t> needs;          ///< of shards that living nodes could not own
  Duration longest_lease{};                                ///< of all that it knows

  /// Asks the store for nodes and shards.
  void read(store::Store& store);
  /// Asks it which dead rows of these queues are the oldest, where there are too many.
  void find_dead_to_go(store::Store& store, const std::vector<store::QueueWish>& served);

  /// Nobody has it, or nobody who lives.
  bool is_free(const store::ShardRow& row) const { return row.owner.empty() || dead.contains(row.owner); }
  std::vector<domain::LiveNode> live() const;
  /// The shards of each placement group.
  std::vector<std::vector<domain::ShardId>> grouped() const;
  /// Queues whose new shards a living node fills, or has filled: the old ones are its own alone.
  std::set<std::string> resharded() const;
};

}  // namespace ordo::runtime
