#pragma once

#include <cstdint>
#include <string_view>

namespace ordo {

/// A 64-bit checksum of things in their order. Not against forgery.
class Checksum {
 public:
  Checksum& add(std::uint64_t value) {
    sum_ = mixed(sum_ + 0x9e3779b97f4a7c15ULL + value);
    return *this;
  }
  Checksum& add(std::string_view bytes) { return add(of(bytes)); }
  std::uint64_t value() const { return sum_; }

  /// Of bytes alone: FNV-1a, its bits mixed.
  static std::uint64_t of(std::string_view bytes) {
    std::uint64_t sum = 0xcbf29ce484222325ULL;
    for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
    return mixed(sum + bytes.size());
  }

 private:
  static std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
  }

  std::uint64_t sum_ = 0;
};

}  // namespace ordo
