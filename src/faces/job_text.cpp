#include "faces/job_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/base64.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/json_tree.h"
#include "base/nearest.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "base/window_text.h"

namespace ordo {
namespace {

using JsonValue = JsonDocument::Value;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::invalid_argument, what); }

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

std::string text_of(std::string_view key, const JsonValue& value) {
  if (!value.is_string())
    refuse(fmt::format("\"{}\" needs a text in quotes, not {}", key, shortened(value.text())));
  return value.as_string();
}

/// Text, or {"$base64":"…"}.
std::string name_of(std::string_view key, const JsonValue& value) {
  if (!value.is_object()) return text_of(key, value);
  if (value.size() == 1 && value.key_at(0) == "$base64" && value.at(0).is_string()) {
    if (auto bytes = decode_base64(value.at(0).as_string())) return *std::move(bytes);
  }
  refuse(fmt::format(R"("{}" needs a text in quotes, or {{"$base64":"…"}} with padded base64, not {})", key,
                     shortened(value.text())));
}

double real_of(std::string_view key, const JsonValue& value) {
  const auto real = value.is_number() ? value.as_double() : std::nullopt;
  if (!real || !std::isfinite(*real)) {
    refuse(fmt::format("\"{}\" needs a number between -1.8e308 and 1.8e308, not {}", key,
                       shortened(value.text())));
  }
  return *real;
}

std::int32_t whole_of(std::string_view key, const JsonValue& value, std::int32_t least,
                      const char* hint = "") {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  const auto number = value.is_number() ? value.as_int() : std::nullopt;
  if (!number || *number < least || *number > kMost) {
    refuse(fmt::format("\"{}\" needs a whole number from {} to {}, not {}{}", key, least, kMost,
                       shortened(value.text()), hint));
  }
  return static_cast<std::int32_t>(*number);
}

bool flag_of(std::string_view key, const JsonValue& value) {
  if (!value.is_bool()) refuse(fmt::format("\"{}\" is true or false", key));
  return value.as_bool();
}

Duration timeout_of(const JsonValue& value) {
  const Duration timeout = parse_duration(text_of("timeout", value));
  if (timeout <= Duration::zero()) refuse("\"timeout\" must be longer than nothing");
  return timeout;
}

Window window_of(const JsonValue& value) {
  if (!value.is_object()) refuse(R"("windows" holds objects, like {"start":"05:00","end":"07:00"})");
  Window window;
  bool has_start = false, has_end = false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto key = value.key_at(i);
    const auto part = value.at(i);
    if (key == "start") {
      has_start = true;
      window.start = parse_clock(text_of(key, part));
    } else if (key == "end") {
      has_end = true;
      window.end = parse_clock(text_of(key, part));
    } else if (key == "tz") {
      window.tz = text_of(key, part);
    } else if (key == "days" && part.is_array()) {
      window.days = 0;
      for (std::size_t k = 0; k < part.size(); ++k) window.days |= parse_days(text_of(key, part.at(k)));
    } else {
      refuse(fmt::format("unknown key {} in a window; it takes start, end, days (a list) and tz",
                         json_string(shortened(key))));
    }
  }
  if (!has_start || !has_end) refuse("a window needs start and end");
  return window;
}

std::vector<Window> windows_of(const JsonValue& value) {
  if (!value.is_array()) refuse(R"("windows" is a list, like [{"start":"05:00","end":"07:00"}])");
  std::vector<Window> windows;
  for (std::size_t i = 0; i < value.size(); ++i) windows.push_back(window_of(value.at(i)));
  return windows;
}

struct JobKey {
  std::string_view name;
  void (*set)(NewJob&, const JsonValue&);
};

