#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <ordo/events.hpp>
#include <ordo/options.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "domain/scheduler.h"
#include "runtime/inbox.h"
#include "runtime/lease_clock.h"
#include "runtime/owned_shard.h"
#include "runtime/run.h"
#include "runtime/start_limit.h"
#include "runtime/trouble.h"
#include "store/store.h"

namespace ordo::runtime {

/// Who is told what the engine decided. Called on the engine's thread; must not block.
struct EngineHooks {
  std::function<void(domain::ShardId, std::uint64_t epoch, domain::RunNo, std::vector<store::Seq>)> fetch{};
  std::function<void(std::vector<Event>)> events{};
  /// Payloads that died in one run, and are of one kind, after it is durable.
  std::function<void(const std::string& queue, std::vector<JobView>)> died{};
  /// This node does not own the shard any more.
  std::function<void(domain::ShardId, store::Lease)> lost{};
  /// The shard has nothing running or unwritten any more and may be given back.
  std::function<void(domain::ShardId, store::Lease)> released{};
  /// The leases are about to end: so many runs are stopped and put back, and none starts. Told once.
  std::function<void(std::size_t runs)> lease_ending{};
  /// The leases ended some time ago, and runs still go on although they were asked to stop.
  std::function<void()> lease_lost{};
  /// A run was lent: others are to look at the store.
  std::function<void()> lent{};
  /// The logs are to be read on now: what a node that is gone has left is waited for.
  std::function<void()> read_on{};
  /// A grant that could not be used: nothing of the shard was read, and it may be given back.
  std::function<void(domain::ShardId, store::Lease)> refused{};
  std::function<void(LogLevel, const std::string&)> log{};
  /// What stands in the shard takes a newer node: it is given back. Told before it is.
  std::function<void(domain::ShardId, std::uint16_t needs)> newer{};
  /// What the node tells of itself in its row has changed (facts()).
  std::function<void()> facts_changed{};
};

/// What an engine tells of itself to whoever looks at its node.
struct EngineFacts {
  TroubleFacts commits;  ///< why what has ended cannot be written
  /// Kinds, with their queues, that it has code for and cannot start just now.
  std::vector<std::pair<std::string, std::string>> unable;
  std::vector<std::string> paused;  ///< queues of which nothing runs here, and nothing starts

  bool operator==(const EngineFacts&) const = default;
};

/// Runs the state machines of a node's shards: news in, runs and commits out.
///
/// tick() does one bounded piece of work and says when it wants to run again; it never blocks. Production
/// calls it from one thread, the simulation from its only one. The rest of the class belongs to that thread,
/// but for the inbox.
class Engine {
 public:
  Engine(const NodeOptions& options, store::Store& store, Clock& clock, Random random, LeaseClock& lease,
         RunSink& sink, EngineHooks hooks);

  /// Before the first tick. `workers` has the code of the kinds this node runs.
  ServedQueue& serve(const QueueOptions& options, std::size_t pool, std::map<std::string, Worker*> workers);

  Inbox& inbox() { return *inbox_; }

  /// How long until the next tick is due, if no news comes.
  Duration tick();

  // --- the end of a node's life, on the engine's thread or before it runs ---

  /// Starts nothing from now on.
  void quiet();
  /// Asks every run to stop.
  void stop_runs(StopReason reason);
  /// Gives every shard back as soon as nothing of it runs.
  void release_all();
  /// The leases are gone: nothing of the shards is written any more.
  void drop_all();
  /// After tick() has thrown: every run is asked to stop, or not started, and nothing else is touched.
  void abandon();

  /// With ends of borrowed runs that are not told yet.
  std::size_t runs() const { return outstanding_.size() + untold_; }
  std::size_t shards() const { return shards_.size(); }
  /// Of these, those that a tick looks at.
  std::size_t awake() const { return awake_.size(); }
  /// Runs of shards that are not owned any more.
  std::size_t zombies() const { return zombies_; }  // any thread
  const OwnedShard* find(domain::ShardId id) const;
  /// For each pool the threads that nothing of this node's own occupies. Any thread.
  std::vector<Room> rooms();
  /// Any thread.
  EngineFacts facts();
  void watch_events(bool on) { watch_ = on; }

