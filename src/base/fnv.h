#pragma once

#include <cstdint>
#include <string_view>

namespace ordo {

/// FNV-1a of 64 bits: for ever the same, so it may be stored. `hash`: of what stands before.
inline std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 14695981039346656037ULL) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace ordo
