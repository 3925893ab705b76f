// Tokens of waits come from strangers: any bytes are taken, each token has one text, and no row that is read
// is another than the one that was written.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "domain/response_token.h"

namespace {

using namespace ordo::domain;

template <class Record>
void check_row(const ordo::domain::Decoded<Record>& read,
               ordo::domain::Decoded<Record> (*decode)(std::string_view)) {
  if (!read) return;
  const auto again = decode(encode(*read));
  if (!again || !(*again == *read)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto token = parse_token(text);
  if (token && token_text(*token) != text) std::abort();
  check_row(decode_token_row(text), decode_token_row);
  return 0;
}
