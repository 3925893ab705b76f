#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "contract/world.h"

namespace ordo::store {

/// A world in a game of random operations, and what was learned there. Every store numbers in its own way, so
/// operations and answers name entries, leases and dead rows by their place.
class Played {
 public:
  /// `local`: with the test's clock, and with a view of dead processes; of others less is compared.
  Played(std::unique_ptr<World> world, bool local) : world_(std::move(world)), local_(local) {}

  bool local() const { return local_; }
  World& world() { return *world_; }
  Store& store() { return world_->store(); }

  /// The number of the entry at a place, from 1; 0 for 0, and a number that is not there behind the last.
  Seq seq(ShardId shard, std::size_t place);
  /// The same, but at most the last that is there: nobody has read further.
  Seq position(ShardId shard, std::size_t place);
  std::vector<std::uint64_t> dead_nos(std::uint32_t queue, std::span<const std::size_t> places);
  ShardRow row(ShardId shard);

  /// Learns the numbers of what was appended.
  void learn();
  void learn(const std::vector<Grant>& grants);
  Grant grant(std::size_t place) const { return grants_.at(place); }
  std::size_t grants() const { return grants_.size(); }

  // Answers as text, to be compared and printed.
  std::string describe_log(std::span<const ShardId> shards);
  std::string describe(ShardId shard, const LogChunk& chunk);
  std::string describe(const std::vector<ShardFacts>& facts);
  std::string describe(const QueueDefinition& queue) const;
  std::string describe(const std::vector<Grant>& grants);
  std::string describe_dead(std::uint32_t queue);
  std::string describe_nodes();
  /// Everything but nodes and owners.
  std::string describe_all();

 private:
  std::vector<DeadRow> dead(std::uint32_t queue);
  std::size_t place(ShardId shard, Seq seq);

  std::unique_ptr<World> world_;
  bool local_;
  std::vector<Grant> grants_;
  std::map<ShardId, std::vector<Seq>> entries_;  // all there ever were
};

}  // namespace ordo::store
