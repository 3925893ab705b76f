#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ordo/events.hpp>
#include <ordo/options.hpp>
#include <ordo/worker.hpp>

#include "domain/admission.h"
#include "domain/awaiting.h"
#include "domain/change_log.h"
#include "domain/entry.h"
#include "domain/hand_overs.h"
#include "domain/job_order.h"
#include "domain/kept_book.h"
#include "domain/key_table.h"
#include "domain/kind_table.h"
#include "domain/rate_book.h"
#include "domain/records.h"
#include "domain/restored.h"
#include "domain/run_table.h"
#include "domain/tick_book.h"
#include "domain/unique.h"
#include "domain/wait_note.h"

namespace ordo::domain {

struct GateKeys;

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

/// What is known of the node that executes a lent run.
enum class Borrower : std::uint8_t {
  alive,
  lapsed,  ///< it lives, but its leases ended since: it has stopped the run
  dead,
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
  /// `gates`: those of the node, which must outlive the shard; null: its jobs are held to no limits or locks.
  Shard(const QueueOptions& options, PayloadBudget& budget, Gates* gates = nullptr);
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
  /// What has been written of its rates, behind load(); `unreadable`: rows of those that are lost.
  void load_rates(RateRows rates, std::vector<Seq> unreadable = {});

  /// A state that cannot be read; after load(). The payloads of its job that stand in the log at the
  /// take-over die with these bytes beside them: nobody knows how often they failed, or what they wait for.
  void lose_state(Seq first, std::string bytes, const std::string& why) {
    restored_.lose(first, std::move(bytes), why);
  }

  // --- inputs ---

  /// The next entry of the log.
  void apply(const LoggedEntry& logged, Time now);
  /// The next entry of the log, which cannot be read: it goes to the dead as it is.
  void apply_unreadable(Seq seq, std::string_view bytes, const std::string& why);

  /// The log has been read up to the head of the take-over: what crashed too often dies now.
  void ready(Time now);

  /// What has expired ends. Payloads that are to die and are not in memory are wanted() first.
  void expire(Time now);
  /// Payloads of expired jobs, ascending, to be fetched and given to provide_expired(): some at a time.
  std::vector<Seq> wanted();
  /// `gone`: those that are wanted and not among them are in the store no more.
  void provide_expired(std::span<const std::pair<Seq, std::string_view>> payloads, bool gone, Time now);

  /// The log of this shard has been read up to here.
  void read_through(Seq seq) { through_ = std::max(through_, seq); }

  /// The job that is to start next, in the order of the rules; null: none may. Kinds switched off with
  /// serve() are passed over. For start(), and for a look at it; any other call may change it.
  Job* look(Time now, const Admission& admission) {
    Job* answered = awaiting_.ready(now, admission);
    return answered != nullptr ? answered : order_.best(now, admission);
  }
  /// Starts the job that look() has just given, and what goes with it in one batch. Nothing: the batch waits
  /// for the commit that marks its jobs, and comes out of released() then.
  std::optional<Run> start(Job& first, Time now);

  /// The suspect has run alone for long: others may start beside it once that is durable (shared()).
  void share(RunNo no);
  /// Runs of which that is durable.
  std::vector<RunNo> shared() { return std::exchange(shared_, {}); }
  /// Suspects that were lent so long ago.
  std::vector<RunNo> lent_alone_since(Time time) const { return runs_.lent_alone_since(time); }
  /// The marked runs of its node, for the counts; must outlive the shard, or the next call.
  void stand_among(const MarkedCompany* company) { company_ = company; }

  /// Nothing of it may start just now, whatever its limits admit: nobody waits for it.
  void keep_no_room() {
    order_.keep_no_room();
    awaiting_.let_turns_go();
  }

  /// Another shard of this node has a job whose turn it is before the one that look() gives; where values of
  /// a partition compete for a limit.
  std::optional<ShardId> who_has_the_turn(Time now, const Admission& admission) {
    const Job* first = look(now, admission);
    return first == nullptr || first->demand == nullptr || first->place == Place::awaiting
               ? std::nullopt
               : order_.gated()->who_has_the_turn(*first);
  }

  /// What look() gives is asked of a throttler before it starts, and nobody knows what that will say.
  bool may_be_refused(Time now, const Admission& admission);

