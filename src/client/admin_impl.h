#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ordo/admin.hpp>

#include "client/store_handle.h"
#include "domain/entry.h"
#include "domain/shard.h"

namespace ordo {

class Admin::Impl {
 public:
  explicit Impl(std::shared_ptr<StoreHandle> handle) : handle_(std::move(handle)) {}

  Stats stats();
  /// Nothing of the queues that `served` admits is due, running, in back-off, or asked for and not yet read.
  bool drained(const std::function<bool(const std::string&)>& served);
  std::vector<QueueView> queues();
  std::set<std::uint32_t> not_paused_yet(const store::QueueList& list);
  std::vector<NodeView> nodes();
  std::vector<std::pair<std::vector<std::string>, std::string>> groups(
      const std::vector<store::NodeRow>& nodes, const std::vector<store::ShardRow>& shards);
  std::vector<Finding> examine();
  void examine_queues(std::vector<Finding>& findings);
  void examine_kinds(std::vector<Finding>& findings);
  void examine_records(std::vector<Finding>& findings);
  bool request(const std::string& node, store::NodeRequest request) {
    return handle_->store().request(node, request);
  }
  std::vector<JobView> jobs(std::string_view queue, const JobFilter& filter);
  bool control(std::string_view queue, const JobName& job, domain::EntryType type);
  std::vector<JobView> dead_jobs(std::string_view queue, const JobFilter& filter);
  void dead(std::string_view queue, const std::vector<std::string>& ids,
            const std::function<bool(const DeadView&)>& visit);
  std::size_t retry_dead(std::string_view queue, const std::optional<std::vector<std::string>>& ids);
  std::size_t delete_dead(std::string_view queue, const std::optional<std::vector<std::string>>& ids);
  void set_paused(std::string_view queue, bool paused);
  bool remove(std::string_view queue, RemoveJobs jobs);
  ReshardResult reshard(std::string_view queue, std::uint32_t shards,
                        const std::function<void(const ReshardProgress&)>& progress);

  /// How many entries one look at the log takes in.
  static constexpr std::size_t kLogRows = 8192;

 private:
  struct Tally {
    Stats stats;
    std::set<std::string> unread;  ///< queues with controls that no owner has carried out yet
  };
  /// Of the queues that `counts_in` admits; nothing of the others is read.
  Tally tally(const std::function<bool(const store::QueueDefinition&)>& counts_in);

  using Shards = std::vector<std::unique_ptr<domain::Shard>>;

  /// The given shards of a queue as an owner would have them now, from the store alone. Of those in `owned`
  /// the runs go on that their owner listed; in the others they are queued again. One that a newer version
  /// wrote to ends before that; `behind_newer` gets how many entries follow.
  Shards rebuild(const store::QueueDefinition& queue, const std::vector<store::ShardId>& shards,
                 domain::PayloadBudget& budget, const std::set<store::ShardId>& owned = {},
                 std::map<store::ShardId, std::uint64_t>* behind_newer = nullptr);
  std::set<store::ShardId> owned_now();
  void each_dead(std::string_view queue, const std::optional<std::vector<std::string>>& ids,
                 const std::function<bool(const store::QueueDefinition&, const store::DeadRow&,
                                          const domain::DeadPayload&)>& visit);
  std::size_t change_dead(std::string_view queue, const std::optional<std::vector<std::string>>& ids,
                          bool revive);

  std::shared_ptr<StoreHandle> handle_;
};

}  // namespace ordo
