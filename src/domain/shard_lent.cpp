// Runs that another node executes: the list of them belongs to the shard and outlives its owners.
#include <algorithm>
#include <numeric>

#include "domain/shard.h"

namespace ordo::domain {

void Shard::lend(RunNo no, std::string_view node, std::uint64_t session, bool going) {
  started(no);
  const auto& jobs = runs_.at(no).jobs;
  // A cancel that came before it was handed over is the borrower's to hear of.
  const bool cancelled =
      std::ranges::any_of(jobs, [](const Job* job) { return job->extra && job->extra->cancel_seq != 0; });
  std::vector<std::uint32_t> places(jobs.size());
  std::iota(places.begin(), places.end(), 0);
  runs_.lend(no, {{takeover_.shard, takeover_.token, no},
                  std::string(node),
                  session,
                  fence_,
                  cancelled,
                  going,
                  describe(no).timeout,
                  std::move(places),
                  {}});
  changes_.note_lent();
}

// Its end may be in the log already, or come at any time.
void Shard::apply_end(const LoggedEntry& logged, Time now) {
  changes_.erase(logged.seq);
  auto end = *decode_lent_end(logged.entry.payload);  // decode_entry() has read it
  const auto no = runs_.find(end.name);
  if (!no) return;
  const auto& run = runs_.at(*no);
  if (std::ranges::find(run.jobs, nullptr) != run.jobs.end()) return;  // to be given up
  if (end.declined) declined_.push_back(run.lent->node);
  std::vector<JobEnd> ends;
  for (const auto place : run.lent->places) {
    ends.push_back(place < end.ends.size() ? std::move(end.ends[place]) : JobEnd{Outcome::put_back(), 0});
  }
  ended(*no, ends, now);
}

void Shard::take_back(const std::function<Borrower(const std::string&, std::uint64_t)>& look, Time now) {
  if (runs_.lent() == 0) return;
  std::vector<std::pair<RunNo, Borrower>> over;
  runs_.each([&](RunNo no, const ActiveRun& run) {
    if (!run.lent) return;
    const auto borrower = look(run.lent->node, run.lent->session);
    if (borrower != Borrower::alive) over.emplace_back(no, borrower);
  });
  std::ranges::sort(over);
  if (!over.empty()) ++fence_;
  for (const auto& [no, borrower] : over) take_back(no, borrower == Borrower::dead, now);
}

void Shard::take_back(RunNo no, bool is_dead, Time now) {
  const auto& jobs = runs_.at(no).jobs;
  bool dies = false;
  for (Job* job : jobs) {
    if (!is_dead) break;
    order_.set_witnesses(job->arrival());
    if (!job->extra || job->extra->mark == Mark::none) continue;
    job->extra->count_death_of_node(job->extra->mark, now);
    dies = job->extra->mark == Mark::alone && job->extra->cancel_seq == 0 && crashed_too_often(*job);
  }
  if (!dies) {
    ended(no, std::vector<JobEnd>(jobs.size(), JobEnd{Outcome::put_back(), 0}), now);
    return;
  }
  Job& job = *jobs.front();
  job.extra->mark = Mark::none;
  runs_.close(no);
  changes_.note_lent();
  die_of_crashes(job, now);
}

// --------------------------------------------------------------------------------------------------
// take-over

// All payloads of a lent job come before those of the job beside it, so it is built like any other and then
// goes on running. Unless records contradict each other: then its run is given up, as one that is incomplete.
void Shard::resume_lent(Job& job, RunNo no, std::size_t index) {
  if (job.place == Place::awaiting) {  // it handles its response there
    awaiting_.leave(job);
    take_lock(job);
    runs_.at(no).jobs[index] = &job;
    return;
  }
  const Line* line = table_.line_of(job);
  if ((line != nullptr && line->active != nullptr) || restored_.is_doomed(&job)) return;
  order_.take_key(job);
  job.was_held = job.held;
  activate(job);
  take_slots(job, takeover_.now, /*goes_on=*/true);
  take_lock(job);
  runs_.at(no).jobs[index] = &job;
}

// No store loses entries and keeps the list, but a restored backup may.
void Shard::give_up_incomplete(Time now) {
  std::vector<RunNo> incomplete;
  runs_.each([&](RunNo no, ActiveRun& run) {
    if (std::erase(run.jobs, nullptr) > 0) incomplete.push_back(no);
  });
  std::ranges::sort(incomplete);
  for (const auto no : incomplete) {
    ended(no, std::vector<JobEnd>(runs_.at(no).jobs.size(), JobEnd{Outcome::put_back(), 0}), now);
  }
}

}  // namespace ordo::domain
