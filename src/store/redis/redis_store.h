#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "store/odd_rows.h"
#include "store/redis/location.h"
#include "store/redis/log_reader.h"
#include "store/redis/pipeline.h"
#include "store/redis/sentinel.h"
#include "store/redis/slot_map.h"
#include "store/store.h"
#include "store/watched_clock.h"

namespace ordo::store::redis {

/// The store in one database of a Redis server, 6.2 or newer, that sentinels may name, or in a Redis Cluster,
/// which any number of processes may use at once. In a cluster a call is a step for each shard, and one for
/// the registry. What is acknowledged is as durable as the server's settings make it (docs/redis.md). The
/// store's time is the server's. Completions run on the store's own thread. Keys: keys.h.
class RedisStore final : public Store, public LeavesOut {
 public:
  /// Connects. Throws Error{unavailable}: no server, a wrong password, a server that may evict jobs.
  /// Error{unsupported}: the server is too old; another version of Ordo made the store; the URL names several
  /// servers or a database, and that is no cluster, or one.
  explicit RedisStore(const Location& location, Patience patience = {});

  void append(std::vector<NewEntry> entries, Completion done) override;
  std::unique_ptr<LogReader> open_log() override;
  LogChunk fetch(ShardId shard, std::span<const Seq> seqs) override;
  void wake() override;

  void commit(std::vector<Delta> deltas, CommitCompletion done) override;
  /// An entry to erase costs the server 1.7 us, in which it serves nobody else: without a bound a script of
  /// 25,000 takes 45 ms. Smaller ones than of 2000 cost rate, as each shard has one under way.
  std::size_t max_delta_rows() const override { return 2000; }
  std::size_t max_set_aside() const override { return 200; }
  std::vector<ShardFacts> load(std::span<const ShardId> shards) override;
  std::vector<KeptRow> kept_heads(ShardId shard, std::uint64_t from, std::size_t max_rows) override;
  std::vector<KeptRow> kept(ShardId shard, std::span<const std::uint64_t> nos) override;
  bool replace_kept(ShardId shard, const KeptRow& row) override;

  QueueList queues() override;
  std::vector<QueueDefinition> define_all(std::span<const QueueWish> queues) override;
  bool set_paused(std::string_view name, bool paused) override;
  bool remove(std::string_view name) override;
  bool close(std::string_view name) override;
  bool replace(std::string_view name, std::uint32_t by) override;

  void join(const std::string& node, const std::string& facts) override;
  bool renew(const std::string& node, Duration patience) override;
  bool request(const std::string& node, NodeRequest request) override;
  void leave(const std::string& node, std::optional<std::uint64_t> seen_renewals) override;
  std::vector<NodeRow> nodes() override;
  std::uint64_t setbacks() override { return slots_.setbacks(); }
  std::optional<Duration> setback_age(bool is_known) override;
  std::vector<ShardRow> shards() override;
  std::vector<Grant> acquire(const std::string& node, std::uint64_t holder,
                             std::span<const Claim> claims) override;
  void release(std::span<const Release> ends) override;

  std::vector<DeadRow> dead(std::uint32_t queue, std::uint64_t after, std::size_t max_rows) override;
  std::vector<ShardId> oldest_dead(std::uint32_t queue, std::size_t max_rows) override;
  std::size_t erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) override;
  std::size_t revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                     std::vector<NewEntry> entries) override;

  std::optional<std::string> wait_row(std::string_view queue, std::string_view key) override;
  std::vector<RowResult> step_rows(std::string_view rows, std::vector<RowStep> steps) override;
  std::vector<WaitRow> wait_rows(std::string_view queue, std::string_view after,
                                 std::size_t max_rows) override;
  std::size_t sweep_rows(std::string_view queue, std::size_t max_rows) override;

  std::string ask(const std::string& node, std::string bytes) override;
  std::vector<Question> questions(const std::string& node) override;
  void answer(const std::string& node, const std::string& id, std::string bytes) override;
  std::optional<std::string> take_answer(const std::string& node, const std::string& id) override;

  Time now() override;
  Duration excess() override { return watched_.excess(now(), system_clock().steady()); }
  std::vector<std::string> dangers() override { return pipeline_.dangers(); }
  std::vector<std::string> left_out() override { return left_out_.all(); }
  std::vector<Finding> examine() override;

 private:
  /// Throws Error{unsupported}: another version of Ordo made what is stored.
  void check_schema() const;
  static constexpr std::size_t kFetchAtOnce = 4096;

  /// Why the entries cannot be appended, whatever the server says.
  static std::exception_ptr size_refusal(const std::vector<NewEntry>& entries);
  void append_one(NewEntry entry, Completion done);
  std::string queue_name(std::uint32_t number);
  void fetch_piece(LogChunk& chunk, ShardId shard, std::span<const Seq> seqs);
  static CommandText wake_command();
  Reply ask_registry(const char* task, CommandText command);
  void define_some(std::span<const QueueWish> queues, std::vector<QueueDefinition>& definitions);
  std::vector<QueueDefinition> make_queues(std::vector<QueueDefinition> queues);
  void make_shards(std::span<const QueueDefinition> queues, const std::vector<bool>& is_new);
  std::vector<bool> look_for_evicted(std::vector<QueueDefinition>& queues);
  std::map<std::uint32_t, QueueDefinition> scan_shards();
  void restore_shards(const QueueList& list);
  void remove_waits(std::string_view queue);
  void remove_shards(std::uint32_t number, std::uint32_t shards);
  void remove_left_shards();
  bool is_closed(std::uint32_t queue);
  std::size_t revive_elsewhere(ShardId from, std::uint64_t count, NewEntry entry);
  Time newest_entry();
  std::map<ShardId, std::string> odd_keys(const std::vector<ShardId>& shards);

  const Location location_;
  const Patience patience_;
  const std::shared_ptr<WakeBell> bell_ = std::make_shared<WakeBell>();
  std::atomic<std::size_t> fetched_at_once_ = kFetchAtOnce;
  std::mutex names_mutex_;
  std::unordered_map<std::uint32_t, std::string> names_;  // of queues whose logs other programs write
  LeftOut left_out_;
  WatchedClock watched_;
  std::atomic<std::uint64_t> restored_ = 0;  // evicted keys, behind which all shards were whole
  std::atomic<bool> has_odd_keys_ = false;   // by the last look at their kinds
  SlotMap slots_;
  const Slot registry_;
  Pipeline pipeline_;  // behind what its thread needs to complete requests until it is gone
  std::optional<SentinelWatch> watch_;
};

}  // namespace ordo::store::redis
