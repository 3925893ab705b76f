// Failed jobs that the origin of their source retries: they are over here, and their payloads wait to be
// handed over. Each has a row of its own among the states of jobs, which goes with the delta that ends the
// job, and says how it failed; whoever brings it to the origin says so in the log, and then the payload goes.
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

void Shard::apply_handed_over(const LoggedEntry& logged) {
  changes_.erase(logged.seq);
  const auto seq = hand_overs_.take(std::string(logged.entry.payload));
  if (!seq) return;  // it comes twice where nobody knew whether it was said
  changes_.erase(*seq);
  changes_.erase_state(*seq);
}

}  // namespace ordo::domain
