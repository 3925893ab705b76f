#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace ordo::store::sqlite {

/// What follows "sqlite:" in a store's URL.
struct Location {
  std::string path;
  mode_t mode = 0600;  ///< of a file that is made
};

/// `FILE`, or `FILE?mode=0660` for a file that its group may use, too. Throws Error{invalid_argument}.
Location parse_location(std::string_view text);

/// The absolute path of a database file without symbolic links, so that all its users agree on the files
/// beside it. The file may be missing. Throws Error{invalid_argument}: no path, no such directory, not a
/// file; Error{unsupported}: a network or user-space file system, whose locks and shared memory cannot be
/// relied on.
std::string locate(const std::string& path);

}  // namespace ordo::store::sqlite
