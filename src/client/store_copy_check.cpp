// Whether a copy has arrived: TO is read once more, and what it says is compared with what FROM said.
#include <algorithm>
#include <unordered_map>

#include "client/checksum.h"
#include "client/store_copy.h"

namespace ordo {
namespace {

/// What one store says of one shard.
struct Findings {
  Checksum entries, dead;
  CopyTotals totals;
  std::vector<std::pair<domain::Seq, std::uint64_t>> states;  // by the place of the job's first entry

  void add_state(domain::Seq place, const domain::JobState& state) {
    states.emplace_back(place, Checksum::of(domain::encode(state)));
  }
  void add_dead(const store::DeadRow& row) {
    dead.add(static_cast<std::uint64_t>(row.at.time_since_epoch().count())).add(row.bytes);
    ++totals.dead;
  }
  void add_counts(const domain::Counts& counts) {
    totals.processed = counts.processed;
    totals.failed = counts.failed;
  }

  void add_to(CopyTotals& sum) {
    std::sort(states.begin(), states.end());
    Checksum checksum;
    checksum.add(sum.checksum).add(totals.entries).add(entries.value()).add(states.size());
    for (const auto& [place, state] : states) checksum.add(place).add(state);
    checksum.add(totals.dead).add(dead.value()).add(totals.processed).add(totals.failed);
    sum.entries += totals.entries;
    sum.states += states.size();
    sum.dead += totals.dead;
    sum.processed += totals.processed;
    sum.failed += totals.failed;
    sum.checksum = checksum.value();
  }
};

}  // namespace

bool CopyResult::verified() const {
  return std::all_of(queues.begin(), queues.end(),
                     [](const CopiedQueue& queue) { return queue.from == queue.to; });
}

// Entry numbers become places among the copied entries, which both stores share.
CopyResult StoreCopy::verify() {
  std::unordered_map<const Part*, Findings> from, to;
  std::unordered_map<store::ShardId, std::vector<store::StateRow>> to_states;
  std::unordered_map<const Part*, domain::Numbering> places;
  std::vector<store::ShardId> shards;
  for (auto& part : parts_) {
    part.in_to = 0;
    if (part.is_whole()) shards.push_back(part.to.shard);
  }
  for (auto& facts : to_.load(shards)) to_states[facts.shard] = std::move(facts.states);
  for (const auto& part : parts_) {
    std::vector<domain::Seq> spoken_of;
    for (const auto& row : to_states[part.to.shard]) {
      domain::add_references(spoken_of, row.seq, domain::decode_state(row.bytes));
    }
    places[&part] = domain::Numbering(std::move(spoken_of));
  }

  std::uint64_t done = 0;
  read_log(
      Side::to, [](const Part& part) { return part.mark.is_open; },
      [&](Part& part, const store::LogRow& row, const domain::Entry& entry) {
        const auto checksum = Checksum::of(domain::encode(entry));
        if (!part.has_next(checksum)) return;
        places.at(&part).pass(row.seq, part.in_to);
        to[&part].entries.add(checksum);
        ++to[&part].totals.entries;
        ++done;
      },
      [&] { report(CopyProgress::Step::checking, done); });

  std::unordered_map<store::ShardId, domain::Counts> to_counts;
  for (const auto& row : to_.shards()) to_counts[row.shard] = domain::decode_counts(row.counts);
  for (const auto& part : parts_) {
    if (!part.mark.is_open) continue;
    for (const auto checksum : part.entries) from[&part].entries.add(checksum);
    from[&part].totals.entries = part.entries.size();
    if (!part.is_whole()) continue;
    from[&part].add_counts(part.from_counts);
    to[&part].add_counts(to_counts[part.to.shard]);
    const auto add_states = [&](Findings& findings, const std::vector<store::StateRow>& states,
                                const domain::Numbering& numbers) {
      for (const auto& row : states) {
        const auto state = domain::renumbered(domain::decode_state(row.bytes), numbers);
        if (const auto place = numbers.of(row.seq)) findings.add_state(*place, state);
      }
    };
    add_states(from[&part], part.states, part.places);
    add_states(to[&part], to_states[part.to.shard], places.at(&part));
  }
  for (auto [side, findings] : {std::pair{Side::from, &from}, std::pair{Side::to, &to}}) {
    each_dead(
        side,
        [&, found = findings](const Part& part, const store::DeadRow& row) {
          if (part.is_whole()) (*found)[&part].add_dead(row);
        },
        [] {});
  }

  CopyResult result;
  result.appended = appended_;
  for (const auto& queue : queues_) result.queues.push_back({.name = queue.from.name, .from = {}, .to = {}});
  for (const auto& part : parts_) {
    from[&part].add_to(result.queues[part.queue].from);
    to[&part].add_to(result.queues[part.queue].to);
  }
  return result;
}

}  // namespace ordo
