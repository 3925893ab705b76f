#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/dead_letter.hpp>
#include <ordo/error.hpp>
#include <ordo/finding.hpp>
#include <ordo/job.hpp>
#include <ordo/options.hpp>

namespace ordo {

/// The counts of one queue, or of all (docs/stats.md). Jobs, except where said.
struct QueueStats {
  std::uint64_t length = 0;  ///< all queued: due + scheduled + retrying
  std::uint64_t due = 0;
  std::uint64_t scheduled = 0;
  std::uint64_t retrying = 0;
  std::uint64_t running = 0;
  std::uint64_t awaiting = 0;
  std::uint64_t dead = 0;             ///< payloads
  std::uint64_t blocked_by_lock = 0;  ///< due ones whose lock is taken
  double lag = 0;                     ///< seconds since the earliest run_at of a queued job
  std::uint64_t processed = 0;        ///< jobs that ended well, for ever
  std::uint64_t failed = 0;           ///< failed runs, for ever
  bool paused = false;
  std::uint64_t unreadable = 0;            ///< what could not be read and went to the dead for that, for ever
  std::uint64_t blocked_by_window = 0;     ///< due ones that wait for a window to open
  std::uint64_t blocked_by_key = 0;        ///< ... whose key is taken
  std::uint64_t blocked_by_limit = 0;      ///< ... that a limit, or a limit's share, has no room for
  std::uint64_t blocked_by_rate = 0;       ///< ... that a rate lets start later
  std::uint64_t blocked_by_throttler = 0;  ///< ... that their queue's throttler has refused
  std::uint64_t blocked_by_suspect = 0;    ///< ... that wait for one that may kill its node (docs/retry.md)
  /// How many seconds the longest waiting of the other due ones has been due, by priority: ten at most, those
  /// that wait longest.
  std::map<std::int32_t, double> oldest_due{};
  std::uint64_t ready = 0;            ///< due ones that only wait for a thread
  std::uint64_t without_code = 0;     ///< ... that no living node has the code for
  std::uint64_t kept = 0;             ///< records of ended jobs and failed attempts
  std::optional<Time> kept_since{};   ///< the end of the oldest; nothing: there is none
  std::uint64_t kept_trimmed = 0;     ///< records that went before their time for want of room, for ever
  std::uint64_t waits_for_newer = 0;  ///< shards that no living node can own: a newer version wrote to them
  std::uint64_t dead_letters = 0;     ///< responses that no job has handled (Admin::dead_letters)
  std::uint64_t dead_trimmed = 0;     ///< dead payloads that `max_dead` or `dead_ttl` dropped, for ever
};

/// A run that was asked to stop, and goes on for more than 10 s: until it returns it keeps its key, its lock
/// and its thread.
struct StuckRun {
  std::string queue{}, kind{};
  std::string key{}, id{};  ///< of its first job
  Time since{};             ///< the store's, as it was asked

  bool operator==(const StuckRun&) const = default;
};

/// A kind whose code a node has and cannot start just now, or whose program ends badly time after time. No
/// attempt of a job is counted.
struct CannotStart {
  std::string queue{}, kind{};
  std::string why{};  ///< of its last start: "cannot run the command …"

