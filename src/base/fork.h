#pragma once

#include <cstdint>

namespace ordo {

/// How many forks led to this process since the first call. What was opened before one has no threads here.
std::uint64_t forks();

}  // namespace ordo
