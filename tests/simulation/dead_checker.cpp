#include "simulation/dead_checker.h"

#include <algorithm>

namespace ordo::simulation {

void DeadChecker::committed(const std::string& node, const store::Delta& delta) {
  if (delta.dead_before == Time::min() || delta.dead_before == Time::max()) return;
  ++history_.totals.aged;
  // A process that was not there to see that the clock was behind for a moment goes by the right time.
  const auto believed = std::max(history_.latest_believed(node), history_.world().right_wall());
  const auto latest = believed - history_.options(delta.shard).dead_ttl;
  if (delta.dead_before <= latest) return;
  history_.world().fail("dead: {} lets go of what is dead in shard {}.{} {} s before its time", node,
                        delta.shard.queue, delta.shard.index,
                        (delta.dead_before - latest) / std::chrono::seconds{1});
}

}  // namespace ordo::simulation
