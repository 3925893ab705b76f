#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <ordo/admin.hpp>

#include "client/store_handle.h"
#include "client/waits_for.h"
#include "domain/entry.h"
#include "domain/limit_change.h"
#include "domain/listing.h"
#include "domain/shard.h"

namespace ordo {

using domain::ListOrder;
using domain::ListPlace;

class Admin::Impl {
 public:
  explicit Impl(std::shared_ptr<StoreHandle> handle) : handle_(std::move(handle)) {}

  StoreHandle& handle() { return *handle_; }
  Stats stats(const std::vector<std::string>& queues = {});
  std::vector<ShardStats> shard_stats(const std::vector<std::string>& queues);
  /// Nothing of the queues that `served` admits is due, running, in back-off, or asked for and not yet read,
  /// but what only jobs that wait for responses hold up.
  bool drained(const std::function<bool(const std::string&)>& served);
  std::vector<QueueView> queues();
  std::set<std::uint32_t> not_paused_yet(const store::QueueList& list);
  std::vector<NodeView> nodes();
  std::vector<LimitView> limits();
  bool set_limit(std::string_view name, const std::optional<Decimal>& limit,
                 const std::optional<RateLimit>& rate, const std::optional<std::string>& seen);
  bool unset_limit(std::string_view name, const std::optional<std::string>& seen);
  void change_limit(
      std::string_view name, const std::optional<std::string>& seen,
      const std::function<std::optional<domain::LimitChange>(std::optional<domain::LimitChange>)>& change);
  std::vector<LockView> locks(const std::optional<std::string>& queue);
  using SeeCounts = std::function<void(const store::QueueDefinition&, store::ShardId, const domain::Counts&)>;
  void each_counts(const SeeCounts& visit);
  std::vector<std::pair<std::vector<std::string>, std::string>> groups(
      const std::vector<store::NodeRow>& nodes, const std::vector<store::ShardRow>& shards);
  using ImportProgress = std::function<void(std::uint64_t found, std::uint64_t left)>;
  ImportCounts importable(const SourceOptions& from);
  ImportCounts importable(const LowkiqImport& from);
  ImportResult import_jobs(const SourceOptions& from, const ImportProgress& progress);
  ImportResult import_jobs(const LowkiqImport& from, const ImportProgress& progress);
  std::vector<SourceView> sources();
  std::vector<SourceCounts> source_counts();
  void reset_source(std::string_view name);
  std::vector<Finding> examine();
  void examine_sources(std::vector<Finding>& findings);
  std::vector<Finding> problems();
  std::vector<WindowView> windows(std::string_view queue, Duration ahead);
  /// What examine() and problems() say alike. Of a larger dead set nothing is read: they say how much was
  /// ever unreadable.
  void examine_jobs(std::vector<Finding>& findings, std::uint64_t most_dead);
  void examine_failing(std::vector<Finding>& findings);
  void examine_queues(std::vector<Finding>& findings);
  void examine_kinds(std::vector<Finding>& findings);
  void examine_nodes(std::vector<Finding>& findings);
  /// A moment of all that says how jobs do.
  struct Look {
    Stats stats;
    std::vector<NodeView> nodes;
    Time now;
  };
  void examine_counts(std::vector<Finding>& findings, const Look& look);
  void examine_gates(std::vector<Finding>& findings, const Look& look);
  void examine_holders(std::vector<Finding>& findings, const std::string& queue, const QueueStats& counts,
                       Time now);
  void examine_waits(std::vector<Finding>& findings, const std::string& queue, Time now);
  void examine_work(std::vector<Finding>& findings);
  std::uint64_t count_unreadable(const store::QueueDefinition& queue, std::uint64_t all);
  void examine_dead(std::vector<Finding>& findings, const store::QueueDefinition& queue, Time now);
  void examine_retries(std::vector<Finding>& findings, const store::QueueDefinition& queue, Time now);
  /// Nodes that could answer a question, and have not within 2 s.
  std::vector<std::string> mute_nodes(const std::set<std::string>& asked);
  void examine_records(std::vector<Finding>& findings);
  bool request(const std::string& node, store::NodeRequest request) {
    return handle_->store().request(node, request);
  }
  std::string jobs(std::string_view queue, const JobFilter& filter,
                   const std::function<bool(JobView)>& visit);
  std::vector<JobView> jobs(std::string_view queue, const JobFilter& filter);
  /// `new_time`: of a run_now, which then replaces the time of the job.
  bool control(std::string_view queue, const JobName& job, domain::EntryType type,
               std::optional<Time> new_time = {});
  bool edit(std::string_view queue, const JobName& job, const std::string& payload,
            std::optional<double> score);
  bool edit_dead(std::string_view queue, const JobName& job, const std::string& payload,
                 std::optional<double> score);
  std::uint64_t control_all(std::string_view queue, const JobFilter& filter, domain::EntryType type);
  std::uint64_t count_jobs(std::string_view queue, const JobFilter& filter);
  std::string records(std::string_view queue, const RecordFilter& filter,
                      const std::function<bool(const RecordView&)>& visit);
  std::size_t forget(std::string_view queue, const JobName& job);
  void export_jobs(std::string_view queue, const JobFilter& filter,
                   const std::function<bool(JobView)>& visit);
  std::string dead_jobs(std::string_view queue, const DeadFilter& filter, const Listing& listing,
                        const std::function<bool(JobView)>& visit);
  /// `visit` gets the place of the row's job, too.
  void dead(std::string_view queue, const DeadFilter& filter, const Listing& listing,
            const std::function<bool(const DeadView&, const ListPlace&)>& visit);
  DeadCount count_dead(std::string_view queue, const DeadFilter& filter);
  using Skipped = std::function<void(const SkippedRetry&)>;
  std::size_t change_dead(std::string_view queue, const DeadFilter& filter, bool revive,
                          const Skipped& skipped);
  std::vector<WaitView> waits(std::string_view queue);
  void dead_letters(std::string_view queue, const std::function<bool(const DeadLetter&)>& visit);
  bool set_paused(std::string_view queue, bool paused);
  bool remove(std::string_view queue, RemoveJobs jobs);
  /// Adds it to the log of changes, with the time; returns when it is durable.
  void note(AuditEntry entry);
  std::string audit(const AuditFilter& filter, const std::function<bool(const AuditEntry&)>& visit);
  std::vector<PeriodicView> periodic();
  std::string run_periodic(std::string_view schedule);
  void control_periodic(std::string_view schedule, domain::EntryType type);
  ReshardResult reshard(std::string_view queue, std::uint32_t shards,
                        const std::function<void(const ReshardProgress&)>& progress);

