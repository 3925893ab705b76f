#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/odd_rows.h"
#include "store/question_box.h"
#include "store/sqlite/committer.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/node_locks.h"
#include "store/sqlite/open_files.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/wake_word.h"
#include "store/store.h"
#include "store/watched_clock.h"

namespace ordo::store::sqlite {

/// The store in one SQLite file, which any number of processes of one machine may use at once. Beside the
/// file stand its WAL and FILE-lock, FILE-wake, FILE-reserve and a FILE-node-<id> per live node, with the
/// file's mode and owner. Once one of them is deleted or replaced, every call fails with Error{corrupt} and
/// writes nothing. Completions run on the store's own thread.
class SqliteStore final : public Store, public LeavesOut {
 public:
  /// Creates the file if it is missing, for its owner alone or as the location says (location.h). `clock`
  /// must outlive the store.
  /// Throws Error{invalid_argument}: no such directory, another program's database. Error{unsupported}: a
  /// network file system, a newer schema. Error{corrupt}: no database. Error{unavailable}: no rights, no
  /// space, locked. `busy_timeout_ms`: how long it waits for a program that does not use Ordo's lock.
  SqliteStore(const std::string& location, Clock& clock, int busy_timeout_ms = kBusyTimeoutMs);

  void append(std::vector<NewEntry> entries, Completion done) override;
  std::unique_ptr<LogReader> open_log() override;
  LogChunk fetch(ShardId shard, std::span<const Seq> seqs) override;
  void wake() override;

  void commit(std::vector<Delta> deltas, CommitCompletion done) override;
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

  /// False: one was deleted or replaced, and every call fails.
  bool has_its_files() const { return files_.are_there(); }
  bool is_replaced() const override { return !files_.has_database(); }

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
  std::vector<std::string> left_out() override { return left_out_.all(); }
  std::vector<Finding> examine() override;

 private:
  enum class Growth { none, grows };

  /// What `body(Writer&)` returns, run in a transaction, once that is durable. Blocks.
  template <class Body>
  auto write(Body body, Growth growth = Growth::none);
  /// The same for what may be lost: nobody waits. `then` runs on the committer's thread, once it is written.
  void write_later(std::function<void(Writer&)> body, std::function<void()> then = {});
  /// The node joined here: what it is asked needs no file.
  bool is_own(const std::string& node);

  Clock& clock_;
  WatchedClock watched_;
  Connection connection_;  // the committer's
  OpenFiles files_;
  WakeWord wake_;
  NodeLocks node_locks_;
  LeftOut left_out_;
  std::mutex asked_mutex_;
  std::map<std::string, std::uint64_t> looked_at_;  // by node: how many questions there had been
  std::set<std::string> own_nodes_;                 // those that joined here are asked here
  QuestionBox asked_here_;
  ReaderPool readers_;
  Committer committer_;  // last: its thread completes requests until it is gone
};

}  // namespace ordo::store::sqlite
