#pragma once

#include <cstddef>
#include <string_view>

namespace ordo::domain {

/// What is kept of an error's text.
inline constexpr std::size_t kMaxErrorText = 16 * 1024;

/// The longest head of `text` within `limit` bytes that does not cut a UTF-8 character.
inline std::string_view cut(std::string_view text, std::size_t limit = kMaxErrorText) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return text.substr(0, limit);
}

}  // namespace ordo::domain
