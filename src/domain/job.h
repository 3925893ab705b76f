#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/intrusive/set.hpp>

#include <ordo/job.hpp>
#include <ordo/options.hpp>

#include "domain/entry.h"
#include "domain/limiter.h"
#include "domain/payload_set.h"
#include "domain/records.h"
#include "domain/window.h"

namespace ordo::domain {

struct Demand;
struct Line;

/// Where a job stands in its shard.
enum class Place : std::uint8_t {
  nowhere,
  later,     ///< run_at ahead; in the shard's `later` order
  closed,    ///< its time has come, but not a window of its own; by openings
  skipped,   ///< due, but the throttler of its queue let others go before it; has its key
  deferred,  ///< likewise, but it is to start later, and leaves its key to others
  expired,   ///< to die once its payloads are read
  due,       ///< may start; in the `due` order of its kind and class
  parked,    ///< due, but its key is taken; in its key's line
  locked,    ///< due and first of its key's line, but its lock is taken
  running,   ///< owned by a run
  awaiting,  ///< has run, and waits for a response; has its key (domain/awaiting.h)
  settling,  ///< went back from a run; may start again once the commit that says so is durable
  ending,    ///< has ended; gone once the commit that says so is durable
};

/// How freely a job may start next to others (rules: poison).
enum class Risk : std::uint8_t {
  normal,
  witness,  ///< it was there when a node died: marked before its start
  suspect,  ///< it crashed something: runs alone
};
inline constexpr std::size_t kRisks = 3;
/// So long after its last crash a job is like any other.
inline constexpr Duration kCrashMemory = std::chrono::hours{72};
/// So long a suspect runs alone; then its mark is shared.
inline constexpr Duration kAloneAtMost = std::chrono::seconds{10};

/// What came of other versions of Ordo, or of damaged bytes: hardly any job has it.
struct Foreign {
  std::string state_fields;                               ///< unknown ones of its state
  std::vector<std::pair<Seq, std::string>> entry_fields;  ///< unknown ones of its entries
  std::string lost_state;                                 ///< bytes of its state that could not be read
};

/// The windows of one job.
struct OwnWindows {
  std::optional<Windows> known;  ///< nothing: this system knows no such zone, and they never open
  std::optional<Time> asked{};   ///< when `span` was looked up, for all times from then to its end
  std::optional<Span> span{};    ///< in which these and the kind's are open next; nothing: never
};

/// A wait that a job has opened.
struct OpenWait {
  std::string wait, key;
  Seq expected = 0;  ///< its entry; 0: not read yet
  Seq response = 0;  ///< likewise; 0: none has come
  std::string message_id{};
  CachedBytes body{};  ///< of the response
};

/// What a job waits for, and might.
struct JobWaits {
  Await awaits;
  bool is_closing = false;    ///< its time is over, and the store is asked to say so
  std::uint64_t ticket = 0;   ///< in the line for its lock, which its response needs; 0: it is in none
  bool is_called = false;     ///< its turn has come: the lock is free for it, as long as it may start
  std::uint64_t unlocks = 0;  ///< its lock is free once the commit that was next then is durable; 0: no
  std::vector<OpenWait> open;

  OpenWait* find(std::string_view wait);
  /// The response that it waits for; null: none has come.
  OpenWait* answered();
};

/// What most waiting jobs never have.
struct JobExtra {
  JobOptions options;
  Seq through = 0;     ///< entries up to here have been merged
  Seq state_seq = 0;   ///< the state row in the store; 0: none
  Seq cancel_seq = 0;  ///< the control that waits for the run's end; 0: none
  std::int32_t retry_count = -1;
  std::uint32_t crashes = 0;
  Time last_crash{};
  Mark mark = Mark::none;
  bool alone = false;             ///< a batch of it passed its timeout: it runs in one of its own
  bool dirty = false;             ///< its state is to be written
  bool has_new_time = false;      ///< a push has replaced its time: also for the job that runs beside it
  std::uint32_t dirty_at = 0;     ///< where it stands in the list of those
  std::uint32_t settling_at = 0;  ///< likewise
  FailureKind error_kind = FailureKind::handler;
  std::string error;
  Time pushed{}, first_start{}, set_at{};  ///< as JobState has them
  std::map<Seq, PayloadRank> scores;       ///< of payloads, where they are not their entry's
  std::unique_ptr<OwnWindows> windows;     ///< those of the options, ready to be asked
  Time opens = Time::max();                ///< of a closed one: when; max(): not within ten years
  std::uint64_t ends = 0;                  ///< see RefusedJobs, as what `opens` says of one that is refused
  std::unique_ptr<Foreign> foreign;
  std::unique_ptr<JobWaits> waits;

