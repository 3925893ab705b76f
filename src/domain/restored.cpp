#include "domain/restored.h"

#include <algorithm>

namespace ordo::domain {
namespace {

template <class Map>
std::optional<typename Map::mapped_type> take(Map& map, Seq entry) {
  if (map.empty()) return std::nullopt;
  auto node = map.extract(entry);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

}  // namespace

void Restored::add(Seq first, JobState state) {
  for (const auto& rank : state.scores) ranks_.emplace(rank.entry, rank);
  if (state.awaits) awaiting_.insert(state.awaits.last);
  states_.emplace(first, std::move(state));
}

const JobState* Restored::find_state(Seq entry) const {
  if (states_.empty()) return nullptr;
  const auto found = states_.find(entry);
  return found == states_.end() ? nullptr : &found->second;
}

std::optional<JobState> Restored::take_state(Seq entry) { return take(states_, entry); }
std::optional<PayloadRank> Restored::take_rank(Seq entry) { return take(ranks_, entry); }
bool Restored::speaks_of(Seq seq, const Entry& entry) const {
  return states_.contains(seq) || ranks_.contains(seq) || lost_.contains(seq) || why_lost(entry) != nullptr;
}

std::optional<Restored::Lost> Restored::take_lost(Seq entry) { return take(lost_, entry); }

void Restored::lose_job(const Entry& entry, const std::string& why) {
  lost_jobs_[{std::string(entry.kind), std::string(entry.key), std::string(entry.id)}] = why;
}

const std::string* Restored::why_lost(const Entry& entry) const {
  if (lost_jobs_.empty()) return nullptr;
  const auto found =
      lost_jobs_.find({std::string(entry.kind), std::string(entry.key), std::string(entry.id)});
  return found == lost_jobs_.end() ? nullptr : &found->second;
}

void Restored::expect(RunNo run, const LentRun& lent) {
  for (std::size_t index = 0; index < lent.jobs.size(); ++index) {
    Seq last = 0;
    for (const auto& [entry, score] : lent.jobs[index].pieces) {
      lent_.insert(entry);
      last = std::max(last, entry);
    }
    lent_jobs_[last] = {run, index};
  }
}

std::optional<std::pair<RunNo, std::size_t>> Restored::take_lent_job(Seq entry) {
  return take(lent_jobs_, entry);
}

bool Restored::is_doomed(const Job* job) const {
  return !doomed_.empty() && std::ranges::find(doomed_, job) != doomed_.end();
}

void Restored::forget(const Job& job) {
  if (!doomed_.empty()) std::erase(doomed_, &job);
}

std::vector<Job*> Restored::finish() {
  auto doomed = std::move(doomed_);
  *this = {};
  return doomed;
}

}  // namespace ordo::domain
