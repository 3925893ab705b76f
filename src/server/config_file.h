#pragma once

#include <map>
#include <string>

#include <ordo/config.hpp>

namespace ordo::server {

/// The variables of the environment by name.
using Environment = std::map<std::string, std::string>;

/// ordo::load_config with the environment given.
Config load_config(const ConfigSources& sources, const Environment& environment);

}  // namespace ordo::server
