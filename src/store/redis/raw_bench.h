#pragma once

#include <cstdint>
#include <string_view>

// What the plain server does, for benchmarks to stand beside (store/raw_bench.h): one connection, one stream
// of its own, nothing of the store. Throw Error.
namespace ordo::store::redis {

double raw_append_delete_rate(std::string_view url, std::uint64_t rows, std::size_t row_bytes,
                              std::size_t rows_per_commit);

double raw_commit_latency(std::string_view url, std::uint64_t commits);

}  // namespace ordo::store::redis