 private:
  /// The code of a kind on this node.
  struct Code {
    ServedQueue* queue = nullptr;
    std::string kind;
    Worker* worker = nullptr;
    std::size_t runs = 0;  // handed out
    StartLimit limit{};
  };
  struct Outstanding {
    std::shared_ptr<RunControl> control;
    Code* code = nullptr;  // once it is handed out
    std::size_t pool = 0;
    int thread = -1;
    domain::Risk risk = domain::Risk::normal;
    Duration timeout{};
    StopReason stop = StopReason::none;  // asked for before it was handed out
    int misses = 0;                      // of payloads that the store said it has not
    bool zombie = false;
    std::string lend_to;                       // it is not executed here, but on that node ...
    std::uint64_t session = 0;                 // ... in that session of it
    std::optional<domain::LentName> borrowed;  // lent to this node, maybe by itself
  };
  enum class Telling : std::uint8_t { to_do, under_way, done };
  /// A run that is lent to this node.
  struct Borrowed {
    domain::LentRun run;
    std::map<domain::ShardId, Telling> listed;  // who is to hear of its end; one, but while queues change
    bool seen = false;                          // in a list
    int looks_without = 0;                      // since it was
    bool dropped = false;                       // the leases have lapsed while it ran
    std::string end;                            // the entry that tells its end; empty: it goes on
    std::optional<Duration> ended_at, told_at;  // steady
  };
  /// What the lists of several shards say of one run.
  using Listed = std::map<domain::ShardId, domain::LentRun>;
  using RunKey = std::tuple<domain::ShardId, std::uint64_t, domain::RunNo>;
  struct RunKeyHash {
    std::size_t operator()(const RunKey& key) const noexcept {
      return std::hash<domain::ShardId>{}(std::get<0>(key)) ^ (std::get<1>(key) * 0x9e3779b97f4a7c15ULL) ^
             (std::get<2>(key) * 0xff51afd7ed558ccdULL);
    }
  };
  struct PoolLoad {
    std::size_t runs = 0;
    std::size_t borrowed = 0;            // of these
    std::optional<Duration> full_since;  // steady: no thread is free, or none is to take more
    std::vector<std::size_t> by_thread;
    std::vector<std::size_t> room;  // likewise: so many runs each thread may have
    std::size_t room_in_all = 0;
    Duration chosen_at{};          // steady: when all that waited was chosen anew
    std::uint32_t last_place = 0;  // of the queue whose run was handed over last ...
    std::shared_ptr<RunControl> last_control;
    std::vector<Assignment> batch;
    std::unique_ptr<domain::Scheduler> scheduler;
    std::vector<OwnedShard*> candidates;
    std::vector<domain::StartableShard> startable;
  };

  void read(News news);
  void define(const store::QueueList& list);
  void say(LogLevel level, const std::string& line);
  void adopt(LoadedShard loaded);
  void restore(OwnedShard& shard, const LoadedShard& loaded);
  static std::uint16_t needs_of(const store::ShardFacts& facts);
  void give_to_newer(OwnedShard& shard, std::uint16_t needs);
  void apply(const store::LogChunk& chunk);
  void look_at_kinds(OwnedShard& shard);
  void finish(RunEnd end);
  void take_ends(OwnedShard& shard);
  void outcomes_of(const Outstanding& out, RunEnd& end) const;
  void settle(const CommitEnd& end);
  void check_lease();
  void look_at_late_runs();
  void tell_pauses();
  std::size_t runs_of(const ServedQueue& queue) const;
  void drop(domain::ShardId id) { drop(std::set{id}); }
  void drop(const std::set<domain::ShardId>& ids);
  void lose(domain::ShardId id, store::Lease lease);
  void provide(Fetched fetched);
  void provide(OwnedShard& shard, domain::RunNo no,
               std::span<const std::pair<store::Seq, std::string_view>> payloads, bool failed);
  void ask_again(OwnedShard& shard, domain::RunNo no);

  void deal_threads();
  void dispatch();
  void dispatch_pool(std::size_t pool);
  bool has_room(std::size_t pool, const OwnedShard& shard) const;
  void note_fullness(PoolLoad& load);
  static void pass_over(PoolLoad& load, std::size_t candidate);
  bool is_overtaken(std::size_t pool);
  void recall(const std::function<bool(const Assignment&)>& which);
  void recall_all();
  void take_back(const std::vector<RunName>& runs);
  void stop_cancelled(OwnedShard& shard);
  bool start_one(std::size_t pool, OwnedShard& shard);
  void took(std::size_t pool, OwnedShard& shard, domain::Shard::Taken taken, domain::Run run);
  void take_turns();
  bool start_marked(domain::Risk risk);
  void note_marked(domain::Risk risk);
  void launch(OwnedShard& shard, domain::Run run);
  void send(OwnedShard& shard, domain::Run run, Outstanding& out);
  domain::Admission admission(const ServedQueue& queue) const;
  Code* code_of(const std::string& queue, const std::string& kind);
  void hand_out(Outstanding& out, Code& code);
  void note_not_started(Code& code, const std::vector<Outcome>& outcomes);
  void look_at_limits();
  void limit_changed(Code& code);

