#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace ordo {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "ordo: internal error, please report: %s is false (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace ordo
