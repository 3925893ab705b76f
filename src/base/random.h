#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ordo {

/// The only source of chance: one seeded stream (SplitMix64). Not thread-safe; each thread has its own.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Seeded from the kernel, for production.
  static Random from_system();

  std::uint64_t next();

  /// Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

/// From the kernel, for secrets.
std::string secret_bytes(std::size_t count);

/// A new ULID: 26 Crockford base-32 characters, ordered by `unix_ms` then by chance.
std::string make_ulid(std::int64_t unix_ms, Random& random);

}  // namespace ordo
