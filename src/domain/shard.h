#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ordo/events.hpp>
#include <ordo/options.hpp>
#include <ordo/worker.hpp>

#include "domain/due_jobs.h"
#include "domain/entry.h"
#include "domain/key_line.h"
#include "domain/records.h"

namespace ordo::domain {

/// An entry with its place in the log. `entry` points into bytes of the caller.
struct LoggedEntry {
  Seq seq = 0;
  Time at{};  ///< the store's time at append
  Entry entry;
  bool set_aside = false;  ///< as Changes says
};

/// A batch to start.
struct Run {
  RunNo no = 0;
  std::string kind;
  std::vector<BatchJob> jobs;  ///< payloads are filled in unless `missing` says otherwise
  Duration timeout{};          ///< the shortest of its jobs
  Risk risk = Risk::normal;
  std::vector<Seq> missing;  ///< payloads to be fetched and given to Shard::provide(), ascending
};

/// What a node lets a shard start just now.
struct Admission {
  bool normal = true;     ///< jobs that are neither
  bool suspects = true;   ///< no witness or suspect runs on the node
  bool witnesses = true;  ///< no suspect runs on the node
  /// What the node that is to execute the run has code for; null: the kinds switched on with serve().
  const std::set<std::string, std::less<>>* kinds = nullptr;
  /// Kinds of these no more can start here just now; null: none.
  const std::set<std::string, std::less<>>* without = nullptr;

  bool admits(const std::string& kind, bool served) const {
    if (kinds != nullptr) return kinds->contains(kind);
    return served && (without == nullptr || !without->contains(kind));
  }
};

/// What is known of the node that executes a lent run.
enum class Borrower : std::uint8_t {
  alive,
  lapsed,  ///< it lives, but its leases ended since: it has stopped the run
  dead,
};

/// What a shard wants written; the rest of a commit (lease, batch number) is its owner's.
struct Changes {
  std::vector<Seq> erase;
  std::vector<std::pair<Seq, JobState>> states;
  std::vector<Seq> erase_states;
  std::vector<DeadPayload> dead;
  std::vector<Seq> set_aside;  ///< entries of jobs that wait for over a minute: not to stand in others' room
};

/// A queued or running job, for listings and for comparing a shard with its rebuild.
struct JobSnapshot {
  std::string kind, key, id;
  Place place = Place::nowhere;
  std::vector<std::pair<Seq, double>> pieces;  ///< (entry, score) in order
  std::vector<std::string> payloads;           ///< empty strings where not in memory
  Time run_at{};
  std::int32_t priority = 100;
  std::int32_t retry_count = -1;
  std::uint32_t crashes = 0;
  JobOptions options;
  std::string error;

  bool operator==(const JobSnapshot&) const = default;
};

/// One shard of a queue: a deterministic state machine over its log (docs: ARCHITECTURE.md, "The life of one
/// job").
///
/// It is told of entries, ends of runs, durable commits and the time, and answers with runs to start and
/// changes to write. It does no I/O and reads no clock: same inputs, same outputs. Order and merging: shared
/// rules §1 to §3. `now` is the store's time and may jump. Not thread-safe. The budget must outlive the
/// shard.
class Shard {
 public:
  Shard(const QueueOptions& options, PayloadBudget& budget);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // --- take-over: once, before anything else ---

  struct Takeover {
    bool clean = true;     ///< the last owner released the shard
    bool crashed = false;  ///< its node died: marked jobs count a crash
    Seq head = 0;          ///< last entry of the log at the acquisition
    Time now{};
    ShardId shard{};
    std::uint64_t token = 0;  ///< of the lease
  };
  /// The states go with entries that are applied later; a job of an unclean take-over is a witness.
  void load(const Takeover& takeover, std::vector<std::pair<Seq, JobState>> states, const Counts& counts);

  /// A state that cannot be read; after load(). The payloads of its job that stand in the log at the
  /// take-over die with these bytes beside them: nobody knows how often they failed, or what they wait for.
  void lose_state(Seq first, std::string bytes, const std::string& why);

  // --- inputs ---

  /// The next entry of the log.
  void apply(const LoggedEntry& logged, Time now);
  /// The next entry of the log, which cannot be read: it goes to the dead as it is.
  void apply_unreadable(Seq seq, std::string_view bytes, const std::string& why);

  /// The log has been read up to the head of the take-over: what crashed too often dies now.
  void ready(Time now);