  // Lent runs (engine_lend.cpp)
  void meet(Neighbours news);
  domain::Borrower look_at(const std::string& node, std::uint64_t session) const;
  void take_back();
  void look_at_borrowed();
  void gather();
  void lend_what_waits();
  bool lend_one(const Member& member, const Room& room);
  std::size_t lent_to(const Member& member, const Room& room) const;
  bool lends_suspect_to(const std::string& node) const;
  bool can_start(const ServedQueue& queue, const std::string& kind) const;
  std::set<std::string, std::less<>> kinds_to_lend(const OwnedShard& shard, const Member& member,
                                                   bool is_bound) const;
  void keep_runs_of(OwnedShard& shard);
  void find_borrowed(const domain::LentName& name, Listed listed);
  void start_borrowed(Borrowed& borrowed);
  static std::vector<Outcome> never_started(const domain::LentRun& run);
  bool provide_borrowed(const Fetched& fetched, domain::RunNo no);
  static std::vector<BatchJob> jobs_of(const domain::LentRun& run, const ServedQueue& queue,
                                       const store::LogChunk& chunk);
  void stop_borrowed(const domain::LentName& name, StopReason reason);
  void tell_end(Borrowed& borrowed, std::vector<Outcome> outcomes, bool declined = false);
  void tell_ends();
  void told(const EndTold& news);
  void drop_borrowed();
  void look_at_rooms();
  bool may_lend() const;
  Duration next_lending() const;
  bool has_other_for(const ServedQueue& queue) const;
  void leave_pool(const Outstanding& out);

  void note_failure(Trouble& trouble, const std::string& error);
  void note_success(Trouble& trouble);
  void publish_facts();

  void flush();
  store::Delta delta_of(OwnedShard& shard);
  std::uint64_t dead_to_keep(const OwnedShard& shard) const;
  bool trimming_is_due(const OwnedShard& shard) const;
  bool rest_is_due(OwnedShard& shard);
  void report(OwnedShard& shard);
  void check_timeouts();
  void release_idle();
  Duration next_tick();
  ServedQueue* served_queue(std::uint32_t number) const;
  OwnedShard* owned(domain::ShardId id);
  OwnedShard* owned(domain::ShardId id, std::uint64_t epoch);
  void wake(OwnedShard& shard);
  void wake_all();
  void put_to_sleep();
  bool may_sleep(OwnedShard& shard) const;
  std::uint64_t read_since_written(const OwnedShard& shard) const;

  const NodeOptions& options_;
  store::Store& store_;
  Clock& clock_;
  Random random_;
  LeaseClock& lease_;
  RunSink& sink_;
  EngineHooks hooks_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();

  std::map<std::string, std::unique_ptr<ServedQueue>> queues_;
  std::unordered_map<std::uint32_t, ServedQueue*> by_number_;
  std::map<std::pair<std::string, std::string>, Code> codes_;
  Duration next_limit_look_ = Duration::max();  // steady
  std::set<std::pair<std::string, std::string>> elsewhere_;
  std::mutex shared_;  // guards what rooms() and facts() hand over

  std::map<domain::ShardId, std::unique_ptr<OwnedShard>> shards_;
  /// Those that something may happen to by itself. Whatever has no job sleeps until it is told something
  /// (owned()), so that a tick costs what is at work, and not what there is.
  std::map<domain::ShardId, OwnedShard*> awake_;
  domain::Seq read_through_ = 0;    // the log of all that are ready, where one scan serves all
  std::uint64_t rows_read_ = 0;     // by such scans
  std::uint64_t rows_at_wake_ = 0;  // when all were awake last
  std::unordered_map<RunKey, Outstanding, RunKeyHash> outstanding_;
  std::vector<PoolLoad> pools_;
  Neighbours neighbours_;
  std::map<std::string, Duration> declined_at_;  // steady, by node
  /// Borrowers that are gone, with their sessions: the look that showed it first.
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> over_since_;
  std::uint64_t read_look_ = 0;  // AllRead
  std::map<domain::LentName, Borrowed> borrowed_;
  std::size_t untold_ = 0;
  Duration tell_again_at_{};                              // steady; 0: none
  std::vector<Room> rooms_;                               // guarded by shared_
  EngineFacts facts_;                                     // likewise
  std::set<std::pair<std::string, std::string>> unable_;  // see EngineFacts
  domain::PayloadBudget budget_;
  std::uint64_t last_epoch_ = 0;
  std::atomic<std::size_t> zombies_{0};
  std::size_t witnesses_ = 0, suspects_ = 0;  // marked runs on this node
  domain::Risk turn_ = domain::Risk::normal;  // of those that exclude each other; normal: nobody's
  Time now_{};
  bool deals_ = false;                 // shards with a thread of their own have come, gone, or are to move
  bool was_ending_ = false;            // the leases, at the last look
  std::optional<Duration> lapsed_at_;  // steady: the leases, while runs of before go on
  bool pauses_ = false;                // a queue is to be told of, or pausing
  std::vector<std::string> paused_;    // see EngineFacts
  bool quiet_ = false;
  bool releasing_ = false;
  bool watch_ = false;
  Trouble commits_{"commit what has ended"}, appends_{"tell the end of a lent run"};
  Duration retry_commits_at_{};  // steady; 0: none
  Duration next_timeout_check_{};
};

}  // namespace ordo::runtime
