#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ordo/events.hpp>
#include <ordo/log.hpp>
#include <ordo/options.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "domain/admission.h"
#include "runtime/inbox.h"
#include "runtime/lease_clock.h"
#include "runtime/trouble.h"
#include "store/store.h"

namespace ordo::runtime {

/// Who is told what the engine decided. Called on the engine's thread; must not block.
struct EngineHooks {
  std::function<void(domain::ShardId, std::uint64_t epoch, domain::RunNo, std::vector<store::Seq>)> fetch{};
  std::function<void(std::vector<Event>)> events{};
  /// The store is to close a wait of a job in this shard; the answer is News::closed.
  std::function<void(domain::ShardId, std::uint64_t epoch, const std::string& queue, domain::WaitToClose)>
      close_wait{};
  /// A response in this shard is not going to be handled, and the store is to keep it; the answer is
  /// News::kept.
  std::function<void(domain::ShardId, std::uint64_t epoch, const std::string& queue, store::Seq response)>
      keep_response{};
  /// The store is to take a row of a unique key away; the answer is News::freed.
  std::function<void(domain::ShardId, std::uint64_t epoch, const std::string& queue, domain::RowToFree)>
      free_row{};
  /// The heads of a shard's blocks are to be read from that number on; the answer is News::kept.
  std::function<void(domain::ShardId, std::uint64_t epoch, std::uint64_t from)> read_kept{};
  /// Payloads that died in one run, and are of one kind, after it is durable.
  std::function<void(const std::string& queue, std::vector<JobView>)> died{};
  /// This node does not own the shard any more.
  std::function<void(domain::ShardId, store::Lease)> lost{};
  /// The shard has nothing running or unwritten any more and may be given back.
  std::function<void(const store::Release&)> released{};
  /// The leases are about to end: so many runs are stopped and put back, and none starts. Told once.
  std::function<void(std::size_t runs)> lease_ending{};
  /// The leases ended some time ago, and runs still go on although they were asked to stop.
  std::function<void()> lease_lost{};
  /// A run was lent: others are to look at the store.
  std::function<void()> lent{};
  /// The logs are to be read on now: what a node that is gone has left is waited for.
  std::function<void()> read_on{};
  /// A grant that could not be used: nothing of the shard was read, and it may be given back.
  std::function<void(const store::Release&)> refused{};
  LogSink log{};
  /// What stands in the shard takes a newer node: it is given back. Told before it is.
  std::function<void(domain::ShardId, std::uint16_t needs)> newer{};
  /// The answer to a question to this node.
  std::function<void(const std::string& question, std::string bytes)> answer{};
  /// What the node tells of itself in its row has changed (facts()).
  std::function<void()> facts_changed{};
};

/// What every room of an engine sees, and none of them owns.
struct EngineScope {
  const NodeOptions& options;
  store::Store& store;
  Clock& clock;
  Random random;
  LeaseClock& lease;
  EngineHooks hooks;
  std::shared_ptr<Inbox> inbox = std::make_shared<Inbox>();
  Time now{};                       ///< the store's, as it was when the tick began
  ClusterView cluster{};            ///< as it was seen last
  bool watch = false;               ///< somebody listens to events
  domain::MarkedCompany company{};  ///< of jobs that are to be marked, for the counts of their shards
  std::shared_ptr<WaitDesk> waits = std::make_shared<WaitDesk>(store, random);

  Duration steady() const { return clock.steady(); }
  /// How long until then; zero: it has come.
  Duration until(Duration when) const { return std::max(when - clock.steady(), Duration{0}); }

  void say(const LogLine& line) const {
    if (hooks.log) hooks.log(line);
  }
  void say(LogLevel level, const std::string& text) const {
    if (hooks.log) hooks.log(level, text);
  }
  void failed(Trouble& trouble, const std::string& error) const {
    if (const auto line = trouble.failed(error, now, clock.steady())) say(LogLevel::error, *line);
  }
  void succeeded(Trouble& trouble) const {
    if (const auto line = trouble.succeeded()) say(LogLevel::info, *line);
  }
};

}  // namespace ordo::runtime
