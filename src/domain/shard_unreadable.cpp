// What another version of Ordo wrote, another program, or a failing disk: nobody knows what it asks for, and
// nothing else of the shard waits for it. It dies as it is, and can be brought back by who can read it.
#include <utility>

#include "domain/shard.h"

namespace ordo::domain {

void Shard::note_unreadable(DeadPayload dead) {
  ++unreadable_;
  unreadable_why_.push_back("job '" + dead.id + "': " + dead.error);
  changes_.dead.push_back(std::move(dead));
}

void Shard::apply_unreadable(Seq seq, std::string_view bytes, const std::string& why) {
  auto dead = dead_entry(seq, bytes, why);
  changes_.erase.push_back(seq);
  if (auto lost = lost_states_.extract(seq)) {
    dead.state = std::move(lost.mapped().bytes);
    changes_.erase_states.push_back(seq);
  } else if (const auto state = restored_.extract(seq)) {
    dead.state = encode(state.mapped());
    changes_.erase_states.push_back(seq);
  }
  note_unreadable(std::move(dead));
  through_ = seq;
}

// What a running job's state says is only needed when it does not end well.
void Shard::lose_state(Seq first, std::string bytes, const std::string& why) {
  lost_states_[first] = {std::move(bytes), why};
}

// The payloads of one job stand in the log one by one, and its state only under the first. Those behind it
// must not start as if there had never been another.
bool Shard::loses(const LoggedEntry& logged) {
  if (lost_states_.empty() && lost_names_.empty()) return false;
  const auto& entry = logged.entry;
  if (lent_pieces_.contains(logged.seq)) return false;
  const Name name{entry.kind, entry.key, entry.id};
  if (auto lost = lost_states_.extract(logged.seq)) {
    auto& [bytes, why] = lost.mapped();
    lost_names_[name] = why;
    bury(logged, std::move(bytes), "the state of its job cannot be read: " + why);
    return true;
  }
  const auto found = logged.seq <= takeover_.head ? lost_names_.find(name) : lost_names_.end();
  if (found == lost_names_.end()) return false;
  bury(logged, {}, "the state of its job cannot be read: " + found->second);
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
    changes_.erase_states.push_back(logged.seq);
  } else if (const auto other = restored_.extract(logged.seq)) {
    dead.state = encode(other.mapped());
    changes_.erase_states.push_back(logged.seq);
  }
  changes_.erase.push_back(logged.seq);
  note_unreadable(std::move(dead));
}

// Its run, which another node had, did not end well: how its retries stand is not known.
void Shard::die_with_lost_state(Job& job) {
  for (const auto& piece : job.payloads.pieces()) {
    DeadPayload dead;
    dead.kind = kinds_[job.kind]->name;
    dead.key = job.key();
    dead.id = job.id();
    dead.payload = piece.bytes.view();  // a lent run's are in memory
    dead.score = piece.score;
    dead.options = job.extra->options;
    dead.error_kind = FailureKind::unreadable;
    dead.error = "its run did not end well, and the state of the job cannot be read";
    dead.state = job.extra->foreign->lost_state;
    note_unreadable(std::move(dead));
  }
  finish(job);
}

}  // namespace ordo::domain
