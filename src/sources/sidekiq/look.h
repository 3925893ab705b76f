#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ordo/options.hpp>
#include <ordo/time.hpp>

namespace ordo::sources {

/// What waits at the origin of a source, and who else takes from there.
struct SidekiqLook {
  std::uint64_t waiting = 0;          ///< in the lists, and taken but not stored
  std::optional<Duration> lag{};      ///< since the oldest of them was pushed, as far as it says so
  bool is_taken = false;              ///< a process takes just now
  bool is_behind = false;             ///< its stream ends before the position of the store
  std::vector<std::string> others{};  ///< processes of Sidekiq that take from a list of the source
};

/// `position`: up to where the store has the stream. Changes nothing. Throws Error{unavailable}.
SidekiqLook look_at_sidekiq(const SourceOptions& source, const std::string& position);

/// The address without user and password. Throws Error{invalid_argument}.
std::string origin_name(const SourceOptions& source);

}  // namespace ordo::sources
