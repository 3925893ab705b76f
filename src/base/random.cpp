#include "base/random.h"

#include <sys/random.h>

#include <cstdlib>

namespace ordo {

Random Random::from_system() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) std::abort();
  return Random{seed};
}

std::string secret_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) std::abort();  // up to 256 come whole
  return bytes;
}

std::uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::string make_ulid(std::int64_t unix_ms, Random& random) {
  static constexpr char kAlphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string text(26, '0');
  auto put = [&](int from, int to, std::uint64_t value) {
    for (int i = to; i > from; --i, value >>= 5)
      text[static_cast<std::size_t>(i - 1)] = kAlphabet[value & 31];
  };
  put(0, 10, static_cast<std::uint64_t>(unix_ms));
  put(10, 18, random.next());
  put(18, 26, random.next());
  return text;
}

}  // namespace ordo
