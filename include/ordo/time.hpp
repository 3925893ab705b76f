#pragma once

#include <chrono>

#if defined(_GLIBCXX_DEBUG) && !defined(ORDO_BUILT_WITH_GLIBCXX_DEBUG)
#error "the library was built without _GLIBCXX_DEBUG, which changes its types: use _GLIBCXX_ASSERTIONS"
#endif

namespace ordo {

/// A span of time, in microseconds: the resolution of every rule of Ordo.
using Duration = std::chrono::microseconds;

/// An absolute UTC instant with microsecond resolution.
using Time = std::chrono::sys_time<Duration>;

}  // namespace ordo
