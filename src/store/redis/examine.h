#pragma once

#include <string_view>
#include <vector>

#include <ordo/finding.hpp>

namespace ordo::store::redis {

/// What an operator should know of a server that answers INFO like this.
std::vector<Finding> examine_server(std::string_view info);

}  // namespace ordo::store::redis
