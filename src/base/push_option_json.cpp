// Options of a job from JSON, and as JSON.

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "base/push_option.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "base/window_text.h"

namespace ordo {
namespace {

using JsonValue = JsonDocument::Value;

[[noreturn]] void refuse_json(const std::string& what) { throw Error(ErrorKind::invalid_argument, what); }

std::string text_in(std::string_view key, const JsonValue& value) {
  if (!value.is_string())
    refuse_json(fmt::format("\"{}\" needs a text in quotes, not {}", key, shortened(value.text())));
  return value.as_string();
}

/// Text, or {"$base64":"…"}.
std::string name_in(std::string_view key, const JsonValue& value) {
  if (!value.is_object()) return text_in(key, value);
  if (value.size() == 1 && value.key_at(0) == "$base64" && value.at(0).is_string()) {
    if (auto bytes = decode_base64(value.at(0).as_string())) return *std::move(bytes);
  }
  refuse_json(fmt::format(R"("{}" needs a text in quotes, or {{"$base64":"…"}} with padded base64, not {})",
                          key, shortened(value.text())));
}

Window window_in(const JsonValue& value) {
  if (!value.is_object()) refuse_json(R"("windows" holds objects, like {"start":"05:00","end":"07:00"})");
  Window window;
  bool has_start = false, has_end = false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto key = value.key_at(i);
    const auto part = value.at(i);
    if (key == "start") {
      has_start = true;
      window.start = parse_clock(text_in(key, part));
    } else if (key == "end") {
      has_end = true;
      window.end = parse_clock(text_in(key, part));
    } else if (key == "tz") {
      window.tz = text_in(key, part);
    } else if (key == "days" && part.is_array()) {
      window.days = 0;
      for (std::size_t k = 0; k < part.size(); ++k) window.days |= parse_days(text_in(key, part.at(k)));
    } else {
      refuse_json(fmt::format("unknown key {} in a window; it takes start, end, days (a list) and tz",
                              json_string(shortened(key))));
    }
  }
  if (!has_start || !has_end) refuse_json("a window needs start and end");
  return window;
}

/// The text that the command line would have for a value; what it cannot be is shown as it is, and refused.
struct TextOfJson {
  std::string_view key;
  const JsonValue& value;

  std::string operator()(PayloadPlace /*payload*/) const { return payload_from_json(value.text()); }
  std::string operator()(std::string NewJob::* /*place*/) const { return name_in(key, value); }
  std::string operator()(std::optional<std::string> NewJob::* /*place*/) const { return name_in(key, value); }
  std::string operator()(std::optional<std::int32_t> NewJob::* /*place*/) const {
    const auto number = value.is_number() ? value.as_int() : std::nullopt;  // 7.0 is a whole number, too
    return number ? fmt::to_string(*number) : std::string(value.text());
  }
  std::string operator()(std::optional<Decimal> NewJob::* /*place*/) const {
    return value.is_string() ? value.as_string() : std::string(value.text());
  }
  std::string operator()(std::optional<Duration> NewJob::* /*place*/) const { return text_in(key, value); }
  std::string operator()(MomentPlace /*moment*/) const {
    return value.is_number() ? std::string(value.text()) : text_in(key, value);
  }
  template <class Other>
  std::string operator()(Other /*number or flag*/) const {
    return std::string(value.text());
  }
};

// A text with a zero byte is none to jsonb, which reads what this writes, too.
std::string name_out(const std::string& name) {
  if (name.find('\0') == std::string::npos) return name_json(name);
  std::string json;
  append_base64_json(json, name);
  return json;
}

/// A payload that is shown as JSON loses its white space, and the two bytes `""` are read as none.
std::string payload_out(const std::string& bytes) {
  auto json = payload_to_json(bytes);
  if (payload_from_json(json) == bytes) return json;
  json.clear();
  append_base64_json(json, bytes);
  return json;
}

struct JsonOfOption {
  const NewJob& job;

  std::string operator()(PayloadPlace place) const { return payload_out(job.*place.bytes); }
  std::string operator()(std::string NewJob::*place) const {
    return (job.*place).empty() ? "" : name_out(job.*place);
  }
  std::string operator()(bool NewJob::*place) const { return job.*place ? "true" : ""; }
  std::string operator()(MomentPlace place) const {
    if (const auto after = job.*place.after) return "\"+" + format_duration(*after) + '"';
    const auto at = job.*place.at;
    if (place.may_be_never && at == Time::max()) return "\"never\"";
    return at ? '"' + format_time(*at) + '"' : "";
  }
  std::string operator()(std::vector<Window> NewJob::*place) const {
    return (job.*place).empty() ? "" : windows_json(job.*place);
  }
  template <class Value>
  std::string operator()(std::optional<Value> NewJob::*place) const {
    return job.*place ? of(*(job.*place)) : "";
  }

 private:
  static std::string of(const std::string& name) { return name_out(name); }
  static std::string of(double number) { return json_number(number); }
  static std::string of(std::int32_t number) { return fmt::to_string(number); }
  static std::string of(Decimal number) { return number.text(); }
  static std::string of(bool flag) { return flag ? "true" : "false"; }
  static std::string of(Duration span) { return '"' + format_duration(span) + '"'; }
};

}  // namespace

void set_option(NewJob& job, const PushOption& option, const JsonDocument::Value& value) {
  const auto label = fmt::format("\"{}\"", option.name);
  const auto* const windows = std::get_if<std::vector<Window> NewJob::*>(&option.place);
  if (windows == nullptr)
    return set_option(job, option, std::visit(TextOfJson{option.name, value}, option.place), label);
  if (!value.is_array())
    refuse_json(fmt::format(R"({} is a list, like [{{"start":"05:00","end":"07:00"}}])", label));
  for (std::size_t i = 0; i < value.size(); ++i) (job.*(*windows)).push_back(window_in(value.at(i)));
  check_option(job, option, label);
}

std::string option_json(const PushOption& option, const NewJob& job) {
  return std::visit(JsonOfOption{job}, option.place);
}

std::string windows_json(const std::vector<Window>& windows) {
  std::string json;
  for (const auto& window : windows) {
    std::string days;
    for (const auto& day : day_names(window.days)) days += (days.empty() ? "" : ",") + json_string(day);
    json += fmt::format(R"({}{{"start":"{}","end":"{}","days":[{}],"tz":{}}})", json.empty() ? "" : ",",
                        format_clock(window.start), format_clock(window.end), days, json_string(window.tz));
  }
  return '[' + json + ']';
}

}  // namespace ordo