  struct Rebuild {
    std::vector<store::ShardId> shards;   ///< of one queue
    std::set<store::ShardId> owned = {};  ///< in these the runs go on that their owner listed
    std::function<bool(const domain::Entry&)> wanted = {};  ///< null: all jobs; else the others are left out
    /// About so many are in memory at once, at 150 to 200 bytes each; a shard with more is there alone.
    std::uint64_t most_jobs = 1'000'000;
  };
  struct Rebuilt {
    store::ShardId id;
    domain::Shard& machine;
    std::uint64_t behind_newer = 0;  ///< entries that follow one of a newer version, where it ends
  };
  /// Calls `visit` once for each of the shards as an owner would have it now, from the store alone and
  /// without payloads.
  void each_rebuilt(const store::QueueDefinition& queue, const Rebuild& what,
                    const std::function<void(const Rebuilt&)>& visit);

 private:
  bool control(const store::QueueDefinition& queue, const JobName& job, domain::EntryType type,
               std::optional<Time> new_time);
  bool edit(const store::QueueDefinition& queue, const JobName& job, const std::string& payload,
            std::optional<double> score);
  bool edit_dead(const store::QueueDefinition& queue, const JobName& job, const std::string& payload,
                 std::optional<double> score);
  /// The waiting job of that name. Nothing: there is no such job. Throws as Admin::run_now() does.
  std::optional<domain::ListedJob> waiting_job(std::string_view call, const store::QueueDefinition& queue,
                                               const JobName& job);
  /// Where the filter is of waiting jobs: those that their owners know to be active, by their first entries.
  using ActiveJobs = std::set<std::pair<store::ShardId, domain::Seq>>;
  ActiveJobs active_now(const store::QueueDefinition& queue, const JobFilter& filter);
  void control_all(const store::QueueDefinition& queue, const JobFilter& filter, domain::EntryType type,
                   std::uint64_t& changed);
  struct Tally {
    Stats stats;
    std::vector<ShardStats> shards;  ///< if they are asked for
    std::set<std::string> unread;    ///< queues with controls that no owner has carried out yet
    std::map<std::string, std::uint64_t> unserved;  ///< due and retrying jobs of kinds without code
    std::vector<store::ShardRow> rows;              ///< of all shards, as they were before anything was read
  };
  enum class ByShard { no, yes };
  /// Of the queues that `counts_in` admits; nothing of the others is read.
  Tally tally(const std::function<bool(const store::QueueDefinition&)>& counts_in,
              ByShard by_shard = ByShard::no);
  /// Whether a queue's name is one of these, as Admin::stats() takes them. Throws for one that fits no queue.
  std::function<bool(std::string_view)> chosen(const std::vector<std::string>& queues);

