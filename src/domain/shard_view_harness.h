// A shard as a list of jobs, for tests: what it has, and whether a rebuild would have the same.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "domain/shard.h"

namespace ordo::domain {

/// A queued or running job.
struct JobSnapshot {
  std::string kind, key, id;
  Place place = Place::nowhere;
  std::vector<std::pair<Seq, double>> pieces;  ///< (entry, score) in order
  std::vector<std::string> payloads;           ///< empty strings where not in memory
  Time run_at{};
  std::int32_t priority = 100;
  std::int32_t retry_count = -1;
  std::uint32_t crashes = 0;
  JobOptions options;
  std::string error;
  std::string awaits;     ///< the key that it waits for; empty: none
  Time waits_until{};     ///< likewise
  bool answered = false;  ///< the response is there

  bool operator==(const JobSnapshot&) const = default;
};

enum class View {
  live,
  rebuilt,  ///< as a rebuild would see them, running jobs queued again
};

inline JobSnapshot snapshot_of(const Job& job, const std::string& kind) {
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
inline void absorb(JobSnapshot& running, const JobSnapshot& beside, EqualPayloads which) {
  for (std::size_t i = 0; i < beside.pieces.size(); ++i) {
    const auto& bytes = beside.payloads[i];  // none: maybe not in memory, and then equal to nothing
    const auto equal = bytes.empty() ? running.payloads.end() : std::ranges::find(running.payloads, bytes);
    if (equal != running.payloads.end()) {
      const auto piece = running.pieces.begin() + (equal - running.payloads.begin());
      const auto score = beside.pieces[i].second;
      if (which == EqualPayloads::oldest) {
        piece->second = std::min(piece->second, score);
      } else if (score >= piece->second) {  // it came later
        running.pieces.emplace_back(piece->first, score);
        running.pieces.erase(running.pieces.begin() + (equal - running.payloads.begin()));
        running.payloads.push_back(bytes);
        running.payloads.erase(std::ranges::find(running.payloads, bytes));
      }
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

inline void sort_pieces(JobSnapshot& view, EqualPayloads which) {
  std::vector<std::size_t> order(view.pieces.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto& [seq_a, score_a] = view.pieces[a];
    const auto& [seq_b, score_b] = view.pieces[b];
    const bool goes_by_entry = which == EqualPayloads::oldest && score_a == score_b;
    return goes_by_entry ? seq_a < seq_b : score_a < score_b;
  });
  auto pieces = view.pieces;
  auto payloads = view.payloads;
  for (std::size_t i = 0; i < order.size(); ++i) {
    view.pieces[i] = pieces[order[i]];
    view.payloads[i] = payloads[order[i]];
  }
}

class ShardView {
 public:
  /// All jobs in the order they would start.
  static std::vector<JobSnapshot> of(const Shard& shard, View view = View::live);
};

inline std::vector<JobSnapshot> ShardView::of(const Shard& shard, View view) {
  std::unordered_set<const Job*> lent;
  shard.runs_.each([&](RunNo, const ActiveRun& run) {
    if (run.lent) lent.insert(run.jobs.begin(), run.jobs.end());
  });
  std::vector<const Job*> jobs;
  shard.table_.each([&](const Job& job) {
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
    return runs_a != runs_b ? runs_a : shard.before_(a, b);
  });
  std::vector<JobSnapshot> list;
  for (const Job* job : jobs) {
    auto shot = snapshot_of(*job, shard.kinds_[job->kind].name);
    if (view == View::rebuilt && !lent.contains(job) && !shot.awaits.empty()) {
      shot.place = Place::awaiting;  // also if it handles its response just now
    } else if (view == View::rebuilt && !lent.contains(job)) {
      const auto twin = std::find_if(list.begin(), list.end(), [&](const JobSnapshot& other) {
        return other.place == Place::nowhere && other.kind == shot.kind && other.key == shot.key &&
               other.id == shot.id;
      });
      if (twin != list.end()) {
        const auto which = equal_payloads_of(shard.kinds_[job->kind].rules);
        absorb(*twin, shot, which);
        sort_pieces(*twin, which);
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
