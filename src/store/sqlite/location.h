#pragma once

#include <string>

namespace ordo::store::sqlite {

/// The absolute path of a database file without symbolic links, so that all its users agree on the files
/// beside it. The file may be missing. Throws Error{invalid_argument}: no path, no such directory, not a
/// file; Error{unsupported}: a network or user-space file system, whose locks and shared memory cannot be
/// relied on.
std::string locate(const std::string& path);

}  // namespace ordo::store::sqlite
