// What may reach a terminal: nothing that moves its cursor, colours it, or shows text other than it is.

#include "cli/terminal_text.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/utf8.h"

namespace ordo::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

/// Combining marks, joiners and variation selectors of the common scripts.
constexpr std::array kNoWidth = {
    Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD},  Range{0x0610, 0x061A},
    Range{0x064B, 0x065F}, Range{0x06D6, 0x06DC}, Range{0x0900, 0x0902},  Range{0x093C, 0x093C},
    Range{0x0941, 0x0948}, Range{0x094D, 0x094D}, Range{0x0E31, 0x0E31},  Range{0x0E34, 0x0E3A},
    Range{0x0E47, 0x0E4E}, Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF},  Range{0x200B, 0x200F},
    Range{0x202A, 0x202E}, Range{0x2060, 0x2064}, Range{0x20D0, 0x20FF},  Range{0xFE00, 0xFE0F},
    Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF}, Range{0xE0100, 0xE01EF}};

/// East Asian wide and full-width characters, and emoji.
constexpr std::array kTwoWide = {
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2329, 0x232A},   Range{0x23E9, 0x23EC},
    Range{0x25FD, 0x25FE},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},   Range{0x26A1, 0x26A1},
    Range{0x26BD, 0x26BE},   Range{0x2705, 0x2705},   Range{0x274C, 0x274C},   Range{0x2753, 0x2755},
    Range{0x2795, 0x2797},   Range{0x2B50, 0x2B50},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
    Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},   Range{0xA960, 0xA97F},
    Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},
    Range{0xFFE0, 0xFFE6},   Range{0x16FE0, 0x18CFF}, Range{0x1B000, 0x1B2FF}, Range{0x1F004, 0x1F004},
    Range{0x1F18E, 0x1F19A}, Range{0x1F200, 0x1F320}, Range{0x1F32D, 0x1F64F}, Range{0x1F680, 0x1F6FC},
    Range{0x1F7E0, 0x1F7EB}, Range{0x1F90C, 0x1F9FF}, Range{0x1FA70, 0x1FAFF}, Range{0x20000, 0x3FFFD}};

bool is_in(char32_t point, std::span<const Range> ranges) {
  const auto range = std::ranges::lower_bound(ranges, point, {}, &Range::last);
  return range != ranges.end() && range->first <= point;
}

std::size_t width_of(char32_t point) {
  if (point < 0x20 || (point >= 0x7F && point < 0xA0)) return 0;
  if (is_in(point, kNoWidth)) return 0;
  return is_in(point, kTwoWide) ? 2 : 1;
}

/// The character of a valid UTF-8 sequence.
char32_t decode(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() == 1) return byte(0);
  char32_t point = byte(0) & (0x7FU >> bytes.size());
  for (std::size_t i = 1; i < bytes.size(); ++i) point = point << 6 | (byte(i) & 0x3FU);
  return point;
}

/// Control characters, direction marks and overrides, and what takes no room or looks like a space: they
/// could make a line read as something else.
constexpr std::array kInvisible = {
    Range{0x0000, 0x001F}, Range{0x007F, 0x009F}, Range{0x00AD, 0x00AD}, Range{0x034F, 0x034F},
    Range{0x061C, 0x061C}, Range{0x115F, 0x1160}, Range{0x17B4, 0x17B5}, Range{0x180B, 0x180E},
    Range{0x200B, 0x200F}, Range{0x2028, 0x202E}, Range{0x2060, 0x206F}, Range{0x3164, 0x3164},
    Range{0xFEFF, 0xFEFF}, Range{0xFFA0, 0xFFA0}, Range{0xFFF0, 0xFFFB}, Range{0xE0000, 0xE0FFF}};

bool is_invisible(char32_t point) { return is_in(point, kInvisible); }

std::string escape_of(char32_t point) {
  switch (point) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return point < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(point))
                           : fmt::format("\\u{:04x}", static_cast<unsigned>(point));
  }
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
    width += width_of(decode(text.substr(0, length)));
    text.remove_prefix(length);
  }
  return width;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string shown;
  std::size_t width = 0;
  std::size_t cut = 0;  // where "…" would go
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(1, length));
    const char32_t point = length > 0 ? decode(bytes) : static_cast<unsigned char>(text[0]);
    const std::string piece = length == 0 || is_invisible(point) ? escape_of(point) : std::string(bytes);
    width += display_width(piece);
    if (width > most) return shown.substr(0, cut) + "…";
    shown += piece;
    if (width < most) cut = shown.size();
    text.remove_prefix(bytes.size());
  }
  return shown;
}

std::string printable_json(std::string_view json) {
  std::string shown;
  while (!json.empty()) {
    const auto bytes = json.substr(0, std::max<std::size_t>(1, utf8_length(json)));
    const bool is_broken = utf8_length(json) == 0;
    const char32_t point = decode(bytes);
    if (is_broken) {
      shown += "\\ufffd";
    } else if (bytes == "\n" || !is_invisible(point)) {
      shown += bytes;
    } else if (point < 0x10000) {
      shown += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
    } else {
      shown += fmt::format("\\u{:04x}\\u{:04x}", static_cast<unsigned>(0xD7C0 + (point >> 10)),
                           static_cast<unsigned>(0xDC00 + (point & 0x3FF)));
    }
    json.remove_prefix(bytes.size());
  }
  return shown;
}

}  // namespace ordo::cli
