#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>

#include "store/sqlite/connection.h"

namespace ordo::store::sqlite {

/// Which files the users of a database have open. Who deletes one, or moves a backup over it, leaves them
/// with files that nobody else sees. Thread-safe after note().
class OpenFiles {
 public:
  explicit OpenFiles(std::string database) : database_(std::move(database)) {}

  /// All of them are open now. Throws as check().
  void note(Connection& connection);

  bool are_there() const;
  /// None of them was found to be missing, and the first is there: in about a microsecond.
  bool has_database() const;

  /// Throws Error{corrupt} when another file stands in the place of one, or none.
  void check() const;

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const Identity&) const = default;
  };
  static constexpr std::array<std::string_view, 5> kSuffixes = {"", "-wal", "-shm", "-lock", "-wake"};

  /// Zeros when there is none.
  static Identity identity_of(const std::string& path);
  [[noreturn]] void fail(const std::string& path) const;

  const std::string database_;
  std::array<std::string, kSuffixes.size()> paths_;
  std::array<Identity, kSuffixes.size()> files_;
  mutable std::atomic<bool> have_failed_ = false;
};

}  // namespace ordo::store::sqlite
