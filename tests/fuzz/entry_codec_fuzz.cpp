// Stored records: any bytes are a record or a clear error, and a record is written as it was read.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ordo/error.hpp>

#include "base/assert.h"
#include "domain/entry.h"
#include "domain/records.h"

namespace {

using namespace ordo;
using namespace ordo::domain;

/// What `decode` reads, `encode` writes so that it is read again as the same bytes' meaning.
template <class Decode>
void check(std::string_view bytes, Decode decode) {
  try {
    const auto record = decode(bytes);
    const auto written = encode(record);
    ORDO_ASSERT(encode(decode(written)) == written);  // bytes, as a score may be NaN
  } catch (const Error& error) {
    ORDO_ASSERT(error.kind() == ErrorKind::corrupt);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(bytes, decode_entry);
  check(bytes, decode_state);
  check(bytes, decode_dead);
  check(bytes, decode_counts);
  return 0;
}
