#pragma once

#include <cstddef>
#include <string>

// What plain SQLite does on this disk, for benchmarks to stand beside: one connection, the store's settings
// and durability, nothing of the store. Both make a database of their own at `path`, which must not exist,
// and remove it. Throw Error{unavailable}.
namespace ordo::store::sqlite {

/// Rows per second that were inserted and later deleted, in commits that insert `rows_per_commit` and delete
/// as many of the commit before.
double raw_append_delete_rate(const std::string& path, std::size_t rows, std::size_t bytes_per_row,
                              std::size_t rows_per_commit);

/// Median of `commits` commits of one row of 100 bytes, in microseconds.
double raw_commit_latency(const std::string& path, std::size_t commits);

}  // namespace ordo::store::sqlite
