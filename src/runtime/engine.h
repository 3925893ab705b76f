#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
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
#include "store/store.h"

namespace ordo::runtime {

/// Who is told what the engine decided. Called on the engine's thread; must not block.
struct EngineHooks {
  std::function<void(domain::ShardId, std::uint64_t epoch, domain::RunNo, std::vector<store::Seq>)> fetch{};
  std::function<void(std::vector<Event>)> events{};
  /// Payloads that died, after it is durable.
  std::function<void(const std::string& queue, std::vector<JobView>)> died{};
  /// This node does not own the shard any more.
  std::function<void(domain::ShardId, store::Lease)> lost{};
  /// The shard has nothing running or unwritten any more and may be given back.
  std::function<void(domain::ShardId, store::Lease)> released{};
  /// The leases are about to end: so many runs are stopped and put back, and none starts. Told once.
  std::function<void(std::size_t runs)> lease_ending{};
  /// The leases ended while runs went on.
  std::function<void()> lease_lost{};
  /// A run was lent: others are to look at the store.
  std::function<void()> lent{};
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

  /// Kinds of a queue that another live node runs and this one does not: they wait for it.
  void set_elsewhere(std::set<std::pair<std::string, std::string>> kinds);
  /// Which definitions are paused; unknown queues are ignored.
  void set_definitions(const store::QueueList& list);

  Inbox& inbox() { return inbox_; }

  /// How long until the next tick is due, if no news comes.
  Duration tick();

  // --- the end of a node's life, on the engine's thread or before it runs ---

  /// Starts nothing from now on.
  void quiet() { quiet_ = true; }
  /// Asks every run to stop.
  void stop_runs(StopReason reason);
  /// Gives every shard back as soon as nothing of it runs.
  void release_all();
  /// The leases are gone: nothing of the shards is written any more.
  void drop_all();

  /// With ends of borrowed runs that are not told yet.
  std::size_t runs() const { return outstanding_.size() + untold_; }
  std::size_t shards() const { return shards_.size(); }
  /// Runs of shards that are not owned any more.
  std::size_t zombies() const { return zombies_; }  // any thread
  const OwnedShard* find(domain::ShardId id) const;
  /// For each pool the threads that nothing of this node's own occupies. Any thread.
  std::vector<Room> rooms();
  void watch_events(bool on) { watch_ = on; }

 private:
  struct Outstanding {
    std::shared_ptr<RunControl> control;
    std::size_t pool = 0;
    int thread = -1;
    domain::Risk risk = domain::Risk::normal;
    Duration timeout{};
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
    std::optional<Duration> told_at;            // steady
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
    std::vector<Assignment> batch;
    std::unique_ptr<domain::Scheduler> scheduler;
    std::vector<OwnedShard*> candidates;
    std::vector<domain::StartableShard> startable;
  };

  void read(News news);
  void adopt(LoadedShard loaded);
  void apply(const store::LogChunk& chunk);
  void look_at_kinds(OwnedShard& shard);
  void finish(RunEnd end);
  void take_ends(OwnedShard& shard);
  void outcomes_of(const Outstanding& out, std::vector<Outcome>& outcomes) const;
  void settle(const CommitEnd& end);
  void check_lease();
  void tell_pauses();
  std::size_t runs_of(const ServedQueue& queue) const;
  void drop(domain::ShardId id);
  void provide(Fetched fetched);

  void dispatch();
  void dispatch_pool(std::size_t pool);
  bool has_room(std::size_t pool, const OwnedShard& shard) const;
  void note_fullness(PoolLoad& load, std::size_t each);
  bool start_one(std::size_t pool, OwnedShard& shard);
  void launch(OwnedShard& shard, domain::Run run);
  void send(OwnedShard& shard, domain::Run run, Outstanding& out);
  domain::Admission admission() const;

  // Lent runs (engine_lend.cpp)
  void meet(Neighbours news);
  void look_at_borrowed();
  void gather();
  void lend_what_waits();
  bool lend_one(const Member& member, const Room& room);
  std::size_t lent_to(const Member& member, const Room& room) const;
  std::set<std::string, std::less<>> kinds_to_lend(const OwnedShard& shard, const Member& member) const;
  void keep_runs_of(OwnedShard& shard);
  void find_borrowed(const domain::LentName& name, Listed listed);
  void start_borrowed(Borrowed& borrowed);
  bool provide_borrowed(const Fetched& fetched);
  static std::vector<BatchJob> jobs_of(const domain::LentRun& run, const ServedQueue& queue,
                                       const store::LogChunk& chunk);
  void stop_borrowed(const domain::LentName& name, StopReason reason);
  void tell_end(Borrowed& borrowed, std::vector<Outcome> outcomes, bool declined = false);
  void tell_ends();
  void told(const domain::LentName& name, domain::ShardId at, bool failed);
  void drop_borrowed();
  void look_at_rooms();
  bool may_lend() const;
  Duration next_lending() const;
  bool has_other_for(const ServedQueue& queue) const;
  void leave_pool(const Outstanding& out);

  void flush();
  store::Delta delta_of(OwnedShard& shard);
  bool rest_is_due(OwnedShard& shard);
  void report(OwnedShard& shard);
  void check_timeouts();
  void release_idle();
  Duration next_tick();
  ServedQueue* served_queue(std::uint32_t number) const;
  OwnedShard* owned(domain::ShardId id);
  OwnedShard* owned(domain::ShardId id, std::uint64_t epoch);

  const NodeOptions& options_;
  store::Store& store_;
  Clock& clock_;
  Random random_;
  LeaseClock& lease_;
  RunSink& sink_;
  EngineHooks hooks_;
  Inbox inbox_;

  std::map<std::string, std::unique_ptr<ServedQueue>> queues_;
  std::map<std::pair<std::string, std::string>, Worker*> workers_;
  std::mutex shared_;  // guards what set_elsewhere() and set_definitions() hand over
  std::set<std::pair<std::string, std::string>> elsewhere_;
  std::optional<store::QueueList> definitions_;
  bool elsewhere_changed_ = false;

  std::map<domain::ShardId, std::unique_ptr<OwnedShard>> shards_;
  std::unordered_map<RunKey, Outstanding, RunKeyHash> outstanding_;
  std::vector<PoolLoad> pools_;
  Neighbours neighbours_;
  std::map<std::string, Duration> declined_at_;  // steady, by node
  std::map<domain::LentName, Borrowed> borrowed_;
  std::size_t untold_ = 0;
  Duration tell_again_at_{};  // steady; 0: none
  std::vector<Room> rooms_;   // guarded by shared_
  domain::PayloadBudget budget_;
  std::uint64_t last_epoch_ = 0;
  std::atomic<std::size_t> zombies_{0};
  std::size_t witnesses_ = 0, suspects_ = 0;  // marked runs on this node
  Time now_{};
  bool was_ending_ = false;  // the leases, at the last look
  bool quiet_ = false;
  bool releasing_ = false;
  bool watch_ = false;
  Duration retry_commits_at_{};  // steady; 0: none
  Duration next_timeout_check_{};
};

}  // namespace ordo::runtime
