#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/time.hpp>

#include "domain/decoded.h"
#include "domain/shard_id.h"
#include "domain/start_log.h"

namespace ordo::domain {

/// An end that was set at `at`, as it counts now: where the clock was ahead then, only the span between them
/// counts.
Time cut_end(Time end, Time at, Time now);

/// What is to be known after a restart of one rate, or of one penalty.
struct RateRecord {
  std::string name;            ///< which one: domain/gates.h
  Time at{};                   ///< when it was charged last, or the penalty was given
  Time until{};                ///< it says nothing from then on
  std::vector<Starts> starts;  ///< of a rate

  bool operator==(const RateRecord&) const = default;
};

/// All of it so much later.
RateRecord shifted(RateRecord record, Duration by);

std::string encode(const RateRecord& record);
Decoded<RateRecord> decode_rate(std::string_view bytes);

/// Such records are rows of their shard as the states of jobs are, with numbers that no entry has: SQLite and
/// PostgreSQL number from 1 and come there after 2^42 transactions, and Redis numbers by its time and was
/// there until 2013.
inline constexpr Seq kFirstRateRow = Seq{1} << 62;
inline bool is_rate_row(Seq no) { return no >> 60 == kFirstRateRow >> 60; }
/// The numbers of a shard's rows, which are no other shard's.
inline constexpr std::uint32_t kMostRateRows = 1U << 20;
Seq rate_row(ShardId shard, std::uint32_t slot);

using RateRows = std::vector<std::pair<Seq, RateRecord>>;

/// Which of them a number is.
inline std::uint32_t slot_of(Seq no) { return static_cast<std::uint32_t>(no % kMostRateRows); }
/// The rows as those of this shard, from that one on; as many as have numbers.
RateRows numbered_anew(RateRows rows, ShardId shard, std::uint32_t first_slot = 0);
/// One row for each rate: what several shards know of it.
RateRows united(RateRows rows);

}  // namespace ordo::domain