  enum class Taken { none, ready, pending };
  /// look() and start(), once its queue's throttler has admitted it.
  Taken take(Time now, const Admission& admission, Run& run);

  /// What waited for its marks or its payloads may start still: the windows of its jobs are open. What
  /// `finish_by` leaves it is cut anew. False: it is to be recalled.
  bool may_still_start(Run& run, Time now);

  /// Payloads that a run was missing, ascending; false while some still are.
  bool provide(RunNo no, std::span<const std::pair<Seq, std::string_view>> payloads);
  /// Those that are missing still, ascending.
  std::vector<Seq> missing(RunNo no) { return describe(no).missing; }
  /// Fills in the payloads of a run whose bytes are all provided.
  void fill(Run& run, Time now);
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
  bool mixes_priorities() const { return order_.mixes_priorities(); }

  /// Its first job was seen to start: watchers are told, if they were not yet.
  void started(RunNo no);

  /// A run has ended: one end per job, in the order of the run.
  void ended(RunNo no, const std::vector<JobEnd>& ends, Time now);

  /// What the store was asked to close is closed: `is_answered`: its response is in the log, or in front of
  /// it. `jitter` as in JobEnd.
  void wait_closed(const std::string& wait, bool is_answered, double jitter, Time now);
  /// It could not be asked.
  void close_again(const std::string& wait) { awaiting_.close_again(wait); }
  void response_kept(Seq entry) { changes_.erase(entry); }

  /// Every change collected last is durable.
  void committed(Time now);

  /// Unique rows that the store is to take away, since the last call. Each is told by row_freed(), or, if its
  /// job is to start, by an entry `freed`.
  std::vector<RowToFree> rows_to_free() { return rows_.asked(); }
  void row_freed(const std::string& bytes) { rows_.freed(bytes); }
  /// Rows of jobs that are over are there still.
  bool has_rows() const { return !rows_.empty(); }
  /// Runs whose jobs are free to start, since the last call: they are to be recalled, and taken anew.
  std::vector<RunNo> freed_runs() { return std::exchange(freed_runs_, {}); }
  /// Nothing more is to start: runs that wait for rows to be free are among those.
  void stop_freeing();

  // --- schedules, whose ticks are in its log (domain/tick_book.h) ---

  const TickBook& schedules() const { return ticks_; }
  /// See TickBook; written with the next delta.
  void state_schedule(std::string_view name, std::string_view key, std::uint64_t text, Time now);
  void pass_ticks(std::string_view schedule, Time last, std::uint64_t ticks);
  void forget_schedule(std::string_view name);
  /// The job of an earlier tick that is not over; null: there is none.
  const Job* job_of_tick(std::string_view schedule) const;
  /// So many ticks up to `last` are not pushed, as that job is there. If it waits for its retry, it is due at
  /// `last`.
  void skip_ticks(std::string_view schedule, Time last, std::uint64_t ticks, Time now);

  /// Switches a kind on or off for take().
  void serve(std::string_view kind, bool on);

  // --- outputs ---

  bool has_changes() const { return !changes_.empty() || awaiting_.has_unlocks() || has_rates_to_write_; }
  /// About how many rows the next collect() brings, without those to be set aside.
  std::size_t changed_rows() const { return changes_.rows(); }
  /// ... of its records.
  std::size_t kept_bytes() const { return changes_.kept_bytes(); }
  /// Which blocks of records the shard has.
  KeptBook& kept() { return kept_; }
  /// What is to be written now; one at a time: committed() before the next. At most `set_aside` entries are
  /// set aside, and the others next time.
  Changes collect(std::size_t set_aside = 0);
  /// So many entries are to be set aside: that alone is no change, and has time.
  std::size_t to_set_aside() const { return changes_.to_set_aside(); }

  /// Runs that waited for their marks and may start.
  std::vector<Run> released() { return std::exchange(released_, {}); }

  /// Why what went to the dead could not be read, since the last call.
  std::vector<std::string> unreadable() { return std::exchange(unreadable_why_, {}); }

  /// Nodes that had no room for a run they were lent, since the last call.
  std::vector<std::string> declined() { return std::exchange(declined_, {}); }

