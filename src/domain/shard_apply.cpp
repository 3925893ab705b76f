// What the log does to a shard: merging payloads, restoring states.
#include "domain/shard.h"

#include <algorithm>

#include "base/saturate.h"
#include "base/time_text.h"
#include "domain/clock_guard.h"
#include "domain/due.h"

namespace ordo::domain {
namespace {

// The clock was ahead when it was told how long to wait.
bool waits_too_long(const Job& job, Time now) {
  return job.extra && job.extra->set_at > saturating_add(now, kLeap);
}

}  // namespace

void Shard::apply(const LoggedEntry& logged, Time now) {
  if (hand_overs_.read(logged.seq)) {
    through_ = logged.seq;
    return;
  }
  if (const auto came = logged.entry.came; came && *came != logged.at) {
    auto moved = logged;
    moved.at = *came;
    return apply(moved, now);
  }
  switch (logged.entry.type) {
    case EntryType::push:
    case EntryType::revive:
      apply_payload(logged, now);
      break;
    case EntryType::cancel:
    case EntryType::run_now:
    case EntryType::kill:
      apply_control(logged, now);
      break;
    case EntryType::ended:
      apply_end(logged, now);
      break;
    case EntryType::tick:
      apply_tick(logged, now);
      break;
    case EntryType::pause_ticks:
    case EntryType::resume_ticks:
      ticks_.control(logged.entry, std::min(logged.at, now));
      changes_.erase(logged.seq);
      break;
    case EntryType::expected:
    case EntryType::response:
      apply_wait({logged.seq, std::min(logged.at, now), logged.entry, logged.set_aside});
      break;
    case EntryType::freed:
      apply_freed(logged);
      break;
    case EntryType::edit:
      apply_edit(logged, now);
      break;
    case EntryType::handed_over:
      end_hand_over(logged.entry);
      changes_.erase(logged.seq);
      break;
    case EntryType::handed_back:
      apply_handed_back(logged, now);
      break;
  }
  through_ = logged.seq;
}

void Shard::apply_payload(const LoggedEntry& logged, Time now) {
  const auto& entry = logged.entry;
  if (loses(logged)) return;
  const auto kind = kinds_.add(entry.kind);
  if (!kind) {
    bury(logged, {},
         "its shard has " + std::to_string(KindTable::kMost) + " kinds already, and no room for one more");
    return;
  }
  Job* job = table_.find_queued(*kind, entry.id, entry.key);
  Piece piece = piece_of(logged, job, now);
  if (job == nullptr) {
    create_job(*kind, logged, std::move(piece), now);
  } else {
    merge_into(*job, logged, std::move(piece), now);
  }
  if (restored_.take_awaiting(logged.seq)) resume_awaiting(*table_.find_queued(*kind, entry.id, entry.key));
  if (const auto lent = restored_.take_lent_job(logged.seq)) {
    const auto jobs = table_.find_all(*kind, entry.id, entry.key);
    resume_lent(*jobs.front(), lent->first, lent->second);
  }
}

Piece Shard::piece_of(const LoggedEntry& logged, const Job* job, Time now) {
  Piece piece{logged.seq, logged.entry.score.value_or(score_of(logged.at)), {}};
  if (const auto rank = restored_.take_rank(logged.seq)) {
    piece.score = rank->score;
    piece.newest = rank->newest;
  }
  // The payloads of a job that may die at the end of the load are needed then, or at the end of its run.
  bool needed = restored_.is_doomed(job) || restored_.is_lent(logged.seq);
  const auto* waits = job != nullptr ? job->waits() : nullptr;
  needed = needed || (waits != nullptr && waits->awaits && logged.seq <= waits->awaits.last);
  Time run_at = job != nullptr ? due_at(*job, now) : logged.entry.run_at.value_or(std::min(logged.at, now));
  if (const auto* state = restored_.find_state(logged.seq)) {
    needed = needed || state->mark == Mark::alone || state->awaits;
    if (state->own_time) run_at = state->run_at;
  }
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
    job.more().options.replaces_time = false;
    job.more().has_new_time = entry.options.replaces_time;
    read_options(job);
  }
  if (const auto expiry = expiry_of(logged, kind); expiry || job.extra) job.more().options.set_expiry(expiry);
  if (job.own_time && keeps(job)) job.more().pushed = logged.at;
  if (!entry.fields.empty()) job.more().more().entry_fields.emplace_back(logged.seq, entry.fields);
  if (auto lost = restored_.take_lost(logged.seq)) {  // of a lent run: it goes on
    job.more().state_seq = logged.seq;
    job.more().more().lost_state = std::move(lost->bytes);
  }
  if (const auto state = restored_.take_state(logged.seq)) {
    job.more().state_seq = logged.seq;
    restore_state(job, *state);
  }
  set_demand(job, demand_of(job, entry));
  table_.insert(job);
  // Its retries start over whatever job it may be joined with after a crash, and it gives that no other time:
  // the state says so.
  if (entry.type == EntryType::revive || entry.options.replaces_time) changes_.write_state(job);
  place(job, now);
}

