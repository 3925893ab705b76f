// A shard's life: take-over, the places of its jobs, what became durable. See shard.h for the rules' other
// homes.
#include "domain/shard.h"

#include <algorithm>
#include <iterator>

#include "base/saturate.h"
#include "domain/clock_guard.h"
#include "domain/due.h"
#include "domain/gates.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kListedRuns = 100;
constexpr std::uint64_t kMostExpected = 2'000'000;  // jobs to make room for ahead
constexpr Duration kLongWait = std::chrono::minutes{1};
constexpr std::size_t kSmall = 2048;  // bytes of a payload

// A large entry has no neighbours, and is long to move.
bool keeps_room(const Piece& piece) { return !piece.bytes.present() || piece.bytes.view().size() <= kSmall; }

}  // namespace

Shard::Shard(const QueueOptions& options, PayloadBudget& budget, Gates* gates)
    : budget_(budget),
      gates_(gates),
      has_gates_(gates != nullptr && domain::has_gates(options)),
      kinds_(options),
      before_{options.order, std::max<std::int64_t>(options.granularity.count(), 1)},
      table_(before_),
      order_(before_, kinds_, table_),
      runs_(kinds_),
      awaiting_(kinds_, gates),
      kept_(options) {}

// ---------------------------------------------------------------------------------------------- take-over

void Shard::load(const Takeover& takeover, std::vector<std::pair<Seq, JobState>> states,
                 const Counts& counts) {
  takeover_ = takeover;
  seen_ = takeover.now;
  awaiting_.stand_in(takeover.shard);
  if (!takeover.clean) order_.set_witnesses(takeover.head);
  lasting_.processed = counts.processed;
  lasting_.failed = counts.failed;
  lasting_.unreadable = counts.unreadable;
  lasting_.copied = counts.copied;
  lasting_.fields = counts.fields;
  lasting_.hand_overs = counts.hand_overs;
  ticks_.load(counts.schedules);
  kept_.load(counts.kept);
  rows_.load(counts.rows_to_free);
  for (const auto& run : counts.lent) restored_.expect(runs_.restore(run), run);
  fence_ = std::max(takeover.token, counts.fence != 0 ? counts.fence + 1 : 0);
  table_.reserve(
      std::min(counts.queued(), kMostExpected));  // what a record says is no reason to run out of memory
  for (auto& [seq, state] : states) {
    if (state.hand_over) {
      hand_overs_.expect(seq, std::move(state.hand_over.name));
    } else {
      restored_.add(seq, std::move(state));
    }
  }
  if (!has_gates_) return;
  if (!takeover.clean) gates_->empty_rates(gates_->group_of(kinds_.queue()), takeover.now);
}

void Shard::load_rates(RateRows rates, std::vector<Seq> unreadable) {
  if (!has_gates_) return rates_.load(takeover_.shard, rates, std::move(unreadable));
  auto& group = gates_->group_of(kinds_.queue());
  std::vector<std::string> leapt;
  for (auto& [no, record] : rates) {
    const auto written = record.at;
    gates_->tell(record, takeover_.now);
    gates_->restore(group, record, takeover_.now);
    // Else each owner to come would take it for one of the time ahead.
    if (record.at != written || record.at > saturating_add(takeover_.now, kLeap))
      leapt.push_back(record.name);
  }
  rates_.load(takeover_.shard, rates, std::move(unreadable));
  rates_.note_all(std::move(leapt));
  has_rates_to_write_ = rates_.has_more();
}

Changes Shard::collect(std::size_t set_aside) {
  rows_.collect();
  awaiting_.collect();
  note_tick_jobs();
  if (std::exchange(waits_for_commit_, false)) gates_->wake(takeover_.shard);
  auto changes = changes_.collect(set_aside);
  auto rates = rates_.collect(seen_, [&](const std::string& rate) {
    return has_gates_ ? gates_->record(gates_->group_of(kinds_.queue()), rate) : std::nullopt;
  });
  has_rates_to_write_ = rates_.has_more();
  changes.rates = std::move(rates.put);
  changes.erase_states.insert(changes.erase_states.end(), rates.erase.begin(), rates.erase.end());
  return changes;
}

