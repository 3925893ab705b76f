#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/admission.h"
#include "domain/gates.h"
#include "domain/job.h"
#include "domain/kind_table.h"

namespace ordo::domain {

/// A wait whose row is to be closed.
struct WaitToClose {
  std::string wait, key;

  bool operator==(const WaitToClose&) const = default;
};

/// The jobs of a shard that wait for responses: who times out when, whose response has come, who wants its
/// lock for that or is to give it back, and which waits the store is asked to close. Owns no jobs.
class Awaiting {
 public:
  /// `gates`: null where nothing has a lock.
  Awaiting(const KindTable& kinds, Gates* gates) : kinds_(kinds), gates_(gates) {}
  /// Before the first job.
  void stand_in(ShardId shard) { shard_ = shard; }
  ShardId shard() const { return shard_; }

  /// The job waits from now on, as its JobWaits says; again, when that has changed.
  void enter(Job& job);
  /// It does not any more, and goes on as one that runs.
  void leave(Job& job);
  std::size_t size() const { return jobs_.size(); }
  /// Calls `visit(const Job&)` for all, by arrival.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& [arrival, job] : jobs_) visit(*job);
  }

  /// The one of those whose response has come that may handle it; null: none. It may have its lock, which it
  /// takes with take_lock(). If this is the node's own choice, others that are due stand in line for theirs.
  Job* ready(Time now, const Admission& admission);
  /// It starts: the lock is its own.
  void take_lock(Job& job);
  /// It stood in line, and it is its turn.
  void called(Job& job);
  /// None of them may start just now: nobody is to wait for those that were called.
  void let_turns_go();
  /// The gates are not to know any of them any more.
  void leave_lines();
  /// So many stand in line.
  std::size_t locked() const { return locked_; }

  /// It gives its lock back, once what is collected next is durable; not if it handles its response before.
  void unlock(Job& job);
  bool has_unlocks() const { return !unlocking_.empty() && unlocking_.rbegin()->first >= next_commit_; }
  void collect() { ++next_commit_; }
  /// Those whose locks are free: what was collected last is durable.
  std::vector<Job*> take_unlocked();
  bool has_ready(Time now) const {
    return std::ranges::any_of(ready_, [&](const auto& of) { return of.second.begin()->first.first <= now; });
  }
  /// When there is something to do next; nothing: only a response changes that.
  std::optional<Time> next(Time now) const;

  /// Their time is over: the store is to close their waits.
  void close_overdue(Time now);
  /// The job is over, or goes on without this wait: nobody waits for what comes of it.
  void close(const OpenWait& wait);
  /// Forgets that a wait was to be closed. Who waits for it, and entries of waits that nobody waits for.
  struct Closed {
    Job* job = nullptr;
    std::vector<Seq> entries;
  };
  Closed closed(const std::string& wait);
  /// It could not be closed: it is to be tried again.
  void close_again(const std::string& wait);

  /// To be closed, since the last call.
  std::vector<WaitToClose> closes() { return std::exchange(closes_, {}); }

 private:
  struct Closing {
    std::string key;
    Job* job = nullptr;
    std::vector<Seq> entries;
  };
  using Times = std::map<std::pair<Time, Seq>, Job*>;

  const Times::value_type* first_in_turn(Times& jobs, Time now);
  const Times::value_type* first_free(const Times& jobs, Time now);
  static bool may_have_lock(const Job& job);
  void let_turn_go(Job& job);
  void leave_line(Job& job);

  const KindTable& kinds_;
  Gates* gates_;
  ShardId shard_;
  std::map<Seq, Job*> jobs_;  // by arrival
  Times deadlines_;
  std::map<std::pair<std::uint16_t, Risk>, Times> ready_;  // by what is admitted or not; none is empty
  std::size_t locked_ = 0;
  std::map<Seq, Job*> called_;  // by arrival
  std::uint64_t next_commit_ = 1;
  std::map<std::uint64_t, std::map<Seq, Job*>> unlocking_;  // by the commit they wait for; none is empty
  std::map<std::string, Closing> closing_;
  std::vector<WaitToClose> closes_;
};

}  // namespace ordo::domain
