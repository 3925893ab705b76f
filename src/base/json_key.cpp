#include "base/json_key.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_pointer.h"
#include "base/json_tree.h"

namespace ordo {
namespace {

constexpr std::size_t kMostExponentDigits = 18;
constexpr std::int64_t kMostPlainDigits = 21;  // of a number that is written without an exponent

/// Of a JSON number; nothing: its exponent is too long.
std::optional<std::string> number_key(std::string_view text) {
  const bool is_negative = text.front() == '-';
  if (is_negative) text.remove_prefix(1);
  const auto exponent_at = std::min(text.find_first_of("eE"), text.size());
  const auto mantissa = text.substr(0, exponent_at);
  const auto point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  if (point < mantissa.size()) digits += mantissa.substr(point + 1);
  auto exponent = -static_cast<std::int64_t>(mantissa.size() - std::min(point + 1, mantissa.size()));
  digits.erase(0, digits.find_first_not_of('0'));
  if (digits.empty()) return "0";
  if (exponent_at < text.size()) {
    auto shown = text.substr(exponent_at + 1);
    if (shown.front() == '+') shown.remove_prefix(1);
    const bool goes_down = shown.front() == '-';
    if (goes_down) shown.remove_prefix(1);
    shown.remove_prefix(std::min(shown.find_first_not_of('0'), shown.size()));
    if (shown.size() > kMostExponentDigits) return std::nullopt;
    std::int64_t value = 0;
    std::from_chars(shown.data(), shown.data() + shown.size(), value);
    exponent += goes_down ? -value : value;
  }
  const auto last = digits.find_last_not_of('0');
  exponent += static_cast<std::int64_t>(digits.size() - last - 1);
  digits.resize(last + 1);
  const auto size = static_cast<std::int64_t>(digits.size());
  if (exponent >= 0 && size + exponent <= kMostPlainDigits) {
    digits.append(static_cast<std::size_t>(exponent), '0');
  } else if (exponent < 0 && exponent > -kMostPlainDigits) {
    if (size <= -exponent) digits.insert(0, static_cast<std::size_t>(-exponent - size) + 1, '0');
    digits.insert(digits.size() - static_cast<std::size_t>(-exponent), 1, '.');
  } else {
    digits += 'e' + std::to_string(exponent);
  }
  return (is_negative ? "-" : "") + digits;
}

/// False: it has no key but its bytes.
bool append_value(std::string& out, const JsonDocument::Value& value) {
  switch (value.type()) {
    case JsonDocument::Type::null:
    case JsonDocument::Type::boolean:
      out += value.text();
      return true;
    case JsonDocument::Type::number: {
      const auto number = number_key(value.text());
      out += number.value_or("");
      return number.has_value();
    }
    case JsonDocument::Type::string:
      append_json_string(out, value.as_string());
      return true;
    case JsonDocument::Type::array:
      out += '[';
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out += ',';
        if (!append_value(out, value.at(i))) return false;
      }
      out += ']';
      return true;
    case JsonDocument::Type::object: {
      std::vector<std::pair<std::string, std::size_t>> members;
      for (std::size_t i = 0; i < value.size(); ++i) members.emplace_back(value.key_at(i), i);
      std::ranges::sort(members);
      const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
      if (std::ranges::adjacent_find(members, same) != members.end()) return false;
      out += '{';
      for (const auto& [name, at] : members) {
        if (&name != &members.front().first) out += ',';
        append_json_string(out, name);
        out += ':';
        if (!append_value(out, value.at(at))) return false;
      }
      out += '}';
      return true;
    }
  }
  return false;
}

std::string key_of_value(const JsonDocument::Value& value) {
  if (value.is_string()) return json_key_of_string(value.as_string());
  std::string key;
  return append_value(key, value) ? key : std::string(value.text());
}

}  // namespace

std::string json_key_of_string(std::string_view text) {
  return JsonDocument::parse(text) ? json_string(text) : std::string(text);
}

std::string json_key(std::string_view text) {
  const auto document = JsonDocument::parse(text);
  return document ? key_of_value(document->root()) : std::string(text);
}

std::optional<std::string> json_key_at(std::string_view json, std::string_view pointer) {
  const auto document = JsonDocument::parse(json);
  const auto value = document ? value_at(document->root(), pointer) : std::nullopt;
  return value && !value->is_null() ? std::optional(key_of_value(*value)) : std::nullopt;
}

std::optional<std::string> group_name_at(std::string_view json, std::string_view pointer) {
  const auto document = JsonDocument::parse(json);
  const auto value = document ? value_at(document->root(), pointer) : std::nullopt;
  if (!value) return std::nullopt;
  if (value->is_string()) return value->as_string();
  if (value->is_bool()) return std::string(value->text());
  if (!value->is_number()) return std::nullopt;
  return number_key(value->text()).value_or(std::string(value->text()));
}

}  // namespace ordo
