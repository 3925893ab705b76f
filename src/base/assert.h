#pragma once

namespace ordo {

/// Prints the failed condition and aborts: a bug of Ordo's own. Leases make the abort safe.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace ordo

/// On in every build. The one macro of the code base: it needs the text of its condition.
#define ORDO_ASSERT(condition) \
  ((condition) ? void(0) : ::ordo::assertion_failed(#condition, __FILE__, __LINE__))
