#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/question_box.h"
#include "store/store.h"
#include "store/watched_clock.h"

namespace ordo::store::memory {

/// The store as plain containers under one mutex: the executable specification that every other store is
/// compared with. Gone with the object. Completions run in the caller, before the call returns.
class MemoryStore : public Store {
 public:
  /// `clock` gives the store's time and must outlive the store.
  explicit MemoryStore(Clock& clock) : clock_(clock) {}

  void append(std::vector<NewEntry> entries, Completion done) override;
  std::unique_ptr<LogReader> open_log() override;
  LogChunk fetch(ShardId shard, std::span<const Seq> seqs) override;
  void wake() override;

  void commit(std::vector<Delta> deltas, CommitCompletion done) override;
  std::size_t max_set_aside() const override { return 16; }
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
  void leave(const std::string& node, std::optional<std::uint64_t> seen_renewals) override;
  std::vector<NodeRow> nodes() override;
  std::uint64_t setbacks() override;
  std::optional<Duration> setback_age(bool is_known) override;
  bool request(const std::string& node, NodeRequest request) override;
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

  Time now() override { return clock_.wall(); }
  Duration excess() override { return watched_.excess(clock_.wall(), clock_.steady()); }
  std::vector<Finding> examine() override {
    return {{Finding::Level::warning, "the store is the memory of this process", "name a store that lasts"}};
  }

  /// For tests and the simulation: from now on the store knows that the node's process has ended.
  void kill_node(const std::string& node);
  /// As a server that went back: the shard still is its owner's, but under another lease than that one knows.
  void forget_lease(ShardId shard);
  /// The same, and it is whose it was before its owner was granted it.
  void forget_grant(ShardId shard);
  /// Likewise: the shard's last delta is lost. What it says stays: so only who goes on from it can tell.
  void forget_batch(ShardId shard);
  /// As a failing disk: the state that is stored under the entry reads so from now on.
  void spoil_state(ShardId shard, Seq first, std::string bytes);
  /// As a server that went back: the row is gone, and nobody freed what the node owns.
  void forget_node(const std::string& node);

 private:
  class Reader;
  struct Record {
    ShardId shard;
    Time at{};
    std::size_t more = 0;  // entries of the same append that follow
    std::string bytes;
    bool set_aside = false;
  };
  struct Shard {
    std::string owner;
    std::string owner_before;
    Lease lease;
    std::uint64_t batch = 0;
    Seq position = 0;
    std::string counts;
    bool clean = true;
    bool crashed = false;  // freed after its owner was known dead
    std::map<Seq, std::string> states;
    std::map<std::uint64_t, KeptRow> kept;
    std::uint64_t dead = 0;
    std::uint64_t dead_trimmed = 0;
  };

  std::uint64_t now_us() { return static_cast<std::uint64_t>(clock_.wall().time_since_epoch().count()); }

  // All below need mutex_.
  bool can_append(std::span<const NewEntry> entries) const;
  void check_append(std::span<const NewEntry> entries) const;
  bool is_closed(std::uint32_t queue) const;
  void drop(std::uint32_t queue);
  void append_all(std::vector<NewEntry> entries);
  CommitResult apply(Delta& delta);
  void trim_waits();
  void trim_dead(const Delta& delta, Shard& shard);
  bool take_dead(std::uint32_t queue, std::uint64_t no);
  bool is_still_so(const Claim& claim, const Shard& shard) const;
  QueueDefinition define_one(const QueueWish& queue);
  QueueDefinition* find_queue(std::string_view name);
  void changed();

  Clock& clock_;
  WatchedClock watched_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::uint64_t wakes_ = 0;
  std::uint64_t setbacks_ = 0;
  std::uint64_t noted_setbacks_ = 0;
  std::optional<Duration> noted_at_;  // steady

  std::map<Seq, Record> log_;
  Seq head_ = 0;
  Time last_at_ = Time::min();

  QueueList queues_;
  std::uint32_t last_queue_ = 0;
  std::map<ShardId, Shard> shards_;
  std::map<std::uint64_t, DeadRow> dead_;
  std::uint64_t last_dead_ = 0;
  std::map<std::string, NodeRow> nodes_;
  std::map<std::pair<std::string, std::string>, WaitRow> waits_;  // by queue and key
  QuestionBox asked_;
};

}  // namespace ordo::store::memory
