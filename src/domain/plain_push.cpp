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
// The name in front of a push that is kept in part; its value is how many bytes it had.
constexpr std::string_view kCut;
constexpr std::size_t kLengths = 8;  // of a name and its value, where they are kept

using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

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

bool take_expiry(JobOptions& options, std::string_view value) {
  if (value.starts_with('+')) {
    std::string why;
    options.expires_after = read_duration(value.substr(1), why);
    return options.expires_after.has_value();
  }
  const auto given = to_number<double>(value);
  options.expires = given ? time_of_seconds(*given) : std::nullopt;
  return options.expires.has_value();
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
    const auto given = to_number<double>(value);
    entry.run_at = given ? time_of_seconds(*given) : std::nullopt;
    return entry.run_at.has_value();
  } else if (name == "priority") {
    entry.options.priority = to_number<std::int32_t>(value);
    return entry.options.priority.has_value();
  } else if (name == "timeout") {
    const auto given = to_number<double>(value);
    entry.options.timeout = given ? timeout_of_seconds(*given) : std::nullopt;
    return entry.options.timeout.has_value();
  } else if (name == "expires") {
    return take_expiry(entry.options, value);
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
  std::string cut;
  for (const auto& [name, value] : fields) {
    if (name == kRefused) return Unreadable{std::string(value) + (cut.empty() ? "" : "; " + cut), 0};
    if (take_field(entry, name, value)) continue;
    if (const auto size = name == kCut && cut.empty() ? to_number<std::uint64_t>(value) : std::nullopt) {
      cut = "of the " + std::to_string(*size) + " bytes that were pushed only the first are kept";
      continue;
    }
    return Unreadable{"the field " + in_quotes(name) + " is unknown, or its value '" + shortened(value) +
                          "' of " + std::to_string(value.size()) + " bytes does not fit" +
                          (cut.empty() ? "" : "; " + cut),
                      0};
  }
  if (!cut.empty()) return Unreadable{cut, 0};
  if (entry.key.empty()) entry.key = entry.id;
  auto& options = entry.options;
  if (options.expires && options.expires_after) return Unreadable{"it expires twice", 0};
  // Without a time of its own its owner knows when it came.
  if (options.expires_after)
    options.expires = entry.run_at ? time_after(*entry.run_at, *options.expires_after) : Time::max();
  return entry;
}

/// As much of it as is kept; nothing is cut off from what is shorter.
Pairs kept_of(PlainFields fields, std::string& size_text) {
  std::size_t size = 0;
  for (const auto& [name, value] : fields) size += kLengths + name.size() + value.size();
  if (size <= kMostKeptOfPush) return {fields.begin(), fields.end()};
  size_text = std::to_string(size);
  Pairs kept{{kCut, size_text}};
  auto left = kMostKeptOfPush;
  for (auto [name, value] : fields) {
    if (left <= kLengths) break;
    left -= kLengths;
    name = name.substr(0, left);
    value = value.substr(0, left - name.size());
    left -= name.size() + value.size();
    kept.emplace_back(name, value);
  }
  return kept;
}

struct KeptPush {
  std::string_view id, kind;
  Pairs fields;
};

Decoded<KeptPush> read_kept(std::string_view bytes) {
  return read_record<KeptPush>([&] {
    ByteReader in(bytes.substr(kAsPushed.size()), "push");
    KeptPush push;
    push.id = in.get_long();
    push.kind = in.get_long();
    while (!in.at_end()) {
      const auto name = in.get_long();
      push.fields.emplace_back(name, in.get_long());
    }
    if (push.id.empty() || push.id.size() > kLongestJobName || push.kind.empty() ||
        push.kind.size() > kLongestJobName)
      in.fail("it names no job");
    return push;
  });
}

}  // namespace

std::string encode_plain_push(PlainFields fields, std::string_view id, std::string_view kind) {
  if (const auto entry = understand(fields, id, kind)) return encode(*entry);
  std::string bytes(kAsPushed);
  ByteWriter out(bytes);
  out.put_long(id);
  out.put_long(kind);
  std::string size_text;
  for (const auto& [name, value] : kept_of(fields, size_text)) {
    out.put_long(name);
    out.put_long(value);
  }
  return bytes;
}

bool is_plain_push(std::string_view bytes) { return bytes.starts_with(kAsPushed); }

Decoded<Entry> decode_plain_push(std::string_view bytes) {
  const auto push = read_kept(bytes);
  return push ? understand(push->fields, push->id, push->kind) : Unreadable{push.why(), 0};
}

PushedNames names_of_plain_push(std::string_view bytes) {
  PushedNames names;
  const auto push = read_kept(bytes);
  if (!push) return names;
  names.id = push->id;
  for (const auto& [name, value] : push->fields) {
    if (value.empty() || value.size() > kLongestJobName) continue;
    if (name == "id") names.id = value;
    if (name == "key") names.key = value;
  }
  return names;
}

}  // namespace ordo::domain
