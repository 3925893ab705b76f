#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <ordo/options.hpp>

#include "domain/entry.h"
#include "domain/records.h"
#include "runtime/run.h"
#include "simulation/garbage.h"
#include "simulation/world.h"
#include "store/memory/memory_store.h"

namespace ordo::simulation {

using store::Seq;
using store::ShardId;

struct JobName {
  std::string kind, key, id;
  auto operator<=>(const JobName&) const = default;
};

/// An entry of the log as the world saw it appended.
struct SeenEntry {
  Seq seq = 0;
  ShardId shard;
  Time at{};
  domain::EntryType type = domain::EntryType::push;
  JobName name;
  std::string payload;
  std::optional<Time> run_at;
  std::optional<double> score;
  domain::JobOptions options;
  std::string schedule;  ///< of a tick
  Time tick{};
  bool live = true;     ///< still in the log
  Seq origin = 0;       ///< its number before its queue was resharded
  bool copied = false;  ///< by a reshard
  bool is_odd = false;  ///< its bytes, which are its payload here, cannot be read: its name is its number's

  bool is_tick() const { return type == domain::EntryType::tick; }
  /// That of a tick may come twice: whether there is a job of it is TickChecker's business.
  bool is_payload() const { return domain::is_payload(type) && !is_tick(); }
};

/// Where a job stands among those of its key that never started (rules: priority), if that is beyond doubt.
struct SortKey {
  std::int64_t slot = 0;
  std::int32_t priority = 100;
  Time run_at{};
  Seq arrival = 0;
  bool own_time = true;  ///< else it came then, and is due whatever the clock says now
};
std::int64_t slot_of(Time at, Duration granularity);
bool sorts_before(const QueueOptions& options, const SortKey& a, const SortKey& b);

/// How much earlier than it came a reader may be told that an entry came.
constexpr Duration kMostBack = std::chrono::milliseconds{90};

/// What runs at a time of the queues that share one limit.
inline constexpr std::int64_t kNamedLimit = 2;
inline constexpr std::size_t kThrottled = 2;  // jobs of a queue that its throttler lets run

struct SeenJob {
  JobName name;
  std::vector<Seq> seqs;
  std::optional<SortKey> sort;
  std::optional<Outcome::Kind> outcome;
  bool settled = false;           ///< its end is durable
  std::int32_t retry_count = -1;  ///< as it was started with
  bool is_marked = true;          ///< its owner started it as one that may break its process, or as a witness
  std::string partition;          ///< which rates may be of
  Duration penalty{};             ///< that its run has given
};

/// A run as the world saw it handed to a pool.
struct SeenRun {
  std::string node;
  ShardId shard;
  std::uint64_t token = 0, epoch = 0, no = 0;
  std::uint64_t fence = 0;  ///< what its workers see
  std::vector<SeenJob> jobs;
  Seq through = 0;  ///< what its owner had read when it chose the jobs
  std::shared_ptr<runtime::RunControl> control;
  bool returned = false;
  Duration returned_at{};
  bool cut = false;                  ///< counts as ended: its node was stopped, has died, or lost its lease
  std::optional<Duration> cut_from;  ///< the same from then on: it was asked to stop, and was left time
  bool crashed = false;              ///< its node has died
  bool responds = false;             ///< it handles a response
  bool lent = false;                 ///< listed as lent: any owner may hear of its end
  bool lent_when_handed = false;     ///< its owner started it before, and counts it then
  bool was_stopped = false;          ///< asked to stop before: nobody performs it
  Duration handed{};                 ///< when its node read the clock by which it handed it over
  Duration chosen{};                 ///< ... and by which it chose its jobs
  std::vector<Seq> fresh;            ///< entries that it started first

  bool is_cut(Duration now) const { return cut || (cut_from && now >= *cut_from); }
  bool timed_out() const { return control && control->reason.load() == runtime::StopReason::timeout; }
};

/// All that happened at the store and at the pools. Checkers look things up here.
class History {
 public:
  History(World& world, store::memory::MemoryStore& store, const std::vector<QueueOptions>& queues)
      : world_(world), store_(store), queues_(queues) {}

  /// Sees what was appended since.
  void read_log();

  /// Which queue it is, also of one that is resharded or was replaced.
  std::size_t queue_of(ShardId shard) const;
  bool same_queue(ShardId a, ShardId b) const { return queue_of(a) == queue_of(b); }
  /// The numbers of what queues are to become while they are resharded.
  std::set<std::uint32_t> hidden() const;
  const QueueOptions& options(ShardId shard) const { return queues_.at(queue_of(shard)); }
  World& world() const { return world_; }
  store::memory::MemoryStore& store() const { return store_; }

  /// What was in the queue is gone.
  void removed(std::uint32_t queue);
  /// `by` took its place: each key must have there what it had here, in its order.
  void replaced(std::uint32_t queue, std::uint32_t by);

  std::map<Seq, SeenEntry> entries;
  std::vector<std::unique_ptr<SeenRun>> runs;

  /// A throttler defers the job: until then others of its key may start.
  void note_put_off(const std::string& queue, const std::string& id, Time until);
  bool is_put_off(const std::string& queue, const std::string& id, Time chosen) const;

