#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "contract/world.h"

namespace ordo::store {

/// What may be played on a store, and what of its answers can be compared.
struct Rules {
  bool local = true;  ///< it sees that a process has ended; of others less is compared
  bool whole = true;  ///< one append may name shards that are there and others that are not
  /// Its time is the test's clock. On a server that has its own, anything may be over by now or not yet,
  /// however the game goes.
  bool takes_clock = true;
};

/// A world in a game of random operations, and what was learned there. Every store numbers in its own way, so
/// operations and answers name entries, leases and dead rows by their place.
class Played {
 public:
  Played(std::unique_ptr<World> world, Rules rules) : world_(std::move(world)), rules_(rules) {}

  bool local() const { return rules_.local; }
  World& world() { return *world_; }
  Store& store() { return world_->store(); }

  /// The number of the entry at a place, from 1; 0 for 0, and a number that is not there behind the last.
  Seq seq(ShardId shard, std::size_t place);
  /// How many entries of the shard there ever were.
  std::size_t entries(ShardId shard) { return entries_[shard].size(); }
  std::vector<std::uint64_t> dead_nos(std::uint32_t queue, std::span<const std::size_t> places);
  ShardRow row(ShardId shard);

  /// Learns the numbers of what was appended.
  void learn();
  void learn(const std::vector<Grant>& grants);
  Grant grant(std::size_t place) const { return grants_.at(place); }
  std::size_t grants() const { return grants_.size(); }

  // Questions are named by how many were asked behind them, and `node`, if there is one, is named in the
  // place of the node that was asked. Where the store has its own time, a question or its answer may be gone,
  // and only what is not gone is looked at.
  std::string ask(const std::string& node, const std::string& bytes);
  /// In the order in which they were asked: what the ids of one microsecond say of it is left open.
  std::string questions(std::size_t back, const std::string& node);
  std::string answer(std::size_t back, const std::string& node, const std::string& bytes);
  std::string take_answer(std::size_t back, const std::string& node);

  // Answers as text, to be compared and printed.
  std::string describe_log(std::span<const ShardId> shards);
  std::string describe(ShardId shard, const LogChunk& chunk);
  std::string describe(const std::vector<ShardFacts>& facts);
  std::string describe(const QueueDefinition& queue) const;
  std::string describe(const std::vector<Grant>& grants);
  static std::string describe(const std::vector<KeptRow>& rows);
  static std::string describe(const std::optional<std::string>& row);
  static std::string describe(const std::vector<WaitRow>& rows);
  static std::string describe(const std::vector<RowResult>& results);
  std::string describe_dead(std::uint32_t queue);
  std::string describe_nodes();
  /// Everything but nodes and owners.
  std::string describe_all();

 private:
  std::vector<DeadRow> dead(std::uint32_t queue);
  std::size_t place(ShardId shard, Seq seq);

  struct Asked {
    std::string node, id, bytes;
    std::set<std::string> answers{};  // all there ever were
  };
  Asked asked(std::size_t back, const std::string& node) const;
  /// Behind this, what the store writes when it finds the time is written.
  void settle() { store().renew("nobody"); }

  std::unique_ptr<World> world_;
  const Rules rules_;
  std::vector<Grant> grants_;
  std::vector<Asked> asked_;
  std::map<ShardId, std::vector<Seq>> entries_;  // all there ever were
};

}  // namespace ordo::store
