#include "domain/plain_push.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/name.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "base/window_text.h"
#include "domain/fields.h"
#include "domain/option_bounds.h"

namespace ordo::domain {
namespace {

// In front of a push that is kept as it came: no type of an entry.
constexpr std::string_view kAsPushed("\0P", 2);

template <class Number>
std::optional<Number> to_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool take_window(Entry& entry, std::string_view value) {
  auto& windows = entry.options.windows;
  std::string why;
  const auto window = read_window(value, why);
  if (!window || windows.size() == kMostJobWindows) return false;
  windows.push_back(*window);
  return true;
}

/// Puts a value in its place. False: it does not belong there.
bool take_field(Entry& entry, std::string_view name, std::string_view value) {
  const auto take_name = [&](std::string_view& place) {
    place = value;
    return !value.empty() && value.size() <= kLongestJobName;
  };
  if (name == "id") return take_name(entry.id);
  if (name == "key") return take_name(entry.key);
  if (name == "kind") return take_name(entry.kind);
  if (name == "payload") {
    entry.payload = value;
    return value.size() <= kLongestPayload;
  } else if (name == "score") {
    entry.score = to_number<double>(value);
    return entry.score && std::isfinite(*entry.score);
  } else if (name == "run_at") {
    const auto seconds = to_number<double>(value);
    entry.run_at = seconds ? time_of_seconds(*seconds) : std::nullopt;
    return entry.run_at.has_value();
  } else if (name == "priority") {
    entry.options.priority = to_number<std::int32_t>(value);
    return entry.options.priority.has_value();
  } else if (name == "timeout") {
    const auto seconds = to_number<double>(value);
    entry.options.timeout = seconds ? timeout_of_seconds(*seconds) : std::nullopt;
    return entry.options.timeout.has_value();
  } else if (name == "expires") {
    const auto seconds = to_number<double>(value);
    entry.options.expires = seconds ? time_of_seconds(*seconds) : std::nullopt;
    return entry.options.expires.has_value();
  } else if (name == "window") {
    return take_window(entry, value);
  } else if (name == "weight") {
    entry.options.weight = Decimal::parse(value);
    return entry.options.weight && *entry.options.weight > Decimal();
  } else if (name == "partition") {
    entry.options.partition = value;
    return value.size() <= kLongestJobName;
  } else if (name == "critical") {
    entry.options.critical = value == "true";
    return value == "true" || value == "false";
  } else if (name == "max_retries") {
    entry.options.max_retries = to_number<std::int32_t>(value);
    return entry.options.max_retries.value_or(-1) >= 0;
  } else if (name == "replace_time") {
    entry.options.replaces_time = value == "true";
    return value == "true" || value == "false";
  } else if (name == "lock") {
    entry.options.lock = value;
    return !value.empty() && value.size() <= kLongestJobName;
  } else {
    return false;
  }
  return true;
}

Decoded<Entry> understand(PlainFields fields, std::string_view id, std::string_view kind) {
  Entry entry;
  entry.id = id;
  entry.kind = kind;
  for (const auto& [name, value] : fields) {
    if (take_field(entry, name, value)) continue;
    return Unreadable{"the field " + in_quotes(name) + " is unknown, or its value '" + shortened(value) +
                          "' of " + std::to_string(value.size()) + " bytes does not fit",
                      0};
  }
  if (entry.key.empty()) entry.key = entry.id;
  return entry;
}

}  // namespace

std::string encode_plain_push(PlainFields fields, std::string_view id, std::string_view kind) {
  if (const auto entry = understand(fields, id, kind)) return encode(*entry);
  std::string bytes(kAsPushed);
  ByteWriter out(bytes);
  out.put_long(id);
  out.put_long(kind);
  for (const auto& [name, value] : fields) {
    out.put_long(name);
    out.put_long(value);
  }
  return bytes;
}

bool is_plain_push(std::string_view bytes) { return bytes.starts_with(kAsPushed); }

Decoded<Entry> decode_plain_push(std::string_view bytes) {
  std::string_view id, kind;
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  const auto read = read_record<bool>([&] {
    ByteReader in(bytes.substr(kAsPushed.size()), "push");
    id = in.get_long();
    kind = in.get_long();
    while (!in.at_end()) {
      const auto name = in.get_long();
      fields.emplace_back(name, in.get_long());
    }
    if (id.empty() || id.size() > kLongestJobName || kind.empty() || kind.size() > kLongestJobName)
      in.fail("it names no job");
    return true;
  });
  if (!read) return Unreadable{read.why(), 0};
  return understand(fields, id, kind);
}

}  // namespace ordo::domain
