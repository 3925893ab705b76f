#pragma once

#include <sys/types.h>

#include <cstddef>

namespace ordo::store::sqlite {

/// From the first call on a forked child may use SQLite, whatever the threads of its parent did meanwhile:
/// none of the library's mutexes is held, and what the child opens has nothing in common with what the parent
/// has open. To be called before SQLite opens a file.
void guard_forks();

// The locks of an open file last as long as any descriptor or mapping of it. These are this process's alone:
// a forked child does not have them.

/// As open().
int open_kept_from_children(const char* path, int flags, mode_t mode = 0);
/// As close(), for any descriptor.
void close_kept_from_children(int number);
/// As mmap() of the file's first bytes, shared with who else maps them.
void* map_kept_from_children(int number, std::size_t bytes);

}  // namespace ordo::store::sqlite