  /// The run as the store lists it.
  std::optional<domain::LentRun> lent_run(const domain::LentName& name) const;
  /// It was never started, and its jobs are what they were.
  void forget_run(const std::string& node, const runtime::RunName& name);
  SeenRun* find_run(const std::string& node, ShardId shard, std::uint64_t epoch, std::uint64_t no);
  std::optional<domain::JobState> state_of(ShardId shard, Seq first) const;
  bool any_live(const std::vector<Seq>& seqs) const;
  bool was_started(Seq seq) const { return started.contains(seq); }
  std::set<Seq> started;
  std::map<Seq, std::uint64_t> not_begun;  ///< first entries of untouched jobs whose start failed, by token
  /// A borrower has told the end of a run while its session was alive.
  void note_end(const domain::LentEnd& end);
  std::set<Seq> finished;  ///< entries of jobs that ended well by it
  Garbage garbage;
  std::vector<store::StateRow>
      states_before;  ///< those of the shard whose delta is looked at; without garbage or poison none
  bool has_poison = false;
  std::map<std::pair<ShardId, std::uint64_t>, Seq> heads;  ///< of the logs when they were granted, by token
  std::map<std::tuple<ShardId, std::uint64_t, JobName>, Seq> lost_under;  ///< by whom it was found: its entry
  std::set<JobName> lost_jobs;                                            ///< those that have died of it
  std::set<std::string> buried_holds;  ///< tokens of the unique rows that what died says it has
  /// The store has nothing but garbage for a state of one of them, and who owns the shard knows.
  bool has_lost_state(ShardId shard, const std::vector<Seq>& seqs) const;
  /// The last payload entry of the shard that is still there.
  Seq last_live(ShardId shard) const;

  bool targets(const SeenEntry& control, const JobName& name, ShardId shard) const;
  /// The same, over reshards.
  bool acts_on(const SeenEntry& control, const JobName& name, ShardId shard) const;
  /// A cancel of the job behind `after` and up to `through`.
  bool is_cancelled(const JobName& name, ShardId shard, Seq after, Seq through) const;
  /// A kill; whether it waited then is another question.
  bool is_killed(const JobName& name, ShardId shard, Seq after, Seq through) const;
  bool is_taken_away(const JobName& name, ShardId shard, Seq after, Seq through) const {
    return is_cancelled(name, shard, after, through) || is_killed(name, shard, after, through);
  }
  /// Or a kill.
  bool has_live_cancel(const SeenEntry& entry) const;
  bool has_moves(const JobName& name, ShardId shard) const;

  /// Of a job that never started and that nothing but pushes, up to `through`, touched; nothing: in doubt.
  std::optional<SortKey> clean_sort(const JobName& name, ShardId shard, Seq through) const;
  /// To whom times are told anew, the two may sort the other way. Not if both came as they are sorted: the
  /// order of the log is that of all.
  bool may_turn(const SortKey& a, const SortKey& b) const;

  /// The latest time by which that process may end something for its age.
  Time latest_believed(const std::string& process) const;

  /// Times in the log, which readers let stand still.
  bool times_go_back = false;
  std::map<std::string, Duration> lives_since;  ///< processes: when they saw the clock first
  bool checks_rates = false;                    ///< nothing that is durable is lost
  std::optional<RateLimit> named_rate{};        ///< of the limit that some queues share

  struct Totals {
    std::uint64_t pushed = 0, runs = 0, commits = 0, stale = 0, unknown = 0, crashes = 0, pauses = 0,
                  jumps = 0, partitions = 0, stops = 0, joins = 0, rebuilds = 0, takeovers = 0, died = 0,
                  lost_leases = 0, cancels = 0, kills = 0, killed = 0, revived = 0, orders = 0, lent = 0,
                  kept = 0, set_aside = 0, recalled = 0, reshards = 0, unreadable = 0, newer = 0, pieces = 0,
                  not_started = 0, ticks = 0, passed = 0, refused = 0, waits = 0, responses = 0, handled = 0,
                  unique = 0, conflicts = 0, exchanged = 0, rows_freed = 0, records = 0, damaged = 0,
                  setbacks = 0, spoilt = 0, buried = 0, broken = 0, alone = 0, beside = 0, leaps = 0,
                  ranked = 0, aged = 0, penalties = 0, spaced = 0, early = 0;
  } totals;

 private:
  bool has_control(domain::EntryType type, const JobName& name, ShardId shard, Seq after, Seq through) const;
  World& world_;
  store::memory::MemoryStore& store_;
  const std::vector<QueueOptions>& queues_;
  static bool concerns(const SeenEntry& control, const JobName& name);
  using Keys = std::map<std::string, std::vector<Seq>>;
  Keys payloads_of(std::uint32_t queue) const;
  void follow(const std::map<Seq, Seq>& moved);

  mutable std::map<std::uint32_t, std::size_t> numbers_;         // of definitions
  std::map<std::pair<std::string, std::string>, Time> put_off_;  // by queue and id
  Seq seen_ = 0;
};

}  // namespace ordo::simulation
