#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ordo/options.hpp>

#include "server/config_value.h"

namespace ordo::server {

/// Puts the settings of one source into `config`. Throws Error{invalid_argument} at the first that is wrong.
void apply_settings(Config& config, const Table& settings, const Origin& origin);

/// Every key behind its table, for tests: "[node threads". Keys of tables in a value are not among them.
std::vector<std::string> names_of_keys();

/// The key of [node] that a variable ORDO_NODE_... sets: "threads" for "ORDO_NODE_THREADS"; empty if there is
/// none. Throws Error{invalid_argument} for one that looks like a misspelling.
std::string node_key_of_variable(std::string_view variable);

}  // namespace ordo::server
