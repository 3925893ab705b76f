#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "web/desk.h"

namespace ordo::web {

/// The sources as they were looked at last: a look asks servers of others, which may not answer for seconds.
/// Thread-safe.
class LatestSources {
 public:
  /// At most a minute old while one of them does not answer, else a few seconds.
  std::vector<SourceView> look(Admin& admin);

 private:
  std::mutex mutex_;
  std::optional<std::vector<SourceView>> sources_;
  Duration until_{};  // steady
};

/// What `stats`, `nodes` and `limits` say, for Prometheus. Labels are names of queues, nodes and limits, and
/// ten priorities at most: never what jobs bring along.
Response metrics(Desk& desk, const Call& call, LatestSources& sources);

}  // namespace ordo::web