  /// The log of this shard has been read up to here.
  void read_through(Seq seq) { through_ = std::max(through_, seq); }

  enum class Taken { none, ready, pending };
  /// The next batch that may start, in the order of the rules. `pending`: it waits for the commit that marks
  /// its jobs and comes out of released() then. Kinds switched off with serve() are passed over.
  Taken take(Time now, const Admission& admission, Run& run);

  /// Payloads that a run was missing, ascending; false while some still are.
  bool provide(RunNo no, std::span<const std::pair<Seq, std::string_view>> payloads);
  /// Those that are missing still, ascending.
  std::vector<Seq> missing(RunNo no) const { return describe(no, runs_.at(no)).missing; }
  /// Fills in the payloads of a run whose bytes are all provided.
  void fill(Run& run);
  /// What was not provided is in the store no more: those payloads die, and their jobs' others go on. So do
  /// the other jobs of the run.
  void lose_missing(RunNo no, Time now);

  /// The run is executed by `node` from the next commit on, until `session` of it is over. Its end comes
  /// through the log; ended() is not called.
  /// `going`: it runs there already, and the shard goes elsewhere.
  void lend(RunNo no, std::string_view node, std::uint64_t session, bool going = false);
  /// Puts back the jobs of lent runs whose borrower is not alive, and raises the fence: what such a run still
  /// does elsewhere can be told from the next one. A dead borrower counts against marked jobs.
  void take_back(const std::function<Borrower(const std::string& node, std::uint64_t session)>& look,
                 Time now);

  /// The run was not started, and is not to be: its jobs are queued where they were, with what came for them
  /// meanwhile, as if they had never been taken. (Of a run that waited for marks they are put back.)
  void recall(RunNo no, Time now);
  /// A job is due that comes before one of the run's by its priority.
  bool is_overtaken(RunNo no, Time now, const Admission& admission);
  /// False: is_overtaken() never holds.
  bool mixes_priorities() const { return mixed_priorities_; }

  /// Its first job was seen to start: watchers are told, if they were not yet.
  void started(RunNo no);

  /// A run has ended: one end per job, in the order of the run.
  void ended(RunNo no, const std::vector<JobEnd>& ends, Time now);

  /// Every change collected last is durable.
  void committed(Time now);

  /// Switches a kind on or off for take().
  void serve(std::string_view kind, bool on);

  // --- outputs ---

  bool has_changes() const;
  /// About how many rows the next collect() brings, without those to be set aside.
  std::size_t changed_rows() const { return changes_.erase.size() + changes_.dead.size() + dirty_.size(); }
  /// What is to be written now; one at a time: committed() before the next. At most `set_aside` entries are
  /// set aside, and the others next time.
  Changes collect(std::size_t set_aside = 0);
  /// So many entries are to be set aside: that alone is no change, and has time.
  std::size_t to_set_aside() const { return changes_.set_aside.size(); }

  /// Runs that waited for their marks and may start.
  std::vector<Run> released();

  /// Why what went to the dead could not be read, since the last call.
  std::vector<std::string> unreadable();

  /// Nodes that had no room for a run they were lent, since the last call.
  std::vector<std::string> declined();

  /// Runs to be asked to stop, since the last call: their jobs were cancelled. Not those that are lent.
  std::vector<RunNo> stops();

  /// What happened since the last call; empty unless watch(true).
  std::vector<Event> events();
  void watch(bool on) { watched_ = on; }

  /// Off for a store that has no use for it. Before the first entry.
  void sets_aside(bool on) { sets_aside_ = on; }

  /// Payloads whose death became durable since the last call, as retries_exhausted() gets them: those of one
  /// run, which are of one kind, together.
  std::vector<std::vector<JobView>> deaths();

  /// When something becomes due next; none while something is due already or nothing waits.
  std::optional<Time> next_due() const;
  /// The earliest run_at of the jobs that take() may start, whichever is first; none: there is none.
  std::optional<Time> oldest_due(Time now, const Admission& admission);

