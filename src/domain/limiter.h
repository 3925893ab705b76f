#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <ordo/options.hpp>
#include <ordo/time.hpp>

#include "domain/rate_record.h"
#include "domain/start_log.h"

namespace ordo::domain {

class GatedLanes;

/// Of a weight, in millionths.
using Amount = std::int64_t;

/// The longest rate that a crash may reset.
inline constexpr Duration kShortRate = std::chrono::minutes{1};
inline constexpr Duration kMostPenalty = std::chrono::hours{24};

/// One number that starts are held to, and who waits for it.
struct Limiter {
  enum class Type : std::uint8_t {
    slots,  ///< the sum of weights
    share,  ///< likewise, of some values of a partition; may be exceeded where its queue borrows
    rate,   ///< starts in time
  };

  /// `remembered`: as StartLog has it.
  explicit Limiter(std::size_t* remembered = nullptr) : starts(remembered) {}

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

  // rate
  RateLimit rate;
  StartLog starts;                  ///< those that are not over, and maybe some that are
  std::vector<Time> to_come;        ///< starts that are to happen yet: when each was chosen
  Time spaced_until = Time::min();  ///< when as many as `burst` may start at once again (GCRA)

  // penalty: it refuses until then, and nothing is charged
  bool is_penalty = false;
  Time closed_until = Time::min(), closed_at = Time::min();

  std::set<GatedLanes*> waiters;

  /// Nothing: admitted. Else not before; Time::max(): not before something is freed.
  std::optional<Time> refuses(Amount weight, Time now, const void* who);
  /// Whatever is freed. `borrows`: shares may be passed.
  bool has_no_room_for(Amount weight, bool borrows) const {
    const bool may_pass = alone || (type == Type::share && borrows);
    return type != Type::rate && weight > limit && !may_pass;
  }
  /// `grain`: as StartLog::add() has it.
  void charge(Time now, Duration grain = {});
  /// The clock was put ahead: what was charged was so much later.
  void shift(Duration by);
  /// What was charged at that time has not started.
  void refund(Time at);
  /// The last charge, which was made at that time, is of a start that is to come: it counts until it comes.
  void postpone(Time at);
  /// The start that was chosen then happens now.
  void start_postponed(Time chosen, Time now, Duration grain = {});
  /// ... or never.
  void drop_postponed(Time chosen);
  /// As if as many had just started as may.
  void exhaust(Time at);
  /// Nothing of it is left to remember.
  bool is_over(Time now) const;
  /// Of a rate: not before. Time::min(): at once, for all that it remembers.
  Time next_start(Time now) const;

  /// What is to be known of it after a restart; nothing: nothing. `of`: its name there.
  std::optional<RateRecord> record(std::string of, Time now);
  /// What an earlier owner knew.
  void restore(const RateRecord& record);

 private:
  void look_at_clock(Time now);
  bool is_spaced() const { return rate.burst != 0 && rate.burst < rate.limit; }
  /// Between two starts that are spaced.
  Duration interval() const { return Duration{(rate.per.count() + rate.limit - 1) / rate.limit}; }
  Duration depth() const { return interval() * rate.burst; }
};

}  // namespace ordo::domain