  JobWaits& wait() {
    if (!waits) waits = std::make_unique<JobWaits>();
    return *waits;
  }
  Foreign& more() {
    if (!foreign) foreign = std::make_unique<Foreign>();
    return *foreign;
  }
  bool is_suspect(Time now) const { return crashes > 0 && now - last_crash < kCrashMemory; }
  void count_crash(Time now) {
    if (!is_suspect(now)) crashes = 0;
    ++crashes;
    last_crash = now;
  }
  /// Its node died, and found it marked so. Beside others it need not be its fault again.
  void count_death_of_node(Mark found, Time now) {
    if (found == Mark::alone || !is_suspect(now)) count_crash(now);
  }
};

/// One job in its owner's memory. About 100 bytes and its names: a million of them wait in a node.
class Job : public boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>> {
 public:
  PayloadSet payloads;
  Time run_at{};
  std::unique_ptr<JobExtra> extra;
  Demand* demand = nullptr;  ///< what it asks of limits and locks; null: nothing
  std::int32_t priority = 100;
  std::uint16_t kind = 0;  ///< index into the shard's kinds
  std::uint8_t id_size = 0;
  std::uint8_t key_size = 0;  ///< 0: the key is the id
  Place place = Place::nowhere;
  Risk risk = Risk::normal;
  bool held : 1 = false;          ///< it has started before and holds its key
  bool was_held : 1 = false;      ///< before the run that goes on
  bool in_line : 1 = false;       ///< other jobs share its key
  bool set_aside : 1 = false;     ///< its entries are, or are to be
  bool own_time : 1 = false;      ///< run_at was given or has changed: it is not when the job came
  bool is_counted : 1 = false;    ///< it runs, and its limits count it
  bool has_lock : 1 = false;      ///< it has its lock: until its end is durable
  bool chosen_time : 1 = false;   ///< its code has named run_at
  bool is_postponed : 1 = false;  ///< its start is chosen, and is to come

  static Job* create(std::uint16_t kind, std::string_view id, std::string_view key, Piece first);
  static void destroy(Job* job);

  std::string_view id() const { return {names(), id_size}; }
  std::string_view key() const {
    return key_size == 0 ? id() : std::string_view{names() + id_size, key_size};
  }
  Seq arrival() const { return payloads.arrival(); }
  std::int32_t retry_count() const { return extra ? extra->retry_count : -1; }
  Seq through() const { return extra ? extra->through : payloads.last(); }
  JobWaits* waits() const { return extra ? extra->waits.get() : nullptr; }
  bool is(std::uint16_t other_kind, std::string_view other_id) const {
    return kind == other_kind && id() == other_id;
  }

  JobExtra& more();

  void set_time(Time at) {
    run_at = at;
    own_time = true;
    chosen_time = false;
    if (extra) extra->set_at = {};
  }
  /// It waits from `now` on: should the clock turn out to be ahead, no longer than that. `chosen`: its code
  /// has said so.
  void wait_until(Time at, Time now, bool chosen) {
    set_time(at);
    chosen_time = chosen;
    more().set_at = now;
  }

 private:
  // The names stand right behind the object.
  const char* names() const { return reinterpret_cast<const char*>(this + 1); }
};

/// What is to be written of the job, which has an `extra`.
JobState state_of(const Job& job);

/// The order in which due jobs start (rules: priority).
struct DueBefore {
  DueOrder order = DueOrder::time;
  std::int64_t granularity_us = 60'000'000;

  bool operator()(const Job& a, const Job& b) const {
    if (a.priority != b.priority) {
      if (order == DueOrder::priority) return a.priority < b.priority;
      const auto slot_a = slot(a), slot_b = slot(b);
      return slot_a != slot_b ? slot_a < slot_b : a.priority < b.priority;
    }
    return a.run_at != b.run_at ? a.run_at < b.run_at : a.arrival() < b.arrival();
  }
  bool operator()(const Job* a, const Job* b) const { return (*this)(*a, *b); }

 private:
  std::int64_t slot(const Job& job) const {
    const auto us = job.run_at.time_since_epoch().count();
    return us >= 0 ? us / granularity_us : -1 - (-1 - us) / granularity_us;
  }
};

struct RunAtBefore {
  bool operator()(const Job& a, const Job& b) const {
    return a.run_at != b.run_at ? a.run_at < b.run_at : a.arrival() < b.arrival();
  }
};

struct OpensBefore {
  bool operator()(const Job* a, const Job* b) const {
    return a->extra->opens != b->extra->opens ? a->extra->opens < b->extra->opens : RunAtBefore{}(*a, *b);
  }
};

using DueSet = boost::intrusive::set<Job, boost::intrusive::compare<DueBefore>>;
using LaterSet = boost::intrusive::set<Job, boost::intrusive::compare<RunAtBefore>>;

}  // namespace ordo::domain
