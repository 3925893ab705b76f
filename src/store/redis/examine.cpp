#include "store/redis/examine.h"

#include <charconv>
#include <string>

#include "store/redis/connection.h"

namespace ordo::store::redis {
namespace {

using Level = Finding::Level;

std::uint64_t figure(std::string_view info, std::string_view name) {
  const auto text = server_fact(info, name);
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Finding durability(std::string_view info) {
  if (server_fact(info, "aof_enabled") != "1") {
    return {Level::bad, "the server keeps no append-only file: a restart loses all since its last snapshot",
            "set appendonly yes, and appendfsync always to lose nothing"};
  }
  if (server_fact(info, "aof_last_write_status") != "ok") {
    return {Level::bad, "the server cannot write its append-only file", "make room on its disk; see its log"};
  }
  return {Level::good, "the server keeps an append-only file; a crash loses at most what appendfsync allows",
          ""};
}

Finding room(std::string_view info) {
  const auto used = figure(info, "used_memory");
  const auto most = figure(info, "maxmemory");
  const auto text = "the server uses " + std::to_string(used >> 20) + " MiB";
  if (most == 0) return {Level::good, text + ", and has no maxmemory", ""};
  const auto of = text + " of " + std::to_string(most >> 20) + " MiB";
  if (used < most / 10 * 9) return {Level::good, of, ""};
  return {Level::warning, of,
          "raise maxmemory: pushes are refused when it is reached; jobs that run still end"};
}

}  // namespace

std::vector<Finding> examine_server(std::string_view info) {
  return {{Level::good, "the server is Redis " + std::string(server_fact(info, "redis_version")), ""},
          durability(info),
          room(info)};
}

}  // namespace ordo::store::redis
