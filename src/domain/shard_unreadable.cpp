// What another version of Ordo wrote, another program, or a failing disk: nobody knows what it asks for, and
// nothing else of the shard waits for it. It dies as it is, and can be brought back by who can read it.
#include <utility>

#include "base/shorten.h"
#include "domain/plain_push.h"
#include "domain/shard.h"

namespace ordo::domain {

void Shard::note_unreadable(DeadPayload dead) {
  ++lasting_.unreadable;
  unreadable_why_.push_back("job " + in_quotes(dead.id) + ": " + dead.error);
  changes_.add_dead(std::move(dead));
}

void Shard::apply_unreadable(Seq seq, std::string_view bytes, const std::string& why) {
  auto dead = dead_entry(seq, bytes, why);
  if (is_plain_push(bytes)) {
    auto pushed = names_of_plain_push(bytes);
    JobOptions options;
    options.unique = std::move(pushed.holds);
    release_rows(pushed.kind, dead.key, dead.id, options);
  }
  changes_.erase(seq);
  if (auto lost = restored_.take_lost(seq)) {
    dead.state = std::move(lost->bytes);
    changes_.erase_state(seq);
  } else if (const auto state = restored_.take_state(seq)) {
    dead.state = encode(*state);
    changes_.erase_state(seq);
  }
  note_unreadable(std::move(dead));
  through_ = seq;
}

// The payloads of one job stand in the log one by one, and its state only under the first. Those behind it
// must not start as if there had never been another. What a running job's state says is only needed when it
// does not end well.
bool Shard::loses(const LoggedEntry& logged) {
  if (!restored_.has_lost() || restored_.is_lent(logged.seq)) return false;
  if (auto lost = restored_.take_lost(logged.seq)) {
    restored_.lose_job(logged.entry, lost->why);
    bury(logged, std::move(lost->bytes), "the state of its job cannot be read: " + lost->why);
    return true;
  }
  const auto* why = logged.seq <= takeover_.head ? restored_.why_lost(logged.entry) : nullptr;
  if (why == nullptr) return false;
  bury(logged, {}, "the state of its job cannot be read: " + *why);
  return true;
}

void Shard::bury(const LoggedEntry& logged, std::string state, const std::string& why) {
  const auto& entry = logged.entry;
  DeadPayload dead;
  dead.kind = entry.kind;
  dead.key = entry.key;
  dead.id = entry.id;
  dead.payload = entry.payload;
  dead.score = entry.score.value_or(score_of(logged.at));
  dead.options = entry.options;
  dead.error_kind = FailureKind::unreadable;
  dead.error = why;
  dead.entry_fields = entry.fields;
  dead.state = std::move(state);
  if (!dead.state.empty()) {
    changes_.erase_state(logged.seq);
  } else if (const auto other = restored_.take_state(logged.seq)) {
    dead.state = encode(*other);
    changes_.erase_state(logged.seq);
  }
  changes_.erase(logged.seq);
  release_rows(entry.kind, entry.key, entry.id, entry.options);
  note_unreadable(std::move(dead));
}

// Its run, which another node had, did not end well: how its retries stand is not known.
void Shard::die_with_lost_state(Job& job, const ActiveRun& run, Time now) {
  constexpr const char* kLost = "its run did not end well, and the state of the job cannot be read";
  for (const auto& piece : job.payloads.pieces()) {
    DeadPayload dead;
    dead.kind = kinds_[job.kind].name;
    dead.key = job.key();
    dead.id = job.id();
    dead.payload = piece.bytes.view();  // a lent run's are in memory
    dead.score = piece.score;
    dead.options = job.extra->options;
    dead.error_kind = FailureKind::unreadable;
    dead.error = kLost;
    dead.state = job.extra->foreign->lost_state;
    note_unreadable(std::move(dead));
  }
  finish(job, {JobStatus::dead, now, &run, FailureKind::unreadable, kLost});
}

}  // namespace ordo::domain
