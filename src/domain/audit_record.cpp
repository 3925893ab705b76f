#include "domain/audit_record.h"

#include <algorithm>
#include <charconv>

#include "domain/archive.h"

namespace ordo::domain {
namespace {

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

template <class A>
void fields(A& a, In<A, AuditEntry>& entry) {
  a.head(1);
  a.time(entry.at);
  a.short_text(entry.who);
  a.short_text(entry.action);
  a.short_text(entry.queue);
  a.long_text(entry.filter);
  a.maybe(entry.count);
  a.rest(entry.result);
}

std::string encode(const AuditEntry& entry) {
  auto bounded = entry;
  for (auto* text : {&bounded.who, &bounded.action, &bounded.queue})
    text->resize(std::min(text->size(), kMostShort));
  if (entry.filter.size() > kMostFilter) bounded.filter = R"({"too_long":true})";
  bounded.result.resize(std::min(entry.result.size(), kMostResult));
  return to_bytes(bounded);
}

Decoded<AuditEntry> decode_audit_entry(std::string_view bytes) {
  return decode<AuditEntry>(bytes, "entry of the log of changes");
}

}  // namespace ordo::domain
