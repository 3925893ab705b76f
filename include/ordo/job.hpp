#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/decimal.hpp>
#include <ordo/time.hpp>

namespace ordo {

/// Why a run failed or a job ended without success (rules: failure, retry, death).
enum class FailureKind : std::uint8_t {
  handler = 0,  ///< perform threw or answered a failure
  timeout,      ///< the attempt took longer than its timeout
  crash,        ///< the worker's process died, or the node did too often
  response_error,
  lease_lost,
  cancelled,
  expired,
  unreadable,    ///< what is stored of it could not be read; its bytes are kept as they are
  invalid_push,  ///< another program wrote it into the log, and it is no push (docs/redis.md)
};

/// "handler", "timeout", … as shown by the CLI.
[[nodiscard]] std::string_view to_string(FailureKind kind);

/// One payload of a job: opaque bytes and the real number that orders it among the job's payloads.
struct Payload {
  std::string bytes{};
  double score = 0;

  bool operator==(const Payload&) const = default;
};

/// A daily span of some wall clock in which jobs may start (docs/windows.md).
struct Window {
  std::chrono::seconds start{};  ///< since midnight, less than 24 h
  std::chrono::seconds end{};    ///< not in it any more; at most 24 h; before `start`: on the next day
  std::uint8_t days = 0x7F;      ///< on which it starts: bit 0 is Monday, bit 6 Sunday; at least one
  std::string tz = "UTC";        ///< a zone of the IANA database

  bool operator==(const Window&) const = default;
};

/// What a push asks for. Only what is set has an effect; everything has a default.
struct NewJob {
  std::string id{};                 ///< 1..255 bytes; empty: a new ULID
  std::string payload{};            ///< opaque bytes, at most 1 MiB
  std::string key{};                ///< what order is kept by, up to 255 bytes; empty: the id
  std::string kind{};               ///< names the code that runs it, up to 255 bytes; empty: the queue's name
  std::optional<double> score{};    ///< default: the store's time at append, Unix seconds; finite
  std::optional<Time> run_at{};     ///< earliest start; default: the store's time at append
  std::optional<Duration> delay{};  ///< instead of run_at: from the caller's now
  /// A job that it merges into while that waits gets its time, be it later or earlier; without it the job
  /// keeps the time of its first push.
  bool replace_time = false;
  std::optional<std::int32_t> priority{};  ///< lower runs first; default 100
  std::optional<Duration> timeout{};       ///< of one attempt; default: the queue's
  std::optional<std::int32_t>
      max_retries{};  ///< 0 and more; 0: the first failure kills; default: the queue's
  /// Not started by then, it ends as expired; default: the queue's `expires` after run_at.
  std::optional<Time> expires{};
  std::optional<Duration> expires_after{};  ///< instead of `expires`: from run_at, and moves with it
  std::vector<Window> windows{};    ///< it starts in one of these, and in one of its queue's; empty: always
  std::optional<Decimal> weight{};  ///< what it takes of limits, > 0; default: its queue's (docs/limits.md)
  std::optional<std::string> partition{};  ///< instead of what stands at its queue's pointer; 255 bytes
  std::optional<bool> critical{};          ///< neither blocked by limits nor counted in them
  std::optional<std::string> lock{};    ///< the key of its lock; default: by its queue's rule; 1..255 bytes
  std::optional<std::string> unique{};  ///< its unique key; default: by its queue's rule; 1..255 bytes
};

/// Where a job is in its life.
enum class JobStatus : std::uint8_t {
  due,        ///< queued, may start now
  scheduled,  ///< queued for later
  retrying,   ///< queued, waits for its retry time
  running,
  awaiting,  ///< an external response
  dead,
  done,  ///< it has ended, as those that follow: of records only (docs/traces.md)
  discarded,
  cancelled,
  expired,
  failed,  ///< an attempt of it, which need not be its end
};

/// "due", "scheduled", … as shown by the CLI.
[[nodiscard]] std::string_view to_string(JobStatus status);

/// What can hold a job up.
enum class Gate : std::uint8_t {
  time,       ///< run_at, or the end of its back-off
  pause,      ///< of its queue
  code,       ///< no living node has the code of its kind, or can start it
  group,      ///< the shards that share limits or locks with its own are not on one node yet
  window,     ///< of its queue, its kind or its own
  key,        ///< another job of its key runs, or is before it
  lock,       ///< others have it
  limit,      ///< has no room
  rate,       ///< lets the next one start later
  response,   ///< from outside
  throttler,  ///< of its queue has refused it
  suspect,    ///< a job that may have killed its node runs alone, or it is one itself (docs/retry.md)
};

/// "time", "pause", … as shown by the CLI.
[[nodiscard]] std::string_view to_string(Gate gate);

/// One reason why a job does not run just now (docs/jobs.md).
struct WaitsFor {
  Gate what = Gate::time;
  std::string name{};                  ///< of the limit, lock, key, kind, queue or response; or empty
  std::vector<std::string> held_by{};  ///< ids of jobs that have it: three at most
  std::optional<Time> until{};         ///< not before; nothing: until somebody does something
  /// Ids of jobs that have it and whose runs go on although they were asked to stop (StuckRun): three at
  /// most.
  std::vector<std::string> stuck{};
  /// Of Gate::code: why each node that has the code cannot start it. Empty: none has it.
  std::vector<std::string> why{};

  bool operator==(const WaitsFor&) const = default;
};

/// A job as the admin tools show it: a snapshot, never a handle.
struct JobView {
  std::string queue{};
  std::string kind{};
  std::string key{};
  std::string id{};
  JobStatus state = JobStatus::due;
  std::vector<Payload> payloads{};  ///< in (score, arrival) order
  Time run_at{};                    ///< dead: when it died
  std::int32_t retry_count = -1;
  std::uint32_t crashes = 0;
  std::string error{};                            ///< of the last failed run; empty: none
  FailureKind error_kind = FailureKind::handler;  ///< of that run, if there is one
  std::optional<std::int32_t> priority{};         ///< as the push said
  std::optional<Duration> timeout{};
  std::optional<Time> expires{};  ///< not started by then, it ends as expired; none: never
  bool expiry_moves = false;      ///< `expires` counts from run_at
  std::vector<Window> windows{};  ///< its own
  std::optional<Decimal> weight{};
  std::optional<std::string> partition{};
  std::optional<bool> critical{};
  std::optional<std::string> lock{};
  std::optional<std::int32_t> max_retries{};
  /// Of a queued one: run_at, or when its windows open, as this program's config has those of the queue;
  /// none: never.
  std::optional<Time> starts_at{};
  /// Everything that holds it up, as the nodes told it last (within a second); empty: nothing, it waits for a
  /// thread at most. Of running and dead ones: empty.
  std::vector<WaitsFor> waits_for{};
  /// Of a running one, as the node that owns its shard answered: where it runs, and since when. Nothing: no
  /// owner has answered in time.
  std::string node{};
  std::optional<Time> started{};
};

}  // namespace ordo
