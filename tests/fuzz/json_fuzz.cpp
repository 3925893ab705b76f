// JSON text: what is taken for JSON agrees with Boost.JSON, stripping changes nothing, payloads come back as
// they went.

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/error.hpp>
#include <ordo/json.hpp>

#include "base/assert.h"
#include "base/json.h"
#include "base/json_tree.h"
#include "base/time_text.h"

namespace {

using namespace ordo;

/// Nothing when it cannot tell: it refuses exponents that it cannot hold.
std::optional<bool> is_json_for_boost(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  boost::json::stream_parser parser({}, options);
  boost::system::error_code error;
  parser.write(text.data(), text.size(), error);
  if (!error) parser.finish(error);
  if (error == boost::json::error::exponent_overflow) return std::nullopt;
  return !error;
}

void walk(const JsonDocument::Value& value, std::string& out) {
  if (value.is_array() || value.is_object()) {
    out += value.is_object() ? '{' : '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ',';
      if (value.is_object()) {
        const auto key = value.key_at(i);
        ORDO_ASSERT(value.find(key));
        out += json_string(key) + ':';
      }
      walk(value.at(i), out);
    }
    out += value.is_object() ? '}' : ']';
  } else {
    if (value.is_number() && value.as_int()) ORDO_ASSERT(value.as_double());
    out += value.is_string() ? json_string(value.as_string()) : std::string(value.text());
  }
}

void check_tree(const std::string& minified) {
  const auto document = JsonDocument::parse(minified);
  ORDO_ASSERT(document);
  ORDO_ASSERT(document->root().text() == minified);
  std::string rebuilt;
  walk(document->root(), rebuilt);
  std::string again;
  const auto second = JsonDocument::parse(rebuilt);
  ORDO_ASSERT(second);
  walk(second->root(), again);
  ORDO_ASSERT(rebuilt == again);
  ORDO_ASSERT(Json::parse(minified).dump() == minified);
}

void check_payload(std::string_view bytes, const std::optional<std::string>& minified) {
  const std::string json = payload_to_json(bytes);
  ORDO_ASSERT(minify_json(json) == json);
  const std::string back = payload_from_json(json);
  ORDO_ASSERT(back == (minified && *minified != "\"\"" ? (json == *minified ? *minified : std::string(bytes))
                                                       : (minified ? std::string() : std::string(bytes))));
  ORDO_ASSERT(payload_to_json(back) == json);
  try {
    const std::string stored = payload_from_json(bytes);
    ORDO_ASSERT(minified);
    ORDO_ASSERT(payload_from_json(payload_to_json(stored)) == stored);
  } catch (const Error&) {
  }
}

void check_times(std::string_view text) {
  try {
    const Time time = parse_time(text);
    ORDO_ASSERT(parse_time(format_time(time)) == time);
  } catch (const Error&) {
  }
  try {
    const Duration time = parse_duration(text);
    ORDO_ASSERT(time >= Duration{0} && parse_duration(format_duration(time)) == time);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto minified = minify_json(text);
  ORDO_ASSERT(minified.has_value() == is_json_for_boost(text).value_or(minified.has_value()));
  if (minified) {
    ORDO_ASSERT(minify_json(*minified) == *minified);
    check_tree(*minified);
  }
  ORDO_ASSERT(minify_json(json_string(text)) == json_string(text));
  const std::string shown = json_unquote(json_string(text));
  ORDO_ASSERT(json_unquote(json_string(shown)) == shown);
  check_payload(text, minified);
  check_times(text);
  return 0;
}
