#include "store/sqlite/open_files.h"

#include <sys/stat.h>

#include <ordo/error.hpp>

namespace ordo::store::sqlite {

void OpenFiles::note(Connection& connection) {
  for (std::size_t i = 0; i < kSuffixes.size(); ++i) {
    paths_[i] = database_ + std::string(kSuffixes[i]);
    files_[i] = identity_of(paths_[i]);
  }
  // Between its opening and now.
  int has_moved = 0;
  sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  if (has_moved != 0) fail(database_);
}

bool OpenFiles::are_there() const {
  for (std::size_t i = 0; i < kSuffixes.size(); ++i) {
    if (identity_of(paths_[i]) != files_[i]) return false;
  }
  return true;
}

bool OpenFiles::has_database() const { return !have_failed_ && identity_of(paths_[0]) == files_[0]; }

void OpenFiles::check() const {
  for (std::size_t i = 0; i < kSuffixes.size(); ++i) {
    if (identity_of(paths_[i]) != files_[i]) fail(paths_[i]);
  }
}

OpenFiles::Identity OpenFiles::identity_of(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {facts.st_dev, facts.st_ino};
}

void OpenFiles::fail(const std::string& path) const {
  have_failed_ = true;
  throw Error(ErrorKind::corrupt, path +
                                      " was deleted or replaced while it was in use; nothing more is written "
                                      "to the database; start its nodes again (how to restore a backup: "
                                      "docs/sqlite.md)");
}

}  // namespace ordo::store::sqlite
