#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ordo {

/// [a-z0-9_-]{1,64}: of queues and placement groups.
inline bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, allowed);
}

/// Of the ids, keys and kinds of jobs.
inline constexpr std::size_t kLongestJobName = 255;
/// Of a payload that is pushed, in bytes, unless its queue says otherwise.
inline constexpr std::size_t kLongestPayload = 1U << 20;
/// What a queue may say: one still fits into a line for its worker, however it is written there.
inline constexpr std::size_t kLongestPayloadOfAll = 8U << 20;

}  // namespace ordo
