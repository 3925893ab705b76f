// Every key of the config: its name, its range and where its value goes. docs/config.md tells what they mean.
//
// A key of a later version is refused as such, never ignored.

#include "server/config_keys.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ordo/error.hpp>

#include "base/listen_address.h"
#include "base/nearest.h"
#include "base/shorten.h"
#include "base/zone.h"
#include "domain/option_bounds.h"
#include "server/config_key.h"
#include "server/config_paths.h"
#include "server/config_sources.h"
#include "server/config_tables.h"
#include "store/open.h"

namespace ordo::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kLaterTop[] = {"limits", "listen",  "lock",  "locks",
                                          "log",    "sources", "token", "tokens"};
constexpr std::string_view kLaterNode[] = {"max_memory", "read_only", "token", "tokens"};
constexpr std::string_view kLaterLimit[] = {"scope"};
constexpr std::string_view kLaterQueue[] = {"concurrency", "critical",  "max_memory", "periodic",
                                            "priority",    "process",   "processes",  "scope",
                                            "span",        "throttler", "url"};

/// The keys that a queue and a kind share.
template <class Options>
std::vector<Key<Options>> shared_keys() {
  return {
      {"batch_size",
       [](Options& options, const Reading& value) {
         options.batch_size = static_cast<std::uint32_t>(value.whole(1, kMostBatch));
       }},
      {"max_retries",
       [](Options& options, const Reading& value) {
         options.max_retries = static_cast<std::int32_t>(value.whole(0, kMostRetries));
       }},
      {"max_crashes",
       [](Options& options, const Reading& value) {
         options.max_crashes = static_cast<std::int32_t>(value.whole(1, kMostRetries));
       }},
      {"payloads",
       [](Options& options, const Reading& value) {
         options.payloads = value.choice<PayloadChoice>(
             {{"all", PayloadChoice::all}, {"last", PayloadChoice::last}, {"first", PayloadChoice::first}});
       }},
      {"equal_payloads",
       [](Options& options, const Reading& value) {
         options.equal_payloads = value.choice<EqualPayloads>(
             {{"oldest", EqualPayloads::oldest}, {"newest", EqualPayloads::newest}});
       }},
      {"timeout",
       [](Options& options, const Reading& value) { options.timeout = value.duration(milliseconds{1}); }},
      {"retry",
       [](Options& options, const Reading& value) {
         if constexpr (std::is_same_v<Options, KindOptions>) {
           if (!options.retry) options.retry.emplace();
           read_retry(*options.retry, value);
         } else {
           read_retry(options.retry, value);
         }
       }},
      {"windows", [](Options& options, const Reading& value) { options.windows = read_windows(value); }},
      {"finish_by", [](Options& options, const Reading& value) { options.finish_by = value.flag(); }},
      {"min_remaining",
       [](Options& options, const Reading& value) {
         options.min_remaining = value.duration(Duration::zero());
       }},
      {"expires",
       [](Options& options, const Reading& value) { options.expires = value.duration(milliseconds{1}); }},
      {"on_expire",
       [](Options& options, const Reading& value) {
         options.on_expire = value.choice<OnExpire>({{"dead", OnExpire::dead}, {"drop", OnExpire::drop}});
       }},
      {"weight", [](Options& options, const Reading& value) { options.weight = value.decimal(Decimal{}); }},
      {"lock", [](Options& options, const Reading& value) { options.lock = value.text(); }},
      {"unique", [](Options& options, const Reading& value) { options.unique = read_unique(value); }},
      {"keep",
       [](Options& options, const Reading& value) { options.keep = value.duration(Duration::zero()); }},
      {"keep_payloads", [](Options& options, const Reading& value) { options.keep_payloads = value.flag(); }},
      {"command",
       [](Options& options, const Reading& value) {
         options.execution = {value.command(), {}};
         std::string& program = options.execution.command.front();
         program = resolve_program(program, value.origin());
       }},
      {"library",
       [](Options& options, const Reading& value) {
         if (value.text().empty()) value.fail("library is empty; write the path of a shared library");
         options.execution = {{}, resolve_library(value.text(), value.origin())};
       }},
  };
}

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

