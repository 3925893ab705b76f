#pragma once

#include <chrono>

#include <ordo/abi.hpp>

namespace ordo {

/// A span of time, in microseconds: the resolution of every rule of Ordo.
using Duration = std::chrono::microseconds;

/// An absolute UTC instant with microsecond resolution.
using Time = std::chrono::sys_time<Duration>;

}  // namespace ordo
