#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <ordo/error.hpp>

namespace ordo {

using KindsAndKeys = std::set<std::pair<std::string, std::string>>;

/// Error{invalid_argument}: which of the jobs of an id is meant? `call`: what was asked for.
Error several_jobs(std::string_view call, std::string_view queue, const std::string& id,
                   const KindsAndKeys& kinds_and_keys);

}  // namespace ordo
