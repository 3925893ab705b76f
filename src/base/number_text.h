#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace ordo {

/// The number that the whole text is; nothing: it is none, or out of range.
template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace ordo
