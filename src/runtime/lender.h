#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/borrower.h"
#include "runtime/engine_scope.h"
#include "runtime/local_runs.h"
#include "runtime/shard_host.h"

namespace ordo::runtime {

/// The runs of this node's shards that other nodes execute: what is lent, to whom, and when it is taken back.
///
/// Once it is in the list of its shard a lent run is the shard's (domain/shard_lent.cpp); before, while it
/// waits for its payloads or its marks, it is in the table here.
class Lender {
 public:
  Lender(EngineScope& scope, const QueueTable& queues, const CodeTable& codes, ShardHost& host,
         LocalRuns& runs, Borrower& borrower)
      : scope_(scope), queues_(queues), codes_(codes), host_(host), runs_(runs), borrower_(borrower) {}

  /// Jobs that find no thread here, or no code, run where there is room.
  void lend_what_waits();
  /// The shard goes to another owner, and its runs go on here as lent to this node: nobody waits for them.
  void keep_runs_of(OwnedShard& shard);
  /// Nodes that had no room are not asked again at once.
  void note_declined(OwnedShard& shard);

  /// Takes back what is lent to nodes that are gone, or to sessions that are over.
  void take_back();
  /// Suspects that other nodes have run alone for long let others run beside them.
  void share_suspects();
  /// All was read that was in the logs at a look.
  void all_read(const AllRead& read);

  // Runs that are chosen to be lent, and not in the list of their shard yet.
  bool has(const RunName& name) const { return !leaving_.empty() && leaving_.contains(name); }
  /// It has its marks, or its payloads.
  void go_on(OwnedShard& shard, domain::Run run);
  /// It is put back instead of being lent.
  void stop(const RunName& name, StopReason reason) { leaving_.at(name).stop = reason; }
  void stop_all(StopReason reason);
  void forget(const RunName& name) { leaving_.erase(name); }
  void drop(const std::set<domain::ShardId>& ids);
  std::size_t size() const { return leaving_.size(); }

  /// When a job has waited long enough for a thread, or a shard for its runs.
  Duration next_lending() const;

 private:
  struct Leaving {
    std::string node;
    std::uint64_t session = 0;
    domain::Risk risk = domain::Risk::normal;
    StopReason stop = StopReason::none;
  };
  using Kinds = std::set<std::string, std::less<>>;

  bool may_lend() const;
  bool lend_one(const Member& member, const Room& room);
  std::size_t lent_to(const Member& member, const Room& room) const;
  bool lends_suspect_to(const std::string& node) const;
  Kinds kinds_to_lend(const OwnedShard& shard, const Member& member, bool is_bound) const;
  bool has_other_for(const ServedQueue& queue) const;
  domain::Borrower look_at(const std::string& node, std::uint64_t session) const;

  EngineScope& scope_;
  const QueueTable& queues_;
  const CodeTable& codes_;
  ShardHost& host_;
  LocalRuns& runs_;
  Borrower& borrower_;
  std::unordered_map<RunName, Leaving, RunNameHash> leaving_;
  std::map<std::string, Duration> declined_at_;  // steady, by node
  /// Borrowers that are gone, with their sessions: the look that showed it first.
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> over_since_;
  std::uint64_t read_look_ = 0;  // AllRead
  Duration next_share_{};        // steady: when it is looked for next
};

}  // namespace ordo::runtime
