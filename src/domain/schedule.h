#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/options.hpp>

#include "domain/cron.h"
#include "domain/decoded.h"

namespace ordo::domain {

/// What becomes of a tick is decided by its policy when it is so late.
inline constexpr Duration kLateTick = std::chrono::minutes{1};
inline constexpr std::size_t kMostMissed = 1000;      // ticks that Missed::all pushes
inline constexpr std::size_t kTicksOfAnAppend = 100;  // what is more waits for the next

/// When a schedule ticks: by a cron expression, or at each multiple of an interval since 1970. Immutable.
class Ticks {
 public:
  /// Nothing: it never does; `why` says so, and of which of the options.
  static std::optional<Ticks> of(const PeriodicOptions& schedule, std::string& why);

  /// The first one after that; Time::max(): none within ten years.
  Time next(Time after) const;
  /// How many there are after `from`, up to `until`, and the newest `most` of them, in their order.
  std::uint64_t count(Time from, Time until) const;
  std::vector<Time> newest(Time from, Time until, std::size_t most) const;

 private:
  std::optional<Cron> cron_;
  Duration every_{};
};

/// What is to be done about the ticks after `last` that have come.
struct DueTicks {
  std::vector<Time> push;    ///< the first of these, kTicksOfAnAppend at most
  std::uint64_t missed = 0;  ///< how many before them are passed over
  Time passed{};             ///< nothing is pushed, and all up to here are passed over
};
/// Ticks whose jobs would have expired by now are passed over, too: `expires` as in QueueOptions.
DueTicks due_ticks(const Ticks& ticks, Missed policy, Time last, Time now,
                   std::optional<Duration> expires = {});

/// What its jobs are called.
std::string_view key_of(const PeriodicOptions& schedule);
std::string_view kind_of(const PeriodicOptions& schedule);
std::string job_id_of(std::string_view schedule, Time tick);
/// Whether a job of that id is one of its ticks. One that somebody has run by hand is none.
bool is_job_of(std::string_view schedule, std::string_view id);
/// When it ticks, as a number that is another one for other times; never 0.
std::uint64_t text_of(const PeriodicOptions& schedule);
/// The entry of a tick.
std::string encode_tick(const PeriodicOptions& schedule, Time at, std::uint64_t number);

/// Schedules as nodes tell them each other.
std::string encode(const std::vector<PeriodicOptions>& schedules);
/// Those that this version understands.
std::vector<PeriodicOptions> decode_schedules(std::string_view bytes);

/// What a node states, and when it started.
struct Statement {
  Time started{};
  std::string node;
  std::string schedules;

  auto operator<=>(const Statement&) const = default;
};
/// The schedules that are in force, by name: of several that differ, that of the node that started last.
std::map<std::string, PeriodicOptions> in_force(std::vector<Statement> statements);

}  // namespace ordo::domain
