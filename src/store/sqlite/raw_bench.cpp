#include "store/sqlite/raw_bench.h"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <ordo/error.hpp>

#include "base/clock.h"

namespace ordo::store::sqlite {
namespace {

constexpr int kCheckpointPages = 10'000;

// The C API with the checks an example would have.
class RawLog {
 public:
  explicit RawLog(const std::string& path) : path_(path) {
    if (std::filesystem::exists(path)) {
      throw Error(ErrorKind::invalid_argument, "cannot measure in " + path + ": it exists; name a new file");
    }
    check(sqlite3_open_v2(path.c_str(), &database_,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr));
    run("PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536");
    run("PRAGMA temp_store=memory; PRAGMA secure_delete=0");
    check(sqlite3_wal_autocheckpoint(database_, kCheckpointPages));
    run("CREATE TABLE entry(seq INTEGER PRIMARY KEY, shard INT, at INT, more INT, body BLOB)");
    insert_ = prepare("INSERT INTO entry VALUES(?1, ?2, ?3, ?4, ?5)");
    erase_ = prepare("DELETE FROM entry WHERE seq=?1");
  }
  ~RawLog() {
    for (auto* statement : {insert_, erase_}) sqlite3_finalize(statement);
    sqlite3_close_v2(database_);
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
  }
  RawLog(const RawLog&) = delete;
  RawLog& operator=(const RawLog&) = delete;

  void run(const char* sql) { check(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr)); }

  void append(std::int64_t seq, const std::string& body) {
    check(sqlite3_bind_int64(insert_, 1, seq));
    for (const int column : {2, 3, 4}) check(sqlite3_bind_int64(insert_, column, column));
    check(sqlite3_bind_blob64(insert_, 5, body.data(), body.size(), SQLITE_STATIC));
    step(insert_);
  }

  void erase(std::int64_t seq) {
    check(sqlite3_bind_int64(erase_, 1, seq));
    step(erase_);
  }

 private:
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr));
    return statement;
  }
  void step(sqlite3_stmt* statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) check(sqlite3_errcode(database_));
    sqlite3_reset(statement);
  }
  void check(int code) const {
    if (code == SQLITE_OK) return;
    throw Error(ErrorKind::unavailable,
                "cannot measure in " + path_ + ": " + sqlite3_errmsg(database_) + "; check the disk");
  }

  const std::string path_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* erase_ = nullptr;
};

}  // namespace

double raw_append_delete_rate(const std::string& path, std::size_t rows, std::size_t bytes_per_row,
                              std::size_t rows_per_commit) {
  RawLog log(path);
  const std::string body(bytes_per_row, 'x');
  const auto step = static_cast<std::int64_t>(std::max<std::size_t>(rows_per_commit, 1));
  const auto end = static_cast<std::int64_t>(rows) / step * step;
  const auto start = system_clock().steady();
  for (std::int64_t seq = 0; seq <= end; seq += step) {
    log.run("BEGIN IMMEDIATE");
    for (auto i = seq; i < seq + step && seq < end; ++i) log.append(i, body);
    for (auto i = seq - step; i < seq && seq > 0; ++i) log.erase(i);
    log.run("COMMIT");
  }
  const std::chrono::duration<double> seconds = system_clock().steady() - start;
  return static_cast<double>(end) / seconds.count();
}

double raw_commit_latency(const std::string& path, std::size_t commits) {
  RawLog log(path);
  const std::string body(100, 'x');
  std::vector<Duration> times(std::max<std::size_t>(commits, 1));
  std::int64_t seq = 0;
  for (auto& time : times) {
    const auto start = system_clock().steady();
    log.run("BEGIN IMMEDIATE");
    log.append(++seq, body);
    log.run("COMMIT");
    time = system_clock().steady() - start;
  }
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(middle->count());
}

}  // namespace ordo::store::sqlite
