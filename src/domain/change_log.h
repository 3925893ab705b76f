#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ordo/worker.hpp>

#include "domain/job.h"
#include "domain/kept.h"
#include "domain/lent.h"
#include "domain/rate_record.h"
#include "domain/records.h"

namespace ordo::domain {

/// What a shard wants written; the rest of a commit (lease, batch number) is its owner's.
struct Changes {
  std::vector<Seq> erase;
  std::vector<std::pair<Seq, JobState>> states;
  std::vector<Seq> erase_states;  ///< and rows of rates
  RateRows rates;                 ///< put: new or replaced
  std::vector<DeadPayload> dead;
  std::vector<Seq> set_aside;  ///< entries of jobs that wait for over a minute: not to stand in others' room
  KeptBlock kept;              ///< records of what has ended
};

/// What a shard's next delta says, and what waits for one to be durable: the keys of ended jobs, the starts
/// of jobs that went back or are to be marked, and the news of deaths.
///
/// One delta is under way at a time: collect(), then take_durable(). Owns no jobs; one that goes elsewhere is
/// taken out first (clean(), unsettle()).
class ChangeLog {
 public:
  // --- rows ---
  void erase(Seq entry) { next_.erase.push_back(entry); }
  void erase_state(Seq first) { next_.erase_states.push_back(first); }
  void add_dead(DeadPayload dead) { next_.dead.push_back(std::move(dead)); }
  void keep(const KeptRecord& record) { next_.kept.add(record); }
  void set_aside(Seq entry) { next_.set_aside.push_back(entry); }
  /// The shard's own record is to be written, whatever else is.
  void note_lent() { lent_changed_ = true; }

  /// A row of an entry that no job has.
  void put_state(Seq entry, JobState state) { next_.states.emplace_back(entry, std::move(state)); }
  /// The job's state is to be written, as it is by then.
  void write_state(Job& job);
  /// ... is not to be written any more.
  void drop_state(Job& job);

  // --- what waits for them ---
  /// The job has ended; it is forgotten once that is durable.
  void end(Job& job) { ended_.push_back(&job); }
  /// The job may start again once what is to be written of it is durable.
  void settle(Job& job);
  /// ... it goes elsewhere.
  void unsettle(Job& job);
  /// The run may start once the marks of its jobs are durable.
  void mark(RunNo run) { marking_.push_back(run); }
  /// Others may start beside the run once its marks are durable as they are now.
  void share(RunNo run) { sharing_.push_back(run); }
  /// Payloads that died in one run: to be told once that is durable.
  void tell_deaths(std::vector<JobView> deaths) { deaths_.push_back(std::move(deaths)); }

  bool empty() const;
  /// About how many rows the next collect() brings, without those to be set aside.
  std::size_t rows() const {
    return next_.erase.size() + next_.dead.size() + next_.states.size() + unwritten_.size();
  }
  std::size_t kept_bytes() const { return next_.kept.bytes(); }
  /// So many entries are to be set aside: that alone is no change, and has time.
  std::size_t to_set_aside() const { return next_.set_aside.size(); }
  /// Jobs that have ended, and are not forgotten.
  std::size_t ending() const { return ended_.size() + ended_in_flight_.size(); }
  template <class Visit>
  void each_settling(Visit visit) const {
    for (const auto* list : {&settling_, &settling_in_flight_}) {
      for (const Job* job : *list) visit(*job);
    }
  }

  /// What is to be written now; one at a time. At most `set_aside` entries are set aside, and the others next
  /// time.
  Changes collect(std::size_t set_aside);

  struct Durable {
    std::vector<Job*> ended, settled;
    std::vector<RunNo> marked, shared;
    std::vector<std::vector<JobView>> deaths;
  };
  /// What waited for the changes collected last, which are durable.
  Durable take_durable();

 private:
  Changes next_;
  std::vector<Job*> unwritten_;  // their states are to be written
  std::vector<Job*> ended_, ended_in_flight_;
  std::vector<Job*> settling_, settling_in_flight_;
  std::vector<RunNo> marking_, marking_in_flight_;
  std::vector<RunNo> sharing_, sharing_in_flight_;
  std::vector<std::vector<JobView>> deaths_, deaths_in_flight_;
  bool lent_changed_ = false;
};

}  // namespace ordo::domain
