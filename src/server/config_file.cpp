// Which sources there are and which one wins: flag, environment, file, default.

#include "server/config_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <ordo/error.hpp>

#include "base/shorten.h"
#include "domain/invalid_option.h"
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

/// What was read, in the order in which it counts.
class Settings {
 public:
  void apply(Config& config, Table settings, const Origin& origin) {
    apply_settings(config, settings, origin);
    applied_.push_back({origin, std::move(settings)});
  }

  /// What no single key can say, and what the keys of a file and of a program have in common.
  void check(const Config& config) const {
    try {
      validate(config);
    } catch (const domain::InvalidOption& error) {  // to add the place
      const auto place = find(error.path());
      if (place.depth == 0) throw;
      fail_at(*place.origin, place.line, error.why());
    }
  }

 private:
  using Path = domain::InvalidOption::Path;
  struct Applied {
    Origin origin;
    Table settings;
  };
  struct Place {
    const Origin* origin = nullptr;
    std::size_t line = 0;
    std::size_t depth = 0;
  };

  /// The key, or else the innermost table around it, where that was written last.
  Place find(const Path& path) const {
    Place best;
    for (const auto& [origin, settings] : applied_) {
      Place place{&origin};
      look_for(path, settings, place);
      if (place.depth > 0 && place.depth >= best.depth) best = place;
    }
    return best;
  }

  static void look_for(const Path& path, const Table& table, Place& place) {
    if (place.depth == path.size()) return;
    const auto member = std::ranges::find(table, path[place.depth], &Member::name);
    if (member == table.end()) return;
    ++place.depth;
    place.line = member->line;
    look_into(path, member->value, place);
  }

  static void look_into(const Path& path, const Value& value, Place& place) {
    if (const auto* table = std::get_if<Table>(&value.data)) look_for(path, *table, place);
    const auto* list = std::get_if<List>(&value.data);
    if (list == nullptr || place.depth == path.size()) return;
    std::size_t index = 0;
    const auto& text = path[place.depth];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc() || end != text.data() + text.size() || index >= list->size()) return;
    ++place.depth;
    place.line = (*list)[index].line;
    look_into(path, (*list)[index], place);
  }

  std::vector<Applied> applied_;
};

void apply_text(Config& config, std::string_view text, const Origin& origin, Settings& settings) {
  config.store =
      resolve_store(config.store, origin);  // leaving the key out is the same as writing its default
  settings.apply(config, parse_toml(text, origin), origin);
}

void apply_environment(Config& config, const Environment& environment, Settings& settings) {
  for (const auto& [variable, text] : environment) {
    const Origin origin{.name = variable};
    if (variable == "ORDO_STORE" && !text.empty()) {
      settings.apply(config, {{"store", 0, {text, 0}}}, origin);
    }
    if (!std::string_view(variable).starts_with(kNodePrefix) || text.empty()) continue;
    const std::string key = node_key_of_variable(variable);
    if (key.empty()) continue;
    settings.apply(config, {{"node", 0, {Table{{key, 0, parse_loose_value(text)}}, 0}}}, origin);
  }
}

void apply_flags(Config& config, const ConfigSources& sources, Settings& settings) {
  for (const std::string& assignment : sources.set) {
    const Origin origin{.name = "-o " + shortened(assignment)};
    settings.apply(config, parse_assignment(assignment, origin), origin);
  }
  if (sources.store) settings.apply(config, {{"store", 0, {*sources.store, 0}}}, {.name = "--store"});
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
  Settings settings;
  const auto file = file_of(sources, environment);
  if (file) apply_text(config, read_file(*file), origin_of_file(*file), settings);
  apply_environment(config, environment, settings);
  apply_flags(config, sources, settings);
  settings.check(config);
  return config;
}

}  // namespace server

Config load_config(const ConfigSources& sources) {
  return server::load_config(sources, server::environment_of_process());
}

Config parse_config(std::string_view toml, const std::string& name) {
  Config config;
  server::Settings settings;
  server::apply_text(config, toml, server::origin_of_file(name), settings);
  settings.check(config);
  return config;
}

}  // namespace ordo
