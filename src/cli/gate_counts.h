#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <ordo/admin.hpp>

namespace ordo::cli {

/// What due jobs are counted by that wait for it, and what people are told that it is. A job is counted by
/// one of these.
struct GateCount {
  std::uint64_t QueueStats::*count;
  std::string_view name;
};

inline constexpr std::array<GateCount, 6> kGateCounts{{{&QueueStats::blocked_by_window, "a window"},
                                                       {&QueueStats::blocked_by_lock, "a lock"},
                                                       {&QueueStats::blocked_by_limit, "a limit"},
                                                       {&QueueStats::blocked_by_rate, "a rate"},
                                                       {&QueueStats::blocked_by_throttler, "a throttler"},
                                                       {&QueueStats::blocked_by_suspect, "a suspect"}}};

}  // namespace ordo::cli
