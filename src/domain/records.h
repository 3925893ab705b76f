#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/job.hpp>

#include "domain/entry.h"
#include "domain/kept.h"
#include "domain/lent.h"
#include "domain/shard_id.h"
#include "domain/tick_book.h"
#include "domain/unique.h"

namespace ordo::domain {

/// Whether the job was started after an unclean take-over, and how: a shared mark is one of several on its
/// node, or of a suspect that has run alone for long (rules: poison).
enum class Mark : std::uint8_t { none = 0, shared = 1, alone = 2 };

/// What a job waits for, that has run and is not over: it has no run, and its key.
struct Await {
  std::string wait;  ///< the wait's id (domain/wait_note.h); empty: the job does not wait
  std::string key;   ///< what it waits for
  Time deadline{};
  Seq last = 0;                   ///< its last payload's entry: what comes later stands beside it
  std::int32_t retry_count = -1;  ///< of on_response
  Time retry_at{};                ///< on_response runs no earlier

  explicit operator bool() const { return !wait.empty(); }
  bool operator==(const Await&) const = default;
};

/// A payload whose job has failed, and that the origin of a source is to retry.
struct HandOver {
  std::string source;  ///< empty: its owner retries it
  std::string name;    ///< of this one, and of no other of the store

  explicit operator bool() const { return !source.empty(); }
  bool operator==(const HandOver&) const = default;
};

/// The score and the place of a payload, where they are not those of its entry.
struct PayloadRank {
  Seq entry = 0;
  double score = 0;
  Seq newest = 0;  ///< as Piece has it

  bool operator==(const PayloadRank&) const = default;
};

/// What a job's entries alone would not rebuild. Stored under the job's first entry, written only when it
/// differs.
struct JobState {
  Seq through = 0;  ///< entries up to here are covered; later ones merge on top
  Time run_at{};
  bool own_time = true;  ///< false: run_at is when the job came, as its entry says to whoever reads it
  std::int32_t retry_count = -1;
  std::uint32_t crashes = 0;
  Time last_crash{};
  Mark mark = Mark::none;
  bool alone = false;        ///< it runs in a batch of its own: one that it was in passed its timeout
  bool held = false;         ///< it has started and holds its key until it ends or dies (key_order = strict)
  bool chosen_time = false;  ///< its code has named run_at: no tick of its schedule changes that
  JobOptions options;
  std::vector<PayloadRank> scores;
  FailureKind error_kind = FailureKind::handler;
  std::string error;  ///< of the last failed run; empty: none
  Await awaits;
  Time pushed{};       ///< when its first payload came, for its record; 1970: it needs none, as the next
  Time first_start{};  ///< 1970: it has not started
  Time set_at{};       ///< when run_at, or how long it awaits, was set; 1970: by its entries alone
  /// Of an entry, not of its job, which is over: it failed at `set_at`, with this error and retry_count.
  HandOver hand_over;
  std::string fields;  ///< optional ones that this version does not know (domain/fields.h)

  bool operator==(const JobState&) const = default;
};

std::string encode(const JobState& state);
Decoded<JobState> decode_state(std::string_view bytes);

/// One payload in the dead set of its queue, or (`error_kind` unreadable) what could not be read.
struct DeadPayload {
  std::string kind;
  std::string key;
  std::string id;
  std::string payload;
  double score = 0;
  JobOptions options;
  std::int32_t retry_count = -1;
  std::uint32_t crashes = 0;
  FailureKind error_kind = FailureKind::handler;
  std::string error;
  /// `payload` is a whole entry as it stood in the log, and comes back as it is.
  bool is_entry = false;
  std::string state;         ///< the bytes of the job's state, which could not be read
  std::string entry_fields;  ///< of the payload's entry
  std::string fields;        ///< optional ones that this version does not know

  bool operator==(const DeadPayload&) const = default;
};

std::string encode(const DeadPayload& dead);
Decoded<DeadPayload> decode_dead(std::string_view bytes);

/// What brings a dead payload back. Points into it.
Entry revival(const DeadPayload& dead);

/// An entry that cannot be read, on its way to the dead: whole, to be brought back by whoever can.
DeadPayload dead_entry(Seq seq, std::string_view bytes, std::string_view why);

inline constexpr std::size_t kMostPriorities = 10;
/// Of each kind of use that a shard's record lists.
inline constexpr std::size_t kMostUses = 100;
/// Jobs that are named with each of those.
inline constexpr std::size_t kToldHolders = 3;

/// What the jobs of a shard use of one limit, and how many wait for it.
struct LimitUse {
  std::string name;       ///< of the queue or of the named limit
  std::string partition;  ///< of which value; empty: of all
  bool is_rate = false;
  std::int64_t used = 0;  ///< in millionths, as `limit`; of a rate: nothing
  std::int64_t limit = 0;
  std::uint64_t waiting = 0;
  Time free_at = Time::max();        ///< of a rate: when it lets the next one start; max(): at once
  std::vector<std::string> held_by;  ///< ids of jobs that count in it, kToldHolders at most; of a rate: none

