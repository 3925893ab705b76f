#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ordo::store::postgres {

// Plain SQL on the same server, many rows per statement: see store/raw_bench.h.
double raw_append_delete_rate(const std::string& url, std::uint64_t rows, std::size_t row_bytes,
                              std::size_t rows_per_commit);
double raw_commit_latency(const std::string& url, std::uint64_t commits);

}  // namespace ordo::store::postgres
