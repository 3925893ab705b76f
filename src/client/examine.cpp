// What the doctor says of a store, its nodes and queues.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shorten.h"
#include "base/time_text.h"
#include "client/admin_impl.h"
#include "client/idle_owner.h"
#include "client/reshard.h"
#include "domain/records.h"
#include "runtime/node_facts.h"
#include "store/odd_rows.h"

namespace ordo {

std::vector<Finding> Admin::Impl::examine() {
  auto findings = handle_->store().examine();
  const auto before = handle_->clock().wall();
  const auto there = handle_->store().now();
  const auto here = before + (handle_->clock().wall() - before) / 2;
  const auto apart = std::chrono::duration<double>(there - here).count();
  const auto text = fmt::format("the store's clock is {:+.1f} s from this machine's", apart);
  if (std::abs(apart) < 1) {
    findings.push_back({Finding::Level::good, text, ""});
  } else {
    findings.push_back({Finding::Level::warning, text,
                        "jobs start by the store's clock; let both machines ask a time server"});
  }
  for (const auto& node : nodes()) {
    if (node.alive) continue;
    findings.push_back({Finding::Level::warning, "node " + node.id + " has died and is not forgotten yet",
                        "another node of its queues takes over its shards; start one if there is none"});
  }
  for (const auto& row : handle_->store().nodes()) {
    const auto facts = runtime::decode_node_facts(row.facts).or_empty();
    if (row.gone) continue;
    for (const auto& run : facts.stuck) {
      findings.push_back(
          {Finding::Level::warning,
           fmt::format("node {} runs job {} of queue '{}', which was to stop at {}", row.id,
                       in_quotes(run.id), run.queue, format_time(run.since)),
           "its key, its lock and its thread are taken until the worker returns: let it look at its stop "
           "request, or start the node again"});
    }
    if (facts.commit_error.empty()) continue;
    findings.push_back({Finding::Level::bad,
                        fmt::format("node {} cannot write what has ended since {}: {}", row.id,
                                    format_time(facts.commit_error_since), facts.commit_error),
                        "its jobs wait, or run again on another node: mend the cause, or stop the node"});
  }
  examine_queues(findings);
  examine_kinds(findings);
  examine_nodes(findings);
  examine_work(findings);
  examine_records(findings);
  for (const auto& [queues, owner] : groups(handle_->store().nodes(), handle_->store().shards())) {
    if (!owner.empty()) continue;
    findings.push_back(
        {Finding::Level::warning,
         fmt::format("the placement group of {} is on no node", fmt::join(queues, ", ")),
         "its jobs wait; start a node that has workers for all of these queues, and their throttlers if "
         "living nodes have some"});
  }
  return findings;
}

void Admin::Impl::examine_queues(std::vector<Finding>& findings) {
  const auto list = handle_->store().queues();
  const auto known = list.by_name();
  const auto shards = handle_->store().shards();
  for (const auto& queue : list.queues) {
    const auto found = known.find(store::QueueDefinition::hidden_name(queue.name));
    if (found == known.end()) continue;
    const auto* next = found->second;
    const bool is_owned = std::ranges::any_of(
        shards, [&](const auto& row) { return row.shard.queue == next->number && !row.owner.empty(); });
    const auto command = fmt::format("`ordo reshard {} {}`", queue.name, next->shards);
    if (is_owned || IdleOwner::is_at_work(Reshard::kTask, handle_->store())) {
      findings.push_back({Finding::Level::warning, "queue '" + queue.name + "' is being resharded",
                          "if " + command + " does not run any more, run it again"});
    } else {
      findings.push_back({Finding::Level::bad,
                          "the reshard of queue '" + queue.name + "' was stopped half-way" +
                              (queue.closed ? ": its producers and nodes wait" : ""),
                          "run " + command + " again"});
    }
  }
  for (const auto& queue : handle_->config().queues) {
    const auto found = known.find(queue.name);
    if (found == known.end() || found->second->shards == queue.shards.value_or(found->second->shards))
      continue;
    const auto* there = found->second;
    findings.push_back(
        {Finding::Level::bad,
         fmt::format("queue '{}' has {} shards in the store and {} in the config: no node starts "
                     "with it",
                     queue.name, there->shards, *queue.shards),
         fmt::format("set shards = {} in the config, or leave it out", there->shards)});
  }
}

// What of the store cannot be read, and what waits for that.
void Admin::Impl::examine_records(std::vector<Finding>& findings) {
  for (const auto& node : handle_->store().nodes()) {
    const auto facts = runtime::decode_node_facts(node.facts);
    if (facts) continue;
    findings.push_back({Finding::Level::warning,
                        fmt::format("what node {} says of itself cannot be read: {}", node.id, facts.why()),
                        "it works on; nothing is lent to it. Run nodes of the same version"});
  }
  const auto list = handle_->store().queues();
  const auto name_of = [&](std::uint32_t number) {
    const auto queue = std::ranges::find(list.queues, number, &store::QueueDefinition::number);
    return queue != list.queues.end() ? "'" + queue->name + "'" : fmt::format("number {}", number);
  };
  for (const auto& row : handle_->store().shards()) {
    const auto counts = domain::decode_counts(row.counts);
    if (counts || counts.needs() != 0) continue;
    findings.push_back({Finding::Level::warning,
                        fmt::format("the counts of shard {} of queue {} cannot be read: {}", row.shard.index,
                                    name_of(row.shard.queue), counts.why()),
                        "its owner counts anew"});
  }
  for (const auto& row : store::left_out(handle_->store())) {
    findings.push_back(
        {Finding::Level::bad, row + ": it is left out, and the others go on",
         "another program wrote there, or its storage is damaged: put it right, or remove it"});
  }
  for (const auto& [queue, stats] : stats().by_queue) {
    if (stats.unreadable > 0) {
      findings.push_back({Finding::Level::warning,
                          fmt::format("{} stored {} of queue '{}' could not be read and went to the dead",
                                      stats.unreadable, stats.unreadable == 1 ? "record" : "records", queue),
                          fmt::format("see `ordo dead {} list`; a version that can read them runs them after "
                                      "`ordo dead {} retry`",
                                      queue, queue)});
    }
    if (stats.waits_for_newer > 0) {
      findings.push_back(
          {Finding::Level::bad,
           fmt::format("{} {} of queue '{}' {} for a newer node: a newer version of Ordo wrote "
                       "there what this one must not guess",
                       stats.waits_for_newer, stats.waits_for_newer == 1 ? "shard" : "shards", queue,
                       stats.waits_for_newer == 1 ? "waits" : "wait"),
           "start a node of that version; nothing is lost meanwhile"});
    }
  }
}

}  // namespace ordo
