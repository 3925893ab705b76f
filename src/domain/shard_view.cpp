// A shard as a list of jobs: for people, and for comparing an owner with its rebuild.
#include <algorithm>
#include <unordered_set>

#include "domain/shard.h"

namespace ordo::domain {
namespace {

JobSnapshot snapshot_of(const Job& job, const std::string& kind) {
  JobSnapshot view;
  view.kind = kind;
  view.key = job.key();
  view.id = job.id();
  view.place = job.place;
  for (const auto& piece : job.payloads.pieces()) {
    view.pieces.emplace_back(piece.seq, piece.score);
    view.payloads.emplace_back(piece.bytes.present() ? piece.bytes.view() : std::string_view{});
  }
  view.run_at = job.run_at;
  view.priority = job.priority;
  if (job.extra) {
    view.retry_count = job.extra->retry_count;
    view.crashes = job.extra->crashes;
    view.options = job.extra->options;
    view.error = job.extra->error;
  }
  if (auto* waits = job.waits(); waits != nullptr && waits->awaits) {
    view.awaits = waits->awaits.key;
    view.waits_until = waits->awaits.deadline;
    view.answered = waits->answered() != nullptr;
  }
  return view;
}

// What a rebuild makes of a running job and the one queued beside it: one job, led by the earlier entries.
void absorb(JobSnapshot& running, const JobSnapshot& beside) {
  for (std::size_t i = 0; i < beside.pieces.size(); ++i) {
    const auto& bytes = beside.payloads[i];  // none: maybe not in memory, and then equal to nothing
    const auto equal = bytes.empty() ? running.payloads.end() : std::ranges::find(running.payloads, bytes);
    if (equal != running.payloads.end()) {
      auto& score = running.pieces[static_cast<std::size_t>(equal - running.payloads.begin())].second;
      score = std::min(score, beside.pieces[i].second);
    } else {
      running.pieces.push_back(beside.pieces[i]);
      running.payloads.push_back(beside.payloads[i]);
    }
  }
  running.options.merge_later(beside.options);
  if (const auto expiry = running.options.expiry()) {
    const auto other = beside.options.expiry();
    running.options.set_expiry(other ? std::max(expiry, other) : std::nullopt);
  }
  running.priority = running.options.priority.value_or(100);
}

void sort_pieces(JobSnapshot& view) {
  std::vector<std::size_t> order(view.pieces.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto& [seq_a, score_a] = view.pieces[a];
    const auto& [seq_b, score_b] = view.pieces[b];
    return score_a != score_b ? score_a < score_b : seq_a < seq_b;
  });
  auto pieces = view.pieces;
  auto payloads = view.payloads;
  for (std::size_t i = 0; i < order.size(); ++i) {
    view.pieces[i] = pieces[order[i]];
    view.payloads[i] = payloads[order[i]];
  }
}

}  // namespace

std::vector<JobSnapshot> Shard::snapshot(View view) const {
  std::unordered_set<const Job*> lent;
  runs_.each([&](RunNo, const ActiveRun& run) {
    if (run.lent) lent.insert(run.jobs.begin(), run.jobs.end());
  });
  std::vector<const Job*> jobs;
  table_.each([&](const Job& job) {
    // A rebuild reads the cancel again, and carries it out at once; it finds lent runs running.
    const bool cancelled =
        view == View::rebuilt && job.extra && job.extra->cancel_seq != 0 && !lent.contains(&job);
    if (job.place != Place::ending && !cancelled) jobs.push_back(&job);
  });
  std::sort(jobs.begin(), jobs.end(), [&](const Job* a, const Job* b) {
    const auto runs = [](const Job* job) {
      return job->place == Place::running || job->place == Place::awaiting;
    };
    const bool runs_a = runs(a), runs_b = runs(b);
    return runs_a != runs_b ? runs_a : before_(a, b);
  });
  std::vector<JobSnapshot> list;
  for (const Job* job : jobs) {
    auto shot = snapshot_of(*job, kinds_[job->kind].name);
    if (view == View::rebuilt && !lent.contains(job) && !shot.awaits.empty()) {
      shot.place = Place::awaiting;  // also if it handles its response just now
    } else if (view == View::rebuilt && !lent.contains(job)) {
      const auto twin = std::find_if(list.begin(), list.end(), [&](const JobSnapshot& other) {
        return other.place == Place::nowhere && other.kind == shot.kind && other.key == shot.key &&
               other.id == shot.id;
      });
      if (twin != list.end()) {
        absorb(*twin, shot);
        sort_pieces(*twin);
        continue;
      }
      shot.place = Place::nowhere;
    }
    list.push_back(std::move(shot));
  }
  if (view == View::rebuilt) {
    std::sort(list.begin(), list.end(), [](const JobSnapshot& a, const JobSnapshot& b) {
      return std::tie(a.key, a.kind, a.id, a.place) < std::tie(b.key, b.kind, b.id, b.place);
    });
  }
  return list;
}

}  // namespace ordo::domain
