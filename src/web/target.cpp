#include "web/target.h"

namespace ordo::web {
namespace {

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

enum class Plus { itself, space };

std::optional<std::string> decode(std::string_view text, Plus plus) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i] == '+' && plus == Plus::space ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    bytes += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return bytes;
}

/// The part before `end`, which goes with it.
std::string_view take(std::string_view& text, char end) {
  const auto size = text.find(end);
  const auto part = text.substr(0, size);
  text.remove_prefix(size == std::string_view::npos ? text.size() : size + 1);
  return part;
}

}  // namespace

std::optional<std::string> Target::find(std::string_view name) const {
  std::optional<std::string> value;
  for (const auto& [key, text] : query) {
    if (key == name) value = text;
  }
  return value;
}

std::vector<std::string> Target::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, text] : query) {
    if (key == name) values.push_back(text);
  }
  return values;
}

std::optional<Target> parse_target(std::string_view text) {
  if (!text.starts_with('/') || text.find('#') != std::string_view::npos) return std::nullopt;
  Target target;
  auto path = take(text, '?');
  path.remove_prefix(1);
  while (!path.empty()) {
    auto segment = decode(take(path, '/'), Plus::itself);
    if (!segment) return std::nullopt;
    target.path.push_back(*std::move(segment));
  }
  while (!text.empty()) {
    auto value = take(text, '&');
    if (value.empty()) continue;
    const auto name = take(value, '=');
    auto name_bytes = decode(name, Plus::space);
    auto value_bytes = decode(value, Plus::space);
    if (!name_bytes || !value_bytes) return std::nullopt;
    target.query.emplace_back(*std::move(name_bytes), *std::move(value_bytes));
  }
  return target;
}

}  // namespace ordo::web
