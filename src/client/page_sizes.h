#pragma once

#include <cstddef>

namespace ordo {

// What is read and written at once by whoever copies jobs.
constexpr std::size_t kRows = 8192;
constexpr std::size_t kAppendBytes = 8u << 20;
constexpr std::size_t kStatesPerCommit = 256;  // with errors of at most 16 KiB
constexpr std::size_t kDeadPerPage = 64;       // with payloads of at most 1 MiB, unless allowed more

inline constexpr std::size_t kPayloadsAtOnce = 16;  // of 1 MiB, unless allowed more

}  // namespace ordo
