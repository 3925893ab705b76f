// What an edit in the log does to a waiting job: its entry takes the place of those of the payload that it
// replaces. Score, time, retries and unique keys stay. From the next delta on it stands in the log as that
// payload, and the state of the job says so.
#include <algorithm>
#include <map>

#include "domain/due.h"
#include "domain/gate_keys.h"
#include "domain/shard.h"

namespace ordo::domain {
namespace {

/// By their scores, after the log was moved. Nothing where others have come with one of these scores: what
/// was pushed is never lost.
std::vector<Seq> entries_by_score(const Entry& edit, const PayloadSet& payloads) {
  std::map<double, std::size_t> wanted;
  for (const auto& edited : edit.edits) ++wanted[edited.score];
  std::map<double, std::size_t> there;
  std::vector<Seq> entries;
  for (const auto& piece : payloads.pieces()) {
    const auto found = wanted.find(piece.score);
    if (found == wanted.end()) continue;
    if (++there[piece.score] > found->second) return {};
    entries.push_back(piece.seq);
  }
  return entries;
}

std::vector<Seq> entries_to_replace(const Entry& edit, const PayloadSet& payloads) {
  const bool is_moved = std::ranges::any_of(edit.edits, [](const auto& edited) { return edited.seq == 0; });
  if (is_moved) return entries_by_score(edit, payloads);
  std::vector<Seq> entries;
  for (const auto& edited : edit.edits) entries.push_back(edited.seq);
  std::ranges::sort(entries);
  std::vector<Seq> there;
  for (const auto& piece : payloads.pieces()) {
    if (std::ranges::binary_search(entries, piece.seq)) there.push_back(piece.seq);
  }
  return there;
}

}  // namespace

void Shard::apply_edit(const LoggedEntry& logged, Time now) {
  const auto& entry = logged.entry;
  // An earlier owner has carried it out.
  if (restored_.speaks_of(logged.seq, entry)) return apply_payload(logged, now);
  const auto kind = kinds_.find(entry.kind);
  Job* job = kind ? table_.find_queued(*kind, entry.id, entry.key) : nullptr;
  const auto replaced = job != nullptr ? entries_to_replace(entry, job->payloads) : std::vector<Seq>{};
  if (replaced.empty()) {  // it runs, or has ended
    changes_.erase(logged.seq);
    return;
  }
  const bool settling = job->place == Place::settling;
  if (!settling) {
    leave(*job);
    if (!job->held) order_.pass_key(*job, now);
  }
  const bool is_only = replaced.size() == job->payloads.size();
  if (!is_only) keep_demand(*job);
  replace_payload(*job, logged, replaced, now);
  // The only payload says anew what the job asks for. One of several never moves it.
  ask_as_edited(*job, is_only ? demand_of(*job, entry, {}) : demand_of(*job, entry));
  changes_.write_state(*job);
  if (!settling) place(*job, now);
}

void Shard::replace_payload(Job& job, const LoggedEntry& logged, const std::vector<Seq>& replaced, Time now) {
  if (std::ranges::find(replaced, job.arrival()) != replaced.end()) {
    forget_waits(job);
    note_pushed(job);
    // The entry that says when it came goes.
    if (!job.own_time) job.wait_until(due_at(job, now), now, /*chosen=*/false);
  }
  auto& extra = job.more();
  auto piece = piece_of(logged, &job, now);
  const auto score = piece.score;
  for (const auto seq : replaced) {
    changes_.erase(seq);
    extra.scores.erase(seq);
  }
  bool is_kept = true;
  if (replaced.size() == job.payloads.size()) {
    set_only_piece(job, std::move(piece), logged.set_aside);
  } else {
    job.payloads.drop(replaced);
    is_kept = !add_piece(job, std::move(piece), logged.set_aside);
  }
  if (is_kept) extra.scores[logged.seq] = {logged.seq, score, 0};
  if (!logged.entry.fields.empty()) extra.more().entry_fields.emplace_back(logged.seq, logged.entry.fields);
  extra.through = std::max(extra.through, logged.seq);
}

// A job that has just been back from its run has its lock until that is durable.
void Shard::ask_as_edited(Job& job, Demand* demand) {
  if (demand == nullptr) return;
  if (const auto before = edited_.extract(&job)) gates_->drop(*before.mapped());
  if (demand == job.demand) {
    gates_->drop(*demand);
  } else if (job.place == Place::settling) {
    edited_.emplace(&job, demand);
  } else {
    set_demand(job, demand);
  }
}

}  // namespace ordo::domain
