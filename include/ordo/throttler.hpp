#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <ordo/decimal.hpp>
#include <ordo/time.hpp>

namespace ordo {

/// A job as a throttler sees it. Its payloads may not be in memory: what a throttler goes by stands in the
/// partition, the key or the kind.
struct ThrottledJob {
  std::string kind{};
  std::string key{};
  std::string id{};
  std::string partition{};  ///< its value; empty: it has none
  Decimal weight{};
  bool critical = false;
  std::int32_t priority = 100;
  std::int32_t retry_count = -1;  ///< -1: it has not failed
  Time since{};  ///< of the one that is to start: its run_at; of a running one: its start, or when this node
                 ///< heard of it
};

/// What a limit or rate that the job is held to stands at.
struct ThrottlerLimit {
  std::string name{};       ///< of the queue or of the named limit
  std::string partition{};  ///< of which value; empty: of all
  bool is_rate = false;
  Decimal used{};                 ///< of a rate: nothing
  Decimal limit{};                ///< of a rate: how many starts in each of its periods
  std::optional<Time> free_at{};  ///< of a rate: when it lets the next one start; nothing: at once
};

/// What a throttler is asked (docs/limits.md). All of it is gone when the call has returned.
struct ThrottleQuestion {
  const std::string& queue;
  const ThrottledJob& candidate;
  std::span<const ThrottledJob>
      running;  ///< of the queue on all nodes, awaiting ones among them; in no order
  std::span<const ThrottlerLimit> limits;
  Time now{};  ///< the store's
};

/// What it answers.
struct ThrottleAnswer {
  enum class What : std::uint8_t { run, skip, defer, cancel };
  What what = What::skip;
  Time until{};          ///< of `defer`
  std::string reason{};  ///< of `cancel`

  /// It starts.
  static ThrottleAnswer run() { return {.what = What::run}; }
  /// Others may start before it. It is asked for again when a run of the queue has ended, or after a second,
  /// but behind all that were not asked for yet; until then it keeps its key.
  static ThrottleAnswer skip() { return {.what = What::skip}; }
  /// As if a window opened then: until then others of its key may start. A new owner of the shard asks anew.
  static ThrottleAnswer defer(Time until) { return {.what = What::defer, .until = until}; }
  /// The job is removed, all of its payloads: its event and its log line have the reason. Its key is free
  /// once that is durable; after a crash before that the job is asked for again.
  static ThrottleAnswer cancel(std::string reason) {
    return {.what = What::cancel, .reason = std::move(reason)};
  }
};

/// Asked for each job before it starts, when windows, locks and limits admit it: it can only restrict.
///
/// Jobs come in the order in which they would start. Called by one thread of the node that owns the queue's
/// shards, one call at a time and at most 100 in a round of that thread; the next round goes on where this
/// one ended. The node starts nothing meanwhile: it must not block, nor call Server, Client or Admin. What it
/// throws starts nothing of the queue in that round, and is told as an event (EventType::throttler_failed)
/// and in the log; the next round is as ever.
using Throttler = std::function<ThrottleAnswer(const ThrottleQuestion&)>;

}  // namespace ordo
