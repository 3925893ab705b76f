// Suspects: who runs beside them, and what the death of a node counts for.
#include <algorithm>

#include "simulation/checkers.h"
#include "simulation/versions.h"

namespace ordo::simulation {

using domain::Mark;

// As its marks are durable: nobody starts a marked run before they are.
PoisonChecker::Company PoisonChecker::company_of(const SeenRun& run) const {
  Company company;
  for (const auto& job : run.jobs) {
    const auto first = std::ranges::find_if(job.seqs, [&](Seq seq) { return history_.entries.at(seq).live; });
    if (first == job.seqs.end()) continue;
    const auto state = history_.state_of(run.shard, *first);
    if (!state) continue;
    // What marks a job as a witness ends with its run, and is in the store until the next commit.
    if (!job.is_marked && state->crashes == 0) continue;
    company.mark = std::max(company.mark, state->mark);
    company.is_suspect = company.is_suspect || state->crashes > 0;
  }
  return company;
}

void PoisonChecker::started(const SeenRun& run) {
  const auto own = company_of(run);
  if (own.mark == Mark::none) return;
  if (own.mark == Mark::alone) ++history_.totals.alone;
  for (const auto& other : history_.runs) {
    const bool is_over = other->returned || other->crashed || other->cut || other->cut_from;
    if (other.get() == &run || other->node != run.node || is_over) continue;
    const auto theirs = company_of(*other);
    if (theirs.mark == Mark::none) continue;
    if (own.mark == Mark::alone || theirs.mark == Mark::alone) {
      history_.world().fail("poison: {} starts {} (mark {}) beside {} (mark {})", run.node,
                            run.jobs.front().name.id, static_cast<int>(own.mark), other->jobs.front().name.id,
                            static_cast<int>(theirs.mark));
    }
    if (theirs.is_suspect) ++history_.totals.beside;
  }
}

std::optional<domain::JobState> PoisonChecker::state_before(Seq first) const {
  const auto row = std::ranges::find(history_.states_before, first, &store::StateRow::seq);
  if (row == history_.states_before.end()) return std::nullopt;
  auto state = domain::decode_state(read_by_newer(RecordType::state, row->bytes));
  return state ? std::optional(*std::move(state)) : std::nullopt;
}

// Its last run: what ended by itself may count a crash of its own process.
bool PoisonChecker::has_returned(Seq first) const {
  for (auto at = history_.runs.rbegin(); at != history_.runs.rend(); ++at) {
    for (const auto& job : (*at)->jobs) {
      if (std::ranges::find(job.seqs, first) != job.seqs.end()) return (*at)->returned;
    }
  }
  return false;
}

void PoisonChecker::committed(const store::Delta& delta) {
  if (history_.hidden().contains(delta.shard.queue)) return;
  for (const auto& row : delta.states) {
    const auto before = state_before(row.seq);
    if (!before || before->mark != Mark::shared || before->crashes == 0) continue;
    const auto after = *domain::decode_state(read_by_newer(RecordType::state, row.bytes));
    if (after.crashes > before->crashes && !has_returned(row.seq))
      history_.world().fail("poison: entry {} counts a crash, and others ran beside it", row.seq);
  }
  for (const auto& row : delta.dead) {
    const auto dead = *domain::decode_dead(row.bytes);
    if (dead.error_kind != FailureKind::crash || !dead.error.starts_with("its node died")) continue;
    const JobName name{dead.kind, dead.key, dead.id};
    const bool was_alone = std::ranges::any_of(history_.states_before, [&](const store::StateRow& state) {
      // Of its first payload, which need not be the dead one.
      const auto entry = history_.entries.find(state.seq);
      const auto before = state_before(state.seq);
      return before && before->mark == Mark::alone && entry != history_.entries.end() &&
             entry->second.name == name;
    });
    if (!was_alone) history_.world().fail("poison: {} dies of a node's death beside others", dead.id);
  }
}

}  // namespace ordo::simulation
