// What the log does to a shard: merging payloads, restoring states, controls.
#include <algorithm>

#include "base/assert.h"
#include "domain/shard.h"

namespace ordo::domain {

std::optional<std::uint16_t> Shard::find_kind(std::string_view name) const {
  const auto found = kind_places_.find(name);
  return found == kind_places_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint16_t> Shard::kind_index(std::string_view name) {
  if (const auto known = find_kind(name)) return known;
  if (kinds_.size() >= kMaxKinds) return std::nullopt;
  const auto index = static_cast<std::uint16_t>(kinds_.size());
  kinds_.push_back(std::make_unique<Kind>(std::string(name), options_of(options_, name), before_));
  if (mixed_priorities_) {
    for (auto& due : kinds_.back()->due) due.mix();
  }
  kind_places_.emplace(kinds_.back()->name, index);
  return index;
}

void Shard::apply(const LoggedEntry& logged, Time now) {
  switch (logged.entry.type) {
    case EntryType::push:
    case EntryType::revive:
      apply_payload(logged, now);
      break;
    case EntryType::cancel:
    case EntryType::run_now:
      apply_control(logged, now);
      break;
    case EntryType::ended:
      apply_end(logged, now);
      break;
  }
  through_ = logged.seq;
}

void Shard::apply_payload(const LoggedEntry& logged, Time now) {
  const auto& entry = logged.entry;
  if (loses(logged)) return;
  const auto known = kind_index(entry.kind);
  if (!known) {
    bury(logged, {},
         "its shard has " + std::to_string(kMaxKinds) + " kinds already, and no room for one more");
    return;
  }
  const auto kind = *known;
  Job* job = table_.find_queued(kind, entry.id, entry.key);
  Piece piece = piece_of(logged, job, now);
  if (job == nullptr) {
    create_job(kind, logged, std::move(piece), now);
  } else {
    merge_into(*job, logged, std::move(piece), now);
  }
  if (lent_jobs_.empty()) return;
  if (const auto last = lent_jobs_.extract(logged.seq)) {
    resume_lent(*table_.find_queued(kind, entry.id, entry.key), last.mapped().first, last.mapped().second);
  }
}

Piece Shard::piece_of(const LoggedEntry& logged, const Job* job, Time now) {
  Piece piece{logged.seq, logged.entry.score.value_or(score_of(logged.at)), {}};
  if (!restored_scores_.empty()) {
    if (const auto score = restored_scores_.extract(logged.seq)) piece.score = score.mapped();
  }
  // The payloads of a job that may die at the end of the load are needed then.
  bool needed = !doomed_.empty() && std::find(doomed_.begin(), doomed_.end(), job) != doomed_.end();
  Time run_at = job != nullptr ? job->run_at : logged.entry.run_at.value_or(logged.at);
  if (const auto state = restored_.find(logged.seq); state != restored_.end()) {
    needed = needed || state->second.mark == Mark::alone;
    if (state->second.own_time) run_at = state->second.run_at;
  }
  needed = needed || lent_pieces_.contains(logged.seq);  // it may die at the run's end
  if (needed || budget_.has_room(logged.entry.payload.size(), run_at <= now)) {
    piece.bytes = CachedBytes(logged.entry.payload, budget_);
  }
  return piece;
}

void Shard::create_job(std::uint16_t kind, const LoggedEntry& logged, Piece piece, Time now) {
  const auto& entry = logged.entry;
  Job& job = *Job::create(kind, entry.id, entry.key, std::move(piece));
  job.run_at = entry.run_at.value_or(logged.at);
  job.own_time = entry.run_at.has_value();
  job.set_aside = logged.set_aside;
  if (entry.options != JobOptions{}) {
    job.more().options = entry.options;
    set_priority(job);
  }
  if (!entry.fields.empty()) keep_fields(job, logged);
  ++job_count_;
  ++queued_;
  if (!lost_states_.empty()) {
    if (auto lost = lost_states_.extract(logged.seq)) {  // of a lent run: it goes on
      job.more().state_seq = logged.seq;
      job.more().more().lost_state = std::move(lost.mapped().bytes);
    }
  }
  if (!restored_.empty()) {
    if (const auto state = restored_.extract(logged.seq)) {
      job.more().state_seq = logged.seq;
      restore_state(job, state.mapped());
    }
  }
  table_.insert(job);
  // Its retries start over whatever job it may be joined with after a crash: the state says so.
  if (entry.type == EntryType::revive) dirty(job);
  place(job, now);
}

void Shard::restore_state(Job& job, const JobState& state) {
  auto& extra = job.more();
  extra.through = std::max(extra.through, state.through);
  extra.options = state.options;
  extra.retry_count = state.retry_count;
  extra.crashes = state.crashes;
  extra.last_crash = state.last_crash;
  extra.error_kind = state.error_kind;
  extra.error = state.error;
  extra.scores = {state.scores.begin(), state.scores.end()};
  if (!state.fields.empty()) extra.more().state_fields = state.fields;
  if (state.own_time) set_time(job, state.run_at);
  job.held = state.held;
  set_priority(job);
  if (state.mark == Mark::none) return;
  if (lent_pieces_.contains(job.arrival())) {
    extra.mark = state.mark;
  } else {
    restore_mark(job, state.mark);
  }
}

// A marked job was running when its last owner ended. A node's death counts against it, a lost lease does
// not.
void Shard::restore_mark(Job& job, Mark mark) {
  dirty(job);
  if (!takeover_.crashed) return;
  auto& extra = *job.extra;
  count_crash(extra, takeover_.now);
  if (mark == Mark::alone && crashed_too_often(job)) doomed_.push_back(&job);
}

void Shard::ready(Time now) {
  restored_.clear();
  restored_scores_.clear();
  lent_pieces_.clear();
  lent_jobs_.clear();
  lost_states_.clear();
  lost_names_.clear();
  give_up_incomplete(now);
  for (Job* job : std::exchange(doomed_, {})) {
    if (!job->payloads.all_present()) continue;  // it runs alone once more
    take_key(*job);
    activate(*job);
    die_of_crashes(*job, now);
  }
}

void Shard::merge_into(Job& job, const LoggedEntry& logged, Piece piece, Time now) {
  const auto& entry = logged.entry;
  // The state of a job that stood beside this one while it ran: the two are one now.
  auto beside = restored_.empty() ? decltype(restored_)::node_type{} : restored_.extract(logged.seq);
  const bool news = beside.empty() && logged.seq > job.through();
  const bool revived = news && entry.type == EntryType::revive;
  const bool has_options = news && entry.options != JobOptions{};
  const bool merged_away = add_piece(job, std::move(piece), logged.set_aside);
  if (!entry.fields.empty()) keep_fields(job, logged);
  if (news && job.extra) job.extra->through = logged.seq;
  bool moved = revived;
  if (has_options) {
    job.more().options.merge_later(entry.options);
    moved = moved || entry.options.priority.has_value();
  }
  if (!beside.empty()) {
    const auto& state = beside.mapped();
    auto& extra = job.more();
    changes_.erase_states.push_back(logged.seq);
    extra.options.merge_later(state.options);
    extra.through = std::max(extra.through, state.through);
    extra.scores.insert(state.scores.begin(), state.scores.end());
    moved = true;
  }
  if (!beside.empty() || revived || (merged_away && has_options))
    dirty(job);  // its entries alone do not say so
  if (moved) move(job, revived ? std::optional(entry.run_at.value_or(logged.at)) : std::nullopt, now);
}

void Shard::keep_fields(Job& job, const LoggedEntry& logged) const {
  job.more().more().entry_fields.emplace_back(logged.seq, logged.entry.fields);
}

// Its priority or, with `run_at`, its time has changed, and its retries start over.
void Shard::move(Job& job, std::optional<Time> run_at, Time now) {
  const bool settling = job.place == Place::settling;
  if (!settling) {
    leave_place(job);
    if (!job.held) release_front(job, now);
  }
  if (run_at) {
    set_time(job, *run_at);
    job.more().retry_count = -1;
  }
  set_priority(job);
  if (!settling) place(job, now);
}

// True: the payload was there already, and the later entry of the two is not needed any more.
bool Shard::add_piece(Job& job, Piece piece, bool set_aside) {
  const auto seq = piece.seq;
  const bool is_in_the_way = job.set_aside && !set_aside && keeps_room(piece);
  const auto merged = job.payloads.add(std::move(piece));
  if (merged) note_merged(job, *merged);
  if (is_in_the_way && !merged) changes_.set_aside.push_back(seq);
  return merged.has_value();
}

void Shard::note_merged(Job& job, const PayloadSet::Merged& merged) {
  changes_.erase.push_back(merged.duplicate);
  if (!merged.score_changed) return;
  job.more().scores[merged.kept] = merged.score;
  dirty(job);
}

// ----------------------------------------------------------------------------------------------------------
// controls

void Shard::apply_control(const LoggedEntry& logged, Time now) {
  bool waits = false;
  for (Job* job : targets_of(logged.entry)) {
    const bool active = job->place == Place::running;
    if (logged.entry.type == EntryType::run_now) {
      if (!active) run_now(*job, logged, now);
    } else if (!active) {
      leave_place(*job);
      release_front(*job, now);
      cancel(*job, 0);
    } else if (job->more().cancel_seq == 0) {
      cancel(*job, logged.seq);
      waits = true;
    }
  }
  if (!waits) changes_.erase.push_back(logged.seq);
}

// Without a key the control is meant for every key, and the job may be anywhere.
std::vector<Job*> Shard::targets_of(const Entry& control) const {
  std::vector<Job*> targets;
  const auto add = [&](Job* job) {
    if (job != nullptr) targets.push_back(job);
  };
  const auto kind = find_kind(control.kind);
  if (!kind) return targets;
  if (!control.key.empty() || table_.keys_are_ids()) {
    const auto key = control.key.empty() ? control.id : control.key;
    add(table_.find_running(*kind, control.id, key));
    add(table_.find_queued(*kind, control.id, key));
    return targets;
  }
  table_.each([&](Job& job) {
    if (job.is(*kind, control.id) && job.place != Place::ending) targets.push_back(&job);
  });
  std::sort(targets.begin(), targets.end(),
            [](const Job* a, const Job* b) { return a->arrival() < b->arrival(); });
  return targets;
}

// A queued job goes at once: were the next delta lost, the control would be read again. A running one is
// asked to stop.
void Shard::cancel(Job& job, Seq control) {
  if (control != 0) {
    job.more().cancel_seq = control;
    ++cancels_[control];
    for (auto& [no, active] : runs_) {
      if (std::find(active.jobs.begin(), active.jobs.end(), &job) == active.jobs.end()) continue;
      if (active.lent) {
        active.lent->stop = lent_changed_ = true;
      } else {
        stops_.push_back(no);
      }
    }
    return;
  }
  for (const auto& piece : job.payloads.pieces()) changes_.erase.push_back(piece.seq);
  if (job.extra && job.extra->state_seq != 0) changes_.erase_states.push_back(job.extra->state_seq);
  --queued_;
  forget(job);
}

void Shard::run_now(Job& job, const LoggedEntry& logged, Time now) {
  const bool settling = job.place == Place::settling;
  if (!settling) {
    leave_place(job);
    if (!job.held) release_front(job, now);
  }
  auto& extra = job.more();
  extra.through = std::max(extra.through, logged.seq);
  // One that is due keeps its place.
  if (const Time asked = logged.entry.run_at.value_or(logged.at); asked < job.run_at) set_time(job, asked);
  dirty(job);
  if (!settling) place(job, now);
}

}  // namespace ordo::domain
