#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace ordo {

/// So much of what somebody gave is shown in a message.
inline constexpr std::size_t kShortenedBytes = 200;

/// The text for a message: its head and "…" if it is longer than that. Does not cut a UTF-8 character.
inline std::string shortened(std::string_view text) {
  if (text.size() <= kShortenedBytes) return std::string(text);
  return std::string(utf8_head(text, kShortenedBytes)) + "…";
}

}  // namespace ordo