  bool operator==(const CannotStart&) const = default;
};

/// That, as all tools say it: "node n1 cannot start kind 'charge' of queue 'orders': cannot run …".
[[nodiscard]] std::string to_string(std::string_view node, const CannotStart& what);

/// A living node that cannot do its work, as it says itself.
struct FailingNode {
  std::string id{};
  std::string commit_error{};  ///< why what has ended cannot be written; empty: it can
  Time commit_error_since{};   ///< of no meaning without one
  std::vector<CannotStart> cannot_start{};
  std::vector<StuckRun> stuck_runs{};  ///< 16 at most, the oldest
};

/// What a source of this config has brought, for ever. Admin::sources() tells more, and asks its origin.
struct SourceCounts {
  std::string name{};
  std::uint64_t taken = 0;
  std::uint64_t refused = 0;   ///< jobs that cannot be run
  std::optional<Time> last{};  ///< when jobs of it were stored last
};

struct Stats {
  QueueStats total{};  ///< its lag is the maximum; `paused` has no meaning
  std::vector<std::pair<std::string, QueueStats>>
      by_queue{};                            ///< every queue of config or store, config order first
  std::vector<FailingNode> failing_nodes{};  ///< none: all is well
  std::vector<SourceCounts> sources{};       ///< in the order of the config
};

/// The counts of one shard, and who has it.
struct ShardStats {
  std::string queue{};
  std::uint32_t shard = 0;
  std::string owner{};  ///< the id of a living node; empty: none
  QueueStats counts{};  ///< without what is told by queue only: `ready`, `without_code`, `waits_for_newer`
};

/// What a queue does just now.
enum class QueueState : std::uint8_t {
  running,
  pausing,     ///< it is paused, and some of its jobs still run
  paused,      ///< nothing of it runs or starts
  resharding,  ///< also when that was stopped half-way
};

/// "running", "pausing", … as shown by the CLI.
[[nodiscard]] std::string_view to_string(QueueState state);

/// A queue as the store knows it.
struct QueueView {
  std::string name{};
  std::uint32_t shards = 0;
  QueueState state = QueueState::running;
  /// Of its definition: another one after a reshard, and when it was removed and made again. 0: the store
  /// does not have it yet.
  std::uint32_t number = 0;
};

/// Makes what the store of `config` needs before its first use: the file of SQLite, the tables of PostgreSQL,
/// in one transaction. Without it the first push or node does. False: it was there, or needs nothing (Redis).
/// Blocks until it is durable. Throws Error as a Client; a store of another schema is refused, and nothing is
/// changed.
bool migrate(const Config& config);

/// The SQL that migrate() runs in PostgreSQL, as a script for psql: for the role that Ordo is to use. Asks no
/// store. Throws Error{unsupported} for any other store.
std::string schema_sql(const Config& config);

/// A schedule, and how far it is (docs/periodic.md).
struct PeriodicView {
  PeriodicOptions options{};  ///< of the node that counts, or of this config if no node states it
  bool stated = false;        ///< by a node; else nothing is pushed
  bool paused = false;
  std::optional<Time> last{};  ///< the tick that was pushed last
  std::vector<Time> next{};    ///< the next five, from now on, whether it is paused or not
  std::uint64_t pushed = 0;    ///< ticks, for ever
  std::uint64_t missed = 0;    ///< ticks that were passed over as `options.missed` says, for ever
  std::uint64_t skipped = 0;  ///< ticks that were not pushed as the job of an earlier one was there, for ever
  std::string held_by{};      ///< id of the job of an earlier tick that holds back the next one; empty: none
  std::string failing{};      ///< id of a tick's job that waits for its retry; empty: none
  std::uint32_t failures = 0;  ///< how often that one has failed
};

/// The first `count` ticks of a schedule after that time, by its `cron` (and `tz`) or `every`: fewer where it
/// has no more within ten years. No store is asked. Throws Error{invalid_argument} for what is no schedule.
std::vector<Time> next_ticks(const PeriodicOptions& schedule, Time after, std::size_t count);

/// A source of this config, and how far it is (docs/sidekiq.md).
struct SourceView {
  SourceOptions options{};
  std::string origin{};                            ///< its address, without user and password
  std::uint64_t taken = 0;                         ///< jobs, for ever
  std::map<std::string, std::uint64_t> refused{};  ///< jobs, for ever, by why they cannot be run
  std::optional<Time> last{};                      ///< when jobs of it were stored last
  std::uint64_t waiting = 0;                       ///< jobs at the origin, and those taken but not stored
  std::optional<Duration> lag{};  ///< age of the oldest of them; nothing: there is none, or it does not say
  bool is_taken = false;          ///< a node takes jobs
  bool is_full = false;  ///< as many jobs of its queues as `ahead` says are due or run: it takes none
  /// Failed jobs that are still to be brought into Sidekiq's set `retry`.
  std::uint64_t hand_overs = 0;
  std::vector<std::string> others{};  ///< processes of Sidekiq that take from the same lists
  std::string trouble{};              ///< why it takes nothing, or cannot be looked at; empty: nothing
};

/// A queue of Lowkiq, for an import (docs/migrating.md).
struct LowkiqImport {
  std::string url{};     ///< of its Redis server, as in docs/redis.md
  std::string worker{};  ///< the name of its queue, as a rule the worker's class
  std::string queue{};   ///< of this config: gets the jobs
};

/// What an import has found, or has still to bring (docs/migrating.md).
struct ImportCounts {
  std::uint64_t waiting = 0, scheduled = 0, retrying = 0, dead = 0;

