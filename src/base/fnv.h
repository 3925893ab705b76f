#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ordo {

/// FNV-1a of 64 bits: for ever the same, so it may be stored. `hash`: of what stands before.
inline std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 14695981039346656037ULL) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

/// Likewise of 128 bits, as 16 bytes.
inline std::string fnv1a_128(std::string_view bytes) {
  __extension__ using Bits = unsigned __int128;
  constexpr Bits kPrime = (Bits{1} << 88) + 0x13B;
  Bits hash = (Bits{0x6C62272E07BB0142} << 64) + 0x62B821756295C58D;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  std::string digest(16, '\0');
  for (auto& byte : digest) {
    byte = static_cast<char>(hash >> 120);
    hash <<= 8;
  }
  return digest;
}

}  // namespace ordo
