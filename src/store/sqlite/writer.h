#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/waits.h"
#include "store/store.h"

namespace ordo::store::sqlite {

/// What is done inside a write transaction: log and deltas here, the rarer verbs in registry.h and dead.h.
/// Used by the committer's thread alone, under the file lock.
class Writer {
 public:
  /// `connection` is open for writing and its schema is current; both outlive the writer.
  Writer(Connection& connection, Clock& clock);

  /// Rolls back unless it is committed. What throws inside leaves nothing.
  class Transaction {
   public:
    explicit Transaction(Writer& writer) : writer_(writer) { writer_.begin(); }
    ~Transaction() { writer_.roll_back(); }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    void commit() { writer_.commit(); }

   private:
    Writer& writer_;
  };

  /// Why these may not be appended in one call; nothing: they may.
  std::optional<Error> refusal_of(std::span<const NewEntry> entries) const;

  /// Appends all; nothing speaks against it.
  void append(std::span<const NewEntry> entries);

  /// Decides by the fence before anything else of the delta is written: a stale one leaves no trace.
  /// `keeps`: else what it keeps is left out.
  CommitResult apply(const Delta& delta, bool keeps);

  bool replace_kept(ShardId shard, const KeptRow& row);

  /// True: its queue is defined. As of this transaction.
  bool has_shard(ShardId shard) const;
  bool is_closed(std::uint32_t queue) const;

  /// Number of the last append, this transaction's included.
  Seq head() const { return counters_.head; }

  std::uint32_t new_queue_number() { return static_cast<std::uint32_t>(++counters_.queue); }
  void definitions_changed();
  /// The same for a new queue, without reading the others again.
  void queue_made(const QueueDefinition& queue);

  /// Who waits for the log or a definition must look again once this transaction is durable.
  void wake_after_commit() { wakes_ = true; }
  /// Of the last transaction, once it is committed.
  bool wakes() const { return wakes_; }

  /// Pages in the WAL at the last commit, of whichever process.
  int wal_pages() const { return wal_pages_; }

  Connection& connection() { return connection_; }
  WaitTable& waits() { return waits_; }
  Time now() { return clock_.wall(); }

 private:
  struct Counters {
    Seq head = 0;
    std::int64_t at = 0;
    std::uint64_t queue = 0;
    std::uint64_t version = 0;
    bool operator==(const Counters&) const = default;
  };

  void begin();
  void commit();
  void roll_back() noexcept;
  void read_counters();
  void read_definitions();
  bool is_applied_already(const Delta& delta);
  void bury(const Delta& delta);
  void erase_finished();
  void claim_disk_space();

  Connection& connection_;
  Clock& clock_;
  WaitTable waits_;
  Counters counters_;
  Counters stored_counters_;
  struct Queue {
    std::uint32_t shards = 0;
    bool closed = false;
  };
  std::unordered_map<std::uint32_t, Queue> queues_;
  std::uint64_t definitions_version_ = UINT64_MAX;
  std::vector<Seq> finished_;  // of all deltas applied in this transaction
  bool wakes_ = false;
  bool is_committed_ = true;
  int wal_pages_ = 0;
  std::int64_t claimed_pages_ = 0;

  Statement begin_, commit_, counters_row_, set_counters_, page_count_;
  Statement insert_entry_, erase_entry_, erase_entries_;
  Statement fence_, shard_lease_, put_state_, erase_state_;
  Statement insert_dead_, count_dead_, trim_oldest_, trim_older_, set_dead_;
  Statement put_kept_, erase_kept_;
};

}  // namespace ordo::store::sqlite