  /// Waits that the store is to close, since the last call; each is answered by wait_closed().
  std::vector<WaitToClose> closes() { return awaiting_.closes(); }
  /// Entries of responses that no job will handle, since the last call: once they are kept elsewhere, each is
  /// answered by response_kept().
  std::vector<Seq> unused_responses() { return std::exchange(unused_, {}); }

  /// Runs to be asked to stop, since the last call: their jobs were cancelled. Not those that are lent.
  std::vector<RunNo> stops() { return std::exchange(stops_, {}); }

  /// What happened since the last call; unless watch(true) failures only.
  std::vector<Event> events() { return std::exchange(events_, {}); }
  void watch(bool on) { watched_ = on; }

  /// Off for a store that has no use for it. Before the first entry.
  void sets_aside(bool on) { sets_aside_ = on; }
  /// So many rows are enough for a commit: its throttler, who may cancel jobs, is asked again after that.
  void hold_deltas_to(std::size_t rows) { most_rows_ = rows; }

  /// Payloads whose death became durable since the last call, as retries_exhausted() gets them: those of one
  /// run, which are of one kind, together.
  std::vector<std::vector<JobView>> deaths() { return std::exchange(deaths_, {}); }

  /// When something becomes due next; none while something is due already or nothing waits.
  std::optional<Time> next_due(Time now);
  /// Some queued job waits for something else than a time.
  bool has_due(Time now) {
    const auto due = table_.size() - table_.active() - order_.later();
    return due > order_.closed(due, now) || awaiting_.has_ready(now);
  }
  /// The span in which the queued job may start next, by its windows and its kind's. Nothing: never.
  std::optional<Span> opening(const Job& job, Time now) { return order_.opening(job, now); }
  /// The gates were set anew: what waits for them asks again.
  void limits_changed() { order_.limits_changed(); }
  /// The job that has the key of one that waits for it; null: it does not wait for that.
  const Job* ahead_of(const Job& job) const {
    return job.place == Place::parked ? table_.line_of(job)->front : nullptr;
  }
  /// The run that the job is in; null: it does not run.
  const ActiveRun* run_of(const Job& job) const {
    const auto no = runs_.run_of(job);
    return no ? runs_.find(*no) : nullptr;
  }
  /// The earliest run_at of the jobs that take() may start, whichever is first; none: there is none.
  std::optional<Time> due_since(Time now, const Admission& admission) {
    auto since = order_.due_since(now, admission);
    if (const Job* answered = awaiting_.ready(now, admission))
      since = std::min(since.value_or(Time::max()), answered->waits()->awaits.retry_at);
    return since;
  }

  /// `told`: what it lists of the use of limits and locks is taken over, and not looked for.
  Counts counts(Time now, const Counts* told = nullptr);
  Seq through() const { return through_; }
  std::size_t running() const { return runs_.size(); }  ///< with those that are lent
  /// What workers see: rises with every owner, and when a lent run is taken back.
  std::uint64_t fence() const { return fence_; }
  std::size_t lent() const { return runs_.lent(); }
  /// `risk`: only those.
  std::size_t lent_to(std::string_view node, std::optional<Risk> risk = {}) const {
    return runs_.lent_to(node, risk);
  }
  /// How many jobs a run has; nothing: it is not running.
  std::optional<std::size_t> jobs_of(RunNo no) const {
    const auto* run = runs_.find(no);
    return run == nullptr ? std::nullopt : std::optional(run->jobs.size());
  }
  std::size_t jobs() const { return table_.size() + killed_.size() + hand_overs_.size(); }
  const HandOvers& hand_overs() const { return hand_overs_; }
  std::vector<std::string> kinds() const { return kinds_.names(); }
  std::size_t kind_count() const { return kinds_.size(); }
  /// The run take() made last.
  RunNo last_run() const { return runs_.last(); }
  Risk risk_of_run(RunNo no) const { return runs_.at(no).risk; }
  /// Of its first job.
  std::string_view id_of_run(RunNo no) const { return runs_.at(no).jobs.front()->id(); }

