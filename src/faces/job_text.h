#pragma once

#include <string_view>

#include <ordo/job.hpp>

namespace ordo {

/// Sets when a job starts first: RFC 3339, Unix seconds, or "+10s" from the push. Throws
/// Error{invalid_argument}.
void set_start(NewJob& job, std::string_view text);

/// When a job expires, written likewise; "+1h" counts from its start. Throws Error{invalid_argument}.
void set_expiry(NewJob& job, std::string_view text);
/// A time, written likewise. Throws Error{invalid_argument}.
Time expiry_of(std::string_view text);
/// A moment to look at, written likewise, or as "-1h" for an hour ago. Throws Error{invalid_argument}.
Time moment_of(std::string_view text);
/// A number above 0 with at most six digits behind the point. Throws Error{invalid_argument}.
Decimal weight_of(std::string_view text);

/// One job from a JSON object with the keys id, key, kind, payload, score, run_at, priority, timeout, expires
/// and windows. Throws Error{invalid_argument} for anything else.
NewJob parse_job(std::string_view json);

}  // namespace ordo
