#include "server/config_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ordo/config.hpp>
#include <ordo/error.hpp>

#include "server/config_keys.h"

namespace ordo::server {
namespace config_file_test {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Strategy = RetryPolicy::Strategy;

std::string error_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "";
}

std::string error_of(std::string_view toml) {
  return error_of([&] { parse_config(toml); });
}

/// The only queue of a config.
QueueOptions queue_of(const std::string& keys) {
  return parse_config("[queue.orders]\n" + keys).queues.at(0);
}

NodeOptions node_of(const std::string& keys) { return parse_config("[node]\n" + keys).node; }

TEST(Config, without_settings_has_the_defaults) {
  const Config config = parse_config("");
  EXPECT_EQ(config.store, "sqlite:ordo.db");
  EXPECT_EQ(config.node.threads, 5U);
  EXPECT_TRUE(config.queues.empty());
}

TEST(Config, reads_every_key_of_a_node) {
  EXPECT_EQ(node_of("threads = 7").threads, 7U);
  EXPECT_EQ(node_of("poll_interval = '250ms'").poll_interval, milliseconds{250});
  EXPECT_EQ(node_of("shutdown_timeout = '0s'").shutdown_timeout, seconds{0});
  EXPECT_EQ(node_of("lease = '1s'").lease, seconds{1});
  EXPECT_EQ(node_of("log = 'json'").log, LogFormat::json);
  EXPECT_EQ(node_of("log_level = 'off'").log_level, LogLevel::off);
  EXPECT_EQ(node_of("start_job = 'info'").start_job, LogLevel::info);
  EXPECT_EQ(node_of("done_job = 'off'").done_job, LogLevel::off);
  EXPECT_EQ(node_of("fail_job = 'error'").fail_job, LogLevel::error);
  EXPECT_EQ(node_of("scheduler = 'strict'").scheduler, SchedulerKind::strict);
  EXPECT_EQ(node_of("scheduler = 'weighted'").scheduler, SchedulerKind::weighted);
  EXPECT_EQ(node_of("splitter = 'auto'").splitter, SplitterKind::automatic);
  EXPECT_EQ(node_of("splitter = 'static'").splitter, SplitterKind::by_node);
  const NodeOptions second = node_of("splitter = 'node'\nnode_number = 1\nnode_count = 2");
  EXPECT_EQ(second.splitter, SplitterKind::by_node);
  EXPECT_EQ(second.node_number, 1U);
  EXPECT_EQ(second.node_count, 2U);
  EXPECT_EQ(node_of("payload_cache = 1024").payload_cache, 1024U);
  EXPECT_EQ(node_of("payload_cache = '64MiB'").payload_cache, 64U << 20);
}

TEST(Config, reads_every_key_of_a_queue) {
  EXPECT_EQ(queue_of("shards = 65536").shards, 65536U);
  EXPECT_EQ(queue_of("batch_size = 100").batch_size, 100U);
  EXPECT_EQ(queue_of("max_retries = 0").max_retries, 0);
  EXPECT_EQ(queue_of("max_crashes = 1").max_crashes, 1);
  EXPECT_EQ(queue_of("affinity = 'shard'").affinity, Affinity::shard);
  EXPECT_EQ(queue_of("key_order = 'exclusive'").key_order, KeyOrder::exclusive);
  EXPECT_EQ(queue_of("payloads = 'last'").payloads, PayloadChoice::last);
  EXPECT_FALSE(queue_of("payloads = 'last'").equal_payloads) << "it follows from that";
  EXPECT_EQ(queue_of("equal_payloads = 'oldest'").equal_payloads, EqualPayloads::oldest);
  EXPECT_EQ(queue_of("kind.b.equal_payloads = 'newest'").kinds.at(0).equal_payloads, EqualPayloads::newest);
  EXPECT_EQ(queue_of("threads = 2").threads, 2U);
  EXPECT_FALSE(queue_of("").threads);
  EXPECT_EQ(queue_of("timeout = '90m'").timeout, minutes{90});
  EXPECT_EQ(queue_of("max_payload = 8_388_608").max_payload, 8U << 20);
  EXPECT_NE(error_of("[queue.a]\nmax_payload = 8388609"), "");
  EXPECT_EQ(queue_of("max_dead = 5").max_dead, 5U);
  EXPECT_EQ(queue_of("dead_ttl = '1d'").dead_ttl, hours{24});
  EXPECT_EQ(queue_of("").keep, Duration{});
  EXPECT_EQ(queue_of("keep = '24h'").keep, hours{24});
  EXPECT_EQ(queue_of("keep_bytes = '1GiB'").keep_bytes, 1U << 30);
  EXPECT_NE(error_of("[queue.a]\nkeep_bytes = 1000"), "");
  EXPECT_TRUE(queue_of("keep_payloads = true").keep_payloads);
  EXPECT_EQ(queue_of("kind.b.keep = '1m'").kinds.at(0).keep, minutes{1});
  EXPECT_NE(error_of("[queue.a.kind.b]\nkeep_bytes = '1GiB'"), "");
  EXPECT_EQ(queue_of("order = 'priority'").order, DueOrder::priority);
  EXPECT_EQ(queue_of("granularity = '1s'").granularity, seconds{1});
  EXPECT_EQ(queue_of("command = ['python3', 'worker.py']").execution.command,
            (std::vector<std::string>{"python3", "worker.py"}));
  EXPECT_EQ(queue_of("library = 'libshop.so'").execution.library, "./libshop.so");
}

TEST(Config, reads_every_retry_strategy) {
  EXPECT_EQ(queue_of("retry = { strategy = 'default' }").retry.strategy, Strategy::standard);
  EXPECT_EQ(queue_of("retry = { strategy = 'none' }").retry.strategy, Strategy::none);
  const RetryPolicy fixed = queue_of("retry = { strategy = 'fixed', delay = '1s', jitter = 0.5 }").retry;
  EXPECT_EQ(fixed.strategy, Strategy::fixed);
  EXPECT_EQ(fixed.delay, seconds{1});
  EXPECT_EQ(fixed.jitter, 0.5);
  EXPECT_EQ(queue_of("retry = { strategy = 'linear' }").retry.delay, seconds{10});
  const RetryPolicy growing = queue_of("retry = { strategy = 'exponential', factor = 3, cap = '1h' }").retry;
  EXPECT_EQ(growing.strategy, Strategy::exponential);
  EXPECT_EQ(growing.factor, 3);
  EXPECT_EQ(growing.cap, hours{1});
  const RetryPolicy list = queue_of("retry = { strategy = 'list', delays = ['1s', '1m'] }").retry;
  EXPECT_EQ(list.delays, (std::vector<Duration>{seconds{1}, minutes{1}}));
}

TEST(Config, reads_kinds_of_a_queue) {
  const QueueOptions queue = queue_of(
      "max_retries = 9\n[queue.orders.kind.charge]\nmax_retries = 1\ncommand = ['charge']\n"
      "retry = { strategy = 'none' }\n[queue.orders.kind.'a.b']\nbatch_size = 2\ntimeout = '1s'\npayloads = "
      "'first'");
  ASSERT_EQ(queue.kinds.size(), 2U);
  EXPECT_EQ(queue.kinds[0].kind, "charge");
  EXPECT_EQ(queue.kinds[0].max_retries, 1);
  EXPECT_EQ(queue.kinds[0].execution.command, std::vector<std::string>{"charge"});
  EXPECT_EQ(queue.kinds[0].retry->strategy, Strategy::none);
  EXPECT_FALSE(queue.kinds[0].batch_size);
  EXPECT_EQ(queue.kinds[1].kind, "a.b");
  EXPECT_EQ(queue.kinds[1].batch_size, 2U);
  EXPECT_EQ(queue.kinds[1].timeout, seconds{1});
  EXPECT_EQ(queue.kinds[1].payloads, PayloadChoice::first);
  EXPECT_EQ(queue.max_retries, 9);
}

TEST(Config, keeps_queues_in_the_order_of_the_file) {
  const auto names = [](std::string_view toml) {
    std::string all;
    for (const auto& queue : parse_config(toml).queues) all += queue.name + ' ';
    return all;
  };
  EXPECT_EQ(names("[queue.z]\n[queue.a]\n[queue.m]\n"), "z a m ");
  EXPECT_EQ(names("queue = { z = {}, a = {}, m = { shards = 1 } }"), "z a m ");
  EXPECT_EQ(names("[queue.z.kind.one]\n[queue.a]\n[queue.z]\nshards = 2"), "z a ");
  EXPECT_EQ(names("queue.z.shards = 1\nqueue.b = {}\nqueue.a.shards = 2"), "z b a ");
}

TEST(Config, says_what_to_use_instead_of_on_block) {
  const auto error = error_of("[queue.orders]\n\non_block = 'strict'");
  EXPECT_NE(error.find("on_block is gone"), std::string::npos) << error;
  EXPECT_NE(error.find("limit = 1 or a common key"), std::string::npos) << error;
  EXPECT_NE(error.find("3"), std::string::npos) << "the line: " << error;
}

TEST(Config, refuses_numbers_out_of_range_with_the_line) {
  EXPECT_EQ(error_of("[queue.orders]\n\nshards = 0"),
            "ordo.toml:3: shards = 0 is out of range; use 1 to 65536");
  EXPECT_EQ(error_of("[node]\nthreads = 0"), "ordo.toml:2: threads = 0 is out of range; use 1 to 10000");
  EXPECT_EQ(error_of("[node]\nthreads = '5'"), "ordo.toml:2: threads needs a whole number, 1 to 10000");
  EXPECT_NE(error_of("queue.a.shards = 65537"), "");
  EXPECT_NE(error_of("queue.a.batch_size = 0"), "");
  EXPECT_NE(error_of("queue.a.max_retries = -1"), "");
  EXPECT_NE(error_of("queue.a.max_retries = 1.5"), "");
  EXPECT_NE(error_of("queue.a.max_crashes = 0"), "");
  EXPECT_NE(error_of("queue.a.threads = 0"), "");
  EXPECT_NE(error_of("queue.a.retry = { strategy = 'fixed', jitter = 2 }"), "");
  EXPECT_NE(error_of("queue.a.retry = { strategy = 'exponential', factor = nan }"), "");
  EXPECT_NE(error_of("node.payload_cache = -1"), "");
  EXPECT_NE(error_of("node.payload_cache = '99999999999999GiB'"), "");
}

/// The keys of a table, each with a value that it does not take.
struct WrongValue {
  std::string key, value;
  std::string inner = key;  ///< what the message names
};
struct WrongValues {
  std::string section;
  std::vector<WrongValue> values;
};

const std::vector<WrongValue> kWrongOfKinds = {
    {"batch_size", "0"},
    {"max_retries", "-1"},
    {"max_crashes", "0"},
    {"payloads", "'some'"},
    {"timeout", "'0s'"},
    {"retry", "{ strategy = 'often' }", "strategy"},
    {"retry", "{ strategy = 'list' }"},
    {"windows", "[{ start = '05:00' }]"},
    {"windows", "[{ start = '05:00', end = '05:00' }]"},
    {"windows", "[{ start = '05:00', end = '25:00' }]", "end"},
    {"windows", "[{ start = '05:00', end = '07:00', days = ['moonday'] }]", "days"},
    {"windows", "[{ start = '05:00', end = '07:00', tz = 'Mars/Base' }]"},
    {"finish_by", "1"},
    {"finish_by", "true"},
    {"min_remaining", "'-1s'"},
    {"expires", "'0s'"},
    {"on_expire", "'die'"},
    {"weight", "0"},
    {"lock", "'nonsense'"},
    {"unique", "{ by = 'n' }"},
    {"keep", "'-1s'"},
    {"keep_payloads", "'yes'"},
    {"command", "[]"},
    {"command", R"(["a\u0000b"])"},
    {"library", "''"},
    {"library", R"("a\u0000b")"},
};

const std::string kSha256(64, 'a');

const WrongValues kWrongValues[] = {
    {"", {{"store", "''"}, {"store", "'mysql://h/d'"}, {"store", "'sqlite:a.db?mode=9'"}}},
    {"[node]",
     {{"threads", "0"},
      {"poll_interval", "'0s'"},
      {"shutdown_timeout", "'-1s'"},
      {"lease", "'1ms'"},
      {"lease", "'366d'"},
      {"log", "'xml'"},
      {"log_level", "'loud'"},
      {"start_job", "'loud'"},
      {"done_job", "'loud'"},
      {"fail_job", "'loud'"},
      {"scheduler", "'random'"},
      {"splitter", "'random'"},
      {"node_number", "1"},
      {"node_count", "2"},
      {"payload_cache", "'much'"},
      {"listen", "'0.0.0.0:80'"},
      {"listen", "'example.com:80'"}}},
    {"[web]",
     {{"tokens", "[{ name = 'ci', role = 'viewer' }]", "sha256"},
      {"tokens", "[{ name = 'ci', role = 'root', sha256 = '' }]", "role"},
      {"tokens", "[{ name = 'No Name', role = 'viewer', sha256 = '" + kSha256 + "' }]", "name"},
      {"tokens", "[{ name = 'ci', role = 'viewer', sha256 = 'abc' }]", "sha256"},
      {"tokens", "[{ name = 'ci', role = 'viewer', sha256 = '" + kSha256 + "', queues = [] }]", "queues"},
      {"tls_cert", "'only.crt'", "tls_key"},
      {"tls_key", "'only.key'", "tls_cert"},
      {"behind_proxy", "true", "tokens"},
      {"read_only", "'yes'"},
      {"redact", "['card']"},
      {"hide_payloads", "1"},
      {"public_url", "'jobs.example.com'"}}},
    {"[cli]", {{"tz", "'Berlin'"}, {"tz", "''"}}},
    {"[queue.a]", kWrongOfKinds},
    {"[queue.a.kind.b]", kWrongOfKinds},
    {"[queue.a]",
     {{"shards", "0"},
      {"affinity", "'node'"},
      {"key_order", "'loose'"},
      {"threads", "0"},
      {"group", "'No Name'"},
      {"equal_payloads", "'last'"},
      {"scheduler_weight", "0"},
      {"max_payload", "0"},
      {"max_dead", "0"},
      {"dead_ttl", "'0s'"},
      {"order", "'random'"},
      {"granularity", "'0s'"},
      {"response_ttl", "'-1s'"},
      {"keep_bytes", "1"},
      {"kind", "1"},
      {"limit", "0"},
      {"oversize", "'wait'"},
      {"hold", "'run'"},
      {"partition", "'region'"},
      {"partition_limit", "0"},
      {"shares", "{ east = 0 }", "east"},
      {"shares", "{ east = 50 }"},
      {"borrow", "1"},
      {"borrow", "true"},
      {"rate", "{ per = '1s' }"},
      {"rate", "{ limit = 1, per = '32d' }"},
      {"rate", "{ limit = 1, burst = 2 }"},
      {"rate", "{ limit = 1, each = 'partition' }"},
      {"limits", "['none']"},
      {"reserve_after", "'-1s'"},
      {"critical_limit", "0"},
      {"lock_name", "'No Name'"},
      {"lock_name", "'other'"},
      {"lock_slots", "0"},
      {"lock_span", "'ever'"}}},
    {"[limit.crm]",
     {{"limit", "0"}, {"rate", "{ limit = 0 }", "limit"}, {"rate", "{ limit = 1, per = '32d' }"}}},
    {"[periodic.nightly]\nqueue = 'orders'",
     {{"cron", "'soon'"}, {"cron", "'0 0 30 2 *'"}, {"every", "'1ms'"}, {"every", "'1500ms'"}, {"tz", "1"}}},
    {"[periodic.nightly]\nqueue = 'orders'\ncron = '0 5 * * *'",
     {{"every", "'1h'"},
      {"tz", "'Mars/Base'"},
      {"payload", "2026-01-01"},
      {"kind", "'" + std::string(256, 'k') + "'"},
      {"key", "'" + std::string(256, 'k') + "'"},
      {"priority", "'high'"},
      {"missed", "'some'"},
      {"overlap", "'wait'"}}},
    {"[periodic.nightly]\nevery = '1h'", {{"queue", "'No Name'"}}},
    {"[source]\n[queue.a]\n[source.web]\nqueue = 'a'\nqueues = ['default']", {{"type", "'kafka'"}}},
    {"[source]\n[queue.a]\n[source.web]\ntype = 'sidekiq'\nqueue = 'a'\nqueues = ['default']",
     {{"url", "'http://localhost'"}, {"url", "'redis://localhost/x'"}, {"dialect", "'delayed_job'"}}},
    {"[source]\n[queue.a]\n[source.web]\ntype = 'sidekiq'\nurl = 'redis://localhost'\nqueue = 'a'",
     {{"queues", "[]"}, {"queues", "['x', 'x']"}, {"queues", "'x'"}}},
    {"[source]\n[queue.a]\n[source.web]\ntype = 'sidekiq'\nurl = 'redis://localhost'\nqueues = ['default']",
     {{"queue", "'b'"}}},
    {"[source]\n[queue.a]\n[source.web]\ntype = 'sidekiq'\nurl = 'redis://localhost'\nqueues = "
     "['default']\nqueue = "
     "'a'",
     {{"heartbeat", "1"},
      {"stats", "'yes'"},
      {"allow_stop", "true"},
      {"mirror_dead", "'yes'"},
      {"retries", "'resque'"},
      {"retries", "'sidekiq'", "key_order"},
      {"ahead", "0"},
      {"map", "[{ queue = 'a' }]", "class"},
      {"map", "[{ class = 'A', queue = 'b' }]", "queue"},
      {"map", "[{ class = 'A', id = '0' }]", "pointer"},
      {"map", "[{ class = 'A', unique = '/0' }]", "rule"},
      {"map", "[{ class = 'A', pointer = '/0' }]", "unknown key"}}},
};

TEST(Config, what_is_unique_is_not_retried_by_sidekiq) {
  const std::string source =
      "\n[source.web]\ntype = 'sidekiq'\nurl = 'redis://localhost'\nqueues = ['default']\nqueue = 'a'\n"
      "retries = 'sidekiq'\n";
  const std::string loose = "[queue.a]\nkey_order = 'exclusive'\n";
  const std::string map = "map = [{ class = 'A', kind = 'b' }]";
  EXPECT_EQ(error_of(loose + source + map), "");
  EXPECT_NE(error_of(loose + "unique = { by = 'id' }" + source).find("unique rule"), std::string::npos);
  const auto kind = loose + "[queue.a.kind.b]\nunique = { by = 'id' }" + source;
  EXPECT_EQ(error_of(kind), "");
  EXPECT_NE(error_of(kind + map).find("kind 'b'"), std::string::npos) << error_of(kind + map);
}

TEST(Config, a_wrong_value_of_any_key_is_refused_with_its_line) {
  std::set<std::string> seen;
  for (const auto& [section, values] : kWrongValues) {
    for (const auto& [key, value, inner] : values) {
      const auto above = section.empty() ? "" : section + "\n";
      const auto line = 1 + std::ranges::count(above, '\n');
      const auto why = error_of(above + key + " = " + value + "\n");
      EXPECT_EQ(why.find("ordo.toml:" + std::to_string(line) + ": "), 0U)
          << key << " = " << value << ": " << why;
      EXPECT_NE(why.find(inner), std::string::npos) << key << " = " << value << ": " << why;
      seen.insert(section.substr(0, section.find_first_of(".]")) + " " + key);
    }
  }
  for (const auto& name : names_of_keys()) EXPECT_TRUE(seen.contains(name)) << name;
}

TEST(Config, what_only_the_whole_shows_is_told_with_the_line_of_its_key) {
  EXPECT_EQ(error_of("[queue.a]\nshards = 2\nlock = 'nonsense'"),
            "ordo.toml:3: lock is 'nonsense'; it takes \"payload\", \"id\", \"key\" or a JSON pointer like "
            "\"/user/id\"");
  EXPECT_EQ(error_of("[queue.a]\nwindows = [\n  { start = '05:00', end = '07:00' },\n"
                     "  { start = '05:00', end = '07:00', tz = 'Mars/Base' },\n]")
                .find("ordo.toml:4: windows: tz names the time zone 'Mars/Base'"),
            0U);
  EXPECT_EQ(error_of("[queue.a]\nlimit = 5\npartition = '/r'\nshares = { east = 60, west = 60 }")
                .find("ordo.toml:4: shares are 120 percent"),
            0U);
  EXPECT_EQ(error_of("[queue.a]\n[queue.a.kind.b.retry]\nstrategy = 'fixed'\ndelay = '-1s'")
                .find("ordo.toml:4: delay"),
            0U);
  EXPECT_EQ(error_of("store = 'memory:'\n[limit.crm]").find("ordo.toml:2: "), 0U);
  const auto flag = error_of([] { load_config({.set = {"queue.a.shards=2", "queue.a.lock=nonsense"}}, {}); });
  EXPECT_EQ(flag.find("-o queue.a.lock=nonsense: lock is"), 0U) << flag;
  EXPECT_EQ(error_of([] {
              load_config({}, {{"ORDO_NODE_LEASE", "366d"}});
            }).find("ORDO_NODE_LEASE: lease is"),
            0U);
}

TEST(Config, wants_units_on_durations) {
  EXPECT_EQ(error_of("[node]\nlease = 10"),
            "ordo.toml:2: lease needs a duration with a unit, like \"250ms\", \"30s\" or \"24h\"");
  EXPECT_EQ(error_of("[node]\nlease = '10'").find("ordo.toml:2: lease: "), 0U)
      << error_of("[node]\nlease = '10'");
  EXPECT_EQ(error_of("[node]\nlease = '100ms'"),
            "ordo.toml:2: lease = \"100ms\" is too short; use at least \"1s\"");
  EXPECT_NE(error_of("queue.a.timeout = '0s'"), "");
  EXPECT_NE(error_of("queue.a.timeout = '-1s'"), "");
  EXPECT_NE(error_of("queue.a.timeout = 07:32:00"), "");
  EXPECT_NE(error_of("queue.a.timeout = '99999999999999999999h'"), "");
  for (const char* key : {"node.poll_interval", "node.shutdown_timeout", "queue.a.timeout"}) {
    EXPECT_EQ(error_of(std::string(key) + " = '1000000h'"), "") << key;
  }
}

TEST(Config, names_the_nearest_key_for_an_unknown_one) {
  EXPECT_EQ(error_of("\n[queue.orders]\nshard = 3"),
            "ordo.toml:3: unknown key 'shard' in [queue.orders]; did you mean 'shards' or 'shares'?");
  EXPECT_EQ(error_of("stroe = 'x'"),
            "ordo.toml:1: unknown key 'stroe' in the top level; did you mean 'store'?");
  EXPECT_EQ(error_of("[nodes]\nthreads = 1"),
            "ordo.toml:1: unknown key 'nodes' in the top level; did you mean 'node'?");
  EXPECT_EQ(error_of("[node]\npoll = '1s'"),
            "ordo.toml:2: unknown key 'poll' in [node]; did you mean 'poll_interval'?");
  EXPECT_NE(error_of("[queue.a]\nretry = { strategy = 'fixed', dealy = '1s' }").find("did you mean 'delay'"),
            std::string::npos);
  EXPECT_NE(error_of("[queue.a.kind.b]\nmax_retry = 1").find("did you mean 'max_retries'"),
            std::string::npos);
}

TEST(Config, reads_every_key_of_a_schedule) {
  const auto of = [](const std::string& keys) {
    return parse_config("[periodic.nightly]\nqueue = 'orders'\n" + keys).periodic.at(0);
  };
  const PeriodicOptions expected{.name = "nightly",
                                 .queue = "orders",
                                 .cron = "0 5 * * mon-fri",
                                 .tz = "Europe/Moscow",
                                 .payload = R"({"a":1})",
                                 .kind = "sum",
                                 .key = "k",
                                 .priority = -7,
                                 .missed = Missed::all};
  EXPECT_EQ(of("cron = '0 5 * * mon-fri'\ntz = 'Europe/Moscow'\npayload = '{ \"a\": 1 }'\nkind = 'sum'\n"
               "key = 'k'\npriority = -7\nmissed = 'all'"),
            expected);
  EXPECT_EQ(of("every = '15m'\nmissed = 'skip'").every, minutes{15});
  EXPECT_EQ(of("every = '15m'\nmissed = 'once'").missed, Missed::once);
  EXPECT_EQ(of("every = '15m'").overlap, Overlap::skip);
  EXPECT_EQ(of("every = '15m'\noverlap = 'queue'").overlap, Overlap::queue);
  const auto payload = [&](const std::string& written) {
    return of("every = '1h'\npayload = " + written).payload;
  };
  EXPECT_EQ(payload("'plain text'"), "plain text");
  EXPECT_EQ(payload("''"), "");
  EXPECT_EQ(payload("42"), "42");
  EXPECT_EQ(payload("true"), "true");
  EXPECT_EQ(payload("[1, 2.5, 'a\"b']"), R"([1,2.5,"a\"b"])");
  EXPECT_EQ(payload("{ b = { c = [] }, a = false }"), R"({"b":{"c":[]},"a":false})");
  EXPECT_EQ(payload("{ \"$base64\" = 'AAE=' }"), std::string("\0\1", 2));
}

