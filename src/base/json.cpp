// JSON as text: strict checking and stripping in one pass, payload travel, quoting. Values as a tree:
// base/json_tree.h.

#include "base/json.h"

#include <array>
#include <bitset>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <ordo/error.hpp>

#include "base/base64.h"
#include "base/shorten.h"
#include "base/utf8.h"

namespace ordo {
namespace {

/// Bytes that stand for themselves inside a JSON string: ASCII but quote, backslash and controls.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool is_plain(char c) { return kPlain[static_cast<unsigned char>(c)]; }

/// The first byte at or after `at` that is not plain.
const char* skip_plain(const char* at, const char* end) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  const auto has_byte_below = [](std::uint64_t word, std::uint64_t limit) {
    return (word - kOnes * limit) & ~word;
  };
  for (; end - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    const std::uint64_t found = word | has_byte_below(word, 0x20) | has_byte_below(word ^ kOnes * '"', 1) |
                                has_byte_below(word ^ kOnes * '\\', 1);
    if ((found & kHighs) != 0) break;
  }
  while (at != end && is_plain(*at)) ++at;
  return at;
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Four hex digits at `at`; -1 when they are not there.
int hex4(const char* at, const char* end) {
  if (end - at < 4) return -1;
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_value(at[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/// Reads one JSON value and appends it to `out` in runs between white space.
class Minifier {
 public:
  Minifier(std::string& out, std::string_view text)
      : out_(out), at_(text.data()), end_(text.data() + text.size()), run_(text.data()) {}

  bool run() {
    space();
    do {
      if (!value()) return false;
    } while (!closed_);
    if (at_ != end_) return false;
    flush();
    return true;
  }

  const char* at() const { return at_; }

 private:
  void flush() { out_.append(run_, at_); }

  void space() {
    if (at_ == end_ || !is_space(*at_)) return;
    flush();
    while (at_ != end_ && is_space(*at_)) ++at_;
    run_ = at_;
  }

  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  /// One value up to where the next one starts: opens containers, or reads a scalar and closes what ends
  /// after it.
  bool value() {
    if (at_ == end_) return false;
    switch (*at_) {
      case '{':
        if (!open(true)) return false;
        return at_ != end_ && *at_ == '}' ? close() : key();
      case '[':
        if (!open(false)) return false;
        return at_ != end_ && *at_ == ']' ? close() : true;
      case '"':
        return string() && after();
      case 't':
        return literal("true") && after();
      case 'f':
        return literal("false") && after();
      case 'n':
        return literal("null") && after();
      default:
        return number() && after();
    }
  }

  bool open(bool object) {
    if (depth_ == kMaxJsonDepth) return false;
    ++at_;
    is_object_[depth_++] = object;
    space();
    return true;
  }

  bool close() {
    ++at_;
    --depth_;
    return after();
  }

  bool after() {
    for (;;) {
      space();
      if (depth_ == 0) {
        closed_ = true;
        return true;
      }
      const bool object = is_object_[depth_ - 1];
      if (take(',')) {
        space();
        return object ? key() : true;
      }
      if (!take(object ? '}' : ']')) return false;
      --depth_;
    }
  }

  bool key() {
    if (at_ == end_ || *at_ != '"' || !string()) return false;
    space();
    if (!take(':')) return false;
    space();
    return true;
  }

  bool literal(std::string_view word) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool digits() {
    const char* first = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ != first;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  bool string() {
    ++at_;
    for (;;) {
      at_ = skip_plain(at_, end_);
      if (at_ == end_) return false;
      if (*at_ == '"') {
        ++at_;
        return true;
      }
      if (*at_ == '\\') {
        if (!escape()) return false;
        continue;
      }
      const auto byte = static_cast<unsigned char>(*at_);
      const std::size_t length = byte < 0x80 ? 0 : utf8_length({at_, static_cast<std::size_t>(end_ - at_)});
      if (length == 0) return false;
      at_ += length;
    }
  }

  bool escape() {
    if (end_ - at_ < 2) return false;
    const char c = at_[1];
    if (c != 'u') {
      if (std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) return false;
      at_ += 2;
      return true;
    }
    const int unit = hex4(at_ + 2, end_);
    if (unit < 0 || (unit >= 0xDC00 && unit < 0xE000)) return false;
    at_ += 6;
    if (unit < 0xD800 || unit >= 0xE000) return true;
    if (end_ - at_ < 6 || at_[0] != '\\' || at_[1] != 'u') return false;
    const int low = hex4(at_ + 2, end_);
    if (low < 0xDC00 || low >= 0xE000) return false;
    at_ += 6;
    return true;
  }

  std::string& out_;
  const char* at_;
  const char* end_;
  const char* run_;  ///< what is read but not yet in out_ starts here
  std::bitset<kMaxJsonDepth> is_object_;
  std::size_t depth_ = 0;
  bool closed_ = false;
};

void append_utf8(std::string& out, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12);
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

/// Where the string that starts at `json[at]` ends, its closing quote included. `json` is valid.
std::size_t end_of_string(std::string_view json, std::size_t at) {
  for (++at; json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at + 1;
}

/// The quoted base64 text if minified `json` is {"$base64":"…"}; else empty.
std::string_view base64_form(std::string_view json) {
  if (!json.starts_with("{\"") || !json.ends_with("\"}")) return {};
  const std::size_t colon = end_of_string(json, 1);
  if (json_unquote(json.substr(1, colon - 1)) != "$base64") return {};
  if (json[colon + 1] != '"' || end_of_string(json, colon + 1) + 1 != json.size()) return {};
  return json.substr(colon + 1, json.size() - colon - 2);
}

}  // namespace

bool append_minified(std::string& out, std::string_view text, std::size_t* error_at) {
  const std::size_t before = out.size();
  Minifier minifier(out, text);
  if (minifier.run()) return true;
  out.resize(before);
  if (error_at != nullptr) *error_at = static_cast<std::size_t>(minifier.at() - text.data());
  return false;
}

std::optional<std::string> minify_json(std::string_view text) {
  std::string out;
  if (!append_minified(out, text)) return std::nullopt;
  return out;
}

void append_payload(std::string& out, std::string_view bytes) {
  if (bytes.empty()) {
    out += "\"\"";
    return;
  }
  const std::size_t before = out.size();
  if (append_minified(out, bytes)) {
    if (base64_form(std::string_view(out).substr(before)).empty()) return;
    out.resize(before);
  }
  append_base64_json(out, bytes);
}

std::string payload_to_json(std::string_view bytes) {
  std::string out;
  append_payload(out, bytes);
  return out;
}

std::string payload_from_json(std::string_view json_text) {
  std::string json;
  std::size_t error_at = 0;
  if (!append_minified(json, json_text, &error_at)) {
    throw Error(ErrorKind::invalid_argument, "the payload is no JSON: error at byte " +
                                                 std::to_string(error_at + 1) + " of " +
                                                 std::to_string(json_text.size()) +
                                                 "; bytes of other kinds are given as {\"$base64\":\"…\"}");
  }
  if (json == "\"\"") return {};
  const std::string_view quoted = base64_form(json);
  if (quoted.empty()) return json;
  auto bytes = decode_base64(json_unquote(quoted));
  if (!bytes) throw Error(ErrorKind::invalid_argument, "the payload's \"$base64\" is no padded base64");
  return *std::move(bytes);
}

void append_name(std::string& out, std::string_view bytes) {
  if (is_utf8(bytes) && !bytes.starts_with("{\"$base64\":\"")) {
    append_json_string(out, bytes);
    return;
  }
  append_base64_json(out, bytes);
}

std::string name_json(std::string_view bytes) {
  std::string out;
  append_name(out, bytes);
  return out;
}

std::string name_in_message(std::string_view bytes) {
  const auto json = name_json(bytes);
  const bool is_string = json.starts_with('"');
  return shortened(is_string ? std::string_view(json).substr(1, json.size() - 2) : json);
}

std::string name_from_json(std::string_view json_text) {
  std::string json;
  if (append_minified(json, json_text)) {
    if (json.starts_with('"')) return json_unquote(json);
    if (const auto quoted = base64_form(json); !quoted.empty()) {
      if (auto bytes = decode_base64(json_unquote(quoted))) return *std::move(bytes);
    }
  }
  throw Error(ErrorKind::invalid_argument, "it is neither text in quotes nor {\"$base64\":\"…\"}");
}

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const char* plain_end = skip_plain(text.data(), text.data() + text.size());
    out.append(text.data(), plain_end);
    text.remove_prefix(static_cast<std::size_t>(plain_end - text.data()));
    if (text.empty()) break;
    const auto byte = static_cast<unsigned char>(text[0]);
    std::size_t length = 1;
    if (byte >= 0x80) {
      length = utf8_length(text);
      out.append(length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length));
      if (length == 0) length = 1;
    } else if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[0];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\r') {
      out += "\\r";
    } else if (byte == '\t') {
      out += "\\t";
    } else {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
    text.remove_prefix(length);
  }
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_json_string(out, text);
  return out;
}

std::string json_unquote(std::string_view quoted) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    static constexpr std::string_view kNames = "bfnrt", kBytes = "\b\f\n\r\t";
    const auto name = kNames.find(c);
    if (c != 'u') {
      out += name == std::string_view::npos ? c : kBytes[name];
      continue;
    }
    const char* end = text.data() + text.size();
    auto unit = static_cast<std::uint32_t>(hex4(text.data() + i + 1, end));
    i += 4;
    if (unit >= 0xD800 && unit < 0xDC00) {
      const auto low = static_cast<std::uint32_t>(hex4(text.data() + i + 3, end));
      unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
      i += 6;
    }
    append_utf8(out, unit);
  }
  return out;
}

void append_json_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  out.append(text.data(), end);
}

std::string json_number(double value) {
  std::string out;
  append_json_number(out, value);
  return out;
}

}  // namespace ordo
