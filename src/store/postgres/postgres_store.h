#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "store/odd_rows.h"
#include "store/open.h"
#include "store/postgres/committer.h"
#include "store/postgres/pool.h"
#include "store/postgres/reader.h"
#include "store/store.h"
#include "store/watched_clock.h"

namespace ordo::store::postgres {

/// Whose time stands in entries and tokens. Tests that move a clock by hand give theirs.
enum class TimeSource { server, clock };

/// The store in a PostgreSQL database (15 or newer), which any number of processes on any machines may use.
/// Its tables and functions are named ordo_… and stand in the first schema of the user's search_path. Works
/// behind a transaction pooler. Completions run on the store's own thread.
class PostgresStore final : public Store, public LeavesOut {
 public:
  /// `url`: postgres://USER@HOST:PORT/DATABASE and every setting of libpq, such as
  /// ?sslmode=verify-full&target_session_attrs=read-write. Makes what is missing in the database.
  /// `clock` must outlive the store. Throws Error{invalid_argument}: the URL cannot be read.
  /// Error{unavailable}: no server, no rights. Error{unsupported}: a newer schema, a server older than 15.
  PostgresStore(const std::string& url, Clock& clock, TimeSource time = TimeSource::server,
                Missing missing = Missing::made);

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
  std::uint64_t setbacks() override { return context_.connector.setbacks(); }
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

  /// The server's time, known from its last answers; asks nobody.
  std::optional<std::string> wait_row(std::string_view queue, std::string_view key) override;
  std::vector<RowResult> step_rows(std::string_view rows, std::vector<RowStep> steps) override;
  std::vector<WaitRow> wait_rows(std::string_view queue, std::string_view after,
                                 std::size_t max_rows) override;
  std::size_t sweep_rows(std::string_view queue, std::size_t max_rows) override;

  bool has_inbox() const override { return true; }
  std::vector<InboxRow> inbox(std::string_view node, std::size_t max_rows) override;
  void take_out(std::span<const std::int64_t> numbers) override;

  std::string ask(const std::string& node, std::string bytes) override;
  std::vector<Question> questions(const std::string& node) override;
  void answer(const std::string& node, const std::string& id, std::string bytes) override;
  std::optional<std::string> take_answer(const std::string& node, const std::string& id) override;

  Time now() override;
  Duration excess() override { return watched_.excess(now(), clock_.steady()); }
  std::vector<std::string> left_out() override { return left_out_.all(); }
  std::vector<Finding> examine() override;

 private:
  std::optional<std::int64_t> given_now();
  /// One statement on a connection of the pool. Not for completions.
  Result ask(std::string_view task, const char* sql, const Parameters& parameters = {},
             Duration patience = kAnswer);
  /// For what may take its time.
  Result ask_long(std::string_view task, const char* sql, const Parameters& parameters = {});

  /// Throws Error{unavailable}: one of those that write entries now has not ended within `at_most`.
  void wait_for_writers(std::string_view queue, Duration at_most);

  Clock& clock_;
  const TimeSource time_;
  ReaderContext context_;
  LeftOut left_out_;
  WatchedClock watched_;
  ConnectionPool pool_;
  Committer committer_;  // last: its thread completes requests until it is gone
};

}  // namespace ordo::store::postgres
