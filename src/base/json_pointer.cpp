#include "base/json_pointer.h"

#include <algorithm>
#include <charconv>

#include "base/json_tree.h"

namespace ordo {
namespace {

std::string unescaped(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool escapes = part[i] == '~' && i + 1 < part.size();
    text += escapes ? (part[++i] == '1' ? '/' : '~') : part[i];
  }
  return text;
}

std::optional<std::size_t> index_of(std::string_view part) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool has_zeros = part.size() > 1 && part.front() == '0';
  if (error != std::errc{} || end != part.data() + part.size() || has_zeros) return std::nullopt;
  return index;
}

std::optional<JsonDocument::Value> step(const JsonDocument::Value& value, std::string_view part) {
  if (value.is_object()) return value.find(unescaped(part));
  if (!value.is_array()) return std::nullopt;
  const auto index = index_of(part);
  return index && *index < value.size() ? std::optional(value.at(*index)) : std::nullopt;
}

/// Texts of all values that a pointer points to.
void find_all(const JsonDocument::Value& value, std::string_view pointer,
              std::vector<std::string_view>& found) {
  if (pointer.empty()) {
    found.push_back(value.text());
    return;
  }
  pointer.remove_prefix(1);
  const auto part = pointer.substr(0, pointer.find('/'));
  const auto rest = pointer.substr(part.size());
  if (value.is_object()) {
    const auto key = unescaped(part);
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value.key_at(i) == key) find_all(value.at(i), rest, found);
    }
  } else if (const auto index = value.is_array() ? index_of(part) : std::nullopt) {
    if (*index < value.size()) find_all(value.at(*index), rest, found);
  }
}

}  // namespace

std::optional<std::string> replace_at(std::string_view json, std::span<const std::string> pointers,
                                      std::string_view instead, std::vector<std::string>& replaced) {
  const auto document = JsonDocument::parse(json);
  if (!document) return std::nullopt;
  std::vector<std::string_view> found;
  for (const auto& pointer : pointers) find_all(document->root(), pointer, found);
  // From the front, an outer value before those in it.
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return a.data() != b.data() ? a.data() < b.data() : a.size() > b.size();
  });
  const auto whole = document->root().text();
  std::string text;
  const char* done = whole.data();
  for (const auto& value : found) {
    if (value.data() < done) continue;  // in one that is replaced
    text.append(done, value.data());
    text.append(instead);
    done = value.data() + value.size();
    replaced.emplace_back(value);
  }
  return text.append(done, whole.data() + whole.size());
}

std::optional<JsonDocument::Value> value_at(JsonDocument::Value value, std::string_view pointer) {
  std::optional found = value;
  while (found && !pointer.empty()) {
    pointer.remove_prefix(1);
    const auto part = pointer.substr(0, pointer.find('/'));
    found = step(*found, part);
    pointer.remove_prefix(part.size());
  }
  return found;
}

std::optional<std::string> name_at(std::string_view json, std::string_view pointer) {
  const auto document = JsonDocument::parse(json);
  const auto value = document ? value_at(document->root(), pointer) : std::nullopt;
  if (!value) return std::nullopt;
  if (value->is_string()) return value->as_string();
  if (value->is_number() || value->is_bool()) return std::string(value->text());
  return std::nullopt;
}

bool is_json_pointer(std::string_view text) {
  if (text.empty()) return true;
  if (text.front() != '/') return false;
  for (auto at = text.find('~'); at != std::string_view::npos; at = text.find('~', at + 1)) {
    if (at + 1 == text.size() || (text[at + 1] != '0' && text[at + 1] != '1')) return false;
  }
  return true;
}

}  // namespace ordo