TEST(Config, refuses_schedules_that_cannot_be_kept) {
  const auto error = [](const std::string& keys) { return error_of("[periodic.nightly]\n" + keys); };
  EXPECT_EQ(error("every = '1h'"), "ordo.toml:1: [periodic.nightly] needs queue: the one that gets its jobs");
  EXPECT_NE(error("queue = 'q'").find("needs cron"), std::string::npos);
  EXPECT_NE(error("queue = 'q'\ncron = '* *'").find("has 2 fields"), std::string::npos);
  EXPECT_NE(error("queue = 'q'\nevery = '1h'\npayload = 2026-01-01").find("write it as text"),
            std::string::npos);
  EXPECT_NE(error_of("[periodic.Nightly]\nqueue = 'q'").find("cannot name a schedule"), std::string::npos);
  Config config;
  config.periodic.push_back({.name = "a", .queue = "q", .every = hours{1}});
  validate(config);
  config.periodic[0].payload.assign(16'385, 'x');
  EXPECT_NE(error_of([&] { validate(config); }).find("16384"), std::string::npos);
  config.periodic[0].payload.clear();
  config.periodic.push_back(config.periodic[0]);
  EXPECT_NE(error_of([&] { validate(config); }).find("twice"), std::string::npos);
}

TEST(Config, reads_what_is_unique) {
  const auto config = parse_config(
      "[queue.a]\nunique = { by = '/n', scope = 'period', period = '5m', on_conflict = 'ignore' }\n"
      "[queue.a.kind.b]\nunique = { by = 'id', on_conflict = 'throttle' }");
  EXPECT_EQ(config.queues[0].unique,
            (Unique{"/n", UniqueScope::period, std::chrono::minutes{5}, OnConflict::ignore}));
  EXPECT_EQ(config.queues[0].kinds[0].unique,
            (Unique{"id", UniqueScope::period, std::chrono::hours{1}, OnConflict::throttle}));
  EXPECT_NE(error_of("[queue.a]\nunique = { by = 'n' }").find("JSON pointer"), std::string::npos);
  EXPECT_NE(error_of("[queue.a]\nunique = { scope = 'period', on_conflict = 'merge' }").find("queued"),
            std::string::npos);
  EXPECT_NE(error_of("[queue.a]\nunique = 1").find("unique"), std::string::npos);
  EXPECT_NE(error_of("[queue.a]\nunique = { by = 'id', period = '1h' }").find("scope = \"period\""),
            std::string::npos);  // it would say nothing
  EXPECT_EQ(parse_config("[queue.a]\nunique = { by = 'id', period = '1h', on_conflict = 'debounce' }")
                .queues[0]
                .unique->period,
            std::chrono::hours{1});
}

TEST(Config, refuses_keys_of_later_versions) {
  EXPECT_EQ(error_of("[queue.orders]\nurl = 'https://x'"),
            "ordo.toml:2: 'url' in [queue.orders] is not supported yet; leave it out");
  EXPECT_NE(error_of("[queue.a]\nthrottler = 1").find("not supported yet"), std::string::npos);
  EXPECT_NE(error_of("[node]\nmax_memory = 1").find("not supported yet"), std::string::npos);
}

TEST(Config, refuses_unknown_words) {
  EXPECT_EQ(error_of("[queue.a]\naffinity = 'keys'"),
            "ordo.toml:2: affinity cannot be \"keys\"; use one of key, shard");
  EXPECT_EQ(error_of("[node]\nlog = true"), "ordo.toml:2: log needs a text in quotes");
}

TEST(Config, refuses_names_that_no_queue_may_have) {
  EXPECT_EQ(error_of("[queue.Orders]"),
            "ordo.toml:1: 'Orders' cannot name a queue; use 1 to 64 of a-z, 0-9, '_' and '-'");
  EXPECT_NE(error_of("[queue.'']"), "");
  EXPECT_NE(error_of("[queue." + std::string(65, 'a') + "]"), "");
  EXPECT_EQ(error_of("[queue." + std::string(64, 'a') + "]"), "");
}

TEST(Config, refuses_what_contradicts_itself) {
  EXPECT_EQ(error_of("[queue.a]\ncommand = ['x']\nlibrary = 'y'"),
            "ordo.toml:3: [queue.a] has both command and library; keep one of them");
  EXPECT_NE(error_of("[queue.a.kind.a]\nbatch_size = 1").find("the queue's own"), std::string::npos);
  EXPECT_NE(error_of("[queue.a.kind.b]\nshards = 1").find("belongs to the whole queue"), std::string::npos);
  EXPECT_NE(error_of("[queue.a]\nretry = { delay = '1s' }").find("needs a strategy"), std::string::npos);
  EXPECT_NE(error_of("[queue.a]\nretry = { strategy = 'list' }").find("needs delays"), std::string::npos);
  EXPECT_NE(error_of("[queue.a]\nretry = 'none'").find("like retry = { strategy = \"none\" }"),
            std::string::npos);
  EXPECT_NE(error_of("[queue.a]\nretry = { strategy = 'none', factor = 2 }")
                .find("2: factor has no effect with retry strategy \"none\", which takes nothing else"),
            std::string::npos);
  EXPECT_NE(
      error_of("[queue.a]\nretry = { strategy = 'fixed', factor = 2 }").find("takes delay, cap, jitter"),
      std::string::npos);
  EXPECT_NE(error_of("[node]\nsplitter = 'node'\nnode_number = 2\nnode_count = 2").find("0 to 1"),
            std::string::npos);
  EXPECT_NE(error_of("[node]\nnode_count = 2").find("splitter"), std::string::npos);
}

TEST(Config, refuses_what_has_another_shape) {
  EXPECT_EQ(error_of("queue = 5"), "ordo.toml:1: queue is a table of settings, not a value");
  EXPECT_EQ(error_of("[queue]\norders = 5"),
            "ordo.toml:2: [queue.orders] is a table of settings, not a value");
  EXPECT_NE(error_of("[[queue]]\nname = 'a'"), "");
  EXPECT_NE(error_of("store = ''"), "");
  EXPECT_NE(error_of("queue.a.command = 'python3 worker.py'"), "");
  EXPECT_NE(error_of("queue.a.command = []"), "");
  EXPECT_NE(error_of("queue.a.command = ['x', 1]"), "");
  EXPECT_NE(error_of("queue.a.retry = 'none'"), "");
}

TEST(Config, says_where_the_text_is_no_toml) {
  EXPECT_EQ(error_of("store = \"a\"\nnode = [").find("ordo.toml:2: this is no TOML: "), 0U);
  EXPECT_NE(error_of("store = 'a'\nstore = 'b'"), "");
  EXPECT_NE(error_of("\xff\xfe"), "");
  EXPECT_EQ(error_of(std::string_view("\n[\0\0.a]", 7)).find("ordo.toml:2: "), 0U);
  EXPECT_EQ(error_of("[|").find("ordo.toml:1: "), 0U);  // toml++ asserts
  EXPECT_EQ(error_of("node = 9é").find("ordo.toml:1: "), 0U);
}

TEST(Config, paths_of_a_file_are_relative_to_the_file) {
  const auto store = [](std::string_view toml, const std::string& name) {
    return parse_config(toml, name).store;
  };
  EXPECT_EQ(store("store = 'sqlite:jobs.db'", "conf/ordo.toml"), "sqlite:conf/jobs.db");
  EXPECT_EQ(store("store = 'sqlite:../jobs.db'", "conf/ordo.toml"), "sqlite:jobs.db");
  EXPECT_EQ(store("store = 'sqlite:/var/jobs.db'", "conf/ordo.toml"), "sqlite:/var/jobs.db");
  EXPECT_EQ(store("store = 'memory:'", "conf/ordo.toml"), "memory:");
  EXPECT_EQ(store("", "/etc/ordo.toml"), "sqlite:/etc/ordo.db");
  EXPECT_EQ(store("", "ordo.toml"), "sqlite:ordo.db");
  const auto queue =
      parse_config("queue.a.library = './a.so'\nqueue.b.command = ['./run', './x']", "conf/o.toml").queues;
  EXPECT_EQ(queue[0].execution.library, "conf/a.so");
  EXPECT_EQ(queue[1].execution.command, (std::vector<std::string>{"conf/run", "./x"}));
}

TEST(Config, environment_beats_defaults_and_flags_beat_both) {
  const Environment environment = {
      {"ORDO_STORE", "sqlite:env.db"}, {"ORDO_NODE_THREADS", "8"}, {"ORDO_NODE_LOG", "json"}};
  const Config plain = load_config({}, environment);
  EXPECT_EQ(plain.store, "sqlite:env.db");
  EXPECT_EQ(plain.node.threads, 8U);
  EXPECT_EQ(plain.node.log, LogFormat::json);
  const Config flagged =
      load_config({.store = "sqlite:flag.db", .set = {"node.threads=9", "store=sqlite:o.db"}}, environment);
  EXPECT_EQ(flagged.store, "sqlite:flag.db");
  EXPECT_EQ(flagged.node.threads, 9U);
}

TEST(Config, flags_set_any_key) {
  const Config config = load_config(
      {.set = {"queue.orders.shards=8", "queue.orders.affinity=shard", "queue.orders.retry.strategy=fixed",
               "queue.orders.retry.delay=5s", "queue.orders.command=[\"./a\", \"b=c\"]",
               "queue.orders.kind.charge.max_retries = 2", "queue.orders.shards=9", "node.lease=20s"}},
      {});
  ASSERT_EQ(config.queues.size(), 1U);
  const QueueOptions& orders = config.queues[0];
  EXPECT_EQ(orders.shards, 9U);
  EXPECT_EQ(orders.affinity, Affinity::shard);
  EXPECT_EQ(orders.retry.strategy, Strategy::fixed);
  EXPECT_EQ(orders.retry.delay, seconds{5});
  EXPECT_EQ(orders.execution.command, (std::vector<std::string>{"./a", "b=c"}));
  EXPECT_EQ(orders.kinds.at(0).max_retries, 2);
  EXPECT_EQ(config.node.lease, seconds{20});
}

TEST(Config, names_the_flag_or_variable_that_is_wrong) {
  const auto flag = [](const std::string& text) {
    return error_of([&] { load_config({.set = {text}}, {}); });
  };
  EXPECT_EQ(flag("node.threads=0"), "-o node.threads=0: threads = 0 is out of range; use 1 to 10000");
  EXPECT_EQ(flag("node.thread=1"),
            "-o node.thread=1: unknown key 'thread' in [node]; did you mean 'threads'?");
  EXPECT_EQ(flag("node"), "-o node: write it as key=value, like queue.orders.shards=8");
  EXPECT_NE(flag(""), "");
  EXPECT_NE(flag("=1"), "");
  EXPECT_NE(flag("node.threads\n[queue.x]\ny=1"), "");
  EXPECT_NE(flag("node.threads=1\n[queue.x]"), "");
  const auto variable = [](const std::string& name, const std::string& text) {
    return error_of([&] { load_config({}, {{name, text}}); });
  };
  EXPECT_EQ(variable("ORDO_NODE_THREADS", "x"),
            "ORDO_NODE_THREADS: threads needs a whole number, 1 to 10000");
  EXPECT_EQ(variable("ORDO_NODE_THREDS", "1"),
            "ORDO_NODE_THREDS: no key of [node] has this name; did you mean 'threads'?");
  EXPECT_EQ(variable("ORDO_NODE_SERVICE_HOST", "10.0.0.1"), "");
  EXPECT_EQ(variable("ORDO_NODE_THREADS", ""), "");
}

TEST(Config, a_file_that_was_named_must_be_there) {
  EXPECT_EQ(error_of([] {
              load_config({.file = "no/such.toml"}, {});
            }).find("cannot read the config no/such.toml: "),
            0U);
  EXPECT_NE(error_of([] { load_config({}, {{"ORDO_CONFIG", "no/such.toml"}}); }), "");
  EXPECT_NE(error_of([] { load_config({.file = "/"}, {}); }).find("folder"), std::string::npos);
  EXPECT_EQ(error_of([] { load_config({}, {{"ORDO_CONFIG", ""}}); }), "");
}

TEST(ConfigBounds, a_key_has_few_parts) {
  std::string deep = "a";
  for (int i = 0; i < 20'000; ++i) deep += ".a";
  for (const auto& text : {deep + " = 1", "\n[" + deep + "]", "[queue.orders]\nretry = {" + deep + " = 1}"}) {
    EXPECT_NE(error_of(text).find("a key has more than 32 parts"), std::string::npos) << text.substr(0, 40);
  }
  const auto dotted = deep.substr(0, 2001);  // as long as a store may be
  EXPECT_EQ(error_of("\n\n" + deep + " = 1"), "ordo.toml:3: a key has more than 32 parts");
  EXPECT_NE(error_of([&] { load_config({.set = {deep + "=1"}}, {}); }), "");
  const auto config =
      parse_config("# " + deep + "\nstore = \"sqlite:" + dotted + "\" # '" + deep +
                   "\n[queue.orders]\ncommand = ['" + deep + "', \"\"\"\n" + deep + "\"\"\"]");
  EXPECT_EQ(config.queues.at(0).execution.command.at(1), deep) << "a text may have any number of dots";
  EXPECT_EQ(load_config({.set = {"store=sqlite:" + dotted}}, {}).store, "sqlite:" + dotted);
}

TEST(ConfigBounds, a_file_has_4_mib) {
  const std::string why = error_of([] { load_config({.file = "/dev/zero"}, {}); });
  EXPECT_EQ(why, "cannot read the config /dev/zero: it has more than 4 MiB");
}

TEST(ConfigBounds, many_queues_are_read_in_no_more_time_each) {
  const auto cost = [](std::size_t queues) {
    std::string text;
    for (std::size_t i = 0; i < queues; ++i)
      text += "[queue.queue-of-many-" + std::to_string(i) + "]\nshards = 1\n";
    const auto start = std::clock();
    EXPECT_EQ(parse_config(text).queues.size(), queues);
    return static_cast<double>(std::clock() - start);
  };
  const auto few = cost(5'000);
  EXPECT_LT(cost(50'000), 40 * few);
}

// What a file may say, a program may, too, and nothing else.
TEST(ConfigBounds, of_a_file_and_of_a_program_are_the_same) {
  struct Setting {
    const char* toml;
    void (*set)(Config&, std::uint32_t);
  };
  const Setting settings[] = {
      {"[node]\nthreads", [](Config& config, std::uint32_t value) { config.node.threads = value; }},
      {"shards", [](Config& config, std::uint32_t value) { config.queues[0].shards = value; }},
      {"batch_size", [](Config& config, std::uint32_t value) { config.queues[0].batch_size = value; }},
      {"threads", [](Config& config, std::uint32_t value) { config.queues[0].threads = value; }},
      {"scheduler_weight",
       [](Config& config, std::uint32_t value) { config.queues[0].scheduler_weight = value; }},
      {"max_dead", [](Config& config, std::uint32_t value) { config.queues[0].max_dead = value; }},
      {"max_payload", [](Config& config, std::uint32_t value) { config.queues[0].max_payload = value; }},
      {"max_crashes",
       [](Config& config, std::uint32_t value) {
         config.queues[0].max_crashes = static_cast<std::int32_t>(value);
       }},
  };
  for (const auto& setting : settings) {
    const std::string_view toml = setting.toml;
    for (const std::uint32_t value :
         {0U, 1U, 2U, 1'000U, 1'001U, 10'000U, 10'001U, 65'536U, 65'537U, 100'000U, 100'001U, 1U << 20,
          8U << 20, (8U << 20) + 1, 1'000'000'000U, 1'000'000'001U, 2'147'483'647U}) {
      Config config = parse_config("[queue.orders]\n");
      setting.set(config, value);
      const auto by_program = error_of([&] { validate(config); });
      const auto by_file = error_of((toml.starts_with('[') ? "" : "[queue.orders]\n") + std::string(toml) +
                                    " = " + std::to_string(value));
      EXPECT_EQ(by_file.empty(), by_program.empty())
          << toml << " = " << value << ": " << by_file << by_program;
    }
  }
}

TEST(ConfigBounds, a_message_quotes_little_of_what_was_given) {
  const std::string long_text(100'000, 'x');
  for (const auto& text :
       {"store = 1\n" + long_text + " = 1", "[queue." + long_text + "]", "[node]\nlog = '" + long_text + "'",
        "[node]\n" + long_text + " = 1", "[node]\npayload_cache = '" + long_text + "'",
        "[node]\nlease = '" + long_text + "'", "[node]\nlease = '" + std::string(100'000, '1') + "x'",
        "[queue.orders.kind." + long_text + "]", "[queue.orders]\n" + long_text + " = 1",
        "[queue.orders.kind.k]\n" + long_text + " = 1", "[queue.orders]\ngroup = '" + long_text + "'",
        "x = " + long_text}) {
    const auto why = error_of(text);
    EXPECT_NE(why, "") << text.substr(0, 40);
    EXPECT_LT(why.size(), 900U) << why.substr(0, 200);
  }
  EXPECT_LT(error_of([&] { load_config({.set = {long_text}}, {}); }).size(), 900U);
  EXPECT_LT(error_of([&] { load_config({.set = {long_text + "=1"}}, {}); }).size(), 900U);
}

}  // namespace config_file_test
}  // namespace ordo::server
