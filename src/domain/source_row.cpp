#include "domain/source_row.h"

#include "domain/fields.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kSourceVersion = 1;

}  // namespace

std::string encode(const SourceRow& row) {
  std::string bytes;
  ByteWriter out(bytes);
  put_version(out, kSourceVersion, {});
  out.put_long(row.position);
  out.put(row.taken);
  put_time(out, row.at);
  out.put_long(row.origin);
  out.put(static_cast<std::uint32_t>(row.refused.size()));
  for (const auto& [why, count] : row.refused) {
    out.put_long(why);
    out.put(count);
  }
  return bytes;
}

Decoded<SourceRow> decode_source_row(std::string_view bytes) {
  return read_record<SourceRow>([&] {
    ByteReader in(bytes, "row of a source");
    SourceRow row;
    std::string unknown;
    if (get_version(in, unknown) != kSourceVersion) in.fail("its version is unknown");
    row.position = in.get_long();
    row.taken = in.get<std::uint64_t>();
    row.at = get_time(in);
    row.origin = in.get_long();
    for (auto count = in.get<std::uint32_t>(); count > 0; --count) {
      const auto why = in.get_long();
      row.refused[std::string(why)] = in.get<std::uint64_t>();
    }
    return row;
  });
}

}  // namespace ordo::domain
