#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/entry.h"
#include "domain/records.h"

namespace ordo::domain {

/// What jobs are made of when they go from one log into another: there, entries have other numbers and
/// another time of append.

/// `entry` with everything that it owes to the time of its append, `at`, said by itself.
Entry settled(Entry entry, Time at);

/// New numbers for the few entries of a log that are spoken of. Not thread-safe.
class Numbering {
 public:
  Numbering() = default;
  /// `old` in any order, also doubled, also numbers that no entry has.
  explicit Numbering(std::vector<Seq> old);

  /// The next entry of the log: its old number and its new one, both rising.
  void pass(Seq old, Seq number);

  /// All that is spoken of was passed, or is behind.
  bool is_complete() const { return next_ == places_.size(); }

  /// The new number of an entry that was passed; none: there is no such entry.
  std::optional<Seq> of(Seq old) const;
  /// The new number of the last entry that was passed up to `old`; 0: none.
  Seq up_to(Seq old) const;

 private:
  struct Place {
    Seq old = 0;
    Seq number = 0;  // of the last entry up to there
    bool is_entry = false;
  };
  const Place* find(Seq old) const;

  std::vector<Place> places_;
  std::size_t next_ = 0;  // the places before this one are known
  Seq last_ = 0;
};

/// Adds the numbers that a job's state speaks of; `first` is the one it is stored under.
void add_references(std::vector<Seq>& numbers, Seq first, const JobState& state);

void add_references(std::vector<Seq>& numbers, const ScheduleRecords& schedules);

/// The state in a log where entries have the new numbers.
JobState renumbered(JobState state, const Numbering& numbering);
ScheduleRecords renumbered(ScheduleRecords schedules, const Numbering& numbering);

}  // namespace ordo::domain
