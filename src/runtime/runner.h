#pragma once

#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/borrower.h"
#include "runtime/code_table.h"
#include "runtime/engine_scope.h"
#include "runtime/lender.h"
#include "runtime/local_runs.h"
#include "runtime/shard_host.h"

namespace ordo::runtime {

/// The way of a run: from the shard that chose it, with its payloads, to a thread, and its end back to who
/// owns it. Owns nothing but that order.
class Runner {
 public:
  Runner(EngineScope& scope, CodeTable& codes, ShardHost& host, LocalRuns& runs, Borrower& borrower,
         Lender& lender)
      : scope_(scope), codes_(codes), host_(host), runs_(runs), borrower_(borrower), lender_(lender) {}

  /// What Shard::take() has chosen for a pool of this node.
  void took(std::size_t pool, OwnedShard& shard, domain::Shard::Taken taken, domain::Run run);
  /// Its marks are durable.
  void launch(OwnedShard& shard, domain::Run run);
  void provide(const Fetched& fetched);
  void ended(RunEnd end);

  /// What no thread has started is due as before, and what is borrowed goes back to its owner.
  void recall(const std::function<bool(const Assignment&)>& which) { take_back(runs_.recall(which)); }
  void recall_all() {
    recall([](const Assignment&) { return true; });
  }
  void take_back(const std::vector<RunName>& names);
  /// Runs whose jobs had rows of unique keys, and are free to start: they are due again.
  void take_anew(OwnedShard& shard);
  /// A cancelled run is asked to stop, or not started at all.
  void stop_cancelled(OwnedShard& shard);
  /// Asks every run to stop.
  void stop_all(StopReason reason);
  /// The shards are this node's no more. What runs goes on until it hears of it; what was never handed out,
  /// or not started, has no end to come.
  void drop(const std::set<domain::ShardId>& ids);
  void look_at_timeouts();
  /// Suspects whose marks are shared do not run alone any more.
  void look_at_shared(OwnedShard& shard);

 private:
  using Payloads = std::span<const std::pair<store::Seq, std::string_view>>;

  void provide(OwnedShard& shard, domain::RunNo no, Payloads payloads, bool failed);
  void ask_again(OwnedShard& shard, domain::RunNo no);
  void forget(const RunName& name);
  void send(OwnedShard& shard, domain::Run run, LocalRun& local);
  static RunName name_of(const OwnedShard& shard, domain::RunNo no) { return {shard.id, shard.epoch, no}; }

  EngineScope& scope_;
  CodeTable& codes_;
  ShardHost& host_;
  LocalRuns& runs_;
  Borrower& borrower_;
  Lender& lender_;
};

}  // namespace ordo::runtime
