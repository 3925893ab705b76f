// The schedules of a shard: which of their ticks bring a job, and what else is written of them.
#include "domain/shard.h"

namespace ordo::domain {

void Shard::apply_tick(const LoggedEntry& logged, Time now) {
  if (ticks_.admits(logged.entry, logged.seq)) {
    apply_payload(logged, now);
  } else {
    changes_.erase(logged.seq);
  }
}

// Where it starts is not to be forgotten: the next owner would start it anew.
void Shard::state_schedule(std::string_view name, std::string_view key, std::uint64_t text, Time now) {
  if (ticks_.state(name, key, text, now)) changes_.note_lent();
}

void Shard::pass_ticks(std::string_view schedule, Time last, std::uint64_t ticks) {
  ticks_.pass(schedule, last, ticks);
  changes_.note_lent();
}

void Shard::forget_schedule(std::string_view name) {
  ticks_.forget(name);
  changes_.note_lent();
}

}  // namespace ordo::domain
