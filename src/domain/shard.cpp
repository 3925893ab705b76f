// A shard's life: take-over, what it wants written, what became durable. See shard.h for the rules' other
// homes.
#include "domain/shard.h"

#include <algorithm>
#include <iterator>

#include "base/assert.h"

namespace ordo::domain {

Shard::Kind::Kind(std::string kind, QueueOptions options, DueBefore before)
    : name(std::move(kind)),
      rules(std::move(options)),
      due{DueJobs(before), DueJobs(before), DueJobs(before)} {}

Shard::Shard(const QueueOptions& options, PayloadBudget& budget)
    : options_(options),
      budget_(budget),
      before_{options.order, std::max<std::int64_t>(options.granularity.count(), 1)},
      table_(before_) {}

Shard::~Shard() {
  later_.clear();
  for (auto& kind : kinds_) {
    for (auto& set : kind->due) set.clear();
  }
}

void Shard::load(const Takeover& takeover, std::vector<std::pair<Seq, JobState>> states,
                 const Counts& counts) {
  takeover_ = takeover;
  witness_through_ = takeover.clean ? 0 : takeover.head;
  processed_ = counts.processed;
  failed_ = counts.failed;
  unreadable_ = counts.unreadable;
  copied_ = counts.copied;
  counts_fields_ = counts.fields;
  restore_lent(counts.lent);
  fence_ = std::max(takeover.token, counts.fence != 0 ? counts.fence + 1 : 0);
  table_.reserve(counts.queued() + counts.running);
  for (auto& [seq, state] : states) {
    for (const auto& [piece, score] : state.scores) restored_scores_.emplace(piece, score);
    restored_.emplace(seq, std::move(state));
  }
}

void Shard::serve(std::string_view kind, bool on) {
  if (const auto index = kind_index(kind)) kinds_[*index]->served = on;
}

std::vector<std::string> Shard::kinds() const {
  std::vector<std::string> names;
  for (const auto& kind : kinds_) names.push_back(kind->name);
  return names;
}

// -------------------------------------------------------------------------------------------------- what is
// written

void Shard::dirty(Job& job) {
  auto& extra = job.more();
  if (extra.dirty) return;
  extra.dirty = true;
  extra.dirty_at = static_cast<std::uint32_t>(dirty_.size());
  dirty_.push_back(&job);
}

// Its state is not to be written any more.
void Shard::clean(Job& job) {
  if (!job.extra || !std::exchange(job.extra->dirty, false)) return;
  Job* last = dirty_.back();
  dirty_[job.extra->dirty_at] = last;
  last->extra->dirty_at = job.extra->dirty_at;
  dirty_.pop_back();
}

JobState Shard::state_of(const Job& job) const {
  const auto& extra = *job.extra;
  JobState state;
  state.through = extra.through;
  state.run_at = job.run_at;
  state.own_time = job.own_time;
  state.retry_count = extra.retry_count;
  state.crashes = extra.crashes;
  state.last_crash = extra.last_crash;
  state.mark = extra.mark;
  state.held = job.held;
  state.options = extra.options;
  if (!extra.scores.empty()) {
    for (const auto& piece : job.payloads.pieces()) {
      const auto changed = extra.scores.find(piece.seq);
      if (changed != extra.scores.end()) state.scores.emplace_back(*changed);
    }
  }
  state.error_kind = extra.error_kind;
  state.error = extra.error;
  if (extra.foreign) state.fields = extra.foreign->state_fields;
  return state;
}

bool Shard::has_changes() const {
  return !changes_.erase.empty() || !changes_.erase_states.empty() || !changes_.dead.empty() ||
         !dirty_.empty() || !ended_.empty() || !settling_.empty() || !marking_.empty() || lent_changed_;
}

Changes Shard::collect(std::size_t set_aside) {
  ORDO_ASSERT(ended_in_flight_.empty() && settling_in_flight_.empty() && marking_in_flight_.empty());
  for (Job* job : dirty_) {
    auto& extra = *job->extra;
    extra.dirty = false;
    const Seq first = job->arrival();
    if (extra.state_seq != 0 && extra.state_seq != first) changes_.erase_states.push_back(extra.state_seq);
    extra.state_seq = first;
    changes_.states.emplace_back(first, state_of(*job));
  }
  dirty_.clear();
  std::swap(ended_, ended_in_flight_);
  std::swap(settling_, settling_in_flight_);
  std::swap(marking_, marking_in_flight_);
  deaths_in_flight_ = std::exchange(deaths_, {});
  lent_changed_ = false;
  auto rest = std::exchange(changes_.set_aside, {});
  auto changes = std::exchange(changes_, {});
  const auto taken = rest.end() - static_cast<std::ptrdiff_t>(std::min(set_aside, rest.size()));
  changes.set_aside.assign(taken, rest.end());
  rest.erase(taken, rest.end());
  changes_.set_aside = std::move(rest);
  return changes;
}

void Shard::committed(Time now) {
  for (Job* job : ended_in_flight_) {
    release_front(*job, now);
    forget(*job);
  }
  ended_in_flight_.clear();
  std::ranges::move(std::exchange(deaths_in_flight_, {}), std::back_inserter(deaths_told_));
  for (Job* job : std::exchange(settling_in_flight_, {})) {
    if (!job->held) release_front(*job, now);
    place(*job, now);
  }
  for (const RunNo no : std::exchange(marking_in_flight_, {})) {
    auto& active = runs_.at(no);
    active.marking = false;
    released_.push_back(describe(no, active));
  }
}

void Shard::forget(Job& job) {
  clean(job);
  if (!doomed_.empty()) std::erase(doomed_, &job);
  table_.erase(job);
  Job::destroy(&job);
  --job_count_;
}

// -----------------------------------------------------------------------------------------------------------
// outputs

std::vector<Run> Shard::released() { return std::exchange(released_, {}); }
std::vector<RunNo> Shard::stops() { return std::exchange(stops_, {}); }
std::vector<std::string> Shard::unreadable() { return std::exchange(unreadable_why_, {}); }
std::vector<std::string> Shard::declined() { return std::exchange(declined_, {}); }
std::vector<Event> Shard::events() { return std::exchange(events_, {}); }
std::vector<std::vector<JobView>> Shard::deaths() { return std::exchange(deaths_told_, {}); }

}  // namespace ordo::domain
