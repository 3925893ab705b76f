#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/code_table.h"
#include "runtime/engine_scope.h"
#include "runtime/marked_runs.h"
#include "runtime/run.h"
#include "runtime/stuck_runs.h"

namespace ordo::runtime {

struct RunNameHash {
  std::size_t operator()(const RunName& name) const noexcept {
    return std::hash<domain::ShardId>{}(name.shard) ^ (name.epoch * 0x9e3779b97f4a7c15ULL) ^
           (name.no * 0xff51afd7ed558ccdULL);
  }
};

/// A run that has a thread of this node, or waits for one, for its payloads or for its marks.
struct LocalRun {
  std::shared_ptr<RunControl> control;  ///< once it is handed out
  Code* code = nullptr;                 ///< likewise
  std::size_t pool = 0;
  int thread = -1;
  domain::Risk risk = domain::Risk::normal;
  Duration timeout{};
  std::string id;                            ///< of the first job of a marked one, until the control has it
  bool asks_to_share = false;                ///< a suspect has run alone for long
  bool shares = false;                       ///< ... and its mark is shared
  StopReason stop = StopReason::none;        ///< asked for before it was handed out
  std::optional<domain::LentName> borrowed;  ///< another node's, or of a shard that goes there (Borrower)
};

/// What the runs of a pool occupy, and what goes to it next.
struct PoolLoad {
  std::size_t runs = 0;
  std::size_t borrowed = 0;            ///< of these
  std::optional<Duration> full_since;  ///< steady: no thread is free, or none is to take more
  std::vector<std::size_t> by_thread;
  std::vector<std::size_t> room;  ///< likewise: so many runs each thread may have
  std::size_t room_in_all = 0;
  std::uint32_t last_place = 0;  ///< of the queue whose run was handed over last ...
  std::shared_ptr<RunControl> last_control;
  std::vector<Assignment> batch;  ///< handed over at the end of the tick
};

/// The runs on the threads of this node, its own and those it borrows, and the pools' room for more.
///
/// A run has a name: (shard, epoch, number), or for a borrowed one (shard, token, number). An epoch counts, a
/// token is a time of the store: they never meet. One whose leases have ended goes on until it hears of it:
/// it is a zombie then, and its shard does not hear of its end.
class LocalRuns {
 public:
  LocalRuns(const EngineScope& scope, CodeTable& codes, RunSink& sink)
      : scope_(scope), codes_(codes), sink_(sink), stuck_(scope) {}

  /// So many at least.
  void add_pools(std::size_t count);
  /// It has other threads than before, and no runs.
  void fit(std::size_t pool);
  std::vector<PoolLoad>& pools() { return pools_; }
  const std::vector<PoolLoad>& pools() const { return pools_; }
  MarkedRuns& marks() { return marks_; }
  const MarkedRuns& marks() const { return marks_; }

  /// Starts nothing from now on.
  void quiet() { quiet_ = true; }
  bool is_quiet() const { return quiet_; }

  /// It takes its place in the pool.
  LocalRun& enter(const RunName& name, std::size_t pool, int thread, domain::Risk risk);
  /// Null: there is none, or it is a zombie.
  LocalRun* find(const RunName& name);
  struct Left {
    LocalRun run;
    bool is_zombie = false;
  };
  /// It is over, or was never started.
  Left leave(const RunName& name);
  /// The shard of the run goes elsewhere, and the run is told to its next owner under that name.
  void lend(LocalRun& run, const domain::LentName& name);
  /// Its leases have ended. False: it had no thread, and is no more.
  bool cut(const RunName& name);
  template <class Admits>
  std::vector<RunName> names(Admits admits) const {
    std::vector<RunName> names;
    for (const auto& [name, run] : runs_) {
      if (admits(name, run)) names.push_back(name);
    }
    return names;
  }

  /// From now on it may be executed at any time.
  void hand_out(LocalRun& run, Code& code, Duration timeout);
  /// Goes to its thread, or with the next batch to any.
  void send(const LocalRun& run, Assignment assignment);
  void send_batches();
  /// Takes back what has not started. The caller lets them leave.
  std::vector<RunName> recall(const std::function<bool(const Assignment&)>& which);

  void stop_all(StopReason reason);
  void stop_borrowed(const domain::LentName& name, StopReason reason);
  using SeeRun = std::function<void(const RunName&, const LocalRun&)>;
  /// Asks those to stop that take too long; `started` hears of those that have started, and `alone_for_long`
  /// of suspects that are not to run alone any more.
  void look_at_timeouts(const SeeRun& started, const SeeRun& alone_for_long = {});
  /// That is durable: others start beside it. Maybe it is over.
  void share(const RunName& name);
  /// The marked runs, for those that wait for them.
  void tell_company(domain::MarkedCompany& company) const;
  Duration next_look() const;

  /// The threads of the pools are looked at anew.
  void look_at_room(std::size_t pool);
  /// Whether jobs wait for a thread, and since when.
  void note_fullness(PoolLoad& load) const;
  bool is_full() const;
  /// So many threads of the pool have nothing of this node's own to do.
  std::uint32_t idle_threads(std::size_t pool) const;

  /// A thread executes code of it.
  bool has_runs_of(const ServedQueue& queue) const;
  /// With the zombies.
  std::size_t size() const { return runs_.size() + zombie_runs_.size(); }
  std::size_t zombies() const { return zombies_; }  // any thread
  /// Those that may be executed at any time: the others wait for their payloads or marks.
  std::size_t executing() const { return executing_; }
  std::vector<StuckRun> stuck() const { return stuck_.list(); }

 private:
  void look_at_suspect(const RunName& name, LocalRun& run, Duration ran, const SeeRun& alone_for_long);
  void free_place(const LocalRun& run);

  const EngineScope& scope_;
  CodeTable& codes_;
  RunSink& sink_;
  std::unordered_map<RunName, LocalRun, RunNameHash> runs_, zombie_runs_;
  std::atomic<std::size_t> zombies_{0};
  std::size_t executing_ = 0;
  std::vector<PoolLoad> pools_;
  MarkedRuns marks_;
  StuckRuns stuck_;
  bool quiet_ = false;
  Duration next_look_{};  // steady, at timeouts
};

}  // namespace ordo::runtime