  Counts counts(Time now);
  Seq through() const { return through_; }
  std::size_t running() const { return runs_.size(); }  ///< with those that are lent
  /// What workers see: rises with every owner, and when a lent run is taken back.
  std::uint64_t fence() const { return fence_; }
  std::size_t lent() const { return lent_; }
  /// `risk`: only those.
  std::size_t lent_to(std::string_view node, std::optional<Risk> risk = {}) const;
  /// How many jobs a run has; nothing: it is not running.
  std::optional<std::size_t> jobs_of(RunNo no) const {
    const auto run = runs_.find(no);
    return run == runs_.end() ? std::nullopt : std::optional(run->second.jobs.size());
  }
  std::size_t jobs() const { return job_count_; }
  std::vector<std::string> kinds() const;
  std::size_t kind_count() const { return kinds_.size(); }
  /// The run take() made last.
  RunNo last_run() const { return last_run_; }
  Risk risk_of_run(RunNo no) const { return runs_.at(no).risk; }

  /// All jobs in the order they would start. `rebuilt`: as a rebuild would see them, running jobs queued
  /// again.
  enum class View { live, rebuilt };
  std::vector<JobSnapshot> snapshot(View view) const;

  /// Calls `visit(const Job&, const std::string& kind)` for every queued or running job, in no order.
  template <class Visit>
  void each_job(Visit visit) const {
    table_.each([&](const Job& job) {
      if (job.place != Place::ending) visit(job, kinds_[job.kind]->name);
    });
  }

 private:
  struct Kind {
    Kind(std::string kind, QueueOptions options, DueBefore before);

    std::string name;
    QueueOptions rules;
    bool served = true;
    std::array<DueJobs, kRisks> due;
  };
  struct Lent {
    LentName name;
    std::string node;
    std::uint64_t session = 0;
    std::uint64_t fence = 0;
    bool stop = false;
    bool going = false;
    Duration timeout{};
    std::vector<std::uint32_t> places;  // of the run's jobs in the batch that was lent
    std::string fields;                 // kept for a version that knows them
  };
  struct Active {
    std::vector<Job*> jobs;
    Risk risk = Risk::normal;
    Time started{};
    bool marking = false;
    bool told = false;  // watchers, of the start
    std::optional<Lent> lent;
  };

  // Applying the log (shard_apply.cpp)
  static constexpr std::size_t kMaxKinds = 65'535;
  std::optional<std::uint16_t> find_kind(std::string_view name) const;
  /// Nothing: there are too many of them.
  std::optional<std::uint16_t> kind_index(std::string_view name);
  void apply_payload(const LoggedEntry& logged, Time now);
  void apply_control(const LoggedEntry& logged, Time now);
  std::vector<Job*> targets_of(const Entry& control) const;
  void cancel(Job& job, Seq control);
  void run_now(Job& job, const LoggedEntry& logged, Time now);
  Piece piece_of(const LoggedEntry& logged, const Job* job, Time now);
  void create_job(std::uint16_t kind, const LoggedEntry& logged, Piece piece, Time now);
  void merge_into(Job& job, const LoggedEntry& logged, Piece piece, Time now);
  void move(Job& job, std::optional<Time> run_at, Time now);
  void restore_state(Job& job, const JobState& state);
  void restore_mark(Job& job, Mark mark);
  bool add_piece(Job& job, Piece piece, bool set_aside = false);
  void keep_fields(Job& job, const LoggedEntry& logged) const;

  // What cannot be read (shard_unreadable.cpp)
  struct LostState {
    std::string bytes, why;
  };
  using Name = std::tuple<std::string, std::string, std::string>;  // kind, key, id
  bool loses(const LoggedEntry& logged);
  void bury(const LoggedEntry& logged, std::string state, const std::string& why);
  void note_unreadable(DeadPayload dead);
  void die_with_lost_state(Job& job);
  void note_merged(Job& job, const PayloadSet::Merged& merged);

  // Lent runs (shard_lent.cpp)
  void restore_lent(const std::vector<LentRun>& runs);
  void resume_lent(Job& job, RunNo no, std::size_t index);
  void give_up_incomplete(Time now);
  void apply_end(const LoggedEntry& logged, Time now);
  std::vector<LentRun> lent_runs() const;
  bool is_lent(const Job& job) const;

