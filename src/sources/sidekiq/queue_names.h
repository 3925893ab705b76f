#pragma once

#include <set>
#include <string>

#include <ordo/options.hpp>

namespace ordo::sources {

/// The queues of Ordo that jobs of a source go to.
inline std::set<std::string, std::less<>> queue_names(const SourceOptions& source) {
  std::set<std::string, std::less<>> names{source.queue};
  for (const auto& map : source.map) names.insert(map.queue.empty() ? source.queue : map.queue);
  return names;
}

}  // namespace ordo::sources
