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
  std::uint64_t ticks = 0;   ///< up to `last`, for ever
  std::uint64_t pushed = 0;  ///< of these; the others were passed over as nobody pushed them in time

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
  /// It was not stated for long. One that is paused is kept.
  void forget(std::string_view schedule);

 private:
  ScheduleRecords records_;
};

}  // namespace ordo::domain