  [[nodiscard]] std::uint64_t all() const { return waiting + scheduled + retrying + dead; }
};

/// What it has brought, with earlier calls that were stopped.
struct ImportResult {
  std::uint64_t imported = 0;
  std::map<std::string, std::uint64_t> refused{};  ///< jobs that went to the dead, by why
};

struct NodeView {
  std::string id{};
  std::string host{};
  std::int64_t pid = 0;
  std::uint32_t threads = 0;
  std::vector<std::string> queues{};
  std::vector<std::string> sources{};  ///< that its config has: one node at a time takes of each
  Time started{};
  std::uint64_t shards = 0;  ///< leases it holds
  bool alive = true;         ///< false: its process is known to have ended
  bool quiet = false;        ///< it takes no more jobs: it was asked to, or stops
  /// The placement groups that are on it, each as its queues in alphabetical order.
  std::vector<std::vector<std::string>> groups{};
  std::string version{};            ///< of its program; empty: an older one, which does not say
  std::optional<Duration> clock{};  ///< how far its clock is ahead of the store's, within half a second
  Duration heartbeat_age{};  ///< since it renewed its leases last, by the store's clock; 0: that was put back
  bool lost = false;         ///< longer ago than its lease: others may take its shards
};

/// Which job of a name is meant, where one waits beside one that runs.
enum class JobPhase : std::uint8_t {
  any,
  queued,   ///< due, scheduled or retrying
  running,  ///< runs, or waits for a response
};

/// Names one job, or all jobs with an id.
struct JobName {
  std::string id{};
  std::string kind{};  ///< empty: any
  std::string key{};   ///< empty: any, in all shards
  JobPhase phase = JobPhase::any;
};

/// What a listing is sorted by. Jobs that are equal in it stand in the order of starts.
enum class JobSort : std::uint8_t {
  start,   ///< what runs, then what is due and what will be, in the order in which they would start; the dead
           ///< by their first deaths
  run_at,  ///< the dead: by their last deaths
  id,
  retry_count,
};

/// The order of a listing, and where it begins. The dead stand behind all others.
struct Listing {
  JobSort sort = JobSort::start;
  bool descending = false;
  std::string after{};  ///< what the call for the page before returned; empty: it is the first
};

/// Which jobs are meant: those that all of it fits.
/// The place that Listing::after or RecordFilter::after says is of a queue that was resharded, or removed and
/// made again, since: start again without it.
class OldCursor final : public Error {
 public:
  explicit OldCursor(const std::string& message) : Error(ErrorKind::invalid_argument, message) {}
};

struct JobFilter {
  std::vector<JobStatus> states{};  ///< empty: all but the dead
  std::string id{};                 ///< empty: all
  std::string kind{};
  std::string key{};
  std::size_t limit = 1000;                 ///< of a listing
  std::string error{};                      ///< stands in the error of the last failed run, letter for letter
  std::optional<FailureKind> error_kind{};  ///< of that run
  std::optional<std::int32_t> retry_count{};
  std::optional<Time> since{};  ///< run_at is then or later; dead: died then or later
  std::optional<Time> until{};  ///< ... before that
  Listing listing{};
};

/// A failed attempt of a job.
struct AttemptView {
  std::optional<Time> started{};  ///< nothing: it is not known
  Time ended{};
  std::string node{};
  FailureKind error_kind = FailureKind::handler;
  std::string error{};
};

/// What is kept of a job that has ended, or of a failed attempt (docs/traces.md).
struct RecordView {
  std::string queue{};
  std::string kind{};
  std::string key{};
  std::string id{};
  JobStatus state = JobStatus::done;  ///< done, discarded, cancelled, expired, dead or failed
  std::optional<Time> pushed{};       ///< when its first payload came; nothing: it is not known
  std::optional<Time> started{};      ///< its first start, of a failed attempt its own; nothing: never
  Time ended{};
  std::string node{};  ///< where its last run was, or who decided
  std::int32_t retry_count = -1;
  FailureKind error_kind = FailureKind::handler;
  std::string error{};              ///< why it failed or died; of discarded and cancelled: why
  std::vector<Payload> payloads{};  ///< with `keep_payloads`
  bool is_cut = false;              ///< it had more payloads than there was room for
};

/// Which records are meant: those that all of it fits.
struct RecordFilter {
  std::vector<JobStatus> states{};  ///< empty: all
  std::string id{};                 ///< empty: all
  std::string kind{};
  std::string key{};
  std::string error{};  ///< stands in its error, letter for letter
  std::optional<FailureKind> error_kind{};
  std::optional<Time> since{};  ///< ended then or later
  std::optional<Time> until{};  ///< ... before that
  std::size_t limit = 1000;
  std::string after{};  ///< what the call for the page before returned; empty: it is the first
};

/// What many jobs can be asked for at once.
enum class JobChange : std::uint8_t { run_now, cancel, kill };

/// A payload in the dead set.
struct DeadView {
  std::uint64_t no = 0;  ///< names the row; rises with time
  std::string kind{};
  std::string key{};
  std::string id{};
  Payload payload{};
  Time died_at{};
  std::int32_t retry_count = -1;
  std::uint32_t crashes = 0;
  FailureKind error_kind = FailureKind::handler;
  std::string error{};
  std::optional<std::int32_t> priority{};  ///< as the push said
  std::optional<Duration> timeout{};
  std::vector<Window> windows{};
  std::optional<Decimal> weight{};
  std::optional<std::string> partition{};
  std::optional<bool> critical{};
  std::optional<std::string> lock{};
  std::optional<std::int32_t> max_retries{};
};

/// Which payloads of the dead set are meant: those that all of it fits. What is not set fits every one.
struct DeadFilter {
  std::optional<std::vector<std::string>> ids{};  ///< of jobs; an empty list: none
  std::string kind{};                             ///< empty: any
  std::string key{};
  std::string error{};                      ///< stands in the text of the error, letter for letter
  std::optional<FailureKind> error_kind{};  ///< why they died
  std::optional<std::int32_t> retry_count{};
  std::optional<Time> since{};  ///< died then or later
  std::optional<Time> until{};  ///< died before
};

/// How much of the dead set a filter fits.
struct DeadCount {
  std::uint64_t payloads = 0;
  std::uint64_t jobs = 0;
  Time until{};  ///< as DeadFilter::until it means just these: the moment behind the last death
};

/// What a job waits for, or a response that waits for a job.
struct WaitView {
  std::string key{};
  std::string job_kind{}, job_key{}, job_id{};  ///< empty: a response that nobody waits for yet
  Time since{};
  Time deadline{};  ///< of the wait; of such a response: until then it is kept
};

/// A dead job that was not brought back: `existing` has its unique key.
struct SkippedRetry {
  std::string id{};
  std::string existing{};
};

/// Where a reshard stands.
struct ReshardProgress {
  enum class Step : std::uint8_t {
    waiting,  ///< for the nodes to give the shards back; `done`: their running jobs that are not lent
    copying,
    closing,  ///< the queue is about to be closed: who stops the process from here on leaves it closed
  };
  Step step = Step::waiting;
  std::uint64_t done = 0;  ///< entries
  std::uint64_t all = 0;   ///< as estimated; more may be pushed
};

/// What a reshard moved.
struct ReshardResult {
  std::uint32_t from = 0;     ///< shards
  std::uint32_t to = 0;       ///< shards; the same: there was nothing to do
  std::uint64_t entries = 0;  ///< pushed payloads and controls
  std::uint64_t states = 0;   ///< jobs that have failed, waited or changed
  std::uint64_t dead = 0;     ///< dead payloads
};

/// A job that has a lock, or that counts in a limit.
struct GateHolder {
  std::string queue{};
  std::string id{};
};

/// What one limit stands at.
struct LimitView {
  std::string name{};       ///< of the queue or of the named limit; "Q critical" for that of critical jobs
  std::string partition{};  ///< of which value; empty: of all
  Decimal used{};           ///< sum of the weights of running jobs; of a rate: nothing
  Decimal limit{};          ///< likewise
  std::optional<RateLimit> rate{};  ///< it is one
  bool is_penalty = false;          ///< "Q penalty": a run said that nothing more may start until `free_at`
  std::uint64_t waiting = 0;        ///< due jobs that it refuses, where it is the first to do so
  std::vector<GateHolder>
      held_by{};                  ///< running and awaiting jobs: three of each shard at most; of a rate: none
  std::optional<Time> free_at{};  ///< of a rate: when it lets the next one start; nothing: at once
  bool is_set = false;            ///< by set_limit(), above the configs
  std::string version{};          ///< of what is set under its name; "0": nothing is
};

/// When jobs of one kind may start.
struct WindowView {
  std::string kind{};             ///< empty: of all kinds that have no windows of their own
  std::vector<Window> windows{};  ///< empty: always
  bool open = true;               ///< now
  /// (from, until) from now on, in their order, a hundred at most; the last may begin later than it was asked
  /// for, and Time::max() is the end of one that never ends. None: they never open again.
  std::vector<std::pair<Time, Time>> openings{};
  std::vector<Time> clock_changes{};  ///< when a clock of their zones is put forward or back
};

/// One lock that is held or waited for.
struct LockView {
  std::string name{};  ///< the queue's, or its lock_name
  std::string key{};
  std::vector<GateHolder> held_by{};  ///< running jobs: three of each shard at most
  std::uint64_t waiting = 0;          ///< due jobs
};

/// A change that somebody has asked for (docs/http.md, "Who changed what").
struct AuditEntry {
  Time at{};
  std::string who{};     ///< of a token: its name; "unix:NAME" of a program or command; "loopback"
  std::string action{};  ///< "pause", "cancel", "delete_dead" …
  std::string queue{};   ///< empty: of no queue
  /// Which of it, as a JSON object: ids, a filter, a limit, a node or a schedule; never a payload.
  std::string filter = "{}";
  std::optional<std::uint64_t> count{};  ///< how many there were
  std::string result{};                  ///< "done", "unchanged", or "failed: why"
};

/// Which changes are meant.
struct AuditFilter {
  std::vector<std::string> queues{};  ///< only of these; empty: all changes
  std::string after{};                ///< what the call for the page before returned; empty: it is the first
};

/// Somebody else has changed what was looked at since: nothing was done.
class ChangedSince final : public Error {
 public:
  explicit ChangedSince(const std::string& message) : Error(ErrorKind::conflict, message) {}
};

/// The one surface under CLI, HTTP and scripts: looks and manages. The store keeps who has changed what.
///
/// Thread-safe. Every call talks to the store and blocks for it; throws Error{unavailable} when it cannot be
/// reached and Error{invalid_argument} for an unknown queue (the message has the nearest names). Calls that
/// change something return when the wish is durable; the owner of the shard carries it out.
class Admin {
 public:
  /// Opens the store. Throws Error{invalid_argument} when its SQLite file is not there: a Client or a Server
  /// makes it, who only looks does not.
  explicit Admin(Config config);
  ~Admin();
  Admin(Admin&&) noexcept;
  Admin& operator=(Admin&&) noexcept;

