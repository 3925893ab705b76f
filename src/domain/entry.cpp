#include "domain/entry.h"

#include "base/bytes.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kHasKey = 1, kHasScore = 2, kHasRunAt = 4, kHasPriority = 8, kHasTimeout = 16;

}  // namespace

std::string encode(const Entry& entry) {
  std::string bytes;
  bytes.reserve(32 + entry.kind.size() + entry.id.size() + entry.key.size() + entry.payload.size());
  ByteWriter out(bytes);
  const bool own_key = entry.key != entry.id;
  out.put(entry.type);
  out.put(static_cast<std::uint8_t>(
      (own_key ? kHasKey : 0) | (entry.score ? kHasScore : 0) | (entry.run_at ? kHasRunAt : 0) |
      (entry.options.priority ? kHasPriority : 0) | (entry.options.timeout ? kHasTimeout : 0)));
  out.put_short(entry.kind);
  out.put_short(entry.id);
  if (own_key) out.put_short(entry.key);
  if (entry.score) out.put(*entry.score);
  if (entry.run_at) out.put(entry.run_at->time_since_epoch().count());
  if (entry.options.priority) out.put(*entry.options.priority);
  if (entry.options.timeout) out.put(entry.options.timeout->count());
  out.put_rest(entry.payload);
  return bytes;
}

Entry decode_entry(std::string_view bytes) {
  ByteReader in(bytes, "entry");
  Entry entry;
  entry.type = in.get<EntryType>();
  if (entry.type < EntryType::push || entry.type > EntryType::ended) in.fail("its type is unknown");
  const auto flags = in.get<std::uint8_t>();
  if (flags > 31) in.fail("its flags are unknown");
  entry.kind = in.get_short();
  entry.id = in.get_short();
  entry.key = (flags & kHasKey) != 0 ? in.get_short() : entry.id;
  if ((flags & kHasScore) != 0) entry.score = in.get<double>();
  if ((flags & kHasRunAt) != 0) entry.run_at = Time{Duration{in.get<std::int64_t>()}};
  if ((flags & kHasPriority) != 0) entry.options.priority = in.get<std::int32_t>();
  if ((flags & kHasTimeout) != 0) entry.options.timeout = Duration{in.get<std::int64_t>()};
  entry.payload = in.rest();
  return entry;
}

double score_of(Time at) { return static_cast<double>(at.time_since_epoch().count()) / 1e6; }

}  // namespace ordo::domain
