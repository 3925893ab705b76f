#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ordo::store {

// What a store does without Ordo, with the same client library and durability: what benchmarks compare with.
// They use tables, files or keys of their own beside those of `url`, and remove them. Throw Error.

/// Rows per second: `rows` of `row_bytes` appended and then deleted, each in commits of `rows_per_commit`.
double raw_append_delete_rate(std::string_view url, std::uint64_t rows, std::size_t row_bytes,
                              std::size_t rows_per_commit);

/// Median µs of one durable commit of one row, of `commits`.
double raw_commit_latency(std::string_view url, std::uint64_t commits);

}  // namespace ordo::store