void Shard::restore_state(Job& job, const JobState& state) {
  auto& extra = job.more();
  extra.through = std::max(extra.through, state.through);
  extra.options = state.options;
  extra.retry_count = state.retry_count;
  extra.crashes = state.crashes;
  extra.last_crash = state.last_crash;
  extra.alone = state.alone;
  extra.error_kind = state.error_kind;
  extra.error = state.error;
  for (const auto& rank : state.scores) extra.scores[rank.entry] = rank;
  if (!state.fields.empty()) extra.more().state_fields = state.fields;
  extra.first_start = state.first_start;
  extra.pushed = state.pushed;
  if (state.awaits) extra.wait().awaits = state.awaits;
  if (state.own_time) job.set_time(state.run_at);
  job.chosen_time = state.chosen_time;
  extra.set_at = state.set_at;
  if (takeover_.now != Time{}) cut_wait(job, takeover_.now);  // who only looks tells no time
  job.held = state.held;
  read_options(job);
  if (state.mark == Mark::none) return;
  if (restored_.is_lent(job.arrival())) {
    extra.mark = state.mark;
  } else {
    restore_mark(job, state.mark);
  }
}

void Shard::cut_wait(Job& job, Time now) {
  if (!waits_too_long(job, now)) return;
  auto& set_at = job.extra->set_at;
  const auto cut = [&](Time& end) { end = cut_end(end, set_at, now); };
  if (job.own_time) cut(job.run_at);
  if (auto* waits = job.waits(); waits != nullptr && waits->awaits) {
    cut(waits->awaits.deadline);
    cut(waits->awaits.retry_at);
  }
  set_at = now;
  changes_.write_state(job);
}

// What runs, too: it may go back as it is.
void Shard::clock_leapt(Time now, Duration by) {
  takeover_.now = std::min(takeover_.now, now);  // what was loaded before may be read yet
  if (by != Duration{}) {
    rates_.shift(by);
    seen_ = time_after(seen_, by);
    has_rates_to_write_ = has_rates_to_write_ || rates_.has_more();
  }
  std::vector<Job*> ahead;
  table_.each([&](Job& job) {
    // Whom a throttler has refused for a time comes back by the clock as it was.
    const bool is_refused = job.place == Place::skipped || job.place == Place::deferred;
    if (is_refused || (job.place != Place::ending && waits_too_long(job, now))) ahead.push_back(&job);
  });
  for (Job* job : ahead) {
    if (job->place == Place::running || job->place == Place::settling) {
      cut_wait(*job, now);
    } else if (job->place == Place::awaiting) {
      const bool is_closing = job->waits()->is_closing;
      if (!is_closing) awaiting_.leave(*job);
      cut_wait(*job, now);
      if (!is_closing) wait_on(*job);
    } else {
      leave(*job);
      if (!job->held) order_.pass_key(*job, now);
      cut_wait(*job, now);
      place(*job, now);
    }
  }
  if (gates_ != nullptr) limits_changed();
}

// A marked job was running when its last owner ended. A node's death counts against it, a lost lease does
// not.
void Shard::restore_mark(Job& job, Mark mark) {
  changes_.write_state(job);
  if (!takeover_.crashed) return;
  auto& extra = *job.extra;
  extra.options.set_expiry({});
  extra.count_death_of_node(mark, takeover_.now);
  if (mark == Mark::alone && crashed_too_often(job)) restored_.doom(job);
}

void Shard::merge_into(Job& job, const LoggedEntry& logged, Piece piece, Time now) {
  const auto& entry = logged.entry;
  // The state of a job that stood beside this one while it ran: the two are one now.
  const auto beside = restored_.take_state(logged.seq);
  const bool news = !beside && logged.seq > job.through();
  const bool revived = news && entry.type == EntryType::revive;
  const bool has_options = news && entry.options != JobOptions{};
  const bool merged_away = add_piece(job, std::move(piece), logged.set_aside);
  if (!entry.fields.empty()) job.more().more().entry_fields.emplace_back(logged.seq, entry.fields);
  if (news && job.extra) job.extra->through = logged.seq;
  const bool replaces_time = news && entry.options.replaces_time;
  const auto run_at = revived || replaces_time
                          ? std::optional(entry.run_at.value_or(std::min(logged.at, now)))
                          : std::nullopt;
  if (replaces_time) job.more().has_new_time = true;
  const bool has_new_time = revived || replaces_time;
  bool moved = has_new_time;
  if (has_options) {
    merge_options(job, entry.options);
    moved = moved || entry.options.priority.has_value() || !entry.options.windows.empty();
  }
  const bool was_expiring = job.extra && job.extra->options.expires;
  if (beside) {
    defer_expiry(job, beside->options.expiry());
  } else if (news) {
    if (replaces_time) move_expiry(job, *run_at);
    defer_expiry(job, expiry_of(logged, job.kind));
  }
  moved = moved || job.place == Place::expired;
  if (beside) {
    auto& extra = job.more();
    changes_.erase_state(logged.seq);
    merge_options(job, beside->options);
    extra.through = std::max(extra.through, beside->through);
    for (const auto& rank : beside->scores) extra.scores.emplace(rank.entry, rank);
    moved = true;
  }
  Demand* demand = nullptr;
  moved = asks_anew(job, entry, demand) || moved;
  if (beside || has_new_time || (merged_away && (has_options || was_expiring)))
    changes_.write_state(job);  // its entries alone do not say so
  if (moved) move(job, {run_at, revived}, now, demand);
  if (run_at && !entry.run_at) job.more().set_at = now;
}

// Its priority, what it asks for or its time has changed.
void Shard::move(Job& job, const NewTime& time, Time now, Demand* demand) {
  const bool settling = job.place == Place::settling;
  if (!settling) {
    leave(job);
    if (!job.held) order_.pass_key(job, now);
  }
  if (time.run_at) {
    note_pushed(job);
    job.set_time(*time.run_at);
  }
  if (time.starts_over) job.more().retry_count = -1;
  read_options(job);
  if (demand != nullptr) set_demand(job, demand);
  if (!settling) place(job, now);
}

}  // namespace ordo::domain
