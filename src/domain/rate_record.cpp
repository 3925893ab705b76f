#include "domain/rate_record.h"

#include <algorithm>

#include "base/saturate.h"
#include "domain/archive.h"

namespace ordo::domain {

template <class A>
void fields(A& a, In<A, Starts>& starts) {
  a.time(starts.at);
  a.number(starts.count);
}

template <class A>
void fields(A& a, In<A, RateRecord>& record) {
  a.head(1);
  a.time(record.at);
  a.time(record.until);
  a.list(record.starts);
  a.rest(record.name);
  if constexpr (A::kReads) std::ranges::sort(record.starts, {}, &Starts::at);
}

std::string encode(const RateRecord& record) { return to_bytes(record); }

Decoded<RateRecord> decode_rate(std::string_view bytes) { return decode<RateRecord>(bytes, "rate"); }

Time cut_end(Time end, Time at, Time now) {
  if (at <= saturating_add(now, kLeap) || end <= at) return end;
  return saturating_add(now, saturating_sub(end, at));
}

Seq rate_row(ShardId shard, std::uint32_t slot) {
  constexpr std::uint32_t kQueues = 1U << 26, kShards = 1U << 16;
  return kFirstRateRow | Seq{shard.queue % kQueues} << 36 | Seq{shard.index % kShards} << 20 |
         slot % kMostRateRows;
}

RateRows numbered_anew(RateRows rows, ShardId shard, std::uint32_t first_slot) {
  for (auto& [no, record] : rows) no = rate_row(shard, first_slot++);
  return rows;
}

}  // namespace ordo::domain