  /// Of the given queues: names, or beginnings of names with a * behind; none: of all. Nothing of the others
  /// is read. Throws Error{invalid_argument} for one that fits no queue.
  [[nodiscard]] Stats stats(const std::vector<std::string>& queues = {});
  /// The same by shard, in the order of the queues' names.
  [[nodiscard]] std::vector<ShardStats> shard_stats(const std::vector<std::string>& queues = {});
  [[nodiscard]] std::vector<QueueView> queues();
  [[nodiscard]] std::vector<NodeView> nodes();

  /// What limits, rates and shares stand at, of this program's config and of all running nodes: their owners
  /// tell it within a second. Of each shard a hundred that are used or waited for.
  [[nodiscard]] std::vector<LimitView> limits();
  /// Sets the limit or the rate (or both) of a queue or of a named limit, above what configs say, until
  /// unset_limit(): nodes obey within a second or two, what runs goes on. It says nothing of the other one;
  /// shares are parts of the new limit, a rate for each partition value keeps its `each`. False: no config of
  /// a running node, nor this program's, has such a limit or rate under that name, and nothing was done.
  /// Throws Error{invalid_argument} for values that a config would refuse.
  ///
  /// `seen`: a LimitView::version. Throws ChangedSince if another one is set by now.
  bool set_limit(std::string_view name, const std::optional<Decimal>& limit,
                 const std::optional<RateLimit>& rate, const std::optional<std::string>& seen = {});
  /// Configs count again. False: nothing was set. `seen`: as above.
  bool unset_limit(std::string_view name, const std::optional<std::string>& seen = {});
  /// The same for locks that are held or waited for: those of the jobs of one queue, or all.
  [[nodiscard]] std::vector<LockView> locks(const std::optional<std::string>& queue = {});

