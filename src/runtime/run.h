#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <ordo/time.hpp>
#include <ordo/worker.hpp>

#include "domain/shard.h"
#include "domain/shard_id.h"
#include "runtime/wait_desk.h"

namespace ordo::runtime {

/// Why a run is asked to stop.
enum class StopReason : std::uint8_t { none, timeout, cancelled, node_stops, lease_lost };

/// What engine and pool share about one run. Thread-safe.
struct RunControl {
  std::stop_source stop;
  std::atomic<StopReason> reason{StopReason::none};
  std::atomic<std::int64_t> started_us{0};  ///< steady clock; 0: not yet
  std::string key, id;                      ///< of its first job; set before it is handed out

  /// The first reason counts.
  void ask_to_stop(StopReason why) {
    auto none = StopReason::none;
    if (reason.compare_exchange_strong(none, why)) stop.request_stop();
  }
};

struct RunName {
  domain::ShardId shard;
  std::uint64_t epoch = 0;  ///< of the ownership it was started under
  domain::RunNo no = 0;

  bool operator==(const RunName&) const = default;
};

/// A run that has lasted for so long is not short, whatever came before: nothing waits behind it.
inline constexpr Duration kOverdue = std::chrono::milliseconds{1};

/// A run on its way to a thread.
struct Assignment {
  domain::ShardId shard;
  std::uint64_t epoch = 0;  ///< of the ownership it was started under
  domain::RunNo no = 0;
  const std::string* queue = nullptr;  ///< lives as long as the node
  Worker* worker = nullptr;            ///< likewise
  std::string kind;
  std::vector<BatchJob> jobs;
  Duration timeout{};
  std::shared_ptr<RunControl> control;
  WaitDesk* waits = nullptr;  ///< lives as long as the node
};

/// A run that has come back.
struct RunEnd {
  domain::ShardId shard;
  std::uint64_t epoch = 0;
  domain::RunNo no = 0;
  std::vector<Outcome> outcomes;  ///< one per job
  std::vector<bool> in_time{};    ///< reported before the run was asked to stop; empty: none
};

/// Where runs are executed; each pool is a number. Called by the engine's thread alone.
class RunSink {
 public:
  virtual ~RunSink() = default;

  virtual std::size_t threads(std::size_t pool) const = 0;
  /// How many runs each thread of the pool may have, the one it executes among them: more than 1 only while
  /// its runs are short. 0: it executes one that is overdue, and starts no other soon.
  virtual void look(std::size_t pool, std::vector<std::size_t>& room) const = 0;

  /// Any thread of the pool takes them, or, with `thread` >= 0, that one. Does not block.
  virtual void submit(std::size_t pool, int thread, std::vector<Assignment> runs) = 0;

  /// Takes back of what no thread has started all that `which` admits. A run is started or taken back, never
  /// both.
  virtual std::vector<RunName> recall(std::size_t pool,
                                      const std::function<bool(const Assignment&)>& which) = 0;
  /// Takes back what would wait behind runs that are overdue.
  virtual std::vector<RunName> recall_overdue(std::size_t pool) = 0;
  /// How long until that may find something; max: nothing waits.
  virtual Duration overdue_in(std::size_t pool) const = 0;

  /// Nothing of the pool goes on, and nothing is submitted to it any more: it has no threads from now on.
  virtual void close(std::size_t) {}
};

}  // namespace ordo::runtime