constexpr JobKey kJobKeys[] = {
    {"id",
     [](NewJob& job, const JsonValue& value) {
       job.id = name_of("id", value);
       if (job.id.empty()) refuse("\"id\" is empty; leave it out to get a new one");
     }},
    {"key", [](NewJob& job, const JsonValue& value) { job.key = name_of("key", value); }},
    {"kind", [](NewJob& job, const JsonValue& value) { job.kind = name_of("kind", value); }},
    {"payload", [](NewJob& job, const JsonValue& value) { job.payload = payload_from_json(value.text()); }},
    {"score", [](NewJob& job, const JsonValue& value) { job.score = real_of("score", value); }},
    {"run_at",
     [](NewJob& job, const JsonValue& value) {
       if (value.is_number()) {
         job.run_at = time_of_unix_seconds(real_of("run_at", value));
       } else {
         set_start(job, text_of("run_at", value));
       }
     }},
    {"priority",
     [](NewJob& job, const JsonValue& value) {
       job.priority =
           whole_of("priority", value, std::numeric_limits<std::int32_t>::min(), "; lower runs first");
     }},
    {"max_retries",
     [](NewJob& job, const JsonValue& value) { job.max_retries = whole_of("max_retries", value, 0); }},
    {"timeout", [](NewJob& job, const JsonValue& value) { job.timeout = timeout_of(value); }},
    {"expires",
     [](NewJob& job, const JsonValue& value) {
       if (value.is_number()) {
         job.expires = time_of_unix_seconds(real_of("expires", value));
       } else {
         set_expiry(job, text_of("expires", value));
       }
     }},
    {"windows", [](NewJob& job, const JsonValue& value) { job.windows = windows_of(value); }},
    {"weight",
     [](NewJob& job, const JsonValue& value) {
       job.weight = weight_of(value.is_string() ? value.as_string() : std::string(value.text()));
     }},
    {"partition", [](NewJob& job, const JsonValue& value) { job.partition = name_of("partition", value); }},
    {"critical", [](NewJob& job, const JsonValue& value) { job.critical = flag_of("critical", value); }},
    {"replace_time",
     [](NewJob& job, const JsonValue& value) { job.replace_time = flag_of("replace_time", value); }},
    {"lock", [](NewJob& job, const JsonValue& value) { job.lock = name_of("lock", value); }},
    {"unique", [](NewJob& job, const JsonValue& value) { job.unique = name_of("unique", value); }},
};

std::string unknown_key(const std::string& key) {
  std::vector<std::string> known;
  for (const JobKey& job_key : kJobKeys) known.emplace_back(job_key.name);
  return fmt::format("unknown key {}; {}", json_string(shortened(key)), nearest_hint(key, known));
}

}  // namespace

void set_start(NewJob& job, std::string_view text) {
  if (text.starts_with('+')) {
    job.delay = parse_duration(text.substr(1));
  } else if (const auto seconds = parse_real(text)) {
    job.run_at = time_of_unix_seconds(*seconds);
  } else {
    job.run_at = parse_time(text, Time{});
  }
}

void set_expiry(NewJob& job, std::string_view text) {
  if (text.starts_with('+')) {
    job.expires_after = parse_duration(text.substr(1));
  } else {
    job.expires = expiry_of(text);
  }
}

Decimal weight_of(std::string_view text) {
  const auto weight = Decimal::parse(text);
  if (weight && *weight > Decimal()) return *weight;
  throw Error(ErrorKind::invalid_argument, fmt::format("'{}' is no weight; it takes a number above 0 with at "
                                                       "most six digits behind the point, like 0.25",
                                                       shortened(text)));
}

Time expiry_of(std::string_view text) {
  if (const auto seconds = parse_real(text); seconds && !text.starts_with('+'))
    return time_of_unix_seconds(*seconds);
  return parse_time(text, system_clock().wall());
}

Time moment_of(std::string_view text) {
  if (!text.starts_with('-') || parse_real(text)) return expiry_of(text);
  return time_after(system_clock().wall(), -parse_duration(text.substr(1)));
}

NewJob parse_job(std::string_view json) {
  const auto document = JsonDocument::parse(json);
  if (!document) {
    std::string rest;
    std::size_t error_at = 0;
    append_minified(rest, json, &error_at);
    refuse(error_at < json.size()
               ? fmt::format("this is no JSON: byte {} of {} is wrong", error_at + 1, json.size())
               : fmt::format("this is no JSON: it ends too early, after byte {}", json.size()));
  }
  const JsonValue object = document->root();
  if (!object.is_object()) refuse(R"(a job is a JSON object, like {"id":"42","payload":{"v":1}})");
  NewJob job;
  unsigned seen = 0;
  for (std::size_t i = 0; i < object.size(); ++i) {
    const std::string key = object.key_at(i);
    std::size_t at = 0;
    while (at < std::size(kJobKeys) && kJobKeys[at].name != key) ++at;
    if (at == std::size(kJobKeys)) refuse(unknown_key(key));
    if ((seen & 1U << at) != 0) refuse(fmt::format("\"{}\" stands twice", key));
    seen |= 1U << at;
    kJobKeys[at].set(job, object.at(i));
  }
  return job;
}

}  // namespace ordo
