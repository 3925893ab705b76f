#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ordo/job.hpp>
#include <ordo/options.hpp>
#include <ordo/time.hpp>

namespace ordo::domain {

/// The delay before the next run after failure number `count` (0: the first) by the policy's strategy; its
/// function is not asked. `jitter` in [0, 1) is the chance of this failure. Never negative, never above the
/// cap.
Duration retry_in(const RetryPolicy& policy, std::int32_t count, double jitter);

/// What becomes of a job whose run failed.
struct RetryVerdict {
  bool dies = false;                     ///< the payload of dying_payload() goes to the dead set
  Time retry_at{};                       ///< dies: now, when the other payloads start over
  std::optional<std::int32_t> priority;  ///< a change, from the policy's function
  std::optional<Duration> timeout;       ///< likewise
  std::string error;                     ///< the question's, and the function's own if it threw
};

/// Retry or die: the one place that decides (rules: failure). `rules` are those of the job's kind. The
/// policy's function is asked about every failure, also about the one that kills by `max_retries`: the job's
/// own, or those of the rules.
RetryVerdict decide_retry(const QueueOptions& rules, const RetryQuestion& question, double jitter,
                          std::optional<std::int32_t> max_retries = {});

/// Which of the failed run's payloads dies: an index into them in (score, arrival) order. `count` >= 1.
std::size_t dying_payload(std::size_t count, PayloadChoice choice);

}  // namespace ordo::domain
