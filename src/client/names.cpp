// The names of the public enums, and which events a filter admits.

#include <algorithm>

#include <ordo/admin.hpp>
#include <ordo/client.hpp>
#include <ordo/events.hpp>
#include <ordo/job.hpp>

#include <fmt/format.h>

#include "base/shorten.h"

namespace ordo {

std::string_view to_string(FailureKind kind) {
  switch (kind) {
    case FailureKind::handler:
      return "handler";
    case FailureKind::timeout:
      return "timeout";
    case FailureKind::crash:
      return "crash";
    case FailureKind::response_error:
      return "response_error";
    case FailureKind::lease_lost:
      return "lease_lost";
    case FailureKind::cancelled:
      return "cancelled";
    case FailureKind::expired:
      return "expired";
    case FailureKind::unreadable:
      return "unreadable";
    case FailureKind::invalid_push:
      return "invalid-push";
  }
  return "unknown";
}

std::string_view to_string(JobStatus status) {
  switch (status) {
    case JobStatus::due:
      return "due";
    case JobStatus::scheduled:
      return "scheduled";
    case JobStatus::retrying:
      return "retrying";
    case JobStatus::running:
      return "running";
    case JobStatus::awaiting:
      return "awaiting";
    case JobStatus::dead:
      return "dead";
    case JobStatus::done:
      return "done";
    case JobStatus::discarded:
      return "discarded";
    case JobStatus::cancelled:
      return "cancelled";
    case JobStatus::expired:
      return "expired";
    case JobStatus::failed:
      return "failed";
  }
  return "unknown";
}

std::string_view to_string(QueueState state) {
  switch (state) {
    case QueueState::running:
      return "running";
    case QueueState::pausing:
      return "pausing";
    case QueueState::paused:
      return "paused";
    case QueueState::resharding:
      return "resharding";
  }
  return "unknown";
}

std::string_view to_string(Gate gate) {
  switch (gate) {
    case Gate::time:
      return "time";
    case Gate::pause:
      return "pause";
    case Gate::code:
      return "code";
    case Gate::group:
      return "group";
    case Gate::window:
      return "window";
    case Gate::key:
      return "key";
    case Gate::lock:
      return "lock";
    case Gate::limit:
      return "limit";
    case Gate::rate:
      return "rate";
    case Gate::response:
      return "response";
    case Gate::throttler:
      return "throttler";
    case Gate::suspect:
      return "suspect";
  }
  return "unknown";
}

std::string_view to_string(EventType type) {
  switch (type) {
    case EventType::job_started:
      return "job_started";
    case EventType::job_finished:
      return "job_finished";
    case EventType::job_failed:
      return "job_failed";
    case EventType::job_dead:
      return "job_dead";
    case EventType::job_awaiting:
      return "job_awaiting";
    case EventType::queue_running:
      return "queue_running";
    case EventType::queue_pausing:
      return "queue_pausing";
    case EventType::queue_paused:
      return "queue_paused";
    case EventType::node_up:
      return "node_up";
    case EventType::node_down:
      return "node_down";
    case EventType::shard_moved:
      return "shard_moved";
    case EventType::throttler_failed:
      return "throttler_failed";
  }
  return "unknown";
}

std::string to_string(std::string_view node, const CannotStart& what) {
  return fmt::format("node {} cannot start kind {} of queue '{}': {}", node, in_quotes(what.kind), what.queue,
                     what.why);
}

bool EventFilter::admits(const Event& event) const {
  const auto wants = [](const auto& list, const auto& value) {
    return list.empty() || std::ranges::find(list, value) != list.end();
  };
  return wants(types, event.type) && wants(queues, event.queue);
}

}  // namespace ordo