  /// Calls `visit(const Job&, const std::string& kind)` for every queued or running job, in no order.
  template <class Visit>
  void each_job(Visit visit) const {
    table_.each([&](const Job& job) {
      if (job.place != Place::ending) visit(job, kinds_[job.kind].name);
    });
  }
  /// The same for those of a key, or of an id; where both are empty, or nobody has looked for ids so far
  /// (KeyTable::find_all()), for others, too. At most about `looks_for` jobs are looked at.
  template <class Visit>
  void each_named(std::string_view id, std::string_view key, Visit visit) const {
    table_.each_named(id, key, [&](const Job& job) {
      if (job.place != Place::ending) visit(job, kinds_[job.kind].name);
    });
  }
  /// The same for all: those that wait in JobOrder::each_in_order()'s way, behind those that have started.
  /// `visit` answers whether those behind its job are to be visited.
  template <class Visit>
  void each_in_order(Visit visit) const {
    const auto see = [&](const Job& job) { return visit(job, kinds_[job.kind].name); };
    runs_.each([&](RunNo, const ActiveRun& run) {
      for (const Job* job : run.jobs) {
        if (job != nullptr) see(*job);
      }
    });
    awaiting_.each(see);
    changes_.each_settling(see);
    for (const auto& [arrival, job] : expired_) see(*job);
    order_.each_in_order(see);
  }
  /// So many that visits at least, whatever it is answered.
  const DueBefore& due_before() const { return before_; }
  std::size_t least_visits() const { return table_.active() + expired_.size() + order_.least_visits(); }
  std::size_t looks_for(std::string_view id, std::string_view key) const { return table_.looks_for(id, key); }
  /// The store's clock has leapt, or is believed now: what failures and snoozes have put off while it was
  /// ahead is put off no longer than they said, and limits are asked again.
  /// `by`: how far it has leapt just now.
  void clock_leapt(Time now, Duration by = {});
  /// Those whose time has come are due. look() does so, too.
  void bring_up_due(Time now) { order_.promote(now); }

 private:
  friend class ShardView;  // for tests

  // Applying the log (shard_apply.cpp, shard_control.cpp, shard_edit.cpp)
  void apply_payload(const LoggedEntry& logged, Time now);
  Piece piece_of(const LoggedEntry& logged, const Job* job, Time now);
  void create_job(std::uint16_t kind, const LoggedEntry& logged, Piece piece, Time now);
  void merge_into(Job& job, const LoggedEntry& logged, Piece piece, Time now);
  void restore_state(Job& job, const JobState& state);
  void restore_mark(Job& job, Mark mark);
  bool add_piece(Job& job, Piece piece, bool set_aside = false);
  void set_only_piece(Job& job, Piece piece, bool set_aside);
  void note_merged(Job& job, const PayloadSet::Merged& merged);
  struct NewTime {
    std::optional<Time> run_at;  ///< nothing: it keeps its own
    bool starts_over = false;    ///< its retries do
  };
  void move(Job& job, const NewTime& time, Time now, Demand* demand = nullptr);
  void cut_wait(Job& job, Time now);
  void apply_control(const LoggedEntry& logged, Time now);
  std::vector<Job*> targets_of(const Entry& control);
  void cancel_queued(Job& job, Time now);
  void cancel_running(Job& job, Seq control);
  void run_now(Job& job, const LoggedEntry& logged, Time now);
  bool kill_queued(Job& job, Seq control, Time now);
  void end_killed(Job& job, Time now);
  void apply_edit(const LoggedEntry& logged, Time now);
  void replace_payload(Job& job, const LoggedEntry& logged, const std::vector<Seq>& replaced, Time now);
  void ask_as_edited(Job& job, Demand* demand);
  void apply_tick(const LoggedEntry& logged, Time now);
  void note_tick_jobs();

  // What cannot be read (shard_unreadable.cpp)
  bool loses(const LoggedEntry& logged);
  void bury(const LoggedEntry& logged, std::string state, const std::string& why);
  void note_unreadable(DeadPayload dead);
  void die_with_lost_state(Job& job, const ActiveRun& run, Time now);

  // Places (shard.cpp)
  void place(Job& job, Time now);
  void leave(Job& job);
  void set_aside(Job& job, Time until, Time now);
  void protect_front(const Job& newcomer);
  void read_options(Job& job);
  void forget(Job& job);

  // Expiry (shard_expire.cpp)
  std::optional<Expiry> expiry_of(const LoggedEntry& logged, std::uint16_t kind) const;
  void defer_expiry(Job& job, const std::optional<Expiry>& other);
  void move_expiry(Job& job, Time run_at);
  void set_expiry(Job& job, const std::optional<Expiry>& expiry);
  void watch_expiry(Job& job);
  void forget_expiry(Job& job);
  void end_expired(Job& job, Time now);

