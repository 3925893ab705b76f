#include "store/sqlite/connection.h"

#include <utility>

#include "store/sqlite/fork_guard.h"

namespace ordo::store::sqlite {
namespace {

struct Explanation {
  ErrorKind kind;
  const char* why;
  const char* advice;
};

Explanation explain(int primary) {
  switch (primary) {
    case SQLITE_FULL:
      return {ErrorKind::unavailable, "the disk is full",
              "free some space; what is stored is kept, and finished jobs can still be removed"};
    case SQLITE_IOERR:
      return {ErrorKind::unavailable, "the disk reported an error", "check the disk and the kernel's log"};
    case SQLITE_READONLY:
      return {ErrorKind::unavailable, "the file or its directory is read-only",
              "make both writable for this user"};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return {ErrorKind::unavailable, "it cannot be opened",
              "check that its directory exists and that this user may read and write both"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::unavailable, "another program holds the file's lock",
              "close it; look into a live file with `sqlite3 -readonly`"};
    case SQLITE_CORRUPT:
      return {ErrorKind::corrupt, "the file is damaged", "stop all its users and restore a backup"};
    case SQLITE_NOTADB:
      return {ErrorKind::corrupt, "the file is not a database", "check the path"};
    case SQLITE_CONSTRAINT:
      return {ErrorKind::corrupt, "its rows contradict each other",
              "stop all its users and restore a backup"};
    case SQLITE_TOOBIG:
      return {ErrorKind::invalid_argument, "a record is too big", "send less in one call"};
    default:
      return {ErrorKind::unavailable, "the database refused", "try again"};
  }
}

}  // namespace

DatabaseError database_error(int code, std::string_view tried, const std::string& path,
                             std::string_view detail) {
  const int primary = code & 0xff;
  const auto explanation = explain(primary);
  std::string message = "cannot ";
  message.append(tried).append(" in ").append(path).append(": ").append(explanation.why);
  message.append(" (").append(detail).append(", code ").append(std::to_string(code)).append("); ");
  return DatabaseError(explanation.kind, message + explanation.advice, primary);
}

Connection::Connection(std::string path, Mode mode, int busy_timeout_ms)
    : path_(std::move(path)), busy_timeout_ms_(busy_timeout_ms) {
  guard_forks();
  const int flags =
      (mode == Mode::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) |
      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path_.c_str(), &handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    const std::string detail = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
    sqlite3_close_v2(std::exchange(handle_, nullptr));
    throw database_error(code, task_, path_, detail);
  }
  sqlite3_busy_timeout(handle_, busy_timeout_ms_);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_wal_autocheckpoint(handle_, 0);
}

Connection::~Connection() { sqlite3_close_v2(handle_); }

void Connection::run(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Connection::number(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.number(0) : 0;
}

void Connection::fail(int code) const { throw database_error(code, task_, path_, sqlite3_errmsg(handle_)); }

Statement::Statement(Connection& connection, std::string_view sql) : connection_(connection) {
  const int code = sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
  if (code != SQLITE_OK) connection.fail(code);
}

Statement::~Statement() { sqlite3_finalize(handle_); }

}  // namespace ordo::store::sqlite
