#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "domain/job.h"
#include "domain/lent.h"
#include "domain/records.h"

namespace ordo::domain {

/// What earlier owners wrote of entries that are not read yet. Each piece is given out once, to its entry;
/// what is left when the log is read has lost its entry, and is forgotten.
class Restored {
 public:
  // --- states, by the first entry of their job ---
  void add(Seq first, JobState state);
  const JobState* find_state(Seq entry) const;
  std::optional<JobState> take_state(Seq entry);
  /// The score and place of an entry that are not its own any more.
  std::optional<PayloadRank> take_rank(Seq entry);
  /// An earlier owner has written of this very entry, or its job is lost.
  bool speaks_of(Seq seq, const Entry& entry) const;

  // --- states that cannot be read ---
  struct Lost {
    std::string bytes, why;
  };
  void lose(Seq first, std::string bytes, std::string why) {
    lost_[first] = {std::move(bytes), std::move(why)};
  }
  std::optional<Lost> take_lost(Seq entry);
  bool has_lost() const { return !lost_.empty() || !lost_jobs_.empty(); }
  /// All payloads of that job are lost with its state: they stand in the log one by one, and it only under
  /// the first.
  void lose_job(const Entry& entry, const std::string& why);
  /// Why; null: it is not lost.
  const std::string* why_lost(const Entry& entry) const;

  // --- entries of runs that other nodes execute ---
  void expect(RunNo run, const LentRun& lent);
  bool is_lent(Seq entry) const { return lent_.contains(entry); }
  /// The run and the job in it that are complete with this entry.
  std::optional<std::pair<RunNo, std::size_t>> take_lent_job(Seq entry);

  /// This entry is the last of a job that waits for a response.
  bool take_awaiting(Seq entry) { return !awaiting_.empty() && awaiting_.erase(entry) > 0; }

  // --- jobs that have crashed too often: they die once all of theirs is read ---
  void doom(Job& job) { doomed_.push_back(&job); }
  bool is_doomed(const Job* job) const;
  void forget(const Job& job);

  /// The log is read: forgets all, and hands out who is doomed.
  std::vector<Job*> finish();

 private:
  using Name = std::tuple<std::string, std::string, std::string>;  // kind, key, id

  std::unordered_map<Seq, JobState> states_;
  std::unordered_map<Seq, PayloadRank> ranks_;
  std::unordered_map<Seq, Lost> lost_;
  std::map<Name, std::string> lost_jobs_;
  std::unordered_set<Seq> lent_, awaiting_;
  std::unordered_map<Seq, std::pair<RunNo, std::size_t>> lent_jobs_;  // by their last entry
  std::vector<Job*> doomed_;
};

}  // namespace ordo::domain
