#include "domain/resharding.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"
#include "domain/shard_id.h"

namespace ordo::domain {
namespace {

constexpr unsigned kShardBits = 16;

}  // namespace

bool is_for_every_key(const Entry& entry) {
  const bool is_control =
      entry.type == EntryType::cancel || entry.type == EntryType::run_now || entry.type == EntryType::kill;
  return is_control && entry.key.empty();
}

Resharding::Resharding(std::uint32_t shards, std::vector<Facts> facts) : arrivals_(shards) {
  ORDO_ASSERT(shards >= 1 && shards <= 1U << kShardBits);
  for (auto& each : facts) {
    std::vector<Seq> spoken_of;
    for (const auto& [first, state] : each.states) add_references(spoken_of, first, state);
    for (const auto& [first, bytes] : each.lost) spoken_of.push_back(first);
    for (const auto& run : each.lent) {
      for (const auto& job : run.jobs) {
        for (const auto& [seq, score] : job.pieces) spoken_of.push_back(seq);
      }
      if (run.response != 0) spoken_of.push_back(run.response);
    }
    add_references(spoken_of, each.schedules);
    has_facts_ = has_facts_ || !spoken_of.empty();
    old_.push_back({std::move(each), Numbering(std::move(spoken_of))});
  }
}

std::vector<Resharding::Copy> Resharding::pass(std::uint32_t old, Seq seq, Entry entry,
                                               const std::vector<std::string>& keys) {
  std::vector<Copy> copies;
  Place place = 0;
  const auto add = [&](std::uint32_t shard) {
    place = ++copies_ << kShardBits | shard;
    if (has_facts_) arrivals_[shard].places.push_back(place);
    copies.push_back({shard, encode(entry)});
  };
  const auto shards = static_cast<std::uint32_t>(arrivals_.size());
  if (entry.type == EntryType::ended) {
    // Behind what the run was made of.
    for (const auto shard : shards_of_run(old_[old], decode_lent_end(entry.payload)->name)) add(shard);
  } else if (is_for_every_key(entry)) {
    for (const auto& key : keys) {
      entry.key = key;
      add(shard_of(key, shards));
    }
  } else {
    add(shard_of(entry.key, shards));
  }
  if (has_facts_ && !copies.empty()) old_[old].places.pass(seq, place);
  return copies;
}

Resharding::Copy Resharding::pass_unreadable(std::uint32_t old, Seq seq, std::string_view bytes) {
  const auto shard = old % static_cast<std::uint32_t>(arrivals_.size());
  const Place place = ++copies_ << kShardBits | shard;
  if (has_facts_) {
    arrivals_[shard].places.push_back(place);
    old_[old].places.pass(seq, place);
  }
  return {shard, std::string(bytes)};
}

void Resharding::arrived(std::uint32_t shard, Seq number) {
  if (has_facts_) arrivals_[shard].numbers.push_back(number);
}

std::uint32_t Resharding::shard_at(Place place) {
  return static_cast<std::uint32_t>(place & ((1U << kShardBits) - 1));
}

// All its entries have one key. None: one of them is not there, and the job is due again.
std::optional<std::uint32_t> Resharding::shard_of_job(const Old& old, const LentRun::Job& job) {
  std::optional<std::uint32_t> shard;
  for (const auto& [seq, score] : job.pieces) {
    const auto place = old.places.of(seq);
    if (!place) return std::nullopt;
    shard = shard_at(*place);
  }
  return shard;
}

std::set<std::uint32_t> Resharding::shards_of_run(const Old& old, const LentName& name) {
  std::set<std::uint32_t> shards;
  const auto run = std::ranges::find(old.facts.lent, name, &LentRun::name);
  if (run == old.facts.lent.end()) return shards;
  for (const auto& job : run->jobs) {
    if (const auto shard = shard_of_job(old, job)) shards.insert(*shard);
  }
  return shards;
}

// What follows there is of other jobs, or not covered.
Seq Resharding::Arrivals::up_to(Place place) const {
  const auto behind = std::upper_bound(places.begin(), places.end(), place) - places.begin();
  return behind == 0 ? 0 : numbers.at(static_cast<std::size_t>(behind - 1));
}

JobState Resharding::renumbered(const Old& old, const Arrivals& arrivals, JobState state) const {
  state.through = arrivals.up_to(old.places.up_to(state.through));
  std::vector<PayloadRank> scores;
  for (const auto& [entry, score, newest] : state.scores) {
    const auto place = old.places.of(entry);
    if (!place) continue;
    const auto last = newest == 0 ? 0 : arrivals.up_to(old.places.up_to(newest));
    scores.push_back({arrivals.up_to(*place), score, last});
  }
  state.scores = std::move(scores);
  if (state.awaits) {
    const auto last = old.places.of(state.awaits.last);
    state.awaits.last = last ? arrivals.up_to(*last) : 0;
  }
  return state;
}

// Parts of a run that an earlier reshard has parted may meet again.
void Resharding::carry_lent(const Old& old, std::vector<Facts>& all) const {
  for (const auto& run : old.facts.lent) {
    for (auto job : run.jobs) {
      const auto shard = shard_of_job(old, job);
      if (!shard) continue;
      for (auto& [seq, score] : job.pieces) seq = arrivals_[*shard].up_to(*old.places.of(seq));
      const auto response = run.response != 0 ? old.places.of(run.response) : std::nullopt;
      auto& lent = all[*shard].lent;
      auto part = std::ranges::find(lent, run.name, &LentRun::name);
      if (part == lent.end()) {
        lent.push_back(run);
        part = std::prev(lent.end());
        part->jobs.clear();
        part->response = response ? arrivals_[*shard].up_to(*response) : 0;
      }
      part->stop = part->stop || run.stop;
      const auto behind = std::ranges::upper_bound(part->jobs, job.place, {}, &LentRun::Job::place);
      part->jobs.insert(behind, std::move(job));
    }
  }
}

// Of two that a changed key has left in two shards, the one that ticked later goes on.
void Resharding::carry_schedules(Old& old, std::vector<Facts>& all) const {
  const auto shards = static_cast<std::uint32_t>(arrivals_.size());
  for (auto& [name, record] : old.facts.schedules) {
    const auto shard = shard_of(record.key, shards);
    record.through = arrivals_[shard].up_to(old.places.up_to(record.through));
    const auto [there, is_new] = all[shard].schedules.try_emplace(name, record);
    if (!is_new && there->second.last < record.last) there->second = record;
  }
}

std::vector<Resharding::Facts> Resharding::facts() {
  std::vector<Facts> all(arrivals_.size());
  for (auto& old : old_) {
    for (auto& [seq, state] : std::exchange(old.facts.states, {})) {
      const auto place = old.places.of(seq);
      if (!place) continue;
      const auto& arrivals = arrivals_[shard_at(*place)];
      all[shard_at(*place)].states.emplace_back(arrivals.up_to(*place),
                                                renumbered(old, arrivals, std::move(state)));
    }
    for (auto& [seq, bytes] : std::exchange(old.facts.lost, {})) {
      const auto place = old.places.of(seq);
      if (place)
        all[shard_at(*place)].lost.emplace_back(arrivals_[shard_at(*place)].up_to(*place), std::move(bytes));
    }
    carry_lent(old, all);
    carry_schedules(old, all);
  }
  has_facts_ = false;
  arrivals_.assign(arrivals_.size(), {});
  return all;
}

}  // namespace ordo::domain
