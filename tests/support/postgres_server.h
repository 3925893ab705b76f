#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

struct pg_conn;

namespace ordo::test {

/// One session, as psql would have it.
class PostgresSession {
 public:
  explicit PostgresSession(const std::string& url);

  /// Returns the first column of the first row. Throws what the server says.
  std::string run(const std::string& sql);

  pg_conn* handle() const { return handle_.get(); }

 private:
  std::unique_ptr<pg_conn, void (*)(pg_conn*)> handle_;
};

/// A PostgreSQL server of the test's own: made in a temporary directory, reached by a Unix socket in it, gone
/// with the object (and with a test that crashes).
class PostgresServer {
 public:
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// One for all tests of a process, which keep apart by schema.
  static PostgresServer& shared();

  /// What `psql -c` would run, as superuser, in no schema of Ordo's. Returns the first column of the first
  /// row.
  std::string run(const std::string& sql);

  /// A new empty schema; returns the URL of a store in it.
  std::string new_schema();

  /// A new empty database in the encoding; returns the URL of a store in it.
  std::string new_database(const std::string& encoding);

  /// The URL of a store in a schema. `application` names its sessions.
  std::string url(const std::string& schema, const std::string& application = "") const;

  /// As a crash does it.
  void kill();
  /// `options`: as on its command line.
  void start(const std::string& options = "");

  /// Takes a base backup of the running server.
  void back_up();
  /// Puts the backup in the place of what is there, which is lost, and starts on it.
  void restore();

  const std::filesystem::path& directory() const { return directory_; }

 private:
  void stop(int signal);

  const std::filesystem::path directory_;
  pid_t process_ = 0;
};

/// Runs a program to its end and throws unless it succeeds. As root: as the user `postgres`.
void run_as_postgres(const std::string& command);
/// Starts one that ends with this process.
pid_t spawn_as_postgres(const std::string& command);

/// Directory of initdb, postgres, psql.
std::string postgres_programs();

}  // namespace ordo::test
