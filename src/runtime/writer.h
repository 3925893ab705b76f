#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine_scope.h"
#include "runtime/shard_host.h"

namespace ordo::runtime {

/// What the shards want written: one delta a shard in flight, sent again with the same batch number while its
/// outcome is unknown. What failed together goes alone then.
class Writer {
 public:
  Writer(EngineScope& scope, ShardHost& host) : scope_(scope), host_(host) {}

  /// Sends what is to be written now.
  void flush();

  struct Settled {
    std::vector<OwnedShard*> durable;  ///< their deltas
    std::set<domain::ShardId> stale;   ///< they have another owner
  };
  Settled settle(const CommitEnd& end);

  /// When something is to be done for it although nobody asks for it: a job becomes due, or its counts or its
  /// place in the log are to be written. Not in the future: now. Time::max(): never.
  Time wakes_at(OwnedShard& shard) const;
  /// How long until what failed is sent again.
  Duration next_retry() const;
  /// Why what has ended cannot be written.
  const TroubleFacts& trouble() const { return commits_.facts(); }

 private:
  struct Sent {
    void add(const OwnedShard& shard);

    std::vector<store::Delta> deltas;
    CommitEnd end;
  };
  /// A shard whose delta has an unknown outcome.
  struct Unknown {
    std::uint64_t epoch = 0;
    Duration wait{};
    Duration again_at{};  // steady
    bool is_under_way = false;
  };

  void send(Sent sent);
  void send_again();
  void failed(const OwnedShard& shard);
  void forget_dropped();
  std::string name_of_refused() const;
  store::Delta delta_of(OwnedShard& shard);
  void keep_records(OwnedShard& shard, const domain::KeptBlock& block, store::Delta& delta) const;
  void trim_dead(OwnedShard& shard, store::Delta& delta) const;
  void count_buried(OwnedShard& shard, std::size_t more) const;
  void ask_for_look(const OwnedShard& shard);
  std::uint64_t dead_to_keep(const OwnedShard& shard) const;
  bool trimming_is_due(const OwnedShard& shard) const;
  bool rest_is_due(OwnedShard& shard) const;
  std::uint64_t read_since_written(const OwnedShard& shard) const;
  Duration dead_check(const OwnedShard& shard) const;

  EngineScope& scope_;
  ShardHost& host_;
  Trouble commits_{"commit what has ended"};
  std::map<domain::ShardId, Unknown> unknown_;
  Duration look_asked_at_{};    // steady
  bool refused_alone_ = false;  // others were written meanwhile
};

}  // namespace ordo::runtime