  bool operator==(const LimitUse&) const = default;
};

/// Due jobs that ask the same of limits and are refused, and by what.
struct BlockedJobs {
  std::string partition;
  std::int64_t weight = 0;  ///< in millionths
  bool critical = false;
  std::string by;  ///< name of the limit or rate that refuses first; empty: nothing ever admits them
  std::string by_partition;  ///< as LimitUse has it
  bool by_rate = false;
  Time until = Time::max();  ///< of a rate

  bool operator==(const BlockedJobs&) const = default;
};

/// As LimitUse, of one lock.
struct LockUse {
  std::string name;  ///< of the lock: the queue's, or the one that queues share
  std::string key;
  std::vector<std::string> held_by;  ///< ids of jobs, kToldHolders at most
  std::uint64_t waiting = 0;

  bool operator==(const LockUse&) const = default;
};

/// Jobs of a kind that the owner of their shard has no code for.
struct UnservedKind {
  std::string kind;
  std::uint64_t retrying = 0;
  std::uint64_t due = 0;  ///< those that would start with code, threads and room

  bool operator==(const UnservedKind&) const = default;
};

/// A job that the throttler of its queue has refused.
struct RefusedJob {
  Seq arrival = 0;           ///< its first entry
  Time until = Time::max();  ///< when it is asked for again; max(): soon

  bool operator==(const RefusedJob&) const = default;
};

/// Marked runs of the owner's node that due jobs of the shard wait for (rules: poison). Empty where none
/// does.
struct MarkedRunsGate {
  bool refuses_witnesses = false;
  bool refuses_suspects = false;
  Seq witness_through = 0;            ///< jobs up to this entry are witnesses
  std::vector<std::string> suspects;  ///< ids of jobs that run alone: what witnesses wait for; three at most
  std::vector<std::string> marked;    ///< ids of all marked ones: what suspects wait for; likewise

  bool operator==(const MarkedRunsGate&) const = default;
};

/// A shard's counts as its owner last committed them, and what else belongs to the shard as a whole. Jobs,
/// except where said.
struct Counts {
  std::uint64_t due = 0;
  std::uint64_t scheduled = 0;  ///< run_at ahead, never failed
  std::uint64_t retrying = 0;   ///< in back-off
  std::uint64_t running = 0;
  std::uint64_t awaiting = 0;
  std::uint64_t processed = 0;   ///< jobs that ended well, for ever
  std::uint64_t failed = 0;      ///< failed runs, for ever
  Time oldest = Time::max();     ///< earliest run_at of a queued job
  std::vector<Seq> running_now;  ///< last entries of running jobs, for listings; a hundred at most
  /// How far the shard is copied from another store; its owners keep it as it is. Empty: it was not copied.
  std::string copied;
  std::vector<LentRun> lent;     ///< runs that other nodes execute, in the order of their names
  std::uint64_t fence = 0;       ///< the last one given, where it is higher than the lease's token
  std::uint64_t unreadable = 0;  ///< entries that went to the dead because they could not be read, for ever
  std::uint64_t blocked_by_window = 0;  ///< of those that are due
  /// Since when the longest waiting of the others is due, by priority: those of kMostPriorities that wait
  /// longest.
  std::map<std::int32_t, Time> oldest_due;
  std::uint64_t blocked_by_key = 0, blocked_by_lock = 0, blocked_by_limit = 0, blocked_by_rate = 0,
                blocked_by_throttler = 0, blocked_by_suspect = 0;  ///< likewise
  MarkedRunsGate marked_runs;    ///< what those wait for that are blocked by a suspect
  std::vector<LimitUse> limits;  ///< kMostUses at most, as of the two that follow
  std::vector<LockUse> locks;
  std::vector<BlockedJobs> blocked;
  std::vector<RefusedJob> throttled;    ///< kMostUses at most
  ScheduleRecords schedules;            ///< whose jobs the shard has
  std::vector<UnservedKind> unserved;   ///< kMostUses at most, those with jobs
  std::vector<RowToFree> rows_to_free;  ///< unique rows of jobs that are over
  KeptCounts kept;                      ///< of the records that it keeps
  std::uint64_t hand_overs = 0;         ///< payloads that wait to be handed over, of those in back-off
  std::string fields;                   ///< optional ones that this version does not know

  std::uint64_t queued() const { return due + scheduled + retrying; }
  bool operator==(const Counts&) const = default;
};

std::string encode(const Counts& counts);
Decoded<Counts> decode_counts(std::string_view bytes);  ///< empty bytes: all zero
/// The lent runs alone; cheap where there are none. None are known of counts that cannot be read.
std::vector<LentRun> lent_runs_of(std::string_view counts);

}  // namespace ordo::domain
