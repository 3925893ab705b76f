#pragma once

#include <string>

#include "store/sqlite/side_file.h"

namespace ordo::store::sqlite {

/// Disk space kept in FILE-reserve, so that on a full disk finished jobs can still be erased: appends need it
/// in place, and the first commit that finds the disk full gives it up for the WAL. Used under the file lock.
class Reserve {
 public:
  static constexpr long kBytes = 8L << 20;

  explicit Reserve(const std::string& database);

  /// Allocates what is missing. False: there is no room for it.
  bool fill();

  /// Gives the space back to the file system.
  void give_up();

 private:
  Descriptor file_;
};

}  // namespace ordo::store::sqlite