  /// Looks at the store's version, settings, rights and room, at its clock beside this machine's, and at
  /// nodes that do not answer. May read a small store whole.
  [[nodiscard]] std::vector<Finding> examine();

  /// What keeps jobs of any queue from their work just now, as the stats, nodes, limits and running jobs
  /// tell: what needs a person first, then by the number of jobs. Part of examine(); takes as long as a
  /// listing of running jobs, and reads a dead set of at most 10,000 payloads.
  [[nodiscard]] std::vector<Finding> problems();

  /// When jobs of the queue, and of its kinds with windows of their own, may start within `ahead`, by the
  /// windows of this program's config. The first is of the queue itself. Reads the queue's name and the time
  /// alone.
  [[nodiscard]] std::vector<WindowView> windows(std::string_view queue,
                                                Duration ahead = std::chrono::hours{24});

  /// Asks a node, wherever it runs, to take no more jobs; or to stop as at a TERM signal (`ordo work` ends; a
  /// program's own Server returns from wait()). It follows within its next look at the store, at most
  /// `poll_interval`. False: no such node.
  bool quiet_node(const std::string& id);
  bool stop_node(const std::string& id);

  /// Running jobs, then those that are due and those that will be, in the order they would start or in
  /// another (JobFilter::listing); then the dead, if they are asked for. The nodes that own the shards tell
  /// them, within 2 s at most. Shards that nobody tells of, or that have over 10,000 jobs unless an id or a
  /// key is named, are rebuilt from the store: their whole logs are read, and about 200 bytes needed for each
  /// job of a million, or of the largest shard. What is shown is the same. `visit` returns false to stop;
  /// payloads are read for a few jobs at a time, as they are visited. What has ended meanwhile is left out.
  /// Returns where to go on (Listing::after): behind the last job that `visit` returned true for.
  std::string jobs(std::string_view queue, const JobFilter& filter,
                   const std::function<bool(JobView)>& visit);
  /// The same, with the payloads of all of them at once.
  [[nodiscard]] std::vector<JobView> jobs(std::string_view queue, const JobFilter& filter = {});

