#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <ordo/error.hpp>

namespace ordo::store::sqlite {

/// How long a call waits for a program that does not use Ordo's lock, unless said otherwise.
inline constexpr int kBusyTimeoutMs = 5000;

/// An Error that knows SQLite's result code, for those who decide what to do about it.
class DatabaseError final : public Error {
 public:
  DatabaseError(ErrorKind kind, const std::string& message, int code) : Error(kind, message), code_(code) {}

  /// Primary result code: SQLITE_FULL, SQLITE_BUSY, …
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// Makes the Error of a failed SQLite call: what was tried, on which file, why, what to do.
DatabaseError database_error(int code, std::string_view tried, const std::string& path,
                             std::string_view detail);

/// One connection to the database file, set up so that nothing but an explicit checkpoint() checkpoints.
/// Not thread-safe: one thread at a time.
class Connection {
 public:
  enum class Mode { read_write, read_only };

  /// Opens (read_write: creates) the file; reads and writes nothing of it yet. Throws Error{unavailable}.
  Connection(std::string path, Mode mode, int busy_timeout_ms = kBusyTimeoutMs);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Runs statements without results. Throws DatabaseError.
  void run(const char* sql);

  /// First column of the first row; 0 without a row.
  std::int64_t number(const char* sql);

  /// For error messages: "cannot <task> in FILE: …".
  void set_task(std::string_view task) { task_ = task; }

  [[noreturn]] void fail(int code) const;

  std::int64_t changes() const { return sqlite3_changes64(handle_); }
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }
  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }
  int busy_timeout_ms() const { return busy_timeout_ms_; }

 private:
  std::string path_;
  int busy_timeout_ms_;
  std::string_view task_ = "open the database";
  sqlite3* handle_ = nullptr;
};

/// Marks a string that is stored as BLOB; plain strings are TEXT.
struct Blob {
  std::string_view bytes;
};

/// A prepared statement. Bound strings must live until it is reset.
class Statement {
 public:
  Statement(Connection& connection, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds all parameters from ?1 on.
  template <class... Values>
  Statement& bind(const Values&... values) {
    int index = 0;
    (put(++index, values), ...);
    return *this;
  }

  /// True: a row is there. False: done, and reset for the next use. Throws DatabaseError, reset, too.
  bool step() {
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    sqlite3_reset(handle_);
    if (code != SQLITE_DONE) connection_.fail(code);
    return false;
  }

  /// Runs to the end; rows are dropped. Returns the number of rows changed.
  std::int64_t run() {
    while (step()) {
    }
    return connection_.changes();
  }

  /// Needed only where rows are left unread.
  void reset() { sqlite3_reset(handle_); }

  std::int64_t number(int column) const { return sqlite3_column_int64(handle_, column); }
  std::uint64_t unsigned_number(int column) const { return static_cast<std::uint64_t>(number(column)); }
  /// Valid until the next step or reset.
  std::string_view bytes(int column) const {
    const void* data = sqlite3_column_blob(handle_, column);
    return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
  }

 private:
  void put(int index, std::int64_t value) { check(sqlite3_bind_int64(handle_, index, value)); }
  void put(int index, std::uint64_t value) { put(index, static_cast<std::int64_t>(value)); }
  void put(int index, std::uint32_t value) { put(index, std::int64_t{value}); }
  void put(int index, std::string_view text) {
    check(sqlite3_bind_text(handle_, index, text.empty() ? "" : text.data(), static_cast<int>(text.size()),
                            SQLITE_STATIC));
  }
  void put(int index, Blob blob) {
    check(sqlite3_bind_blob64(handle_, index, blob.bytes.empty() ? "" : blob.bytes.data(), blob.bytes.size(),
                              SQLITE_STATIC));
  }
  void check(int code) const {
    if (code != SQLITE_OK) connection_.fail(code);
  }

  Connection& connection_;
  sqlite3_stmt* handle_ = nullptr;
};

/// One read transaction: what is read inside belongs together. Keep it short: the WAL cannot restart
/// meanwhile.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection) : connection_(connection) { connection_.run("BEGIN"); }
  ~Snapshot() { sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Connection& connection_;
};

}  // namespace ordo::store::sqlite
