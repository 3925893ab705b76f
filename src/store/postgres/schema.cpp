#include "store/postgres/schema.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "store/postgres/schema_files.h"
#include "store/schema_errors.h"

namespace ordo::store::postgres {
namespace {

constexpr int kOldestServer = 150000;
constexpr std::int64_t kBeforeFirst = 0;  ///< of every store that was made before the first release

void refuse_older_server(Connection& connection) {
  const auto version =
      connection.run("ask the version of", "SELECT current_setting('server_version_num')::int").number(0, 0);
  if (version >= kOldestServer) return;
  throw Error(ErrorKind::unsupported, "cannot use " + connection.place() + ": it is version " +
                                          std::to_string(version / 10000) + "; Ordo needs 15 or newer");
}

// Tables first, settings of all functions last.
constexpr std::array kFiles = {&kTablesSql, &kLogSql,   &kOwnerSql,  &kDeadSql, &kRegistrySql, &kNodesSql,
                               &kWaitsSql,  &kRulesSql, &kUniqueSql, &kPushSql, &kSettingsSql};

// Nothing: there is no schema. Asks the catalogue itself: to_regclass() may answer from what this session
// knew before it waited for the lock.
std::optional<std::int64_t> stored_version(Connection& connection) {
  const auto columns = connection.run(
      "look for the schema in",
      "SELECT count(*), count(*) FILTER (WHERE a.attname = 'schema') FROM pg_class c"
      " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 WHERE c.relname = 'ordo_meta'"
      " AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())");
  if (columns.number(0, 0) == 0) return std::nullopt;
  if (columns.number(0, 1) == 0) return kBeforeFirst;
  const auto row = connection.run("look for the schema in", "SELECT schema FROM ordo_meta");
  if (row.rows() == 0) {
    throw Error(ErrorKind::corrupt, "cannot use " + connection.place() +
                                        ": its table ordo_meta has no row; nothing was changed; restore the "
                                        "database from a backup, or use a new schema");
  }
  return row.number(0, 0);
}

bool is_current(Connection& connection) {
  const auto version = stored_version(connection);
  if (version == kBeforeFirst) throw development_store(connection.place());
  if (version && version != schema_version()) {
    throw other_schema(connection.place(), *version, schema_version());
  }
  return version.has_value();
}

// Entries carry ids of transactions. In another cluster, where a dump was restored, they mean nothing: the
// numbers there begin behind all that are stored. Transactions that an owner had not seen the end of have
// ended, and the next one moves what they left.
void settle_in(Connection& connection) {
  connection.run("settle in", R"sql(
DO $$
DECLARE
  v_base bigint;
BEGIN
  IF (SELECT system FROM ordo_meta) = (SELECT system_identifier FROM pg_control_system()) THEN
    RETURN;
  END IF;
  LOCK ordo_meta, ordo_entry, ordo_shard, ordo_head;
  -- What was read and erased counts, too: behind it late entries are numbered, and before it nobody reads again.
  SELECT greatest(0, (greatest((SELECT max(last.seq) FROM ordo_shard s CROSS JOIN LATERAL
                                 (SELECT e.seq FROM ordo_entry e WHERE e.shard = s.id ORDER BY e.seq DESC LIMIT 1) last),
                               (SELECT max(greatest(seen, position)) FROM ordo_head), 0)
                      >> 20) + 1 - pg_current_xact_id()::text::bigint) INTO v_base;
  UPDATE ordo_meta SET xid_base = greatest(xid_base, v_base),
                       system = (SELECT system_identifier FROM pg_control_system());
END $$)sql");
}

}  // namespace

bool has_schema(Connection& connection) { return stored_version(connection).has_value(); }

std::int64_t schema_version() { return 1; }

std::string schema_sql() {
  std::string sql = "BEGIN;\nSET LOCAL standard_conforming_strings = on;\n";
  for (const auto* file : kFiles) sql.append(*file);
  sql += "INSERT INTO ordo_meta(schema, system) SELECT " + std::to_string(schema_version()) +
         ", system_identifier FROM pg_control_system();\nCOMMIT;\n";
  return sql;
}

void ensure_schema(Connection& connection) {
  refuse_older_server(connection);
  if (!is_current(connection)) {
    constexpr std::string_view kTask = "make the schema in";
    connection.run_script(kTask,
                          "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
                          " SET LOCAL standard_conforming_strings = on; SET LOCAL statement_timeout = 0; SET "
                          "LOCAL lock_timeout = '30s';"
                          " SELECT pg_advisory_xact_lock(hashtextextended('ordo ' || current_schema(), 0))",
                          kLongAnswer);
    if (!is_current(connection)) {  // another process may have been faster
      for (const auto* file : kFiles) connection.run_script(kTask, *file, kLongAnswer);
      connection.run(
          kTask,
          "INSERT INTO ordo_meta(schema, system) SELECT $1, system_identifier FROM pg_control_system()",
          Parameters().number(schema_version()));
    }
    connection.run_script(kTask, "COMMIT");
  }
  settle_in(connection);
}

}  // namespace ordo::store::postgres
