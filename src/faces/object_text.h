#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <ordo/time.hpp>

#include "base/json.h"
#include "base/time_text.h"

namespace ordo {

/// Writes one JSON object.
class ObjectText {
 public:
  ObjectText& raw(std::string_view key, std::string_view json) {
    text_ += text_.size() > 1 ? "," : "";
    append_json_string(text_, key);
    text_ += ':';
    text_ += json;
    return *this;
  }
  ObjectText& text(std::string_view key, std::string_view value) { return raw(key, json_string(value)); }
  ObjectText& name(std::string_view key, std::string_view bytes) { return raw(key, name_json(bytes)); }
  ObjectText& text_or_null(std::string_view key, std::string_view value) {
    return value.empty() ? raw(key, "null") : text(key, value);
  }
  template <class Number>
  ObjectText& number(std::string_view key, Number value) {
    return raw(key, fmt::to_string(value));
  }
  ObjectText& real(std::string_view key, double value) { return raw(key, json_number(value)); }
  ObjectText& flag(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  ObjectText& time(std::string_view key, Time value) { return text(key, format_time(value)); }

  std::string end() const { return text_ + '}'; }

 private:
  std::string text_ = "{";
};

/// [a,b]: `append` writes each item behind what is there.
template <class Items, class Append>
std::string array_of(const Items& items, const Append& append) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ',';
    append(text, item);
  }
  return text + ']';
}

}  // namespace ordo
