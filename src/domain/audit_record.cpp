#include "domain/audit_record.h"

#include <charconv>

#include "base/bytes.h"
#include "base/time_text.h"
#include "domain/fields.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kAuditVersion = 1;
constexpr std::uint64_t kMostAuditNumber = 999'999'999'999'999;
constexpr std::size_t kAuditDigits = 15;
constexpr std::size_t kMostShort = 255;
constexpr std::size_t kMostFilter = 4096;
constexpr std::size_t kMostResult = 1024;

}  // namespace

// Rows are listed by the bytes of their keys.
std::string audit_row_key(std::uint64_t number) {
  const auto digits = std::to_string(kMostAuditNumber - number);
  return std::string(kAuditDigits - digits.size(), '0') + digits;
}

std::uint64_t number_of_audit_row(std::string_view key) {
  std::uint64_t left = 0;
  const auto [at, error] = std::from_chars(key.data(), key.data() + key.size(), left);
  const bool is_key = key.size() == kAuditDigits && error == std::errc{} && at == key.data() + key.size();
  return is_key ? kMostAuditNumber - left : 0;
}

std::string encode(const AuditEntry& entry) {
  std::string bytes;
  ByteWriter out(bytes);
  put_version(out, kAuditVersion, {});
  put_time(out, entry.at);
  out.put_short(std::string_view(entry.who).substr(0, kMostShort));
  out.put_short(std::string_view(entry.action).substr(0, kMostShort));
  out.put_short(std::string_view(entry.queue).substr(0, kMostShort));
  out.put_long(entry.filter.size() <= kMostFilter ? entry.filter : R"({"too_long":true})");
  out.put(static_cast<std::uint8_t>(entry.count ? 1 : 0));
  out.put(entry.count.value_or(0));
  out.put_rest(std::string_view(entry.result).substr(0, kMostResult));
  return bytes;
}

Decoded<AuditEntry> decode_audit_entry(std::string_view bytes) {
  return read_record<AuditEntry>([&] {
    ByteReader in(bytes, "entry of the log of changes");
    std::string unknown;
    if (get_version(in, unknown) != kAuditVersion) in.fail("its version is unknown");
    AuditEntry entry;
    entry.at = written_time(get_time(in));
    entry.who = in.get_short();
    entry.action = in.get_short();
    entry.queue = in.get_short();
    entry.filter = in.get_long();
    const bool has_count = in.get<std::uint8_t>() != 0;
    const auto count = in.get<std::uint64_t>();
    if (has_count) entry.count = count;
    entry.result = in.rest();
    return entry;
  });
}

}  // namespace ordo::domain