  /// What is kept of jobs that have ended and of failed attempts, newest first: the store is asked. Whoever
  /// reads jobs() first and then these misses no job. What is past its `keep` is not there, whether it is
  /// trimmed yet or not. `visit` returns false to stop. Returns as jobs() does.
  std::string records(std::string_view queue, const RecordFilter& filter,
                      const std::function<bool(const RecordView&)>& visit);

  /// Takes away what is kept of an id, and its dead payloads; a job of it that lives goes on. How many there
  /// were. Done when it returns; what an error has cut short is done by another call.
  std::size_t forget(std::string_view queue, const JobName& job);

  /// All jobs that fit, but not the dead, for who takes them away: shard by shard, and in the order of starts
  /// within each, so that jobs of a key stay in order. Needs what jobs() needs, whatever their number;
  /// `limit` and `listing` have no meaning, and the views say nothing of what the jobs wait for.
  void export_jobs(std::string_view queue, const JobFilter& filter,
                   const std::function<bool(JobView)>& visit);
  /// How many jobs fit, the dead left out.
  [[nodiscard]] std::uint64_t count_jobs(std::string_view queue, const JobFilter& filter);
  /// Asks the owners to make due, to remove, or to move to the dead set, all waiting jobs that fit:
  /// `filter.states` has some of due, scheduled and retrying, else it throws Error{invalid_argument}. One
  /// that has started by then goes on, and `kill` leaves a job beside a running one of its name alone.
  /// Returns how many were asked for; what is asked for when an error ends it stays asked for.
  std::uint64_t change_jobs(std::string_view queue, const JobFilter& filter, JobChange change);

