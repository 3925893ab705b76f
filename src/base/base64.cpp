#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ordo {
namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr auto kBase64Values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kBase64.size(); ++i) {
    values[static_cast<unsigned char>(kBase64[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}();

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) -> std::uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const std::uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += kBase64[group >> 18];
    out += kBase64[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kBase64[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kBase64[group & 63] : '=';
  }
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const int value =
        kBase64Values[static_cast<unsigned char>(c)];  // NOLINT(bugprone-signed-char-misuse): -1 is none
    if (value < 0) return std::nullopt;
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xFFFFFF;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
  return bytes;
}

void append_base64_json(std::string& out, std::string_view bytes) {
  out += "{\"$base64\":\"";
  append_base64(out, bytes);
  out += "\"}";
}

std::string base64url(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  text.resize(text.find_last_not_of('=') + 1);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

std::optional<std::string> decode_base64url(std::string_view text) {
  if (text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
  std::string padded(text);
  std::ranges::replace(padded, '-', '+');
  std::ranges::replace(padded, '_', '/');
  while (padded.size() % 4 != 0) padded += '=';
  return decode_base64(padded);
}

}  // namespace ordo
