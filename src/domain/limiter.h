#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include <ordo/options.hpp>
#include <ordo/time.hpp>

namespace ordo::domain {

class GatedLanes;

/// Of a weight, in millionths.
using Amount = std::int64_t;

inline constexpr Duration kMostPenalty = std::chrono::hours{24};

/// One number that starts are held to, and who waits for it.
struct Limiter {
  enum class Type : std::uint8_t {
    slots,  ///< the sum of weights
    share,  ///< likewise, of some values of a partition; may be exceeded where its queue borrows
    rate,   ///< starts in time
  };

  Type type = Type::slots;
  std::string name;       ///< of the queue or of the named limit
  std::string partition;  ///< of which value; empty: of all
  bool by_turns = false;  ///< several values compete for it

  // slots and share
  Amount limit = 0;
  Amount used = 0;
  std::size_t due = 0;             ///< of a share: jobs of its values that are due
  std::uint64_t takes = 0;         ///< how often somebody took of it
  const void* kept_for = nullptr;  ///< whose room is reserved ...
  Amount kept = 0;                 ///< ... and how much
  bool alone = false;              ///< what weighs more than the limit may have all of it

  // rate: the bucket as the one instant at which it is full again (GCRA)
  RateLimit rate;
  Time full_at = Time::min();
  bool is_penalty = false;  ///< nothing is charged: it refuses until `full_at`

  std::set<GatedLanes*> waiters;

  /// Nothing: admitted. Else not before; Time::max(): not before something is freed.
  std::optional<Time> refuses(Amount weight, Time now, const void* who);
  /// Whatever is freed. `borrows`: shares may be passed.
  bool has_no_room_for(Amount weight, bool borrows) const {
    const bool may_pass = alone || (type == Type::share && borrows);
    return type != Type::rate && weight > limit && !may_pass;
  }
  void charge(Time now);
  void refund();
  /// Between two starts.
  Duration interval() const { return Duration{(rate.per.count() + rate.limit - 1) / rate.limit}; }
  /// Of a rate: not before. Time::min(): it was never charged.
  Time next_start() const;
  /// From empty to full.
  Duration depth() const { return interval() * (rate.burst == 0 ? rate.limit : rate.burst); }
};

}  // namespace ordo::domain
