// Whether a copy has arrived: TO is read once more, and what it says is compared with what FROM said.
#include <algorithm>
#include <unordered_map>

#include "client/checksum.h"
#include "client/kept_records.h"
#include "client/store_copy.h"

namespace ordo {
namespace {

/// What one store says of one shard.
struct Findings {
  Checksum entries, dead;
  std::uint64_t kept = 0;
  CopyTotals totals;
  std::vector<std::pair<domain::Seq, std::uint64_t>> states;  // by the place of the job's first entry

  void add_states(const std::vector<store::StateRow>& rows, const domain::Numbering& places) {
    for (const auto& row : rows) {
      const auto place = places.of(row.seq);
      const auto state = domain::decode_state(row.bytes);
      const auto bytes = state ? domain::encode(domain::renumbered(*state, places)) : row.bytes;
      if (place) states.emplace_back(*place, Checksum::of(bytes));
    }
  }
  void add_dead(const store::DeadRow& row) {
    dead.add(static_cast<std::uint64_t>(row.at.time_since_epoch().count())).add(row.bytes);
    ++totals.dead;
  }
  /// In any order: the blocks are others.
  void add_kept(const domain::KeptRecord& record) {
    domain::KeptBlock one;
    one.add(record);
    kept += Checksum::of(one.body({}));
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
    checksum.add(totals.dead).add(dead.value()).add(totals.processed).add(totals.failed).add(kept);
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

struct StoreCopy::Totals {
  std::unordered_map<const Part*, Findings> from, to;
};

// Entry numbers become places among the copied entries, which both stores share.
CopyResult StoreCopy::verify() {
  Totals totals;
  read_back(totals);
  for (const auto& part : parts_) {
    auto& from = totals.from[&part];
    for (const auto checksum : part.entries) from.entries.add(checksum);
    from.totals.entries = part.entries.size();
    if (!part.is_whole()) continue;
    from.add_counts(part.from_counts);
    from.add_states(part.states, part.places);
  }
  for (auto [side, findings] : {std::pair{Side::from, &totals.from}, std::pair{Side::to, &totals.to}}) {
    each_dead(
        side,
        [&, found = findings](const Part& part, const store::DeadRow& row) {
          if (part.is_whole()) (*found)[&part].add_dead(row);
        },
        [] {});
  }

  for (const auto& part : parts_) {
    if (!part.is_whole()) continue;
    const auto read = [&](store::Store& store, store::ShardId shard, Findings& findings) {
      each_kept_record(
          store, {shard}, [&](store::ShardId, const auto& record) { findings.add_kept(record); },
          [&] { check_owners(); });
    };
    read(from_, part.from.shard, totals.from[&part]);
    read(to_, part.to.shard, totals.to[&part]);
  }

  CopyResult result;
  result.appended = appended_;
  for (const auto& queue : queues_) result.queues.push_back({.name = queue.from.name, .from = {}, .to = {}});
  for (const auto& part : parts_) {
    totals.from[&part].add_to(result.queues[part.queue].from);
    totals.to[&part].add_to(result.queues[part.queue].to);
  }
  return result;
}

// Entries, states and counts of TO.
void StoreCopy::read_back(Totals& totals) {
  std::unordered_map<store::ShardId, std::vector<store::StateRow>> states;
  std::unordered_map<const Part*, domain::Numbering> places;
  std::vector<store::ShardId> shards;
  for (auto& part : parts_) {
    part.in_to = 0;
    if (part.is_whole()) shards.push_back(part.to.shard);
  }
  for (auto& facts : to_.load(shards)) {
    std::erase_if(facts.states, [](const auto& row) { return domain::is_rate_row(row.seq); });
    states[facts.shard] = std::move(facts.states);
  }
  for (const auto& part : parts_) {
    std::vector<domain::Seq> spoken_of;
    for (const auto& row : states[part.to.shard]) {
      domain::add_references(spoken_of, row.seq, state_of(row));
    }
    places[&part] = domain::Numbering(std::move(spoken_of));
  }
  std::uint64_t done = 0;
  read_log(
      Side::to, [](const Part& part) { return part.mark.is_open; },
      [&](Part& part, const store::LogRow& row, const std::string& entry) {
        const auto checksum = Checksum::of(entry);
        if (!part.has_next(checksum)) return;
        places.at(&part).pass(row.seq, part.in_to);
        auto& to = totals.to[&part];
        to.entries.add(checksum);
        ++to.totals.entries;
        ++done;
      },
      [&] { report(CopyProgress::Step::checking, done); });
  std::unordered_map<store::ShardId, domain::Counts> counts;
  for (const auto& row : to_.shards()) counts[row.shard] = domain::decode_counts(row.counts).or_empty();
  for (const auto& part : parts_) {
    if (!part.is_whole()) continue;
    totals.to[&part].add_counts(counts[part.to.shard]);
    totals.to[&part].add_states(states[part.to.shard], places.at(&part));
  }
}

}  // namespace ordo