  // Limits and locks (shard_gates.cpp)
  Demand* demand_of(const Job& job, const Entry& entry);
  Demand* demand_of(const Job& job, const Entry& entry, GateKeys known);
  void set_demand(Job& job, Demand* demand);
  void join_demand(Job& job, const Job& beside);
  void merge_options(Job& job, JobOptions later);
  bool asks_anew(const Job& job, const Entry& entry, Demand*& demand);
  void keep_demand(Job& job);
  void take_slots(Job& job, Time now, bool goes_on);
  void take_lock(Job& job);
  void penalize(const Job& job, Duration time, Time now);
  void free_slots(Job& job);
  void return_slots(Job& job, Time charged);
  void free_lock(Job& job);
  void leave_gates(Job& job);
  bool must_be_written(const ActiveRun& run) const;
  void count_marked_runs(Counts& counts, Time now);
  void count_gates(Counts& counts, Time now, const Counts* told);
  void note_rates(const Job& job);
  void postpone_starts(const ActiveRun& run);
  void start_postponed(ActiveRun& run, Time now);
  bool drop_postponed(Job& job, Time chosen);
  void list_limits(Counts& counts, const Group& group, Time now) const;
  void list_locks(Counts& counts) const;

  // The throttler (shard_throttle.cpp)
  Job* next_admitted(Time now, const Admission& admission);
  bool throttler_admits(Job& job, Time now);
  void obey(Job& job, const ThrottleAnswer& answer, Time now);
  ThrottledJob throttled(const Job& job, Time since) const;
  void list_throttled(Counts& counts) const;

  // Runs (shard_run.cpp, shard_recall.cpp)
  Run describe(RunNo no);
  Duration left_of_window(const Job& job, Time started);
  BatchJob deliver(const Job& job) const;
  using FindBytes = std::function<std::optional<std::string_view>(Seq)>;
  bool provide_response(ActiveRun& run, const FindBytes& find);
  void activate(Job& job);
  void join(ActiveRun& run, Job& job, Time now);
  void recall(Job& job, const ActiveRun& run, Time now);
  void take_new_time(Job& job);
  Event& emit(EventType type, const Job& job, Time now, Duration took = {}, std::string error = {});

  // Waits for responses (shard_wait.cpp)
  void apply_wait(const LoggedEntry& logged);
  void expect(Job* job, const WaitNote& note, Seq entry);
  void forget_stale(JobWaits& waits);
  void drop_wait(const OpenWait& open);
  void lose_response(Job& job, const ActiveRun& run, Time now);
  void answer(Job& job, OpenWait& open, WaitNote note, const LoggedEntry& logged);
  void resume_awaiting(Job& job);
  void begin_wait(Job& job, const Outcome& outcome, Time now);
  void wait_on(Job& job);
  void end_wait(Job& job);
  void release_waits(Job& job);
  void erase_expected(OpenWait& open);
  void forget_waits(Job& job);
  void cancel_awaiting(Job& job, Time now);
  std::optional<Run> start_response(Job& job, Time now);
  void await_again(Job& job, Time at);
  void end_response(Job& job, const ActiveRun& active, const JobEnd& end, Time now);
  void fail_response(Job& job, const ActiveRun& active, const JobEnd& end, Time now);

  // Unique rows (shard_unique.cpp)
  static bool waits_for_rows(const Job& job);
  bool frees_rows(ActiveRun& run);
  void apply_freed(const LoggedEntry& logged);
  void look_at_freed(RunNo no);
  void release_rows(std::string_view kind, std::string_view key, std::string_view id,
                    const JobOptions& options);
  void let_go(Job& job);

  // Lent runs (shard_lent.cpp)
  void resume_lent(Job& job, RunNo no, std::size_t index);
  void give_up_incomplete(Time now);
  void apply_end(const LoggedEntry& logged, Time now);
  void take_back(RunNo no, bool is_dead, Time now);

  // Retries elsewhere (shard_hand_over.cpp)
  static bool is_retried_elsewhere(const Job& job, FailureKind failure);
  void hand_over(Job& job, const ActiveRun& run, FailureKind failure, const std::string& error, Time now);
  bool end_hand_over(const Entry& entry);
  void apply_handed_back(const LoggedEntry& logged, Time now);

