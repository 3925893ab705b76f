#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace ordo::cli {

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// Columns a terminal uses for `text`: wide characters take two, combining marks none.
std::size_t display_width(std::string_view text);

/// Text that cannot disturb a terminal or a table: control characters, direction overrides, what cannot be
/// seen and bytes that are not UTF-8 are written as escapes, and what is wider than `most` columns ends in
/// "…".
std::string printable(std::string_view text, std::size_t most = kNoLimit);

/// JSON of the same meaning that cannot disturb a terminal either: such characters stand in its strings only,
/// where \uXXXX says the same.
std::string printable_json(std::string_view json);

}  // namespace ordo::cli
