#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ordo {

/// So much of what somebody gave is shown in a message.
inline constexpr std::size_t kShortenedBytes = 200;

/// The text for a message: its head and "…" if it is longer than that. Does not cut a UTF-8 character.
inline std::string shortened(std::string_view text) {
  if (text.size() <= kShortenedBytes) return std::string(text);
  std::size_t end = kShortenedBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace ordo
