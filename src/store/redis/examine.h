#pragma once

#include <string_view>
#include <vector>

#include <ordo/finding.hpp>

namespace ordo::store::redis {

/// What an operator should know of a server that answers INFO like this. `appendfsync` and `output_limits`
/// (client-output-buffer-limit) are its settings; empty: it does not tell.
std::vector<Finding> examine_server(std::string_view info, std::string_view appendfsync,
                                    std::string_view output_limits);

/// Of a cluster of so many masters, one of which answers CLUSTER INFO like this.
Finding examine_cluster(std::string_view cluster_info, std::size_t masters);

}  // namespace ordo::store::redis
