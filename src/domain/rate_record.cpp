#include "domain/rate_record.h"

#include <algorithm>
#include <unordered_map>

#include "base/saturate.h"
#include "base/time_text.h"
#include "domain/archive.h"
#include "domain/clock_guard.h"

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

RateRecord shifted(RateRecord record, Duration by) {
  record.at = time_after(record.at, by);
  record.until = time_after(record.until, by);
  for (auto& starts : record.starts) starts.at = time_after(starts.at, by);
  return record;
}

Time cut_end(Time end, Time at, Time now) {
  if (at <= saturating_add(now, kLeap)) return end;
  if (end <= at) return std::min(end, now);
  return saturating_add(now, saturating_sub(end, at));
}

Seq rate_row(ShardId shard, std::uint32_t slot) {
  constexpr std::uint32_t kQueues = 1U << 24, kShards = 1U << 16;
  return kFirstRateRow | Seq{shard.queue % kQueues} << 36 | Seq{shard.index % kShards} << 20 |
         slot % kMostRateRows;
}

RateRows numbered_anew(RateRows rows, ShardId shard, std::uint32_t first_slot) {
  rows.resize(std::min<std::size_t>(rows.size(), kMostRateRows - std::min(first_slot, kMostRateRows)));
  for (auto& [no, record] : rows) no = rate_row(shard, first_slot++);
  return rows;
}

RateRows united(RateRows rows) {
  RateRows all;
  std::unordered_map<std::string, std::size_t> place;
  for (auto& [no, record] : rows) {
    const auto [found, is_new] = place.try_emplace(record.name, all.size());
    if (is_new) {
      all.emplace_back(no, std::move(record));
      continue;
    }
    auto& known = all[found->second].second;
    if (!known.starts.empty() || !record.starts.empty()) {
      const auto per = std::max(known.until - known.at, record.until - record.at);
      StartLog starts;
      starts.unite(known.starts, per);
      starts.unite(record.starts, per);
      known.starts = starts.list(per);
    }
    if (record.until <= known.until) continue;
    known.at = record.at;
    known.until = record.until;
  }
  return all;
}

}  // namespace ordo::domain
