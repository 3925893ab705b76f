#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ordo::web {

/// The target of a request: "/api/v1/queues/orders/jobs?state=due", taken apart and decoded.
struct Target {
  std::vector<std::string> path;  ///< its segments: any bytes, a slash may be one of them
  std::vector<std::pair<std::string, std::string>> query;

  /// The value that stands last; nothing: there is none.
  std::optional<std::string> find(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
};

/// Nothing: it is no path, or has a % that no two hexadecimal digits follow.
std::optional<Target> parse_target(std::string_view text);

}  // namespace ordo::web