void Shard::ready(Time now) {
  give_up_incomplete(now);
  for (const auto seq : hand_overs_.forget_missing()) changes_.erase_state(seq);
  // A reshard does not count them, and sources look where there are some.
  if (hand_overs_.size() != lasting_.hand_overs) changes_.note_lent();
  if (has_gates_ && !takeover_.clean) {
    // The next owner is to know that they count as used up, even if this one ends cleanly.
    auto rates = Gates::short_rates(gates_->group_of(kinds_.queue()));
    if (!rates.empty()) changes_.note_lent();
    rates_.note_all(std::move(rates));
  }
  for (Job* job : restored_.finish()) {
    if (!job->payloads.all_present()) continue;                                  // it runs alone once more
    if (job->place == Place::ending || job->place == Place::settling) continue;  // a wait of its has ended
    if (job->place == Place::awaiting) {
      awaiting_.leave(*job);
      end_wait(*job);
    } else {
      order_.take_key(*job);
      activate(*job);
    }
    die_of_crashes(*job, now);
  }
}

void Shard::serve(std::string_view kind, bool on) {
  if (const auto number = kinds_.add(kind)) kinds_.serve(*number, on);
}

// ------------------------------------------------------------------------------------------------- places

void Shard::place(Job& job, Time now) {
  set_aside(job, due_at(job, now), now);
  order_.place(job, now);
  watch_expiry(job);
  protect_front(job);
}

void Shard::leave(Job& job) {
  forget_expiry(job);
  if (job.place == Place::settling) {
    changes_.unsettle(job);
  } else if (job.place == Place::expired) {
    expired_.erase(job.arrival());
    job.place = Place::nowhere;
  } else {
    order_.leave(job);
  }
}

// Not one that is due and only stands in line: it may be gone in a moment.
void Shard::set_aside(Job& job, Time until, Time now) {
  if (!sets_aside_ || job.set_aside || saturating_sub(until, now) <= kLongWait) return;
  job.set_aside = true;
  for (const auto& piece : job.payloads.pieces()) {
    if (keeps_room(piece)) changes_.set_aside(piece.seq);
  }
}

// True: the payload was there already, and the later entry of the two is not needed any more.
bool Shard::add_piece(Job& job, Piece piece, bool set_aside) {
  const auto seq = piece.seq;
  const bool is_in_the_way = job.set_aside && !set_aside && keeps_room(piece);
  const auto merged = job.payloads.add(std::move(piece), equal_payloads_of(kinds_[job.kind].rules));
  if (merged) note_merged(job, *merged);
  if (is_in_the_way && !merged) changes_.set_aside(seq);
  return merged.has_value();
}

void Shard::set_only_piece(Job& job, Piece piece, bool set_aside) {
  if (job.set_aside && !set_aside && keeps_room(piece)) changes_.set_aside(piece.seq);
  job.payloads = PayloadSet(std::move(piece));
}

void Shard::note_merged(Job& job, const PayloadSet::Merged& merged) {
  changes_.erase(merged.duplicate);
  if (!merged.score_changed) return;
  job.more().scores[merged.kept] = {merged.kept, merged.score, merged.newest};
  changes_.write_state(job);
}

// After a crash the running job of the key must still come before `newcomer`, whatever their order says, or
// will say to whom times are told anew.
void Shard::protect_front(const Job& newcomer) {
  const Line* line = table_.line_of(newcomer);
  if (line == nullptr || line->active == nullptr || line->active->place != Place::running) return;
  Job& active = *line->active;
  if (active.held || active.is(newcomer.kind, newcomer.id())) return;
  if (!active.own_time && !before_(newcomer, active)) return;
  active.held = true;
  changes_.write_state(active);
}

void Shard::read_options(Job& job) {
  job.priority = job.extra ? job.extra->options.priority.value_or(100) : 100;
  if (job.priority != 100) order_.mix_priorities();
  if (!job.extra) return;
  const auto& windows = job.extra->options.windows;
  job.extra->windows =
      windows.empty() ? nullptr : std::make_unique<OwnWindows>(OwnWindows{Windows::of(windows)});
}

