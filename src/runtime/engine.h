#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/borrower.h"
#include "runtime/code_table.h"
#include "runtime/dispatcher.h"
#include "runtime/engine_board.h"
#include "runtime/engine_scope.h"
#include "runtime/lease_watch.h"
#include "runtime/lender.h"
#include "runtime/local_runs.h"
#include "runtime/question_desk.h"
#include "runtime/queue_table.h"
#include "runtime/run_log.h"
#include "runtime/runner.h"
#include "runtime/shard_host.h"
#include "runtime/ticker.h"
#include "runtime/writer.h"

namespace ordo::runtime {

/// Runs the state machines of a node's shards: news in, runs and commits out. Decides nothing itself: it is
/// the order in which its rooms do their work.
///
/// tick() does one bounded piece of work and says when it wants to run again; it never blocks. Production
/// calls it from one thread, the simulation from its only one. The rest of the class belongs to that thread,
/// but for the inbox.
class Engine {
 public:
  Engine(const NodeOptions& options, store::Store& store, Clock& clock, Random random, LeaseClock& lease,
         RunSink& sink, EngineHooks hooks);

  // --- what it serves: before the first tick, or on the engine's thread ---

  /// A limit that queues share, before they are served.
  void add_limit(const NamedLimit& limit) { host_.add_limit(limit); }
  /// For tests: in a tick; before serve().
  void ask_throttlers_at_most(std::size_t questions) { host_.ask_throttlers_at_most(questions); }
  /// What stands above them from now on. Engine's thread.
  void set_limits(std::map<std::string, domain::LimitChange, std::less<>> changes) {
    host_.set_limits(std::move(changes));
  }
  /// `workers` has the code of the kinds this node runs. One of that name that is served no more may have
  /// runs still: it has its own threads and code until they end.
  ServedQueue& serve(const QueueOptions& options, std::size_t pool, std::map<std::string, Worker*> workers);
  /// Starts no more of it and gives its shards away. `over`: none of its runs goes on.
  void stop_serving(const std::string& name, std::function<void()> over);
  /// The order in which queues are listed.
  void list(const std::vector<std::string>& names);

  Inbox& inbox() { return *scope_.inbox; }

  /// How long until the next tick is due, if no news comes.
  Duration tick();
  /// The store's time that the last tick went by.
  Time now() const { return scope_.now; }

  // --- the end of a node's life, on the engine's thread or before it runs ---

  /// Starts nothing from now on.
  void quiet();
  /// Asks every run to stop.
  void stop_runs(StopReason reason) { runner_.stop_all(reason); }
  /// Gives every shard back as soon as nothing of it runs.
  void release_all();
  /// The leases are gone: nothing of the shards is written any more.
  void drop_all();
  /// No run is executed any more: waits that the last ones ended with are registered. Any thread.
  void end_waits() { scope_.waits->end(); }
  /// After tick() has thrown: every run is asked to stop, or not started, and nothing else is touched.
  void abandon();

  /// Runs that may be executed here at any time, and those of others whose end is not told yet. Once the
  /// leases are over their owners take them back.
  std::size_t executing() const {
    return runs_.executing() + (scope_.lease.is_over() ? 0 : borrower_.untold());
  }
  /// With those that wait for the store, and ends of borrowed runs that are not told yet.
  std::size_t runs() const { return runs_.size() + lender_.size() + borrower_.untold(); }
  std::size_t shards() const { return host_.size(); }
  /// Of these, those that the next tick looks at in any case.
  std::size_t awake() const { return host_.awake().size(); }
  /// How often a tick has looked at one, in all.
  std::uint64_t looks() const { return host_.looks(); }
  /// Runs of shards that are not owned any more. Any thread.
  std::size_t zombies() const { return runs_.zombies(); }
  const OwnedShard* find(domain::ShardId id) const { return host_.find(id); }
  /// For each pool the threads that nothing of this node's own occupies. Any thread.
  std::vector<Room> rooms() const { return board_.rooms(); }
  /// Any thread.
  EngineFacts facts() const { return board_.facts(); }
  /// Queues whose first shard is here, at most a second ago; any thread.
  std::vector<std::string> first_shards() const { return board_.first_shards(); }
  void watch_events(bool on) { scope_.watch = on || log_.wants_starts_and_ends(); }
  /// As the store has it; on the engine's thread.
  std::string name_of(std::uint32_t queue) const { return queues_.name_of(queue); }
  /// Nothing is told any more: what the log has held back is said.
  void close_log() { log_.flush(); }

 private:
  void look_at_leases();
  void read(News news);
  void look_at_cluster(ClusterView view);
  void settle(const CommitEnd& end);
  void lose(domain::ShardId id, store::Lease lease);
  void drop(const std::set<domain::ShardId>& ids);
  void note_lost(domain::ShardId id, store::Lease lease);
  void tell_lost();
  void let_go();
  void look_at_leaving();
  void tell(domain::ShardId id, std::vector<Event> events);
  void put_up();
  Duration next_tick() const;

  /// A queue that is served no more.
  struct Leaving {
    std::unique_ptr<ServedQueue> queue;
    std::function<void()> over;
    bool has_shards = true;
  };

  EngineScope scope_;
  RunLog log_{scope_};
  RunSink& sink_;
  EngineBoard board_;
  Duration first_shards_at_{};  // steady: when they are looked for next
  QueueTable queues_{scope_};
  CodeTable codes_{scope_};
  ShardHost host_{scope_, queues_, codes_};
  LocalRuns runs_;
  LeaseWatch leases_{scope_};
  Borrower borrower_{scope_, queues_, codes_, runs_};
  Lender lender_{scope_, queues_, codes_, host_, runs_, borrower_};
  Runner runner_{scope_, codes_, host_, runs_, borrower_, lender_};
  Dispatcher dispatcher_;
  Writer writer_{scope_, host_};
  Ticker ticker_{scope_, queues_, host_};
  QuestionDesk questions_{scope_, host_};
  std::vector<Leaving> leaving_;
  std::vector<domain::ShardId> lost_;  // since it was told
};

}  // namespace ordo::runtime
