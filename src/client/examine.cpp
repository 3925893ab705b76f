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
namespace {

constexpr std::uint64_t kMostExamined = 100'000;  // payloads of a queue that are looked through

}  // namespace

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
  examine_jobs(findings, kMostExamined);
  examine_kinds(findings);
  examine_nodes(findings);
  examine_work(findings);
  examine_records(findings);
  examine_sources(findings);
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
      findings.push_back({.level = Finding::Level::warning,
                          .what = "queue '" + queue.name + "' is being resharded",
                          .advice = "if " + command + " does not run any more, run it again",
                          .about = Finding::About::reshard,
                          .queue = queue.name});
    } else {
      findings.push_back({.level = Finding::Level::bad,
                          .what = "the reshard of queue '" + queue.name + "' was stopped half-way" +
                                  (queue.closed ? ": its producers and nodes wait" : ""),
                          .advice = "run " + command + " again",
                          .about = Finding::About::reshard,
                          .queue = queue.name,
                          .needs_person = true});
    }
  }
  for (const auto& queue : handle_->config().queues) {
    const auto found = known.find(queue.name);
    if (found == known.end() || found->second->shards == queue.shards.value_or(found->second->shards))
      continue;
    const auto* there = found->second;
    findings.push_back(
        {.level = Finding::Level::bad,
         .what = fmt::format("queue '{}' has {} shards in the store and {} in the config: no node starts "
                             "with it",
                             queue.name, there->shards, *queue.shards),
         .advice = fmt::format("set shards = {} in the config, or leave it out", there->shards),
         .about = Finding::About::queue,
         .queue = queue.name,
         .needs_person = true});
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
}

}  // namespace ordo
