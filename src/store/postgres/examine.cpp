#include "store/postgres/examine.h"

#include <string>

#include "store/odd_rows.h"
#include "store/postgres/schema.h"

namespace ordo::store::postgres {
namespace {

using Level = Finding::Level;

std::string ask(Connection& connection, const char* sql) {
  const auto answer = connection.run("examine", sql);
  return answer.rows() == 0 ? "" : std::string(answer.bytes(0, 0));
}

Finding durability(Connection& connection) {
  const auto fsync = ask(connection, "SELECT current_setting('fsync')");
  const auto commit = ask(connection, "SELECT current_setting('synchronous_commit')");
  if (fsync != "on") {
    return {Level::bad, "fsync is off: a crash of the server loses acknowledged jobs, or everything",
            "set fsync = on"};
  }
  if (commit == "off") {
    return {Level::warning,
            "synchronous_commit is off for this user: Ordo waits for the disk, ordo_push does not",
            "set synchronous_commit = on where jobs are pushed in SQL"};
  }
  return {Level::good, "acknowledgements are durable: fsync on, synchronous_commit " + commit, ""};
}

// What a failover may lose.
Finding replication(Connection& connection) {
  const auto row = connection.run(
      "examine",
      "SELECT ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint,"
      " (SELECT count(*) FROM pg_stat_replication), current_setting('synchronous_standby_names') <> ''");
  const auto text = "it is the primary of timeline " + std::to_string(row.number(0, 0)) + ", with " +
                    std::to_string(row.number(0, 1)) + " receivers of its log";
  if (row.number(0, 1) == 0 || row.flag(0, 2)) return {Level::good, text, ""};
  return {Level::warning,
          text +
              ", for which no commit waits: if one of them takes over, acknowledged jobs of the last moments"
              " may be lost and others run again",
          "set synchronous_standby_names"};
}

Finding backups(Connection& connection) {
  const auto row = connection.run("examine",
                                  "SELECT current_setting('archive_mode') <> 'off',"
                                  " (SELECT count(*) FROM pg_stat_replication) > 0");
  if (row.flag(0, 0)) return {Level::good, "the server archives its log", ""};
  if (row.flag(0, 1)) return {Level::good, "others receive the server's log", ""};
  return {Level::warning,
          "nothing is known of backups: archive_mode is off, and nobody receives the server's log",
          "archive the log, run pg_receivewal or a standby; dumps alone lose what came after them"};
}

Finding dead_rows(Connection& connection) {
  const auto row = connection.run("examine",
                                  "SELECT coalesce(n_dead_tup, 0), pg_total_relation_size('ordo_entry') >> "
                                  "20, current_setting('autovacuum') = 'on'"
                                  " FROM pg_stat_user_tables WHERE relid = 'ordo_entry'::regclass");
  if (row.rows() == 0)
    return {Level::warning, "the size of ordo_entry is not known", "look at pg_stat_user_tables"};
  const auto text = "ordo_entry has " + std::to_string(row.number(0, 1)) + " MiB and " +
                    std::to_string(row.number(0, 0)) + " dead rows";
  constexpr std::int64_t kMany = 5'000'000;
  if (!row.flag(0, 2))
    return {Level::bad, text + "; autovacuum is off, so it only grows", "set autovacuum = on"};
  if (row.number(0, 0) < kMany) return {Level::good, text, ""};
  return {Level::warning, text,
          "set autovacuum_naptime = 5s, and end transactions that have been open for long"};
}

Finding long_transactions(Connection& connection) {
  const auto minutes = connection.run(
      "examine",
      "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start) / 60)::bigint, 0)"
      " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
  const auto text =
      "the oldest open transaction has lasted " + std::to_string(minutes.number(0, 0)) + " minutes";
  constexpr std::int64_t kLong = 60;
  if (minutes.number(0, 0) < kLong) return {Level::good, text, ""};
  return {Level::warning, text, "end it: it keeps dead rows from being removed"};
}

Finding wake_up(Connection& connection) {
  const auto answer = connection.run("examine", "SELECT pg_backend_pid()");
  if (answer.number(0, 0) == connection.backend())
    return {Level::good, "idle nodes are notified of new jobs", ""};
  return {Level::warning, "a pooler stands between: idle nodes look for new jobs every 20 ms",
          "let nodes connect to the server itself; pushing programs may use the pooler"};
}

}  // namespace

std::vector<Finding> examine_database(Connection& connection, Time now) {
  std::vector<Finding> findings = {
      {Level::good,
       connection.place() + ": version " + ask(connection, "SELECT current_setting('server_version')") +
           ", schema " + std::to_string(schema_version()),
       ""},
      durability(connection),
      replication(connection),
      backups(connection),
      wake_up(connection),
      dead_rows(connection),
      long_transactions(connection)};
  const auto at =
      connection.run("examine",
                     "SELECT coalesce(max(e.at), 0) FROM ordo_shard s CROSS JOIN LATERAL"
                     " (SELECT at FROM ordo_entry WHERE shard = s.id ORDER BY seq DESC LIMIT 1) e");
  examine_newest(findings, Time{Duration{at.number(0, 0)}}, now);
  return findings;
}

}  // namespace ordo::store::postgres
