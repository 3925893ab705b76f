#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/job.hpp>
#include <ordo/time.hpp>

namespace ordo::domain {

/// Options of one job. Those of a later push replace the earlier ones where it sets them.
struct JobOptions {
  std::optional<std::int32_t> priority;  ///< lower runs first; default 100
  std::optional<Duration> timeout;       ///< of one attempt
  std::optional<Time> expires;  ///< Time::max(): never. Of several the latest counts (shard_expire.cpp)
  std::vector<Window> windows;  ///< at most kMostJobWindows; empty: always

  void merge_later(const JobOptions& later) {
    if (later.priority) priority = later.priority;
    if (later.timeout) timeout = later.timeout;
    if (!later.windows.empty()) windows = later.windows;
  }
  bool operator==(const JobOptions&) const = default;
};

/// Options say when the job must not start. Who does not know them would start it all the same, so a record
/// that has them needs this level of the formats (domain/fields.h).
inline constexpr std::uint16_t kLevelOfRules = 2;
/// The bytes of those, for a record; empty: there are none.
std::string encode_rules(const JobOptions& options);
/// Puts them into `options`. Throws Error{corrupt}.
void read_rules(std::string_view bytes, JobOptions& options);

}  // namespace ordo::domain
