// Failed jobs that the origin of their source retries: they are over here, and their payloads wait to be
// handed over. Each has a row of its own among the states of jobs, which goes with the delta that ends the
// job, and says how it failed; whoever brings it to the origin says so in the log, and then the payload goes.
// What cannot be brought there comes back as a job.
#include <algorithm>
#include <string>

#include "domain/error_text.h"
#include "domain/retry.h"
#include "domain/shard.h"

namespace ordo::domain {
namespace {

std::string name_of_hand_over(ShardId shard, Seq seq, Time at) {
  const auto part = [](auto number) { return "-" + std::to_string(number); };
  return std::to_string(shard.queue) + part(shard.index) + part(seq) + part(at.time_since_epoch().count());
}

}  // namespace

// A crash is counted here: at the origin a job would get as many as it has retries.
bool Shard::is_retried_elsewhere(const Job& job, FailureKind failure) {
  return failure != FailureKind::crash && job.extra && !job.extra->options.retried_by.empty();
}

// The job is active. Its payloads part: each is retried by itself.
void Shard::hand_over(Job& job, const ActiveRun& run, FailureKind failure, const std::string& error,
                      Time now) {
  auto& extra = job.more();
  if (watched_)
    emit(EventType::job_failed, job, now, now - run.started, error).attempt = extra.retry_count + 1;
  keep(job, {JobStatus::discarded, now, &run, failure,
             "left to the retries of source " + extra.options.retried_by + ": " + error});
  const auto choice = kinds_[job.kind].rules.payloads;
  const auto& pieces = job.payloads.pieces();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto seq = pieces[i].seq;
    if (choice != PayloadChoice::all && i != dying_payload(pieces.size(), choice)) {
      changes_.erase(seq);
      continue;
    }
    JobState state;
    state.hand_over = {extra.options.retried_by, name_of_hand_over(takeover_.shard, seq, now)};
    state.set_at = now;
    state.retry_count = extra.retry_count;
    state.error_kind = failure;
    state.error = std::string(cut(error));
    hand_overs_.add(seq, state.hand_over.name);
    changes_.put_state(seq, std::move(state));
    if (extra.state_seq == seq) extra.state_seq = 0;  // the row is another now
  }
  leave_run(job);
}

// False: it was over before. An entry that says so comes again where nobody knew whether it was appended.
bool Shard::end_hand_over(const Entry& entry) {
  const auto seq = hand_overs_.take(std::string(entry.hand_over));
  if (!seq) return false;
  changes_.erase(*seq);
  changes_.erase_state(*seq);
  return true;
}

// From the next delta on the entry stands in the log as that payload, and the state of its job says so: to
// the next owner it would otherwise look like one that comes again, as there is no hand-over of its name any
// more.
void Shard::apply_handed_back(const LoggedEntry& logged, Time now) {
  const auto& entry = logged.entry;
  const bool is_first = end_hand_over(entry);
  if (!is_first && !restored_.speaks_of(logged.seq, entry)) {
    changes_.erase(logged.seq);
    return;
  }
  apply_payload(logged, now);
  if (!is_first) return;
  const auto kind = kinds_.find(entry.kind);
  Job* job = kind ? table_.find_queued(*kind, entry.id, entry.key) : nullptr;
  if (job == nullptr) return;
  for (const auto& piece : job->payloads.pieces()) {
    if (piece.seq != logged.seq) continue;
    auto& extra = job->more();
    extra.scores[piece.seq] = {piece.seq, piece.score, piece.newest};
    extra.through = std::max(extra.through, piece.seq);
    if (job->arrival() == logged.seq) extra.set_at = logged.at;
    changes_.write_state(*job);
  }
}

}  // namespace ordo::domain
