#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "simulation/checkers.h"
#include "simulation/history.h"
#include "simulation/world.h"
#include "store/memory/memory_store.h"

namespace ordo::simulation {

/// How one client of the store is treated.
struct StoreFaults {
  std::uint64_t fail_one_in = 0;  ///< calls; 0: none
  Duration slowest{};             ///< of a commit or append, each way
  std::size_t max_rows = ~std::size_t{0};
  std::size_t max_delta_rows = ~std::size_t{0};
  std::size_t piece_bytes = 0;  ///< a log is read in pieces of about so many, also of an append; 0: whole
  bool forgets_leases = false;  ///< readers return nothing of a shard whose lease is over, and may not say so
  bool times_go_back = false;   ///< in the log: concurrent transactions leave them so
  bool is_damaged =
      false;  ///< what nodes say of themselves, and what shards lend, cannot be read now and then
  bool newer =
      false;  ///< no fault: the process is of the next version, which reads and writes its own records
};

/// The store as one process sees it: slow, cut off, failing before or after the effect. Everything that takes
/// effect is shown to the checkers.
class FaultyStore final : public store::Store, public std::enable_shared_from_this<FaultyStore> {
 public:
  FaultyStore(std::string who, History& history, Checkers& checkers, StoreFaults faults)
      : who_(std::move(who)),
        history_(history),
        world_(history.world()),
        inner_(history.store()),
        checkers_(checkers),
        faults_(faults),
        newer_(faults.newer),
        setbacks_before_(inner_.setbacks()) {}

  /// Refuses everything until then.
  void cut_off(Duration until) { refuses_until_ = until; }
  void heal() {
    faults_ = {.piece_bytes = faults_.piece_bytes,
               .forgets_leases = faults_.forgets_leases,
               .times_go_back = faults_.times_go_back};
    refuses_until_ = {};
  }
  /// Its process has ended: what is on its way may still arrive, answers do not.
  void kill() { alive_ = false; }
  /// Called before each call.
  std::function<void()> on_call;
  /// Called when an answer has come.
  std::function<void()> on_answer;
  /// Called when something was appended or changed.
  std::function<void()> on_change;
  /// Called in the middle of a call, now and then.
  std::function<void()> on_stall;
  /// Whether its process may act as its leases allow.
  std::function<bool()> holds_leases;
  /// A reader of this process had to end there in the middle of an append.
  bool ends_in_append(ShardId shard, store::Lease lease, Seq seq) const {
    return piece_ends_.contains({shard, lease.token, seq});
  }

  void append(std::vector<store::NewEntry> entries, store::Completion done) override;
  void append_durably(std::vector<store::NewEntry> entries) override;
  std::unique_ptr<store::LogReader> open_log() override;
  store::LogChunk fetch(ShardId shard, std::span<const Seq> seqs) override;
  void wake() override;
  void commit(std::vector<store::Delta> deltas, store::CommitCompletion done) override;
  std::size_t max_delta_rows() const override { return faults_.max_delta_rows; }
  std::size_t max_set_aside() const override { return inner_.max_set_aside(); }
  std::vector<store::ShardFacts> load(std::span<const ShardId> shards) override;
  std::vector<store::KeptRow> kept_heads(ShardId shard, std::uint64_t from, std::size_t max_rows) override;
  std::vector<store::KeptRow> kept(ShardId shard, std::span<const std::uint64_t> nos) override;
  bool replace_kept(ShardId shard, const store::KeptRow& row) override;
  store::QueueList queues() override;
  std::vector<store::QueueDefinition> define_all(std::span<const store::QueueWish> queues) override;
  bool set_paused(std::string_view name, bool paused) override;
  bool remove(std::string_view name) override;
  bool close(std::string_view name) override;
  bool replace(std::string_view name, std::uint32_t by) override;
  void join(const std::string& node, const std::string& facts) override;
  bool renew(const std::string& node, Duration patience) override;
  void leave(const std::string& node, std::optional<std::uint64_t> seen_renewals) override;
  std::vector<store::NodeRow> nodes() override;
  std::uint64_t setbacks() override { return inner_.setbacks() - setbacks_before_; }
  std::optional<Duration> setback_age(bool is_known) override { return inner_.setback_age(is_known); }
  bool request(const std::string& node, store::NodeRequest request) override {
    return inner_.request(node, request);
  }
  std::vector<store::ShardRow> shards() override;
  std::vector<store::Grant> acquire(const std::string& node, std::uint64_t holder,
                                    std::span<const store::Claim> claims) override;
  void release(std::span<const store::Release> ends) override;
  std::vector<store::DeadRow> dead(std::uint32_t queue, std::uint64_t after, std::size_t max_rows) override;
  std::vector<store::ShardId> oldest_dead(std::uint32_t queue, std::size_t max_rows) override;
  std::size_t erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) override;
  std::size_t revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                     std::vector<store::NewEntry> entries) override;
  std::optional<std::string> wait_row(std::string_view queue, std::string_view key) override;
  std::vector<store::WaitRow> wait_rows(std::string_view queue, std::string_view after,
                                        std::size_t max_rows) override;
  std::size_t sweep_rows(std::string_view queue, std::size_t max_rows) override;
  std::vector<store::RowResult> step_rows(std::string_view rows, std::vector<store::RowStep> steps) override;
  std::string ask(const std::string& node, std::string bytes) override {
    return inner_.ask(node, std::move(bytes));
  }
  std::vector<store::Question> questions(const std::string& node) override { return inner_.questions(node); }
  void answer(const std::string& node, const std::string& id, std::string bytes) override {
    inner_.answer(node, id, std::move(bytes));
  }
  std::optional<std::string> take_answer(const std::string& node, const std::string& id) override {
    return inner_.take_answer(node, id);
  }
  Time now() override;
  /// When this process has read that time of the store's clock last, if it did so lately.
  Duration read_at(Time time) const;
  Duration excess() override { return inner_.excess(); }
  std::vector<Finding> examine() override { return inner_.examine(); }

 private:
  enum class Fate { well, fails_before, fails_after };
  class Reader;

  Fate fate();
  /// A blocking call: others go on before and after it, and it may fail on either side.
  template <class Call>
  auto ask(const char* what, Call call);
  void refuse(const char* what);
  /// A call with an answer that comes later. `effect` and `answer(failed)`.
  void send(const char* what, std::function<void()> effect, std::function<void(bool failed)> answer);
  void changed();
  void note_ends(const std::vector<store::NewEntry>& entries);
  std::vector<store::NodeRow> damaged(std::vector<store::NodeRow> rows);
  std::vector<store::ShardRow> damaged(std::vector<store::ShardRow> rows);
  std::optional<Duration> find_read(Time time) const;
  std::vector<store::CommitResult> apply(const std::vector<store::Delta>& deltas, Duration read_at);

  const std::string who_;
  History& history_;
  World& world_;
  store::memory::MemoryStore& inner_;
  Checkers& checkers_;
  StoreFaults faults_;
  const bool newer_;
  const std::uint64_t setbacks_before_;
  Duration refuses_until_{};
  std::map<Time, Duration> reads_;  // of the clock
  Duration last_read_{};
  std::uint64_t damages_ = 0;  // looks that were asked for: no dice, as kept seeds stay what they are
  std::set<std::tuple<ShardId, std::uint64_t, Seq>> piece_ends_;
  bool alive_ = true;
};

}  // namespace ordo::simulation
