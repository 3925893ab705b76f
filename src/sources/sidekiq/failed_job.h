#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/options.hpp>
#include <ordo/sidekiq.hpp>

#include "domain/records.h"

namespace ordo::sources {

/// A failure of a job, as it is written into the job.
struct JobFailure {
  FailureKind kind = FailureKind::handler;
  std::string_view error;
  std::int64_t count = 0;  ///< of failures before this one
  Time at{};
};

/// How often the job has failed before its last failure: with those that its origin counts. `here`: its
/// retry_count in Ordo.
std::int64_t failures_before(const sidekiq::Job& job, std::int32_t here);

/// `json` with the fields of a failure, as Sidekiq's own middleware writes them.
Json with_failure(Json json, const sidekiq::Job& job, const JobFailure& failure);

/// A JSON string, also of what is not UTF-8.
Json json_of_text(std::string_view text);

struct Retry {
  std::string bytes;
  std::string score;  ///< when it is due: Unix seconds
};

/// What Sidekiq (or Verk, for a job of its format) would put into its set `retry` when the job with this
/// payload has failed as `state` says: its fields, and when it is due by its formula. `retries_left`: those
/// it had when it was taken, for one that says nothing of them. Nothing: the payload is no job of the
/// source's dialect. Pure: equal ones give equal retries.
std::optional<Retry> write_retry(const SourceOptions& source, std::string_view id, std::string_view payload,
                                 const domain::JobState& state,
                                 std::optional<std::int32_t> retries_left = {});

}  // namespace ordo::sources
