#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/job.hpp>
#include <ordo/time.hpp>

namespace ordo {

enum class EventType : std::uint8_t {
  job_started,
  job_finished,
  job_failed,
  job_dead,
  job_awaiting,
  queue_running,
  queue_pausing,
  queue_paused,
  node_up,
  node_down,
  shard_moved,
  throttler_failed,
};

/// "job_started", … as filters and logs name it.
[[nodiscard]] std::string_view to_string(EventType type);

/// Something that happened on this node.
struct Event {
  EventType type = EventType::job_started;
  std::string queue{};  ///< empty for node events
  std::string kind{};
  std::string id{};         ///< of the job; node events: of the node
  std::string key{};        ///< of the job
  std::uint32_t shard = 0;  ///< of the job, and of shard_moved
  Time at{};
  Duration took{};           ///< of the run, for finished and failed; 0: a failed one never ran
  std::string error{};       ///< for failed, dead and throttler_failed
  std::int64_t attempt = 0;  ///< for started, finished and failed: 1 is the first
  /// For failed: when it runs again; nothing: it was cancelled, or is discarded after its last failure.
  std::optional<Time> retry_at{};
  std::optional<Duration> waited{};  ///< for started: since it was due; nothing: the run is of a response
};

/// Which events a subscriber wants; empty lists: all.
struct EventFilter {
  std::vector<EventType> types{};
  std::vector<std::string> queues{};

  [[nodiscard]] bool admits(const Event& event) const;
};

/// Called one at a time on a thread of the node; must return soon. What it throws is logged.
using EventHandler = std::function<void(const Event&)>;

}  // namespace ordo
