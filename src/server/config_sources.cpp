#include "server/config_sources.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/name.h"
#include "base/shorten.h"
#include "server/config_key.h"
#include "server/config_tables.h"

namespace ordo::server {
namespace {

constexpr std::string_view kLaterSource[] = {"brokers", "group", "responses", "topics"};

const std::vector<Key<SourceOptions>>& source_keys() {
  static const auto all = [] {
    auto own = keys_of<SourceOptions>();
    own.push_back({"type", [](SourceOptions&, const Reading& value) {
                     constexpr std::pair<std::string_view, int> kTypes[] = {{"sidekiq", 0}};
                     value.one_of<int>(kTypes);
                   }});
    return own;
  }();
  return all;
}

}  // namespace

void read_sources(Config& config, const Reading& value) {
  const Origin& origin = value.origin();
  for (const Member& member : value.table("[source.rails]")) {
    if (!is_name(member.name)) {
      fail_at(origin, member.line,
              fmt::format("'{}' cannot name a source; use 1 to 64 of a-z, 0-9, '_' and '-'",
                          shortened(member.name)));
    }
    const std::string section = fmt::format("[source.{}]", member.name);
    const Reading reading(section, member.line, member.value, origin);
    const Table& table = reading.table();
    if (origin.is_file && !has_member(table, "type"))
      reading.fail(section + " needs a type, like type = \"sidekiq\"");
    auto source = std::ranges::find(config.sources, member.name, &SourceOptions::name);
    if (source == config.sources.end())
      source = config.sources.insert(source, SourceOptions{.name = member.name});
    read_members(*source, table, source_keys(), kLaterSource, section, origin);
  }
}

std::vector<std::string_view> names_of_source_keys() {
  std::vector<std::string_view> names;
  for (const auto& key : source_keys()) names.push_back(key.name);
  return names;
}

}  // namespace ordo::server
