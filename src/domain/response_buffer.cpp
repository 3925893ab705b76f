#include "domain/response_buffer.h"

#include <algorithm>

#include "base/time_text.h"
#include "domain/archive.h"

namespace ordo::domain {
namespace {

constexpr std::int64_t kPartsOfTtl = 16;
constexpr std::size_t kMostParts = 64;  // of queues whose response_ttl changes all the time

// So few parts differ, and who is counted in one leaves late by a part of his time.
Time rounded_up(Time until, Duration ttl) {
  const auto grain = std::max<std::int64_t>(ttl.count() / kPartsOfTtl, 1);
  const auto us = until.time_since_epoch().count();
  const auto over = us % grain;
  return over == 0 ? until : time_after(until, Duration{grain - over});
}

void forget_over(BufferCount& count, Time now) {
  std::erase_if(count.parts,
                [&](const auto& part) { return part.until <= now || (part.count == 0 && part.bytes == 0); });
}

bool has_room(const BufferCount& count, std::uint64_t bytes, const BufferBounds& bounds) {
  std::uint64_t kept = 1, kept_bytes = bytes;
  for (const auto& part : count.parts) {
    kept += part.count;
    kept_bytes += part.bytes;
  }
  return kept <= bounds.most && kept_bytes <= bounds.most_bytes;
}

void join_earliest(std::vector<BufferCount::Part>& parts) {
  parts[1].count += parts[0].count;
  parts[1].bytes += parts[0].bytes;
  parts.erase(parts.begin());
}

}  // namespace

template <class A>
void fields(A& a, In<A, BufferCount::Part>& part) {
  a.time(part.until);
  a.number(part.count);
  a.number(part.bytes);
}

template <class A>
void fields(A& a, In<A, BufferCount>& count) {
  a.head(1);
  a.until_end(count.parts);
}

std::string encode(const BufferCount& count) { return to_bytes(count); }

Decoded<BufferCount> decode_buffer_count(std::string_view bytes) {
  return decode<BufferCount>(bytes, "count of responses");
}

Time kept_until(const BufferCount& count) {
  return count.parts.empty() ? Time::min() : count.parts.back().until;
}

std::optional<BufferCount> with(BufferCount count, const Buffered& response, Duration ttl,
                                const BufferBounds& bounds, Time now) {
  forget_over(count, now);
  if (!has_room(count, response.bytes, bounds)) return std::nullopt;
  const auto until = rounded_up(response.until, ttl);
  auto part = std::ranges::lower_bound(count.parts, until, {}, &BufferCount::Part::until);
  if (part == count.parts.end() || part->until != until) part = count.parts.insert(part, {until, 0, 0});
  ++part->count;
  part->bytes += response.bytes;
  if (count.parts.size() > kMostParts) join_earliest(count.parts);
  return count;
}

// Its own part, or the first behind it that has any: nothing that is kept may be missing later.
BufferCount without(BufferCount count, const Buffered& response, Time now) {
  forget_over(count, now);
  const auto part = std::ranges::lower_bound(count.parts, response.until, {}, &BufferCount::Part::until);
  if (part == count.parts.end()) return count;
  part->count -= std::min<std::uint64_t>(part->count, 1);
  part->bytes -= std::min(part->bytes, response.bytes);
  forget_over(count, now);
  return count;
}

}  // namespace ordo::domain
