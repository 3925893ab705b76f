#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/cluster_look.h"
#include "runtime/node_facts.h"

namespace ordo::runtime {

/// Which of the nodes live. No absolute times are compared: one is dead when its counter has not moved for a
/// whole lease (the one that it says it has) on this node's own clock, or when the store knows that its
/// process has ended.
class NodeWatch {
 public:
  explicit NodeWatch(Clock& clock) : clock_(clock) {}

  /// Says who is there, and what they say of themselves. `asked`: when the store was asked, steady; `self`
  /// lives. Returns who has died since the look before.
  std::vector<std::string> look(ClusterLook& look, Duration asked, const std::string& self,
                                const NodeFacts& own);
  /// Perhaps all were frozen together: whoever wakes up with this node gets time to say so.
  void start_over() { seen_.clear(); }
  /// Some of them live.
  bool has_others() const { return members_ > dead_.size() + 1; }

 private:
  struct Seen {
    std::uint64_t renewals = 0;
    Duration since{};  // steady
    Duration had{};    // steady: when there was a row last
    Duration lease{};  // its own
  };
  bool watch(const std::string& id, const store::NodeRow* row, std::optional<Duration> lease, Duration asked);

  Clock& clock_;
  std::map<std::string, Seen> seen_;
  std::set<std::string, std::less<>> dead_;
  std::size_t members_ = 0;  // at the last look
};

}  // namespace ordo::runtime