  // Records (shard_kept.cpp)
  /// How a job ends.
  struct Ending {
    JobStatus as = JobStatus::done;  ///< as KeptRecord has it
    Time at{};
    const ActiveRun* run = nullptr;  ///< null: it does not run
    FailureKind error_kind = FailureKind::handler;
    std::string_view error{};
  };
  bool keeps(const Job& job) const { return kinds_[job.kind].rules.keep > Duration{}; }
  void keep(const Job& job, const Ending& ending);
  void note_pushed(Job& job);
  void note_start(Job& job, const ActiveRun& run);

  // Ends of runs (shard_end.cpp)
  void end_one(Job& job, const ActiveRun& run, const JobEnd& end, Time now);
  static void isolate(Job& job, FailureKind because, Time now);
  void fail(Job& job, const ActiveRun& run, const JobEnd& end, Time now);
  bool crashed_too_often(const Job& job) const;
  struct Death {
    const ActiveRun* run;  ///< null: it was in none that is known
    FailureKind kind;
    std::string error;
    bool has_given_up;  ///< its retries are over
  };
  void die(Job& job, const Death& death, Time now);
  bool gives_up(const Job& job) const;
  void die_of_crashes(Job& job, Time now);
  bool has_rest(const Job& job, const Outcome& outcome) const;
  void go_on_with_rest(Job& job, const ActiveRun& run, std::size_t count, Time now);
  void bury(const Job& job, const Piece& dying, FailureKind kind, const std::string& error, Time now);
  void lose(const Job& job, const Piece& dying, FailureKind kind, const std::string& error, Time now);
  JobView view_of(const DeadPayload& dead, JobStatus status, Time now) const;
  DeadPayload dead_payload(const Job& job, const Piece& dying, FailureKind kind,
                           const std::string& error) const;
  void run_died();
  void finish(Job& job, const Ending& ending);
  void leave_run(Job& job);
  void drop_rows(Job& job);
  void go_back(Job& job, Time now, bool held);
  void join_beside(Job& job);
  void leave_bytes(Job& job, Time now);
  bool strict() const { return kinds_.queue().key_order == KeyOrder::strict; }

  PayloadBudget& budget_;
  Gates* gates_;
  bool has_gates_;  // its queue has limits or locks
  KindTable kinds_;
  DueBefore before_;
  KeyTable table_;
  JobOrder order_;
  RunTable runs_;
  Awaiting awaiting_;
  ChangeLog changes_;
  LeavingRows rows_;
  Restored restored_;
  HandOvers hand_overs_;
  TickBook ticks_;
  KeptBook kept_;
  std::map<std::pair<Time, Seq>, Job*> expiring_;  // queued ones, by expiry and arrival
  std::map<Seq, Job*> expired_;                    // those whose payloads are wanted, by arrival
  std::map<Seq, Job*> killed_;                     // likewise, and in no other room
  std::vector<Seq> wanted_;                        // on their way

  Takeover takeover_;
  RateBook rates_;
  bool has_rates_to_write_ = false;  // soon: a successor would take starts for earlier ones, or forget them
  Time seen_{};                      // of the last commit
  Counts lasting_;                   // only what is counted for ever, and kept for others
  std::uint64_t fence_ = 0;
  Seq through_ = 0;
  std::unordered_map<Seq, int> cancels_;            // controls that wait for the end of so many jobs
  std::unordered_map<const Job*, Demand*> edited_;  // what settling jobs ask for once they have settled
  std::vector<JobView> dying_;                      // of the run that is ending
  const MarkedCompany* company_ = nullptr;
  bool watched_ = false;
  bool sets_aside_ = true;
  std::size_t most_rows_ = std::numeric_limits<std::size_t>::max();  // of a commit
  bool waits_for_commit_ = false;                                    // to ask the throttler

  std::vector<Seq> unused_;  // responses
  std::vector<Run> released_;
  std::vector<RunNo> stops_;
  std::vector<RunNo> freed_runs_;
  std::vector<RunNo> shared_;
  std::vector<std::string> unreadable_why_;
  std::vector<std::string> declined_;
  std::vector<Event> events_;
  std::vector<std::vector<JobView>> deaths_;
};

}  // namespace ordo::domain
