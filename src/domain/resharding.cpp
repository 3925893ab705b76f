#include "domain/resharding.h"

#include <algorithm>

#include "base/assert.h"
#include "domain/shard_id.h"

namespace ordo::domain {
namespace {

constexpr unsigned kShardBits = 16;

}  // namespace

bool is_for_every_key(const Entry& entry) {
  const bool is_control = entry.type == EntryType::cancel || entry.type == EntryType::run_now;
  return is_control && entry.key.empty();
}

Resharding::Resharding(std::uint32_t shards, std::vector<States> states) : arrivals_(shards) {
  ORDO_ASSERT(shards >= 1 && shards <= 1U << kShardBits);
  for (auto& each : states) {
    std::vector<Seq> spoken_of;
    for (const auto& [first, state] : each) add_references(spoken_of, first, state);
    has_states_ = has_states_ || !each.empty();
    old_.push_back({std::move(each), Numbering(std::move(spoken_of))});
  }
}

std::vector<Resharding::Copy> Resharding::pass(std::uint32_t old, Seq seq, Entry entry,
                                               const std::vector<std::string>& keys) {
  std::vector<Copy> copies;
  if (entry.type == EntryType::ended) return copies;
  Place place = 0;
  const auto add = [&] {
    const auto shard = shard_of(entry.key, static_cast<std::uint32_t>(arrivals_.size()));
    place = ++copies_ << kShardBits | shard;
    if (has_states_) arrivals_[shard].places.push_back(place);
    copies.push_back({shard, encode(entry)});
  };
  if (is_for_every_key(entry)) {
    for (const auto& key : keys) {
      entry.key = key;
      add();
    }
  } else {
    add();
  }
  if (has_states_ && !copies.empty()) old_[old].places.pass(seq, place);
  return copies;
}

void Resharding::arrived(std::uint32_t shard, Seq number) {
  if (has_states_) arrivals_[shard].numbers.push_back(number);
}

// What follows there is of other jobs, or not covered.
Seq Resharding::Arrivals::up_to(Place place) const {
  const auto behind = std::upper_bound(places.begin(), places.end(), place) - places.begin();
  return behind == 0 ? 0 : numbers.at(static_cast<std::size_t>(behind - 1));
}

JobState Resharding::renumbered(const Old& old, const Arrivals& arrivals, JobState state) const {
  state.through = arrivals.up_to(old.places.up_to(state.through));
  std::vector<std::pair<Seq, double>> scores;
  for (const auto& [seq, score] : state.scores) {
    if (const auto place = old.places.of(seq)) scores.emplace_back(arrivals.up_to(*place), score);
  }
  state.scores = std::move(scores);
  return state;
}

std::vector<Resharding::States> Resharding::states() {
  std::vector<States> all(arrivals_.size());
  for (auto& old : old_) {
    for (auto& [seq, state] : old.states) {
      const auto place = old.places.of(seq);
      if (!place) continue;
      const auto shard = *place & ((1U << kShardBits) - 1);
      const auto& arrivals = arrivals_[shard];
      all[shard].emplace_back(arrivals.up_to(*place), renumbered(old, arrivals, std::move(state)));
    }
  }
  has_states_ = false;
  arrivals_.assign(arrivals_.size(), {});
  return all;
}

}  // namespace ordo::domain
