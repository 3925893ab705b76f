// Text in which passwords may stand: any bytes are taken; a
// password with no space in it does not show, wherever the bytes of the URL around it come from; and what is
// printed is printable.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/redact.h"
#include "cli/terminal_text.h"

namespace {

constexpr std::string_view kPassword = "Tr0ub4dor";

void check_hidden(const std::string& text) {
  if (ordo::redact(text).find(kPassword) != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  ordo::redact(text);
  const auto shown = ordo::cli::printable(text);
  if (ordo::cli::printable(shown) != shown) std::abort();
  for (const unsigned char c : shown) {
    if (c < 0x20 || c == 0x7F) std::abort();
  }
  if (text.find_first_of(" \t\r\n\f\v") != std::string::npos || text.find("://") != std::string::npos)
    return 0;
  check_hidden("redis://u:" + std::string(kPassword) + text + "@h");
  check_hidden("postgres://u:" + text + std::string(kPassword) + "@h/db");
  if (text.find_first_of("&\\'\"") != std::string::npos) return 0;
  check_hidden("host=h password=" + text + std::string(kPassword) + " dbname=d");
  check_hidden("postgres://h/db?password=" + text + std::string(kPassword));
  return 0;
}
