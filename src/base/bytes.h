#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <ordo/error.hpp>

namespace ordo {

static_assert(std::endian::native == std::endian::little, "the record codecs write little-endian");

/// Appends fixed-width little-endian values and length-prefixed strings to `out`.
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  template <class T>
  void put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto at = out_.size();
    out_.resize(at + sizeof value);
    std::memcpy(out_.data() + at, &value, sizeof value);
  }
  void put_short(std::string_view text) {  // at most 255 bytes
    put(static_cast<std::uint8_t>(text.size()));
    out_.append(text);
  }
  void put_long(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    out_.append(text);
  }
  void put_rest(std::string_view text) { out_.append(text); }

 private:
  std::string& out_;
};

/// Reads what ByteWriter wrote. Throws Error{corrupt} past the end; `what` names the record in the message.
/// Strings returned point into the bytes given.
class ByteReader {
 public:
  ByteReader(std::string_view bytes, const char* what) : bytes_(bytes), what_(what) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view get_short() { return take(get<std::uint8_t>()); }
  std::string_view get_long() { return take(get<std::uint32_t>()); }
  std::string_view rest() { return take(bytes_.size()); }
  bool at_end() const { return bytes_.empty(); }

  /// The byte that leads a record must be the one version that is known.
  void check_version(std::uint8_t known) {
    if (get<std::uint8_t>() != known) fail("its version is unknown");
  }

  [[noreturn]] void fail(const char* why) const {
    throw Error(ErrorKind::corrupt, std::string("cannot read a stored ") + what_ + ": " + why);
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) fail("it ends too early");
    const auto part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }

  std::string_view bytes_;
  const char* what_;
};

}  // namespace ordo
