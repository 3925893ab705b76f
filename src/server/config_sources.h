#pragma once

#include <string_view>
#include <vector>

#include <ordo/options.hpp>

#include "server/config_reading.h"

namespace ordo::server {

/// [source.NAME]. Fails as Reading does.
void read_sources(Config& config, const Reading& value);

std::vector<std::string_view> names_of_source_keys();

}  // namespace ordo::server