void read_kind(KindOptions& kind, const Table& table, const std::string& section, const Origin& origin) {
  static const auto keys = shared_keys<KindOptions>();
  static const std::vector<std::string_view> of_queue = {
      "shards",      "affinity",  "key_order",    "threads",       "scheduler_weight", "group",
      "max_payload", "max_dead",  "dead_ttl",     "order",         "granularity",      "kind",
      "limit",       "limits",    "oversize",     "hold",          "partition",        "partition_limit",
      "shares",      "borrow",    "rate",         "reserve_after", "critical_limit",   "lock_name",
      "lock_slots",  "lock_span", "response_ttl", "keep_bytes"};
  for (const Member& member : table) {
    if (std::ranges::find(of_queue, member.name) == of_queue.end()) continue;
    fail_at(origin, member.line,
            fmt::format("'{}' belongs to the whole queue, not to a kind; move it out of {}", member.name,
                        section));
  }
  refuse_two_executions(table, section, origin);
  read_members(kind, table, keys, kLaterQueue, section, origin);
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

// Limits and locks, of the queue as a whole.
std::vector<Key<QueueOptions>> gate_keys() {
  return {
      {"limit", [](QueueOptions& queue, const Reading& value) { queue.limit = value.decimal(Decimal(1)); }},
      {"oversize",
       [](QueueOptions& queue, const Reading& value) {
         queue.oversize = value.choice<Oversize>({{"reject", Oversize::reject}, {"alone", Oversize::alone}});
       }},
      {"hold",
       [](QueueOptions& queue, const Reading& value) {
         queue.hold =
             value.choice<SlotHold>({{"response", SlotHold::response}, {"dispatch", SlotHold::dispatch}});
       }},
      {"partition", [](QueueOptions& queue, const Reading& value) { queue.partition = value.text(); }},
      {"partition_limit",
       [](QueueOptions& queue, const Reading& value) { queue.partition_limit = value.decimal(Decimal(1)); }},
      {"shares", [](QueueOptions& queue, const Reading& value) { queue.shares = read_shares(value); }},
      {"borrow", [](QueueOptions& queue, const Reading& value) { queue.borrow = value.flag(); }},
      {"rate", [](QueueOptions& queue, const Reading& value) { queue.rate = read_rate(value); }},
      {"limits",
       [](QueueOptions& queue, const Reading& value) {
         queue.limits.clear();
         for (const auto& name : value.list(R"(["crm"])")) queue.limits.push_back(name.text());
       }},
      {"reserve_after", [](QueueOptions& queue,
                           const Reading& value) { queue.reserve_after = value.duration(Duration::zero()); }},
      {"critical_limit",
       [](QueueOptions& queue, const Reading& value) { queue.critical_limit = value.decimal(Decimal(1)); }},
      {"lock_name", [](QueueOptions& queue, const Reading& value) { queue.lock_name = value.text(); }},
      {"lock_slots",
       [](QueueOptions& queue, const Reading& value) {
         queue.lock_slots = static_cast<std::uint32_t>(value.whole(1, kMostSlots));
       }},
      {"lock_span",
       [](QueueOptions& queue, const Reading& value) {
         queue.lock_span = value.choice<LockSpan>({{"run", LockSpan::run}, {"response", LockSpan::response}});
       }},
  };
}

void read_group(QueueOptions& queue, const Reading& value) {
  queue.group = value.text();
  if (!is_name(queue.group)) value.fail("group takes a name of 1 to 64 of a-z, 0-9, '_' and '-'");
}

void read_keep_bytes(QueueOptions& queue, const Reading& value) {
  queue.keep_bytes = value.bytes();
  if (queue.keep_bytes < kLeastKeptBytes || queue.keep_bytes > kMostKeptBytes)
    value.fail("keep_bytes is out of 1MiB to 16TiB");
}

std::vector<Key<QueueOptions>> make_queue_keys() {
  auto keys = shared_keys<QueueOptions>();
  const std::vector<Key<QueueOptions>> own = {
      {"shards",
       [](QueueOptions& queue, const Reading& value) {
         queue.shards = static_cast<std::uint32_t>(value.whole(1, kMostShards));
       }},
      {"affinity",
       [](QueueOptions& queue, const Reading& value) {
         queue.affinity = value.choice<Affinity>({{"key", Affinity::key}, {"shard", Affinity::shard}});
       }},
      {"key_order",
       [](QueueOptions& queue, const Reading& value) {
         queue.key_order =
             value.choice<KeyOrder>({{"strict", KeyOrder::strict}, {"exclusive", KeyOrder::exclusive}});
       }},
      {"threads",
       [](QueueOptions& queue, const Reading& value) {
         queue.threads = static_cast<std::uint32_t>(value.whole(1, kMostThreads));
       }},
      {"group", read_group},
      {"scheduler_weight",
       [](QueueOptions& queue, const Reading& value) {
         queue.scheduler_weight = static_cast<std::uint32_t>(value.whole(1, kMostWeight));
       }},
      {"max_payload",
       [](QueueOptions& queue, const Reading& value) {
         queue.max_payload = static_cast<std::uint64_t>(value.whole(1, kLongestPayloadOfAll));
       }},
      {"max_dead",
       [](QueueOptions& queue, const Reading& value) {
         queue.max_dead = static_cast<std::uint64_t>(value.whole(1, kMostDead));
       }},
      {"dead_ttl",
       [](QueueOptions& queue, const Reading& value) { queue.dead_ttl = value.duration(seconds{1}); }},
      {"order",
       [](QueueOptions& queue, const Reading& value) {
         queue.order = value.choice<DueOrder>({{"time", DueOrder::time}, {"priority", DueOrder::priority}});
       }},
      {"granularity", [](QueueOptions& queue,
                         const Reading& value) { queue.granularity = value.duration(microseconds{1}); }},
      {"response_ttl", [](QueueOptions& queue,
                          const Reading& value) { queue.response_ttl = value.duration(Duration::zero()); }},
      {"keep_bytes", read_keep_bytes},
      {"kind", read_kinds},
  };
  keys.insert(keys.end(), own.begin(), own.end());
  const auto gates = gate_keys();
  keys.insert(keys.end(), gates.begin(), gates.end());
  return keys;
}

void check_queue_name(const Member& member, const Origin& origin) {
  if (is_name(member.name)) return;
  fail_at(
      origin, member.line,
      fmt::format("'{}' cannot name a queue; use 1 to 64 of a-z, 0-9, '_' and '-'", shortened(member.name)));
}

const std::vector<Key<QueueOptions>>& queue_keys() {
  static const auto keys = make_queue_keys();
  return keys;
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

const std::vector<Key<NamedLimit>>& limit_keys() {
  static const std::vector<Key<NamedLimit>> keys = {
      {"limit", [](NamedLimit& limit, const Reading& value) { limit.limit = value.decimal(Decimal(1)); }},
      {"rate", [](NamedLimit& limit, const Reading& value) { limit.rate = read_rate(value); }},
  };
  return keys;
}

const std::vector<Key<PeriodicOptions>>& periodic_keys() {
  static const std::vector<Key<PeriodicOptions>> keys = {
      {"queue", [](PeriodicOptions& schedule, const Reading& value) { schedule.queue = value.text(); }},
      {"cron", [](PeriodicOptions& schedule, const Reading& value) { schedule.cron = value.text(); }},
      {"every",
       [](PeriodicOptions& schedule, const Reading& value) { schedule.every = value.duration(kLeastEvery); }},
      {"tz", [](PeriodicOptions& schedule, const Reading& value) { schedule.tz = value.text(); }},
      {"payload",
       [](PeriodicOptions& schedule, const Reading& value) { schedule.payload = value.payload(); }},
      {"kind", [](PeriodicOptions& schedule, const Reading& value) { schedule.kind = value.text(); }},
      {"key", [](PeriodicOptions& schedule, const Reading& value) { schedule.key = value.text(); }},
      {"priority",
       [](PeriodicOptions& schedule, const Reading& value) {
         using Limits = std::numeric_limits<std::int32_t>;
         schedule.priority = static_cast<std::int32_t>(value.whole(Limits::min(), Limits::max()));
       }},
      {"missed",
       [](PeriodicOptions& schedule, const Reading& value) {
         schedule.missed =
             value.choice<Missed>({{"skip", Missed::skip}, {"once", Missed::once}, {"all", Missed::all}});
       }},
      {"overlap",
       [](PeriodicOptions& schedule, const Reading& value) {
         schedule.overlap = value.choice<Overlap>({{"skip", Overlap::skip}, {"queue", Overlap::queue}});
       }},
  };
  return keys;
}

void read_limits(Config& config, const Reading& value) {
  for (const Member& member : value.table()) {
    const std::string section = fmt::format("[limit.{}]", member.name);
    auto limit = std::ranges::find(config.limits, member.name, &NamedLimit::name);
    if (limit == config.limits.end()) limit = config.limits.insert(limit, NamedLimit{.name = member.name});
    read_members(*limit, Reading(section, member.line, member.value, value.origin()).table(), limit_keys(),
                 kLaterLimit, section, value.origin());
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
    read_members(*schedule, table, periodic_keys(), {}, section, origin);
    if (!origin.is_file) continue;
    if (schedule->queue.empty()) reading.fail(section + " needs queue: the one that gets its jobs");
    const auto tz = std::ranges::find(table, "tz", &Member::name);
    if (schedule->every && tz != table.end())
      fail_at(origin, tz->line, "tz has no effect with every, which counts from 1970 on; leave it out");
  }
}

LogLevel level_of(const Reading& value) {
  return value.choice<LogLevel>({{"debug", LogLevel::debug},
                                 {"info", LogLevel::info},
                                 {"warning", LogLevel::warning},
                                 {"error", LogLevel::error},
                                 {"off", LogLevel::off}});
}

const std::vector<Key<NodeOptions>>& node_keys() {
  static const std::vector<Key<NodeOptions>> keys = {
      {"threads",
       [](NodeOptions& node, const Reading& value) {
         node.threads = static_cast<std::uint32_t>(value.whole(1, kMostThreads));
       }},
      {"poll_interval",
       [](NodeOptions& node, const Reading& value) { node.poll_interval = value.duration(milliseconds{1}); }},
      {"shutdown_timeout",
       [](NodeOptions& node, const Reading& value) {
         node.shutdown_timeout = value.duration(Duration::zero());
       }},
      {"lease", [](NodeOptions& node, const Reading& value) { node.lease = value.duration(seconds{1}); }},
      {"log",
       [](NodeOptions& node, const Reading& value) {
         node.log = value.choice<LogFormat>({{"text", LogFormat::text}, {"json", LogFormat::json}});
       }},
      {"log_level", [](NodeOptions& node, const Reading& value) { node.log_level = level_of(value); }},
      {"start_job", [](NodeOptions& node, const Reading& value) { node.start_job = level_of(value); }},
      {"done_job", [](NodeOptions& node, const Reading& value) { node.done_job = level_of(value); }},
      {"fail_job", [](NodeOptions& node, const Reading& value) { node.fail_job = level_of(value); }},
      {"scheduler",
       [](NodeOptions& node, const Reading& value) {
         node.scheduler = value.choice<SchedulerKind>({{"lag", SchedulerKind::lag},
                                                       {"sequential", SchedulerKind::sequential},
                                                       {"strict", SchedulerKind::strict},
                                                       {"weighted", SchedulerKind::weighted}});
       }},
      {"splitter",
       [](NodeOptions& node, const Reading& value) {
         // One node that serves every shard is the first of one.
         node.splitter = value.choice<SplitterKind>({{"auto", SplitterKind::automatic},
                                                     {"static", SplitterKind::by_node},
                                                     {"node", SplitterKind::by_node}});
       }},
      {"node_number",
       [](NodeOptions& node, const Reading& value) {
         node.node_number = static_cast<std::uint32_t>(value.whole(0, kMostNodes - 1));
       }},
      {"node_count",
       [](NodeOptions& node, const Reading& value) {
         node.node_count = static_cast<std::uint32_t>(value.whole(1, kMostNodes));
       }},
      {"payload_cache", [](NodeOptions& node, const Reading& value) { node.payload_cache = value.bytes(); }},
      {"listen",
       [](NodeOptions& node, const Reading& value) {
         if (!parse_listen_address(value.text()))
           value.fail(
               "listen is \"127.0.0.1:PORT\", \"localhost:PORT\", \"[::1]:PORT\", \"auto\" for a free port, "
               "or "
               "another IP address of this machine with a port");
         node.listen = value.text();
       }},
  };
  return keys;
}

const std::vector<Key<AccessToken>>& token_keys() {
  static const std::vector<Key<AccessToken>> keys = {
      {"name", [](AccessToken& token, const Reading& value) { token.name = value.text(); }},
      {"role",
       [](AccessToken& token, const Reading& value) {
         token.role = value.choice<Role>({{"viewer", Role::viewer},
                                          {"operator", Role::operator_},
                                          {"admin", Role::admin},
                                          {"producer", Role::producer},
                                          {"worker", Role::worker},
                                          {"responder", Role::responder}});
       }},
      {"queues",
       [](AccessToken& token, const Reading& value) {
         const auto names = value.list(R"(["orders"])");
         // An empty list would mean all of them.
         if (names.empty()) value.fail("queues is empty; name some, or leave it out for all queues");
         for (const auto& name : names) token.queues.push_back(name.text());
       }},
      {"sha256", [](AccessToken& token, const Reading& value) { token.sha256 = value.text(); }},
  };
  return keys;
}

void read_tokens(WebOptions& web, const Reading& value) {
  constexpr const char* kExample = R"({ name = "ci", role = "producer", sha256 = "…" })";
  web.tokens.clear();
  for (const auto& one : value.list(fmt::format("[{}]", kExample))) {
    const Table& table = one.table(kExample);
    for (const char* needed : {"name", "role", "sha256"}) {
      if (!has_member(table, needed))
        one.fail(fmt::format("tokens: a token needs {}; `ordo token` makes one", needed));
    }
    read_members(web.tokens.emplace_back(), table, token_keys(), {}, "a token", value.origin());
  }
}

const std::vector<Key<WebOptions>>& web_keys() {
  static const std::vector<Key<WebOptions>> keys = {
      {"tokens", read_tokens},
      {"tls_cert", [](WebOptions& web,
                      const Reading& value) { web.tls_cert = resolve_file(value.text(), value.origin()); }},
      {"tls_key", [](WebOptions& web,
                     const Reading& value) { web.tls_key = resolve_file(value.text(), value.origin()); }},
      {"behind_proxy", [](WebOptions& web, const Reading& value) { web.behind_proxy = value.flag(); }},
      {"read_only", [](WebOptions& web, const Reading& value) { web.read_only = value.flag(); }},
      {"redact",
       [](WebOptions& web, const Reading& value) {
         web.redact.clear();
         for (const auto& pointer : value.list(R"(["/card/number"])")) web.redact.push_back(pointer.text());
       }},
      {"hide_payloads", [](WebOptions& web, const Reading& value) { web.hide_payloads = value.flag(); }},
      {"public_url", [](WebOptions& web, const Reading& value) { web.public_url = value.text(); }},
  };
  return keys;
}

const std::vector<Key<CliOptions>>& cli_keys() {
  static const std::vector<Key<CliOptions>> keys = {
      {"tz",
       [](CliOptions& cli, const Reading& value) {
         if (!load_zone(value.text()))
           value.fail(fmt::format("tz: this system has no zone {}; names are like \"Europe/Berlin\"",
                                  in_quotes(value.text())));
         cli.tz = value.text();
       }},
  };
  return keys;
}

void check_store(const Reading& value) {
  try {
    store::check_url(value.text());
  } catch (const Error& error) {  // to add the place
    value.fail(fmt::format("store: {}", error.what()));
  }
}

const std::vector<Key<Config>>& top_keys() {
  static const std::vector<Key<Config>> keys = {
      {"store",
       [](Config& config, const Reading& value) {
         if (value.text().empty()) value.fail("store is empty; write a URL, like \"sqlite:ordo.db\"");
         check_store(value);
         config.store = resolve_store(value.text(), value.origin());
       }},
      {"node",
       [](Config& config, const Reading& value) {
         read_members(config.node, value.table(), node_keys(), kLaterNode, "[node]", value.origin());
       }},
      {"web",
       [](Config& config, const Reading& value) {
         read_members(config.web, value.table(), web_keys(), {}, "[web]", value.origin());
       }},
      {"cli",
       [](Config& config, const Reading& value) {
         read_members(config.cli, value.table(), cli_keys(), {}, "[cli]", value.origin());
       }},
      {"queue", read_queues},
      {"limit", read_limits},
      {"periodic", read_periodic},
      {"source", read_sources},
  };
  return keys;
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
  add("[node", node_keys());
  add("[web", web_keys());
  add("[cli", cli_keys());
  add("[queue", queue_keys());
  add("[limit", limit_keys());
  add("[periodic", periodic_keys());
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
  for (const auto& key : node_keys()) known.emplace_back(key.name);
  if (std::ranges::find(known, wanted) != known.end()) return wanted;
  // Others may be somebody else's, like those that a cluster makes for a service named ordo-node.
  if (nearest_names(wanted, known).empty()) return {};
  fail_at({.name = std::string(variable)}, 0,
          "no key of [node] has this name; " + nearest_hint(wanted, known));
}

}  // namespace ordo::server
