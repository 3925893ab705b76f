#include "store/sqlite/schema.h"

#include <iterator>
#include <string>

namespace ordo::store::sqlite {
namespace {

// One step per version. A released step is never edited.
constexpr const char* kSteps[] = {
    R"sql(
-- One row. `head`, `at`: of the last append; kept here because a number must not come back when the log is empty.
CREATE TABLE counter(id INTEGER PRIMARY KEY, head INTEGER NOT NULL, at INTEGER NOT NULL,
                     queue INTEGER NOT NULL, version INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES(0, 0, -9223372036854775807, 0, 0);

-- `shard`: queue number << 16 | index. `more`: entries of the same append that follow. Times: us UTC.
CREATE TABLE entry(seq INTEGER PRIMARY KEY, shard INTEGER NOT NULL, at INTEGER NOT NULL, more INTEGER NOT NULL,
                   body BLOB NOT NULL) STRICT;
CREATE TABLE state(seq INTEGER PRIMARY KEY, shard INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
CREATE TABLE dead(no INTEGER PRIMARY KEY AUTOINCREMENT, queue INTEGER NOT NULL, shard INTEGER NOT NULL,
                  at INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
CREATE INDEX dead_queue ON dead(queue);
CREATE INDEX dead_oldest ON dead(shard, at);

CREATE TABLE queue(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, shards INTEGER NOT NULL,
                   paused INTEGER NOT NULL) STRICT;
-- `clean`: the last owner released it. `crashed`: freed after its owner was known dead. `dead`: its dead rows now.
CREATE TABLE shard(id INTEGER PRIMARY KEY, owner TEXT NOT NULL DEFAULT '', token INTEGER NOT NULL DEFAULT 0,
                   holder INTEGER NOT NULL DEFAULT 0, batch INTEGER NOT NULL DEFAULT 0,
                   position INTEGER NOT NULL DEFAULT 0, counts BLOB NOT NULL DEFAULT x'',
                   clean INTEGER NOT NULL DEFAULT 1, crashed INTEGER NOT NULL DEFAULT 0,
                   dead INTEGER NOT NULL DEFAULT 0, dead_trimmed INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE node(id TEXT PRIMARY KEY, renewals INTEGER NOT NULL, facts BLOB NOT NULL) STRICT, WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE node ADD COLUMN request INTEGER NOT NULL DEFAULT 0;
)sql",
    R"sql(
ALTER TABLE queue ADD COLUMN closed INTEGER NOT NULL DEFAULT 0;
)sql",
    R"sql(
-- What a queue, by name, holds beside its shards. `until`: us UTC; not there any more from then on.
CREATE TABLE wait(queue TEXT NOT NULL, key BLOB NOT NULL, listed INTEGER NOT NULL, until INTEGER NOT NULL,
                  body BLOB NOT NULL, PRIMARY KEY(queue, key)) STRICT;
CREATE INDEX wait_listed ON wait(queue, key) WHERE listed;
CREATE INDEX wait_until ON wait(until) WHERE until < 9223372036854775807;
)sql",
    R"sql(
-- Records of ended jobs, many in one row. `head`: what is looked for in all of them.
CREATE TABLE kept(shard INTEGER NOT NULL, no INTEGER NOT NULL, head BLOB NOT NULL, body BLOB NOT NULL,
                  PRIMARY KEY(shard, no)) STRICT, WITHOUT ROWID;
)sql",
};

std::int64_t stored_version(Connection& connection) { return connection.number("PRAGMA user_version"); }

void refuse_foreign(Connection& connection, std::int64_t version) {
  const auto application = connection.number("PRAGMA application_id");
  if (application == kApplicationId) return;
  const bool is_new =
      application == 0 && version == 0 && connection.number("SELECT count(*) FROM sqlite_schema") == 0;
  if (is_new) return;
  throw Error(ErrorKind::invalid_argument,
              "cannot open " + connection.path() +
                  ": it is another program's database; nothing was changed; give a "
                  "file of its own to Ordo");
}

void refuse_newer(Connection& connection, std::int64_t version) {
  if (version <= schema_version()) return;
  throw Error(ErrorKind::unsupported, "cannot open " + connection.path() + ": its schema has version " +
                                          std::to_string(version) + ", this build of Ordo knows up to " +
                                          std::to_string(schema_version()) +
                                          "; nothing was changed; use a newer Ordo");
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

std::int64_t schema_version() { return std::ssize(kSteps); }

void check_ours(Connection& connection) {
  connection.set_task("open the database");
  const Snapshot snapshot(connection);  // another process may be making the file Ordo's right now
  const auto version = stored_version(connection);
  refuse_foreign(connection, version);
  refuse_newer(connection, version);
  if (sqlite3_db_readonly(connection.handle(), "main") != 0) connection.fail(SQLITE_READONLY);
}

void bring_up_to_date(Connection& connection) {
  check_ours(connection);
  connection.run("PRAGMA page_size=4096");
  turn_wal_on(connection);
  const auto version = stored_version(connection);
  if (version == schema_version()) return;

  connection.set_task("bring the schema up to date");
  connection.run("BEGIN IMMEDIATE");
  for (auto step = version; step < schema_version(); ++step) connection.run(kSteps[step]);
  connection.run(("PRAGMA application_id=" + std::to_string(kApplicationId)).c_str());
  connection.run(("PRAGMA user_version=" + std::to_string(schema_version())).c_str());
  connection.run("COMMIT");
}

}  // namespace ordo::store::sqlite
