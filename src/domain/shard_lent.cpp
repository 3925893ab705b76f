// Runs that another node executes: the list of them belongs to the shard and outlives its owners.
#include <algorithm>
#include <numeric>

#include "domain/shard.h"

namespace ordo::domain {
namespace {

constexpr RunNo kRestored =
    RunNo{1} << 63;  // this owner's numbers for runs that others lent, apart from its own

}  // namespace

void Shard::lend(RunNo no, std::string_view node, std::uint64_t session, bool going) {
  started(no);
  auto& active = runs_.at(no);
  // A cancel that came before it was handed over is the borrower's to hear of.
  const bool cancelled = std::any_of(active.jobs.begin(), active.jobs.end(), [](const Job* job) {
    return job->extra && job->extra->cancel_seq != 0;
  });
  std::vector<std::uint32_t> places(active.jobs.size());
  std::iota(places.begin(), places.end(), 0);
  active.lent =
      Lent{{takeover_.shard, takeover_.token, no}, std::string(node), session, fence_, cancelled, going,
           describe(no, active).timeout,           std::move(places), {}};
  ++lent_;
  lent_changed_ = true;
}

std::size_t Shard::lent_to(std::string_view node, std::optional<Risk> risk) const {
  if (lent_ == 0) return 0;
  return static_cast<std::size_t>(std::count_if(runs_.begin(), runs_.end(), [&](const auto& run) {
    const auto& active = run.second;
    return active.lent && active.lent->node == node && (!risk || active.risk == *risk);
  }));
}

bool Shard::is_lent(const Job& job) const {
  if (lent_ == 0 || job.place != Place::running) return false;
  return std::any_of(runs_.begin(), runs_.end(), [&](const auto& run) {
    const auto& [no, active] = run;
    return active.lent && std::find(active.jobs.begin(), active.jobs.end(), &job) != active.jobs.end();
  });
}

std::vector<LentRun> Shard::lent_runs() const {
  std::vector<LentRun> list;
  for (const auto& [no, active] : runs_) {
    if (!active.lent) continue;
    const auto& lent = *active.lent;
    auto& run = list.emplace_back();
    run.name = lent.name;
    run.node = lent.node;
    run.session = lent.session;
    run.fence = lent.fence;
    run.stop = lent.stop;
    run.going = lent.going;
    run.risk = static_cast<std::uint8_t>(active.risk);
    run.kind = kinds_[active.jobs.front()->kind]->name;
    run.timeout = lent.timeout;
    run.started = active.started;
    run.fields = lent.fields;
    for (std::size_t i = 0; i < active.jobs.size(); ++i) {
      const Job* job = active.jobs[i];
      auto& listed = run.jobs.emplace_back();
      listed.retry_count = job->retry_count();
      listed.place = lent.places[i];
      for (const auto& piece : job->payloads.pieces()) listed.pieces.emplace_back(piece.seq, piece.score);
    }
  }
  std::sort(list.begin(), list.end(), [](const LentRun& a, const LentRun& b) { return a.name < b.name; });
  return list;
}

// Its end may be in the log already, or come at any time.
void Shard::apply_end(const LoggedEntry& logged, Time now) {
  changes_.erase.push_back(logged.seq);
  auto end = *decode_lent_end(logged.entry.payload);  // decode_entry() has read it
  const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const auto& run) {
    return run.second.lent && run.second.lent->name == end.name;
  });
  if (found == runs_.end()) return;
  const auto& [no, active] = *found;
  if (std::ranges::find(active.jobs, nullptr) != active.jobs.end()) return;  // to be given up
  const auto& lent = *active.lent;
  if (end.declined) declined_.push_back(lent.node);
  std::vector<JobEnd> ends;
  for (const auto place : lent.places) {
    ends.push_back(place < end.ends.size() ? std::move(end.ends[place]) : JobEnd{Outcome::put_back(), 0});
  }
  ended(no, ends, now);
}

void Shard::take_back(const std::function<Borrower(const std::string&, std::uint64_t)>& look, Time now) {
  if (lent_ == 0) return;
  std::vector<std::pair<RunNo, Borrower>> over;
  for (const auto& [no, active] : runs_) {
    if (!active.lent) continue;
    const auto borrower = look(active.lent->node, active.lent->session);
    if (borrower != Borrower::alive) over.emplace_back(no, borrower);
  }
  std::sort(over.begin(), over.end());
  if (!over.empty()) ++fence_;
  for (const auto& [no, borrower] : over) {
    auto& active = runs_.at(no);
    bool dies = false;
    for (Job* job : active.jobs) {
      if (borrower != Borrower::dead) continue;
      witness_through_ = std::max(witness_through_, job->arrival());
      if (!job->extra || job->extra->mark == Mark::none) continue;
      count_crash(*job->extra, now);
      dies = job->extra->mark == Mark::alone && job->extra->cancel_seq == 0 && crashed_too_often(*job);
    }
    if (dies) {
      Job& job = *active.jobs.front();
      job.extra->mark = Mark::none;
      runs_.erase(no);
      --lent_;
      lent_changed_ = true;
      die_of_crashes(job, now);
      continue;
    }
    ended(no, std::vector<JobEnd>(active.jobs.size(), JobEnd{Outcome::put_back(), 0}), now);
  }
}

// --------------------------------------------------------------------------------------------------
// take-over

void Shard::restore_lent(const std::vector<LentRun>& runs) {
  RunNo no = kRestored;
  for (const auto& run : runs) {
    ++no;
    auto& active = runs_[no];
    active.risk = static_cast<Risk>(run.risk);
    active.started = run.started;
    active.told = true;
    active.lent =
        Lent{run.name, run.node, run.session, run.fence, run.stop, run.going, run.timeout, {}, run.fields};
    active.jobs.resize(run.jobs.size());
    ++lent_;
    for (std::size_t index = 0; index < run.jobs.size(); ++index) {
      active.lent->places.push_back(run.jobs[index].place);
      Seq last = 0;
      for (const auto& [seq, score] : run.jobs[index].pieces) {
        lent_pieces_.insert(seq);
        last = std::max(last, seq);
      }
      lent_jobs_[last] = {no, index};
    }
  }
}

// All payloads of a lent job come before those of the job beside it, so it is built like any other and then
// goes on running.
void Shard::resume_lent(Job& job, RunNo no, std::size_t index) {
  take_key(job);
  job.was_held = job.held;
  activate(job);
  runs_.at(no).jobs[index] = &job;
}

// No store loses entries and keeps the list, but a restored backup may.
void Shard::give_up_incomplete(Time now) {
  std::vector<RunNo> incomplete;
  for (auto& [no, active] : runs_) {
    if (std::erase(active.jobs, nullptr) > 0) incomplete.push_back(no);
  }
  std::sort(incomplete.begin(), incomplete.end());
  for (const auto no : incomplete) {
    ended(no, std::vector<JobEnd>(runs_.at(no).jobs.size(), JobEnd{Outcome::put_back(), 0}), now);
  }
}

}  // namespace ordo::domain
