#pragma once

#include <cstddef>
#include <string_view>

#include "base/utf8.h"

namespace ordo::domain {

/// What is kept of an error's text.
inline constexpr std::size_t kMaxErrorText = 16 * 1024;

inline std::string_view cut(std::string_view text, std::size_t limit = kMaxErrorText) {
  return utf8_head(text, limit);
}

}  // namespace ordo::domain
