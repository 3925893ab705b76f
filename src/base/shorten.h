#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ordo {

/// So much of what somebody gave is shown in a message.
inline constexpr std::size_t kShortenedBytes = 200;

/// The text for a message: on one line, without control characters, its head and "…" if it is longer than
/// that. Does not cut a UTF-8 character.
std::string shortened(std::string_view text);

/// A name that somebody gave, of any bytes, for a message: 'orders'; its inside is that of name_in_message().
std::string in_quotes(std::string_view name);

}  // namespace ordo
