#include "server/config_tables.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shorten.h"
#include "base/window_text.h"
#include "domain/option_bounds.h"
#include "domain/unique.h"
#include "server/config_key.h"
#include "server/config_paths.h"

namespace ordo::server {

using std::chrono::milliseconds;

namespace {

void refuse_what_has_no_effect(RetryPolicy::Strategy strategy, const Table& table, const Origin& origin) {
  using Strategy = RetryPolicy::Strategy;
  struct Keys {
    std::string_view name;
    std::vector<std::string_view> taken;
  };
  static const std::map<Strategy, Keys> keys = {
      {Strategy::standard, {"default", {}}},
      {Strategy::none, {"none", {}}},
      {Strategy::fixed, {"fixed", {"delay", "cap", "jitter"}}},
      {Strategy::linear, {"linear", {"delay", "cap", "jitter"}}},
      {Strategy::exponential, {"exponential", {"delay", "factor", "cap", "jitter"}}},
      {Strategy::list, {"list", {"delays", "cap", "jitter"}}}};
  const auto& [name, taken] = keys.at(strategy);
  for (const Member& member : table) {
    if (member.name == "strategy" || std::ranges::find(taken, member.name) != taken.end()) continue;
    fail_at(origin, member.line,
            fmt::format("{} has no effect with retry strategy \"{}\", which takes {}; leave it out, or use "
                        "another strategy",
                        member.name, name,
                        taken.empty() ? "nothing else" : fmt::to_string(fmt::join(taken, ", "))));
  }
}

}  // namespace

void put(RetryPolicy& to, const domain::Own& /*values*/, const Reading& value) {
  static const auto keys = keys_of<RetryPolicy>();
  const Table& table = value.table("retry = { strategy = \"none\" }");
  if (value.origin().is_file && !has_member(table, "strategy")) {
    value.fail("retry needs a strategy, like retry = { strategy = \"fixed\", delay = \"10s\" }");
  }
  read_members(to, table, keys, {}, "retry", value.origin());
  if (value.origin().is_file) refuse_what_has_no_effect(to.strategy, table, value.origin());
  if (to.strategy == RetryPolicy::Strategy::list && to.delays.empty()) {
    value.fail(R"(retry strategy "list" needs delays, like delays = ["10s", "1m", "1h"])");
  }
}

void put(std::vector<Window>& to, const domain::Own& /*values*/, const Reading& value) {
  static const auto keys = keys_of<Window>();
  to.clear();
  for (const auto& one : value.list(R"([{ start = "05:00", end = "07:00", tz = "Europe/Moscow" }])")) {
    const Table& table = one.table(R"({ start = "05:00", end = "07:00" })");
    if (!has_member(table, "start") || !has_member(table, "end"))
      value.fail("windows: a window needs start and end");
    read_members(to.emplace_back(), table, keys, {}, "a window", value.origin());
    if (const auto why = why_no_window(to.back()); !why.empty())
      one.fail("windows: one cannot be kept: " + why);
  }
}

void put(Unique& to, const domain::Own& /*values*/, const Reading& value) {
  static const auto keys = keys_of<Unique>();
  const Table& table = value.table(R"({ by = "id", scope = "queued_or_running" })");
  Unique unique;
  read_members(unique, table, keys, {}, "unique", value.origin());
  if (unique.on_conflict == OnConflict::throttle) {
    if (has_member(table, "scope") && unique.scope != UniqueScope::period)
      value.fail("on_conflict = \"throttle\" is for a period: write scope = \"period\", or leave it out");
    unique.scope = UniqueScope::period;
  }
  if (has_member(table, "period") && unique.scope != UniqueScope::period &&
      unique.on_conflict != OnConflict::debounce) {
    value.fail(
        "a unique key has a period with scope = \"period\" or on_conflict = \"debounce\" alone: write one of "
        "them, or leave period out");
  }
  if (const auto why = domain::why_no_unique(unique); !why.empty()) value.fail("unique is no rule: " + why);
  to = std::move(unique);
}

void put(RateLimit& to, const domain::Own& /*values*/, const Reading& value) {
  static const auto keys = keys_of<RateLimit>();
  const Table& table = value.table(R"({ limit = 50, per = "1s" })");
  if (!has_member(table, "limit")) value.fail("rate needs a limit, like { limit = 50, per = \"1s\" }");
  to = {};
  read_members(to, table, keys, {}, "a rate", value.origin());
}

void put(std::map<std::string, std::uint32_t>& to, const domain::Own& /*values*/, const Reading& value) {
  to.clear();
  for (const Member& member : value.table("{ east = 60, west = 40 }")) {
    const Reading percent(shortened(member.name), member.line, member.value, value.origin());
    to[member.name] = static_cast<std::uint32_t>(percent.whole(1, 100));
  }
}

void put(std::string& to, const domain::RedisUrl& /*values*/, const Reading& value) {
  if (!value.text().starts_with("redis"))
    value.fail("url is the address of a Redis server, like \"redis://localhost\"");
  to = value.url();
}

void put(std::vector<SourceMap>& to, const domain::Own& /*values*/, const Reading& value) {
  static const auto keys = keys_of<SourceMap>();
  constexpr const char* kExample = R"({ class = "ShipWorker", queue = "orders", key = "/0" })";
  to.clear();
  for (const auto& one : value.list(fmt::format("[{}]", kExample)))
    read_members(to.emplace_back(), one.table(kExample), keys, {}, "a map", value.origin());
}

void put(std::vector<AccessToken>& to, const domain::Own& /*values*/, const Reading& value) {
  static const auto keys = keys_of<AccessToken>();
  constexpr const char* kExample = R"({ name = "ci", role = "producer", sha256 = "…" })";
  to.clear();
  for (const auto& one : value.list(fmt::format("[{}]", kExample))) {
    const Table& table = one.table(kExample);
    for (const char* needed : {"name", "role", "sha256"}) {
      if (!has_member(table, needed))
        one.fail(fmt::format("tokens: a token needs {}; `ordo token` makes one", needed));
    }
    read_members(to.emplace_back(), table, keys, {}, "a token", value.origin());
  }
}

void put(std::chrono::seconds& to, const domain::Own& /*values*/, const Reading& value) {
  to = value.clock();
}

void put(std::uint8_t& to, const domain::Own& /*values*/, const Reading& value) { to = value.days(); }

void put(std::string& to, const domain::Own& /*values*/, const Reading& value) { to = value.text(); }

void put(std::string& to, const domain::PayloadText& /*values*/, const Reading& value) {
  to = value.payload();
}

void put(std::string& to, const domain::Zone& /*values*/, const Reading& value) {
  if (value.text().empty()) value.fail("tz is empty; names are like \"Europe/Berlin\"");
  to = value.text();
}

void put(std::string& to, const domain::File& /*values*/, const Reading& value) {
  to = resolve_file(value.text(), value.origin());
}

void put(std::vector<std::string>& to, const domain::Texts& values, const Reading& value) {
  to.clear();
  for (const auto& text : value.list(values.example)) to.push_back(text.text());
}

void put(std::vector<Duration>& to, const domain::Own& /*values*/, const Reading& value) {
  to = value.durations();
}

void put(Execution& to, const domain::Command& /*values*/, const Reading& value) {
  to = {value.command(), {}};
  std::string& program = to.command.front();
  program = resolve_program(program, value.origin());
}

void put(Execution& to, const domain::Library& /*values*/, const Reading& value) {
  if (value.text().empty()) value.fail("library is empty; write the path of a shared library");
  to = {{}, resolve_library(value.text(), value.origin())};
}

}  // namespace ordo::server
