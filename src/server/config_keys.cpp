// Every key of the config: its name, its range and where its value goes. docs/config.md tells what they mean.
//
// A key of a later version is refused as such, never ignored.

#include "server/config_keys.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ordo/error.hpp>

#include "base/nearest.h"
#include "base/shorten.h"
#include "domain/option_bounds.h"
#include "server/config_key.h"
#include "server/config_paths.h"
#include "server/config_sources.h"
#include "server/config_tables.h"

namespace ordo::server {
namespace {

constexpr std::string_view kLaterTop[] = {"limits", "listen",  "lock",  "locks",
                                          "log",    "sources", "token", "tokens"};
constexpr std::string_view kLaterNode[] = {"max_memory", "read_only", "token", "tokens"};
constexpr std::string_view kLaterLimit[] = {"scope"};
constexpr std::string_view kLaterQueue[] = {"concurrency", "critical",  "max_memory", "periodic",
                                            "priority",    "process",   "processes",  "scope",
                                            "span",        "throttler", "url"};

void refuse_two_executions(const Table& table, const std::string& section, const Origin& origin) {
  const auto library = std::ranges::find(table, "library", &Member::name);
  if (library == table.end() || !has_member(table, "command")) return;
  fail_at(origin, library->line, section + " has both command and library; keep one of them");
}

void refuse_on_block(const Table& table, const Origin& origin) {
  const auto found = std::ranges::find(table, "on_block", &Member::name);
  if (found == table.end()) return;
  fail_at(origin, found->line,
          "on_block is gone: other jobs pass a job without room, and reserve_after keeps room for it; for a "
          "strict order use limit = 1 or a common key");
}

template <class Options>
const std::vector<Key<Options>>& keys() {
  static const auto all = keys_of<Options>();
  return all;
}

const std::vector<Key<QueueOptions>>& queue_keys();

void read_kind(KindOptions& kind, const Table& table, const std::string& section, const Origin& origin) {
  const auto is_in = [](const auto& all, const std::string& name) {
    return std::ranges::any_of(all, [&](const auto& key) { return key.name == name; });
  };
  for (const Member& member : table) {
    if (is_in(keys<KindOptions>(), member.name) || !is_in(queue_keys(), member.name)) continue;
    fail_at(origin, member.line,
            fmt::format("'{}' belongs to the whole queue, not to a kind; move it out of {}", member.name,
                        section));
  }
  refuse_two_executions(table, section, origin);
  read_members(kind, table, keys<KindOptions>(), kLaterQueue, section, origin);
}

void read_kinds(QueueOptions& queue, const Reading& value) {
  for (const Member& member : value.table()) {
    const std::string section = fmt::format("[queue.{}.kind.{}]", queue.name, member.name);
    if (member.name.empty() || member.name.size() > kLongestKind) {
      fail_at(value.origin(), member.line, "the name of a kind has 1 to 255 bytes");
    }
    if (member.name == queue.name) {
      fail_at(
          value.origin(), member.line,
          fmt::format("kind '{}' is the queue's own; put its keys into [queue.{}]", member.name, queue.name));
    }
    auto kind = std::ranges::find(queue.kinds, member.name, &KindOptions::kind);
    if (kind == queue.kinds.end()) kind = queue.kinds.insert(kind, KindOptions{.kind = member.name});
    read_kind(*kind, Reading(section, member.line, member.value, value.origin()).table(), section,
              value.origin());
  }
}

const std::vector<Key<QueueOptions>>& queue_keys() {
  static const auto all = [] {
    auto own = keys_of<QueueOptions>();
    own.push_back({"kind", read_kinds});
    return own;
  }();
  return all;
}

void check_queue_name(const Member& member, const Origin& origin) {
  if (is_name(member.name)) return;
  fail_at(
      origin, member.line,
      fmt::format("'{}' cannot name a queue; use 1 to 64 of a-z, 0-9, '_' and '-'", shortened(member.name)));
}

void read_queues(Config& config, const Reading& value) {
  const Origin& origin = value.origin();
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < config.queues.size(); ++i) places.emplace(config.queues[i].name, i);
  for (const Member& member : value.table()) {
    check_queue_name(member, origin);
    const std::string section = fmt::format("[queue.{}]", member.name);
    const auto [place, is_new] = places.try_emplace(member.name, config.queues.size());
    if (is_new) config.queues.push_back({.name = member.name});
    const Table& table = Reading(section, member.line, member.value, origin).table();
    refuse_two_executions(table, section, origin);
    refuse_on_block(table, origin);
    read_members(config.queues[place->second], table, queue_keys(), kLaterQueue, section, origin);
  }
}

void read_limits(Config& config, const Reading& value) {
  for (const Member& member : value.table()) {
    const std::string section = fmt::format("[limit.{}]", member.name);
    auto limit = std::ranges::find(config.limits, member.name, &NamedLimit::name);
    if (limit == config.limits.end()) limit = config.limits.insert(limit, NamedLimit{.name = member.name});
    read_members(*limit, Reading(section, member.line, member.value, value.origin()).table(),
                 keys<NamedLimit>(), kLaterLimit, section, value.origin());
  }
}

// Names and bounds are those of validate(); here a mistake is told with its line.
void read_periodic(Config& config, const Reading& value) {
  const Origin& origin = value.origin();
  for (const Member& member : value.table(R"([periodic.nightly])")) {
    if (!is_name(member.name)) {
      fail_at(origin, member.line,
              fmt::format("'{}' cannot name a schedule; use 1 to 64 of a-z, 0-9, '_' and '-'",
                          shortened(member.name)));
    }
    const std::string section = fmt::format("[periodic.{}]", member.name);
    const Reading reading(section, member.line, member.value, origin);
    const Table& table = reading.table();
    auto schedule = std::ranges::find(config.periodic, member.name, &PeriodicOptions::name);
    if (schedule == config.periodic.end())
      schedule = config.periodic.insert(schedule, PeriodicOptions{.name = member.name});
    read_members(*schedule, table, keys<PeriodicOptions>(), {}, section, origin);
    if (!origin.is_file) continue;
    if (schedule->queue.empty()) reading.fail(section + " needs queue: the one that gets its jobs");
    const auto tz = std::ranges::find(table, "tz", &Member::name);
    if (schedule->every && tz != table.end())
      fail_at(origin, tz->line, "tz has no effect with every, which counts from 1970 on; leave it out");
  }
}

const std::vector<Key<Config>>& top_keys() {
  static const std::vector<Key<Config>> all = {
      {"store",
       [](Config& config, const Reading& value) {
         if (value.text().empty()) value.fail("store is empty; write a URL, like \"sqlite:ordo.db\"");
         config.store = resolve_store(value.url(), value.origin());
       }},
      {"node",
       [](Config& config, const Reading& value) {
         read_members(config.node, value.table(), keys<NodeOptions>(), kLaterNode, "[node]", value.origin());
       }},
      {"web",
       [](Config& config, const Reading& value) {
         read_members(config.web, value.table(), keys<WebOptions>(), {}, "[web]", value.origin());
       }},
      {"cli",
       [](Config& config, const Reading& value) {
         read_members(config.cli, value.table(), keys<CliOptions>(), {}, "[cli]", value.origin());
       }},
      {"queue", read_queues},
      {"limit", read_limits},
      {"periodic", read_periodic},
      {"source", read_sources},
  };
  return all;
}

}  // namespace