  /// End a queued or running job, or make it due now. False: no such job is queued or runs; nothing was done.
  /// Throws Error{conflict} when jobs of several kinds or keys fit, and names them; cancel where one waits
  /// beside one that runs, unless `job.phase` says which; run_now for one that runs or waits for a response.
  /// Looks for the job as jobs() does; with its key in one shard only.
  bool cancel(std::string_view queue, const JobName& job);
  bool run_now(std::string_view queue, const JobName& job);
  /// Moves a waiting job to the dead set, with all its payloads: it can be brought back from there. What is
  /// pushed of its id later is another job. Throws as run_now() does, and also where it waits beside one of
  /// its name that runs or waits for a response.
  bool kill(std::string_view queue, const JobName& job);
  /// Gives a waiting job another time, later or earlier; its retries stay as they are. Throws as run_now()
  /// does, and Error{invalid_argument} for a time that cannot be written.
  bool reschedule(std::string_view queue, const JobName& job, Time run_at);

  /// Replaces a payload of a waiting job. Its score, the job's time, retries and unique keys stay; partition
  /// and lock follow the payload of a job that never had another (docs/jobs.md). `score`: which one, of a job
  /// that has several. The owner of the job carries it out; a job that has started by then keeps the payload
  /// it runs with. False and exceptions: as run_now(). Throws Error{conflict} also when the score does not
  /// say which payload is meant, and Error{invalid_argument} when `payload` is too large.
  bool edit(std::string_view queue, const JobName& job, const std::string& payload,
            std::optional<double> score = {});

  /// What jobs of the queue wait for, and responses that nobody waits for yet, by key.
  std::vector<WaitView> waits(std::string_view queue);
  /// Responses that no job of the queue has handled, or will: the last 1,000 of 7 days, the oldest first.
  /// `visit` returns false to stop.
  void dead_letters(std::string_view queue, const std::function<bool(const DeadLetter&)>& visit);

  /// Dead payloads that fit, one after the other of each job, the jobs in the order of their first deaths.
  /// `visit` returns false to stop.
  void dead(std::string_view queue, const DeadFilter& filter,
            const std::function<bool(const DeadView&)>& visit);
  /// The same by job, with all payloads of each that fit, in any order. What a job shows beside its payloads
  /// is that of its last death. Returns as jobs() does.
  std::string dead_jobs(std::string_view queue, const DeadFilter& filter, const Listing& listing,
                        const std::function<bool(JobView)>& visit);
  /// How many there are. Reads the dead set in pages; needs 8 bytes for each payload that fits.
  DeadCount count_dead(std::string_view queue, const DeadFilter& filter = {});
  /// Bring back or delete the payloads that fit, in pages: what is done when an error ends it stays done.
  /// Return how many payloads. What dies meanwhile is meant, too, unless `until` says otherwise.
  /// `skipped` hears of dead jobs whose unique key another job has by now: they stay dead. Throw
  /// Error{conflict}, and do nothing, when jobs of several kinds or keys that fit have one of the
  /// `ids`.
  std::size_t retry_dead(std::string_view queue, const DeadFilter& filter,
                         const std::function<void(const SkippedRetry&)>& skipped = {});
  std::size_t delete_dead(std::string_view queue, const DeadFilter& filter);
  /// Brings a dead payload back as another one, in one step: both or neither. Its score stays. What else of
  /// the job is dead stays dead. False: there is no such dead job. Throws as edit() does, and Error{conflict}
  /// when another job has the unique key by now.
  bool edit_dead(std::string_view queue, const JobName& job, const std::string& payload,
                 std::optional<double> score = {});

