#include "store/sqlite/examine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "store/odd_rows.h"
#include "store/sqlite/schema.h"

namespace ordo::store::sqlite {
namespace {

namespace fs = std::filesystem;
using Level = Finding::Level;

constexpr std::uintmax_t kCheckedBytes = 256U << 20;
constexpr std::uintmax_t kLittleRoom = 256U << 20, kNoRoom = 1U << 20;
constexpr std::uintmax_t kLargeWal = 512U << 20;

std::uintmax_t size_of(const std::string& path) {
  std::error_code ignored;
  const auto size = fs::file_size(path, ignored);
  return ignored ? 0 : size;
}

std::string mebibytes(std::uintmax_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

Finding content(Connection& connection, std::uintmax_t size) {
  if (size > kCheckedBytes) {
    return {Level::good, "the file has " + mebibytes(size) + "; it was not read whole",
            "to check it: sqlite3 -readonly FILE 'PRAGMA quick_check'"};
  }
  Statement check(connection, "PRAGMA quick_check(1)");
  const bool answered = check.step();
  const std::string text(answered ? check.bytes(0) : "");
  if (text == "ok") return {Level::good, "the file is sound (" + mebibytes(size) + ")", ""};
  return {Level::bad, "the file is damaged: " + text,
          "stop all processes, keep a copy of FILE, FILE-wal and FILE-shm, and restore a backup"};
}

Finding room(const std::string& path) {
  std::error_code error;
  const auto space = fs::space(fs::path(path).parent_path(), error);
  if (error) return {Level::warning, "the free space of the disk is not known: " + error.message(), ""};
  const auto text = mebibytes(space.available) + " are free on the disk";
  if (space.available >= kLittleRoom) return {Level::good, text, ""};
  return {space.available < kNoRoom ? Level::bad : Level::warning, text,
          "make room: pushes are refused on a full disk, and ends are written from a reserve"};
}

Finding log_size(const std::string& path) {
  const auto size = size_of(path + "-wal");
  if (size < kLargeWal) return {Level::good, "the write-ahead log has " + mebibytes(size), ""};
  return {
      Level::warning, "the write-ahead log has " + mebibytes(size),
      "a program reads the file for very long without a break; end it (all writers stand still while what "
      "has gathered is copied afterwards: about a second for each 200 MiB)"};
}

Finding rights(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-lock", "-wake"}) {
    const auto name = path + suffix;
    if (access(name.c_str(), F_OK) == 0 && access(name.c_str(), R_OK | W_OK) != 0) {
      return {Level::bad, "this user may not write " + name,
              "give the file, its companions and their folder one owner and mode"};
    }
  }
  if (access(fs::path(path).parent_path().c_str(), W_OK) != 0) {
    return {Level::bad, "this user may not write the folder of " + path,
            "SQLite makes files there: allow it"};
  }
  return {Level::good, "this user may write the file, its companions and their folder", ""};
}

}  // namespace

std::vector<Finding> examine_file(Connection& connection, Time now) {
  connection.set_task("examine the file");
  const auto& path = connection.path();
  std::vector<Finding> findings = {
      {Level::good,
       "SQLite " + std::string(sqlite3_libversion()) + ", schema " + std::to_string(schema_version()) +
           ", file " + path + ": every acknowledgement is an fsync",
       "a backup is made while nodes run: sqlite3 -readonly FILE '.backup COPY'"},
      rights(path),
      content(connection, size_of(path)),
      log_size(path),
      room(path)};
  examine_newest(findings, Time{Duration{connection.number("SELECT at FROM counter")}}, now);
  return findings;
}

}  // namespace ordo::store::sqlite
