// Rows beside the logs (unique keys, waits, limits that were set, marks of copies), which every program with
// access to the store could write: any bytes are a row or a reason why they are none, a row is written as it
// was read, and each verb makes a row of it that can be read. Input: one byte that says what is done, then
// the row.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ordo/error.hpp>

#include "base/assert.h"
#include "client/copy_mark.h"
#include "domain/limit_change.h"
#include "domain/unique_fields.h"
#include "domain/wait_note.h"
#include "domain/wait_record.h"

namespace {

using namespace ordo;
using namespace ordo::domain;

template <class Decode>
void check(std::string_view bytes, Decode decode) {
  const auto row = decode(bytes);
  if (!row) {
    ORDO_ASSERT(!row.why().empty() && row.why().size() < 1000);
    return;
  }
  const auto again = decode(encode(*row));
  ORDO_ASSERT(again && *again == *row);
}

/// Of those that are parts of other records, and throw.
template <class Part>
void check_part(std::string_view bytes) {
  try {
    const auto part = from_bytes<Part>(bytes, "part");
    ORDO_ASSERT(from_bytes<Part>(to_bytes(part), "part") == part);
  } catch (const Error& error) {
    ORDO_ASSERT(error.kind() == ErrorKind::corrupt);
  }
}

void check_mark(std::string_view bytes) {
  try {
    const auto mark = decode_copy_mark(bytes);
    ORDO_ASSERT(decode_copy_mark(encode(mark)) == mark);
  } catch (const Error& error) {
    ORDO_ASSERT(error.kind() == ErrorKind::corrupt);
  }
}

void check_row(const Row& row) {
  if (row) ORDO_ASSERT(decode_wait_record(encode(*row)));
}

void wait(std::string_view bytes, std::uint8_t what) {
  auto record = decode_wait_record(bytes);
  Row row;
  if (record) row = *record;
  const Time now{Duration{std::int64_t{what} << 40}};
  const Duration ttl = (what & 1) != 0 ? Duration{0} : std::chrono::hours{1};
  const std::string message((what & 2) != 0 ? bytes : "message");
  check_row(expect(
      row, {.wait = "wait", .kind = "orders", .key = "k", .id = "i", .fence = what, .deadline = now}, now));
  check_row(respond(row, {message, "body"}, ttl, now).row);
  check_row(respond_to(row, row ? row->wait : "", {message, "body"}, now).row);
  check_row(close(row, row ? row->wait : "", now).row);
  if (!row) return;
  check_row(delivered(*row, now));
  is_listed(*row);
  kept_until(*row, ttl);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  check(bytes, decode_unique_row);
  check(bytes, decode_wait_record);
  check(bytes, decode_wait_note);
  check(bytes, [](std::string_view row) { return decode_limit_change("orders", row); });
  check_part<UniqueHold>(bytes);
  check_part<RowToFree>(bytes);
  check_mark(bytes);
  unique_row_key("orders", bytes);
  wait(bytes, data[0]);
  return 0;
}