void apply_settings(Config& config, const Table& settings, const Origin& origin) {
  read_members(config, settings, top_keys(), kLaterTop, origin.is_file ? "the top level" : "the config",
               origin);
}

std::vector<std::string> names_of_keys() {
  std::vector<std::string> names;
  const auto add = [&](std::string_view table, const auto& keys) {
    for (const auto& key : keys) names.push_back(fmt::format("{} {}", table, key.name));
  };
  add("[node", keys<NodeOptions>());
  add("[web", keys<WebOptions>());
  add("[cli", keys<CliOptions>());
  add("[queue", queue_keys());
  add("[limit", keys<NamedLimit>());
  add("[periodic", keys<PeriodicOptions>());
  for (const auto name : names_of_source_keys()) names.push_back(fmt::format("[source {}", name));
  names.emplace_back(" store");
  return names;
}

std::string node_key_of_variable(std::string_view variable) {
  static constexpr std::string_view kPrefix = "ORDO_NODE_";
  std::string wanted(variable.substr(kPrefix.size()));
  std::ranges::transform(wanted, wanted.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<std::string> known;
  for (const auto& key : keys<NodeOptions>()) known.emplace_back(key.name);
  if (std::ranges::find(known, wanted) != known.end()) return wanted;
  // Others may be somebody else's, like those that a cluster makes for a service named ordo-node.
  if (nearest_names(wanted, known).empty()) return {};
  fail_at({.name = std::string(variable)}, 0,
          "no key of [node] has this name; " + nearest_hint(wanted, known));
}

}  // namespace ordo::server
