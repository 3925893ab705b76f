#include "base/shorten.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/utf8.h"

namespace ordo {

std::string shortened(std::string_view text) {
  const auto head = utf8_head(text, kShortenedBytes);
  std::string line;
  for (const char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < ' ' || byte == 0x7f) {
      line += fmt::format("\\u{:04x}", byte);
    } else {
      line += c;
    }
  }
  if (head.size() == text.size() && line.size() <= kShortenedBytes) return line;
  return std::string(utf8_head(line, kShortenedBytes)) + "…";
}

std::string in_quotes(std::string_view name) { return "'" + name_in_message(name) + "'"; }

}  // namespace ordo