  /// The sources of this config, in its order. Asks each origin, and waits up to 5 s for one that is silent.
  std::vector<SourceView> sources();
  /// A source that has stopped because its server has lost writes goes on from where that server is now.
  /// Throws Error{invalid_argument} with the nearest names for one that this config does not have, and
  /// Error{conflict} for one that has not stopped for that.
  void reset_source(std::string_view source);

  /// What import_jobs() would bring.
  ImportCounts importable(const SourceOptions& from);
  /// Moves all jobs of a stopped Sidekiq, Verk or Resque into queues of this store: those that wait, are in
  /// progress (Verk), scheduled, retrying, or dead. `from` as a source, without a name and queues: all lists
  /// are read. Each job comes once, and after an end at any moment the same call goes on. `progress` is
  /// told how many jobs were found at first, and how many are left. Throws Error{invalid_argument};
  /// Error{unavailable}.
  ImportResult import_jobs(const SourceOptions& from,
                           const std::function<void(std::uint64_t found, std::uint64_t left)>& progress = {});
  /// The same of a queue of a stopped Lowkiq: its dead, what was in progress, and what waits, with ids,
  /// scores, times and the retries that are left. Scheduled ones count as waiting. Dead ones first: a job of
  /// the same id that already waits in the queue here would die with them. Throws Error{conflict} also while
  /// a node serves the queue.
  ImportCounts importable(const LowkiqImport& from);
  ImportResult import_jobs(const LowkiqImport& from,
                           const std::function<void(std::uint64_t found, std::uint64_t left)>& progress = {});

  /// The schedules that nodes or this config state, in alphabetical order. What has changed within the last
  /// second may be missing.
  std::vector<PeriodicView> periodic();
  /// Pushes one job of the schedule now, also while it is paused; its id.
  std::string run_periodic(std::string_view schedule);
  /// A schedule that is paused pushes nothing more; resumed, it goes on from now on. Throws
  /// Error{invalid_argument} with the nearest names for one that nobody states.
  void pause_periodic(std::string_view schedule);
  void resume_periodic(std::string_view schedule);

  /// False: it was so already, and nothing has changed.
  bool pause(std::string_view queue);
  bool resume(std::string_view queue);

  enum class RemoveJobs { refuse, with_jobs };
  /// False: the queue still has jobs or dead payloads and `refuse` was asked.
  bool remove(std::string_view queue, RemoveJobs jobs = RemoveJobs::refuse);

  /// Changes the number of a queue's shards (docs/reshard.md). Producers push on, and running jobs go on; no
  /// other job of the queue starts until it is done. Order per key, merging, retries, the dead and the counts
  /// stay.
  ///
  /// Owns the queue's shards for its time, as a node does; blocks. Stopped at any moment, however hard, it is
  /// called again: before its last second the nodes go on with the old shards meanwhile, after that producers
  /// and nodes wait for it. Memory: up to 16 bytes an entry. `progress` is called now and then on this
  /// thread. Throws Error{unavailable} also when another reshard is at work.
  ReshardResult reshard(std::string_view queue, std::uint32_t shards,
                        const std::function<void(const ReshardProgress&)>& progress = {});

  /// The same Admin: what is changed by it is noted as done by `who`. Without, it is "unix:NAME", the user of
  /// this process.
  [[nodiscard]] Admin acting_as(std::string who) const;
  /// The changes of the last 90 days, at most the last 100,000, the newest first. `visit` returns false to
  /// stop. Returns where to go on (AuditFilter::after): behind the last that `visit` returned true for.
  std::string audit(const AuditFilter& filter, const std::function<bool(const AuditEntry&)>& visit);
  /// Adds a change that was not made by an Admin, such as a response that somebody gave by hand. Its time and
  /// who did it are filled in.
  void note(AuditEntry entry);

  class Impl;  ///< Ordo's own
  explicit Admin(std::shared_ptr<Impl> impl);

 private:
  class Place;
  Admin(std::shared_ptr<Place> place, std::string who);
  template <class Change>
  auto change(AuditEntry entry, const Change& change);
  std::shared_ptr<Impl> impl();

  std::shared_ptr<Place> place_;
  std::string who_;  ///< empty: the user of this process
};

}  // namespace ordo
