#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "domain/entry.h"
#include "domain/shard_id.h"

namespace ordo::domain {

/// What the shard of a schedule's key knows of it.
struct ScheduleRecord {
  std::string key;            ///< of its jobs
  std::uint64_t text = 0;     ///< when it ticks, as a hash; 0: not known yet
  Time last = Time::min();    ///< every tick up to here was pushed, or passed over
  Seq through = 0;            ///< its entries up to here are judged: those that are there bring their jobs
  Time ticked = Time::min();  ///< the last one that was pushed; none: Time::min()
  bool paused = false;
  std::uint64_t ticks = 0;     ///< up to `last`, for ever
  std::uint64_t pushed = 0;    ///< of these; the others were passed over as nobody pushed them in time ...
  std::uint64_t skipped = 0;   ///< ... or as the job of an earlier one was there
  std::string held_by;         ///< id of the job for which ticks were skipped last, while it is there
  std::string failing;         ///< id of a tick's job that is in back-off
  std::uint32_t failures = 0;  ///< of that one

  bool operator==(const ScheduleRecord&) const = default;
};
using ScheduleRecords = std::map<std::string, ScheduleRecord, std::less<>>;

/// The schedules of one shard. It makes of entries that may come twice one job a tick: who lost the shard may
/// append late, and who appended without an answer does so again. So a tick is judged where it is read, in
/// the order of the log: it is good if it is later than the last one.
///
/// The book is written with each delta that erases what it refused: for the next owner the good ones are
/// those that are still there up to `through`, and behind it all is judged again. Not thread-safe.
class TickBook {
 public:
  void load(ScheduleRecords records) { records_ = std::move(records); }
  const ScheduleRecords& records() const { return records_; }
  const ScheduleRecord* find(std::string_view schedule) const;

  /// The next tick of the log. False: its job is not to be.
  bool admits(const Entry& entry, Seq seq);
  /// The next pause or resume of the log, which came at that time.
  void control(const Entry& entry, Time at);

  /// Somebody who lives states it so. One that is new, or ticks at other times than before, starts now.
  /// True: that is news.
  bool state(std::string_view schedule, std::string_view key, std::uint64_t text, Time now);
  /// Ticks up to that one are passed over.
  void pass(std::string_view schedule, Time last, std::uint64_t ticks);
  /// Likewise, as the job of an earlier one is there.
  void skip(std::string_view schedule, Time last, std::uint64_t ticks, std::string_view job);
  /// Calls `look(name, ScheduleRecord&)`, which may change what is said of jobs.
  template <class Look>
  void note_jobs(Look look) {
    for (auto& [name, record] : records_) look(name, record);
  }
  /// It was not stated for long. One that is paused is kept.
  void forget(std::string_view schedule);

 private:
  ScheduleRecords records_;
};

}  // namespace ordo::domain
