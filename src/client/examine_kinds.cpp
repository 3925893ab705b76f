// Jobs that no living node has the code for: they wait in silence, if nobody says so.
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "client/admin_impl.h"
#include "client/coded.h"
#include "runtime/node_facts.h"

namespace ordo {
namespace {

constexpr std::uint64_t kMostJobs = 100'000;  // of a queue that is looked through

}  // namespace

void Admin::Impl::examine_kinds(std::vector<Finding>& findings) {
  Coded coded;
  for (const auto& node : handle_->store().nodes()) {
    if (node.gone) continue;
    const auto facts = runtime::decode_node_facts(node.facts).or_empty();
    coded.add(node.id, facts);
  }
  const auto now = handle_->store().now();
  for (const auto& [queue, counts] : stats().by_queue) {
    const auto definition = handle_->existing_queue(queue);
    const auto waiting = counts.due + counts.retrying;
    if (!definition || waiting == 0) continue;
    // examine_counts() tells of queues without any.
    if (!coded.has_any(queue) || counts.length > kMostJobs) continue;
    std::map<std::string, std::uint64_t> without;
    const auto see = [&, &name = queue](const domain::Job& job, const std::string& kind) {
      const bool waits = job.place != domain::Place::running && job.place != domain::Place::awaiting &&
                         (job.run_at <= now || job.retry_count() >= 0);
      if (waits && !coded.has(name, kind)) ++without[kind];
    };
    Rebuild all{.owned = owned_now()};
    for (std::uint32_t i = 0; i < definition->shards; ++i) all.shards.push_back({definition->number, i});
    each_rebuilt(*definition, all, [&](const Rebuilt& rebuilt) { rebuilt.machine.each_job(see); });
    for (const auto& [kind, number] : without) {
      findings.push_back(
          {Finding::Level::warning,
           fmt::format("{} {} of kind '{}' in queue '{}' {}: no living node has the code for it", number,
                       number == 1 ? "job" : "jobs", kind, queue, number == 1 ? "waits" : "wait"),
           "start a node with a worker of this kind; or push without --kind, for the queue's own"});
    }
  }
}

}  // namespace ordo
