// Which sources there are and which one wins: flag, environment, file, default.

#include "server/config_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include <ordo/error.hpp>

#include "base/shorten.h"
#include "server/config_keys.h"
#include "server/config_paths.h"
#include "server/config_value.h"

namespace ordo {
namespace server {
namespace {

constexpr std::string_view kNodePrefix = "ORDO_NODE_";
constexpr std::size_t kMostBytes = 4 << 20;
constexpr const char* kDefaultFile = "ordo.toml";

/// As a shell gives it: whoever writes the other end has it open, and ends.
bool is_open_already(std::string_view path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

std::string read_file(const std::string& path) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::invalid_argument, "cannot read the config " + shortened(path) + ": " + why);
  };
  std::error_code is_not;
  if (std::filesystem::is_directory(path, is_not)) fail("it is a folder; name a file");
  if (std::filesystem::is_fifo(path, is_not) && !is_open_already(path))
    fail("it is a pipe, which nobody may write; name a file, or use /dev/stdin or <(...) of the shell");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::string(std::strerror(errno)) + "; is the path right?");
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) fail(std::strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostBytes) fail("it has more than " + std::to_string(kMostBytes >> 20) + " MiB");
  return text;
}

std::optional<std::string> file_of(const ConfigSources& sources, const Environment& environment) {
  if (sources.file) return sources.file;
  const auto variable = environment.find("ORDO_CONFIG");
  if (variable != environment.end() && !variable->second.empty()) return variable->second;
  std::error_code error;
  if (std::filesystem::exists(kDefaultFile, error) || error) return kDefaultFile;
  return {};
}

Origin origin_of_file(const std::string& path) {
  const auto folder =
      is_open_already(path) ? std::filesystem::path() : std::filesystem::path(path).parent_path();
  return {.name = path, .is_file = true, .directory = folder};
}

void apply_text(Config& config, std::string_view text, const Origin& origin) {
  config.store =
      resolve_store(config.store, origin);  // leaving the key out is the same as writing its default
  apply_settings(config, parse_toml(text, origin), origin);
}

void apply_environment(Config& config, const Environment& environment) {
  for (const auto& [variable, text] : environment) {
    const Origin origin{.name = variable};
    if (variable == "ORDO_STORE" && !text.empty()) {
      apply_settings(config, {{"store", 0, {text, 0}}}, origin);
    }
    if (!std::string_view(variable).starts_with(kNodePrefix) || text.empty()) continue;
    const std::string key = node_key_of_variable(variable);
    if (key.empty()) continue;
    apply_settings(config, {{"node", 0, {Table{{key, 0, parse_loose_value(text)}}, 0}}}, origin);
  }
}

void apply_flags(Config& config, const ConfigSources& sources) {
  for (const std::string& assignment : sources.set) {
    const Origin origin{.name = "-o " + shortened(assignment)};
    apply_settings(config, parse_assignment(assignment, origin), origin);
  }
  if (sources.store) apply_settings(config, {{"store", 0, {*sources.store, 0}}}, {.name = "--store"});
}

/// What no single key can say. `name`: of the file, for the message.
void check_whole(const Config& config, const std::string& name) {
  const NodeOptions& node = config.node;
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::invalid_argument, name + ": " + what);
  };
  if (node.node_number >= node.node_count) {
    fail("[node] node_number = " + std::to_string(node.node_number) + " is out of range; with node_count = " +
         std::to_string(node.node_count) + " the numbers are 0 to " + std::to_string(node.node_count - 1));
  }
  if (node.splitter == SplitterKind::automatic && node.node_count > 1) {
    fail("[node] node_count has no effect with splitter = \"auto\"; set splitter = \"node\"");
  }
}

Environment environment_of_process() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (!text.starts_with("ORDO_") || equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

}  // namespace

Config load_config(const ConfigSources& sources, const Environment& environment) {
  Config config;
  const auto file = file_of(sources, environment);
  if (file) apply_text(config, read_file(*file), origin_of_file(*file));
  apply_environment(config, environment);
  apply_flags(config, sources);
  check_whole(config, file.value_or("config"));
  return config;
}

}  // namespace server

Config load_config(const ConfigSources& sources) {
  return server::load_config(sources, server::environment_of_process());
}

Config parse_config(std::string_view toml, const std::string& name) {
  Config config;
  server::apply_text(config, toml, server::origin_of_file(name));
  server::check_whole(config, name);
  return config;
}

}  // namespace ordo