  // Order (shard_order.cpp)
  void promote(Time now);
  static void set_time(Job& job, Time run_at);
  void place(Job& job, Time now);
  void set_aside(Job& job, Time now);
  static bool keeps_room(const Piece& piece);
  void arrive_due(Job& job, Time now);
  void insert_due(Job& job, Time now);
  void park(Line& line, Job& job);
  void take_key(Job& job);
  void leave_place(Job& job);
  void release_front(Job& job, Time now);
  void protect_front(const Job& newcomer);
  Risk risk_of(const Job& job, Time now) const;
  void set_priority(Job& job);
  Job* best_due(Time now, const Admission& admission);
  template <class Visit>
  void each_admitted(const Admission& admission, Visit visit);
  DueJobs& due_set(const Job& job) { return kinds_[job.kind]->due[static_cast<std::size_t>(job.risk)]; }

  // Runs (shard_run.cpp)
  void activate(Job& job);
  void start(Job& job, Active& run);
  void finish(Job& job);
  void leave_run(Job& job);
  void go_back(Job& job, Time now, bool held);
  void join_beside(Job& job);
  void settle(Job& job);
  void leave_bytes(Job& job, Time now);
  void recall(Job& job, Time now);
  void fail(Job& job, const Active& run, const JobEnd& end, Time now);
  void die(Job& job, FailureKind kind, const std::string& error, Time now);
  void bury(const Job& job, const Piece& dying, FailureKind kind, const std::string& error, Time now);
  void run_died();
  void end_one(Job& job, const Active& run, const JobEnd& end, Time now);
  void emit(EventType type, const Job& job, Time now, Duration took = {}, std::string error = {});
  Run describe(RunNo no, const Active& active) const;
  BatchJob deliver(const Job& job) const;
  void count_crash(JobExtra& extra, Time now) const;
  bool crashed_too_often(const Job& job) const;
  void die_of_crashes(Job& job, Time now);

  // States (shard.cpp)
  void dirty(Job& job);
  void clean(Job& job);
  JobState state_of(const Job& job) const;
  void forget(Job& job);
  bool strict() const { return options_.key_order == KeyOrder::strict; }

  QueueOptions options_;
  PayloadBudget& budget_;
  DueBefore before_;
  KeyTable table_;
  std::vector<std::unique_ptr<Kind>> kinds_;
  std::unordered_map<std::string_view, std::uint16_t> kind_places_;  // by name
  LaterSet later_;
  std::set<std::pair<Time, Seq>> parked_times_;  // of parked jobs, for the lag

  std::unordered_map<RunNo, Active> runs_;
  std::size_t lent_ = 0;
  std::uint64_t fence_ = 0;
  bool lent_changed_ = false;
  std::unordered_map<Seq, int> cancels_;  // controls that wait for the end of so many running jobs
  RunNo last_run_ = 0;
  Seq through_ = 0;
  Seq witness_through_ = 0;  // jobs up to here were there when a node died
  Takeover takeover_;
  bool mixed_priorities_ = false;
  bool watched_ = false;
  bool sets_aside_ = true;

  std::unordered_map<Seq, JobState> restored_;       // states that wait for their entry
  std::unordered_map<Seq, double> restored_scores_;  // scores that wait for their entry
  std::unordered_map<Seq, LostState> lost_states_;   // that wait for their entry
  std::map<Name, std::string> lost_names_;           // jobs of lost states, and why, until the load has ended
  std::unordered_set<Seq> lent_pieces_;              // of lent runs, until the load has ended
  std::unordered_map<Seq, std::pair<RunNo, std::size_t>>
      lent_jobs_;  // by the last piece: run and index there

  std::size_t job_count_ = 0;
  std::size_t queued_ = 0;    // all but running, ending
  std::size_t retrying_ = 0;  // of those in later_, the ones that have failed
  std::size_t running_ = 0;   // jobs, not runs
  std::uint64_t processed_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t unreadable_ = 0;
  std::string copied_;         // kept for who copies into this shard
  std::string counts_fields_;  // kept for a version that knows them

  // To be written, and being written
  Changes changes_;
  std::vector<Job*> dirty_;
  std::vector<Job*> ended_, ended_in_flight_;
  std::vector<Job*> settling_, settling_in_flight_;
  std::vector<RunNo> marking_, marking_in_flight_;
  std::vector<Job*> doomed_;  // crashed too often; they die in ready()

  std::vector<Run> released_;
  std::vector<RunNo> stops_;
  std::vector<std::string> unreadable_why_;
  std::vector<std::string> declined_;
  std::vector<Event> events_;
  std::vector<JobView> dying_;  // of the run that is ending
  std::vector<std::vector<JobView>> deaths_, deaths_in_flight_, deaths_told_;
};

}  // namespace ordo::domain
