#pragma once

#include <cstdint>
#include <limits>

#include "base/name.h"

#include <ordo/time.hpp>

namespace ordo {

// The bounds of docs/config.md, for a file and for a program alike.
inline constexpr std::int64_t kMostThreads = 10'000;
inline constexpr std::int64_t kMostBatch = 100'000;
inline constexpr std::int64_t kMostRetries = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kMostShards = 65'536;
inline constexpr std::int64_t kMostNodes = 65'536;
inline constexpr std::int64_t kMostDead = 1'000'000'000;
inline constexpr std::int64_t kMostAhead = 1'000'000'000;
inline constexpr std::uint64_t kLeastKeptBytes = 1ULL << 20;
inline constexpr std::uint64_t kMostKeptBytes = 1ULL << 44;
inline constexpr std::int64_t kMostWeight = 1'000;
inline constexpr std::size_t kLongestStore = 4'096;  // bytes of a URL, which stands in messages
inline constexpr std::size_t kMostKinds = 1'000;     // of a queue, with options of their own
inline constexpr std::size_t kMostWindows = 32;      // of a queue or a kind
inline constexpr std::int64_t kMostRate = 1'000'000;
inline constexpr std::int64_t kMostSlots = 1'000'000;
inline constexpr Duration kLongestUnique = std::chrono::hours{24 * 7};
inline constexpr Duration kLongestRate = std::chrono::hours{24 * 31};
inline constexpr std::size_t kMostSchedules = 1'000;
inline constexpr std::size_t kMostPeriodicPayload = 16U << 10;  // of one; nodes tell them each other
inline constexpr std::size_t kMostPeriodicBytes = 256U << 10;   // of all that a node states
inline constexpr Duration kLeastEvery = std::chrono::seconds{1};
inline constexpr Duration kMostEvery = std::chrono::hours{24 * 365};
inline constexpr Duration kMostLease = std::chrono::hours{24 * 365};
inline constexpr double kMostFactor = 1e6;
inline constexpr std::size_t kLongestKind = kLongestJobName;

}  // namespace ordo
