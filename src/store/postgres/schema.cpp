#include "store/postgres/schema.h"

#include <string>

#include "store/postgres/migrations.h"

namespace ordo::store::postgres {
namespace {

constexpr int kOldestServer = 150000;

void refuse_older_server(Connection& connection) {
  const auto version =
      connection.run("ask the version of", "SELECT current_setting('server_version_num')::int").number(0, 0);
  if (version >= kOldestServer) return;
  throw Error(ErrorKind::unsupported, "cannot use " + connection.place() + ": it is version " +
                                          std::to_string(version / 10000) + "; Ordo needs 15 or newer");
}

// 0: there is none. Asks the catalogue itself: to_regclass() may answer from what this session knew before it
// waited for the lock.
std::int64_t stored_version(Connection& connection) {
  const bool is_there =
      connection
          .run("look for the schema in",
               "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'ordo_meta' AND"
               " relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()))")
          .flag(0, 0);
  if (!is_there) return 0;
  const auto row = connection.run("look for the schema in", "SELECT version FROM ordo_meta");
  return row.rows() == 0 ? 0 : row.number(0, 0);
}

void refuse_newer(Connection& connection, std::int64_t version) {
  if (version <= schema_version()) return;
  throw Error(ErrorKind::unsupported, "cannot use " + connection.place() + ": its schema has version " +
                                          std::to_string(version) + ", this build of Ordo knows up to " +
                                          std::to_string(schema_version()) +
                                          "; nothing was changed; use a newer Ordo");
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

bool has_schema(Connection& connection) { return stored_version(connection) != 0; }

std::int64_t schema_version() { return std::ssize(migrations()); }

void bring_up_to_date(Connection& connection) {
  refuse_older_server(connection);
  auto version = stored_version(connection);
  refuse_newer(connection, version);
  if (version < schema_version()) {
    // Who has waited must see what was made meanwhile.
    connection.run_script("bring the schema up to date in",
                          "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
                          " SET LOCAL standard_conforming_strings = on; SET LOCAL statement_timeout = 0; SET "
                          "LOCAL lock_timeout = '30s';"
                          " SELECT pg_advisory_xact_lock(hashtextextended('ordo ' || current_schema(), 0))",
                          kLongAnswer);
    version = stored_version(connection);  // another process may have been faster
    refuse_newer(connection, version);
    for (auto step = version; step < schema_version(); ++step) {
      for (const auto* const sql : migrations()[static_cast<std::size_t>(step)]) {
        connection.run_script("bring the schema up to date in", sql, kLongAnswer);
      }
    }
    connection.run("bring the schema up to date in", "UPDATE ordo_meta SET version = $1",
                   Parameters().number(schema_version()));
    connection.run_script("bring the schema up to date in", "COMMIT");
  }
  settle_in(connection);
}

}  // namespace ordo::store::postgres
