#pragma once

#include <string_view>

#include <ordo/job.hpp>

namespace ordo {

/// A moment to look at: RFC 3339, Unix seconds, "+10s" from now, or "-1h" for an hour ago. Throws
/// Error{invalid_argument}.
Time moment_of(std::string_view text);

/// One job from a JSON object, whose keys are the names of kPushOptions. Throws Error{invalid_argument} for
/// anything else.
NewJob parse_job(std::string_view json);

}  // namespace ordo