  void rebuild_some(const store::QueueDefinition& queue, const std::vector<store::ShardId>& shards,
                    const Rebuild& what, const std::function<void(const Rebuilt&)>& visit);
  std::set<std::string> living_nodes();
  QueueGates gates_of(const store::QueueDefinition& queue);
  /// The group's shards are not all on one living node.
  bool is_scattered(const std::map<std::string, std::string, std::less<>>& groups, const std::string& group,
                    const std::set<std::string>& alive);
  std::set<store::ShardId> owned_now();
  std::map<std::string, PeriodicOptions> stated_schedules();
  PeriodicOptions schedule(std::string_view name);
  using FittingJob = domain::FittingJob;
  using Listed = domain::ListedJob;
  static std::vector<store::ShardId> shards_for(const store::QueueDefinition& queue, const JobFilter& filter);
  /// Those shards of a queue, and of them those jobs, that can have some that fit.
  Rebuild rebuild_for(const store::QueueDefinition& queue, const JobFilter& filter);
  static Listed listed(const store::QueueDefinition& queue, const Rebuilt& rebuilt, const FittingJob& fitting,
                       Time now);
  /// The first of the jobs that fit, in their order, without payloads; none of the dead.
  std::vector<Listed> list(const store::QueueDefinition& queue, const JobFilter& filter,
                           const ListOrder& order, Time now);
  enum class Owners { asked, not_asked };
  std::vector<Listed> list(const store::QueueDefinition& queue, const JobFilter& filter,
                           const ListOrder& order, Time now, Owners owners);
  /// What the owners of shards have answered.
  struct Told {
    std::set<store::ShardId> shards;   ///< those that have, in time
    std::optional<ListPlace> through;  ///< jobs behind this place may be missing
  };
  /// Asks those that live for the jobs of their shards, which go to `listing`.
  Told ask_owners(const std::vector<store::ShardId>& shards, const domain::ListingWish& wish,
                  domain::JobListing& listing);
  /// Throws Error{unavailable} when a reshard has taken the jobs elsewhere while `call` looked at them.
  void check_not_moved(const store::QueueDefinition& queue, std::string_view call);
  void find_ahead(const store::QueueDefinition& queue, std::span<Listed> jobs);
  using TakeEntry =
      std::function<void(std::size_t job, domain::Seq seq, double score, const domain::Entry& entry)>;
  /// The entries of the jobs that are still in the store, in no order. `owned`: as in show_payloads().
  void read_entries(std::span<const Listed> jobs, std::set<store::ShardId>& owned, const TakeEntry& take);
  /// `owned`: shards that had an owner since the jobs were looked out; others are added.
  void show_payloads(std::span<Listed> jobs, QueueGates& gates, std::set<store::ShardId>& owned);
  /// What a listing has shown.
  struct Shown {
    std::size_t left;  ///< rows that it may still show
    bool goes_on = true;
    std::optional<ListPlace> last{};
    std::set<std::pair<store::ShardId, domain::Seq>> jobs{};  ///< one that failed meanwhile has a new place
    std::set<store::ShardId> owned{};
  };
  /// Those of the jobs that are still there.
  void show(std::span<Listed> jobs, QueueGates& gates, const std::function<bool(JobView)>& visit,
            Shown& shown);
  void show_live(const store::QueueDefinition& queue, const JobFilter& filter, const ListOrder& order,
                 Time now, const std::function<bool(JobView)>& visit, Shown& shown);
  void dead(const store::QueueDefinition& queue, const DeadFilter& filter, const Listing& listing,
            const ListOrder& order, const std::function<bool(const DeadView&, const ListPlace&)>& visit);
  void each_dead(const store::QueueDefinition& queue, const DeadFilter& filter,
                 const std::function<bool(const store::DeadRow&, const domain::DeadPayload&)>& visit);
  void change_dead(const store::QueueDefinition& queue, const DeadFilter& filter, bool revive,
                   const Skipped& skipped, std::size_t& changed);
  /// Brings one row back. Throws Error{conflict} when another job has its unique key.
  bool revive_one(std::string_view call, const store::QueueDefinition& queue, const store::DeadRow& row,
                  const domain::DeadPayload& dead);
  struct UniqueDead;
  store::RowStep step_of(const store::QueueDefinition& queue, const UniqueDead& job);
  void revive_unique(const store::QueueDefinition& queue, std::vector<UniqueDead> jobs,
                     const Skipped& skipped, std::size_t& changed);

  bool stands_still(const Tally& tally);
  bool waits_for_trimming(const Tally& tally);

  std::shared_ptr<StoreHandle> handle_;
  std::optional<Duration> too_many_dead_since_;  // steady
  std::vector<store::ShardRow>
      still_;  ///< the shards that change no more, if they have no run, for drained()
  Duration still_since_{0};
  std::mutex silent_mutex_;
  std::map<std::string, std::uint64_t> silent_;  // nodes that gave no answer, and their renewals then
};

}  // namespace ordo