void Shard::forget(Job& job) {
  changes_.drop_state(job);
  restored_.forget(job);
  leave_gates(job);
  table_.erase(job);
  Job::destroy(&job);
}

// ------------------------------------------------------------------------------------------------ durable

void Shard::committed(Time now) {
  seen_ = now;
  auto durable = changes_.take_durable();
  rows_.committed();
  for (Job* job : awaiting_.take_unlocked()) free_lock(*job);
  for (Job* job : durable.ended) {
    order_.pass_key(*job, now);
    forget(*job);
  }
  std::ranges::move(durable.deaths, std::back_inserter(deaths_));
  for (Job* job : durable.settled) {
    job->place = Place::nowhere;
    free_lock(*job);
    if (const auto edited = edited_.extract(job)) set_demand(*job, edited.mapped());
    if (!job->held) order_.pass_key(*job, now);
    place(*job, now);
  }
  for (const RunNo no : durable.marked) {
    auto& run = runs_.at(no);
    run.marking = false;
    auto described = describe(no);
    if (described.missing.empty()) start_postponed(run, now);
    released_.push_back(std::move(described));
  }
  for (const RunNo no : durable.shared) {
    if (runs_.find(no) != nullptr) shared_.push_back(no);
  }
}

void Shard::count_marked_runs(Counts& counts, Time now) {
  if (company_ == nullptr) return;
  counts.blocked_by_suspect = order_.refused(*company_, now);
  if (counts.blocked_by_suspect == 0) return;
  counts.marked_runs = {.refuses_witnesses = !company_->admits_witnesses,
                        .refuses_suspects = !company_->admits_suspects,
                        .witness_through = order_.witness_through(),
                        .suspects = company_->suspects,
                        .marked = company_->marked};
}

std::optional<Time> Shard::next_due(Time now) {
  auto next = order_.next_due(now);
  if (!expiring_.empty()) next = std::min(next.value_or(Time::max()), expiring_.begin()->first.first);
  if (const auto wait = awaiting_.next(now)) next = std::min(next.value_or(Time::max()), *wait);
  return next;
}

Counts Shard::counts(Time now, const Counts* told) {
  Counts counts = lasting_;
  std::size_t later = order_.later(), retrying = order_.retrying();
  counts.oldest = order_.oldest(now);
  changes_.each_settling([&](const Job& job) {
    counts.oldest = std::min(counts.oldest, due_at(job, now));
    if (is_due(job, now)) return;
    ++later;
    if (job.retry_count() >= 0) ++retrying;
  });
  counts.due = table_.size() - table_.active() - later + killed_.size();
  counts.blocked_by_window = order_.closed(counts.due, now);
  counts.oldest_due = order_.oldest_due(now, kMostPriorities);
  count_gates(counts, now, told);
  count_marked_runs(counts, now);
  counts.scheduled = later - retrying;
  counts.hand_overs = hand_overs_.size();
  counts.retrying = retrying + counts.hand_overs;
  counts.awaiting = awaiting_.size();
  counts.running = table_.active() - changes_.ending() - counts.awaiting;
  runs_.each([&](RunNo, const ActiveRun& run) {
    for (const Job* job : run.jobs) {
      if (counts.running_now.size() < kListedRuns) counts.running_now.push_back(job->payloads.last());
    }
  });
  std::ranges::sort(counts.running_now);
  counts.lent = runs_.list_lent();
  if (fence_ != takeover_.token) counts.fence = fence_;
  counts.schedules = ticks_.records();
  for (std::uint16_t kind = 0; kind < kinds_.size() && counts.unserved.size() < kMostUses; ++kind) {
    const auto jobs = order_.of_kind(kind);
    const auto& [name, rules, served] = kinds_[kind];
    if (!served && jobs.due + jobs.retrying > 0) counts.unserved.push_back({name, jobs.retrying, jobs.due});
  }
  counts.rows_to_free = rows_.list();
  counts.kept = kept_.counts();
  return counts;
}

}  // namespace ordo::domain
