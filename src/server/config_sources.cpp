#include "server/config_sources.h"

#include <algorithm>

#include <fmt/format.h>

#include <ordo/error.hpp>
#include <ordo/sidekiq.hpp>

#include "base/name.h"
#include "base/shorten.h"
#include "domain/option_bounds.h"
#include "server/config_key.h"
#include "store/open.h"

namespace ordo::server {
namespace {

constexpr std::string_view kLaterSource[] = {"brokers", "group", "responses", "topics"};
constexpr const char* kMapExample = R"({ class = "ShipWorker", queue = "orders", key = "/0" })";

void check_source_url(const Reading& value) {
  if (!value.text().starts_with("redis"))
    value.fail("url is the address of a Redis server, like \"redis://localhost\"");
  try {
    store::check_url(value.text());
  } catch (const Error& error) {  // to add the place
    value.fail(fmt::format("url: {}", error.what()));
  }
}

const std::vector<Key<SourceMap>>& map_keys() {
  static const std::vector<Key<SourceMap>> keys = {
      {"class", [](SourceMap& map, const Reading& value) { map.class_name = value.text(); }},
      {"queue", [](SourceMap& map, const Reading& value) { map.queue = value.text(); }},
      {"kind", [](SourceMap& map, const Reading& value) { map.kind = value.text(); }},
      {"id", [](SourceMap& map, const Reading& value) { map.id = value.text(); }},
      {"key", [](SourceMap& map, const Reading& value) { map.key = value.text(); }},
      {"score", [](SourceMap& map, const Reading& value) { map.score = value.text(); }},
      {"lock", [](SourceMap& map, const Reading& value) { map.lock = value.text(); }},
      {"unique", [](SourceMap& map, const Reading& value) { map.unique = value.text(); }},
  };
  return keys;
}

const std::vector<Key<SourceOptions>>& source_keys() {
  static const std::vector<Key<SourceOptions>> keys = {
      {"type",
       [](SourceOptions&, const Reading& value) {
         static_cast<void>(value.choice<int>({{"sidekiq", 0}}));
       }},
      {"url",
       [](SourceOptions& source, const Reading& value) {
         check_source_url(value);
         source.url = value.text();
       }},
      {"dialect",
       [](SourceOptions& source, const Reading& value) {
         source.dialect = value.choice<sidekiq::Dialect>({{"sidekiq", sidekiq::Dialect::sidekiq},
                                                          {"resque", sidekiq::Dialect::resque},
                                                          {"verk", sidekiq::Dialect::verk}});
       }},
      {"queues",
       [](SourceOptions& source, const Reading& value) {
         source.queues.clear();
         for (const auto& name : value.list(R"(["default"])")) source.queues.push_back(name.text());
       }},
      {"queue", [](SourceOptions& source, const Reading& value) { source.queue = value.text(); }},
      {"heartbeat", [](SourceOptions& source, const Reading& value) { source.heartbeat = value.flag(); }},
      {"stats", [](SourceOptions& source, const Reading& value) { source.stats = value.flag(); }},
      {"allow_stop", [](SourceOptions& source, const Reading& value) { source.allow_stop = value.flag(); }},
      {"mirror_dead", [](SourceOptions& source, const Reading& value) { source.mirror_dead = value.flag(); }},
      {"retries",
       [](SourceOptions& source, const Reading& value) {
         source.retries = value.choice<SourceRetries>(
             {{"ordo", SourceRetries::ordo}, {"sidekiq", SourceRetries::sidekiq}});
       }},
      {"ahead",
       [](SourceOptions& source, const Reading& value) {
         source.ahead = static_cast<std::uint64_t>(value.whole(1, kMostAhead));
       }},
      {"map",
       [](SourceOptions& source, const Reading& value) {
         source.map.clear();
         for (const auto& one : value.list(fmt::format("[{}]", kMapExample)))
           read_members(source.map.emplace_back(), one.table(kMapExample), map_keys(), {}, "a map",
                        value.origin());
       }},
  };
  return keys;
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
