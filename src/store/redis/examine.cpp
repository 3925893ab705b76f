#include "store/redis/examine.h"

#include <charconv>
#include <string>

#include "store/limits.h"
#include "store/redis/eviction.h"

namespace ordo::store::redis {
namespace {

using Level = Finding::Level;

Finding durability(std::string_view info, std::string_view appendfsync) {
  if (server_fact(info, "aof_enabled") != "1") {
    return {Level::bad, "the server keeps no append-only file: a restart loses all since its last snapshot",
            "set appendonly yes, and appendfsync always to lose nothing"};
  }
  if (server_fact(info, "aof_last_write_status") != "ok") {
    return {Level::bad, "the server cannot write its append-only file", "make room on its disk; see its log"};
  }
  const std::string kept = "the server keeps an append-only file; ";
  if (appendfsync == "always") return {Level::good, kept + "a crash loses nothing (appendfsync always)", ""};
  if (appendfsync == "everysec") {
    return {Level::good, kept + "a crash may lose about the last 2 s (appendfsync everysec)", ""};
  }
  if (appendfsync == "no") {
    return {Level::warning, kept + "a crash of its machine may lose half a minute (appendfsync no)",
            "set appendfsync everysec, or always to lose nothing"};
  }
  return {Level::good, kept + "a crash loses at most what appendfsync allows", ""};
}

Finding room(std::string_view info) {
  const auto used = server_figure(info, "used_memory");
  const auto most = server_figure(info, "maxmemory");
  const auto text = "the server uses " + std::to_string(used >> 20) + " MiB";
  if (most == 0) return {Level::good, text + ", and has no maxmemory", ""};
  const auto of = text + " of " + std::to_string(most >> 20) + " MiB";
  if (used < most / 10 * 9) return {Level::good, of, ""};
  return {used < most ? Level::warning : Level::bad, of,
          "raise maxmemory: pushes are refused when it is reached; jobs that run still end"};
}

/// What "normal 0 0 0 slave …" allows an answer to us to be; 0: anything.
std::uint64_t answer_limit(std::string_view limits) {
  constexpr std::string_view kNormal = "normal ";
  const auto at = limits.find(kNormal);
  if (at == std::string_view::npos) return 0;
  const auto hard = limits.substr(at + kNormal.size());
  std::uint64_t bytes = 0;
  std::from_chars(hard.data(), hard.data() + hard.size(), bytes);
  return bytes;
}

}  // namespace

std::vector<Finding> examine_server(std::string_view info, std::string_view appendfsync,
                                    std::string_view output_limits) {
  std::vector<Finding> findings = {
      {Level::good, "the server is Redis " + std::string(server_fact(info, "redis_version")), ""},
      durability(info, appendfsync),
      room(info)};
  if (const auto eviction = eviction_of(info); eviction.may_have_taken_jobs()) {
    findings.push_back({Level::bad, eviction.keys_text(),
                        "push what is missing again: Redis cannot bring it back. A restart of the server or "
                        "CONFIG RESETSTAT clears the count"});
  }
  if (const auto last = server_fact(info, "rdb_last_bgsave_status"); !last.empty() && last != "ok") {
    findings.push_back({Level::warning,
                        "the server could not write its last snapshot, of which backups are made",
                        "make room on its disk, and memory for its fork; see its log"});
  }
  if (const auto limit = answer_limit(output_limits); limit != 0 && limit < 2 * kReadBytes) {
    findings.push_back({Level::warning,
                        "the server ends a connection whose answers wait with more than " +
                            std::to_string(limit >> 10) + " KiB: reads are made smaller, and slower",
                        "set client-output-buffer-limit normal 0 0 0, Redis' default; no job may be larger"});
  }
  if (server_fact(info, "cluster_enabled") == "1" && server_figure(info, "connected_slaves") == 0) {
    findings.push_back({Level::warning, "the master has no replica: its shards stand still while it is down",
                        "give each master a replica"});
  }
  return findings;
}

Finding examine_cluster(std::string_view cluster_info, std::size_t masters) {
  const auto name = "the store is a Redis Cluster of " + std::to_string(masters) + " masters";
  if (server_fact(cluster_info, "cluster_state") == "ok") return {Level::good, name, ""};
  return {Level::bad, name + " that is down", "see CLUSTER NODES: a master failed, or slots have no server"};
}

}  // namespace ordo::store::redis
