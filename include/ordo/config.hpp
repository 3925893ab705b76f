#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/options.hpp>

namespace ordo {

/// What a caller adds to the environment and the config file; it beats both.
struct ConfigSources {
  std::optional<std::string> file{};   ///< must exist; unset: $ORDO_CONFIG, else ./ordo.toml if there is one
  std::optional<std::string> store{};  ///< beats `set`
  std::vector<std::string> set{};      ///< "queue.orders.shards=8", later ones win
};

/// Reads the settings of this process (docs/config.md): `sources`, else the environment (ORDO_STORE,
/// ORDO_NODE_...), else the config file, else the defaults. Queues are in the order of the file.
///
/// Relative paths in a file become relative to the file; others stay relative to the working directory.
/// Throws Error{invalid_argument}: "ordo.toml:12: what is wrong, and what to do".
Config load_config(const ConfigSources& sources = {});

/// The same for one text without environment; `name` stands for the file in messages, and its folder in
/// paths.
Config parse_config(std::string_view toml, const std::string& name = "ordo.toml");

}  // namespace ordo
