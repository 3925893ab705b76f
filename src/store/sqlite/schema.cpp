#include "store/sqlite/schema.h"

#include <string>

#include "store/schema_errors.h"

namespace ordo::store::sqlite {
namespace {

constexpr std::int64_t kBeforeFirstId =
    0x4f72646f;  ///< kApplicationId of files made before the first release

std::int64_t stored_version(Connection& connection) { return connection.number("PRAGMA user_version"); }

void refuse_foreign(Connection& connection, std::int64_t version) {
  const auto application = connection.number("PRAGMA application_id");
  if (application == kApplicationId) return;
  if (application == kBeforeFirstId) throw development_store(connection.path());
  const bool is_new =
      application == 0 && version == 0 && connection.number("SELECT count(*) FROM sqlite_schema") == 0;
  if (is_new) return;
  throw Error(ErrorKind::invalid_argument,
              "cannot open " + connection.path() +
                  ": it is another program's database; nothing was changed; give a "
                  "file of its own to Ordo");
}

void turn_wal_on(Connection& connection) {
  Statement mode(connection, "PRAGMA journal_mode=WAL");
  if (mode.step() && mode.bytes(0) == "wal") return mode.reset();
  throw Error(ErrorKind::unsupported,
              "cannot open " + connection.path() +
                  ": its file system has no shared memory for a write-ahead log; use a "
                  "local disk");
}

}  // namespace

std::int64_t schema_version() { return 1; }

void check_ours(Connection& connection) {
  connection.set_task("open the database");
  const Snapshot snapshot(connection);  // another process may be making the file Ordo's right now
  const auto version = stored_version(connection);
  refuse_foreign(connection, version);
  if (version != 0 && version != schema_version()) {
    throw other_schema(connection.path(), version, schema_version());
  }
  if (sqlite3_db_readonly(connection.handle(), "main") != 0) connection.fail(SQLITE_READONLY);
}

void ensure_schema(Connection& connection) {
  check_ours(connection);
  connection.run("PRAGMA page_size=4096");
  turn_wal_on(connection);
  if (stored_version(connection) == schema_version()) return;

  connection.set_task("make the schema");
  connection.run("BEGIN IMMEDIATE");
  connection.run(kSchemaSql);
  connection.run(("PRAGMA application_id=" + std::to_string(kApplicationId)).c_str());
  connection.run(("PRAGMA user_version=" + std::to_string(schema_version())).c_str());
  connection.run("COMMIT");
}

}  // namespace ordo::store::sqlite
