#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/postgres/connector.h"
#include "store/postgres/seen_book.h"
#include "store/postgres/server_clock.h"
#include "store/postgres/snapshot.h"
#include "store/postgres/wakers.h"
#include "store/store.h"

namespace ordo::store::postgres {

/// What all readers of a store share. Outlives them.
struct ReaderContext {
  std::int64_t store = 0;  ///< random: which sleepers are its own
  SeenBook seen;
  Connector connector;
  ServerClock clock;
  Wakers wakers;
};

/// Reads the logs of a set of shards by snapshots, so that nothing is missed or delayed however transactions
/// overlap.
///
/// An entry's number begins with the id of its transaction, so a shard is read from its place on, `seq` >
/// place. Transactions that were in progress in that snapshot and began before the place may still bring
/// entries that sort before it: they are kept as `open`. Once a later snapshot sees one ended, what it left
/// before the place is late. An owner's reader gives late entries numbers right behind its place, in a fenced
/// transaction of its own, and reads on from there: so the order of the numbers is always the order of
/// reading, and nothing overtakes what was pushed before it.
///
/// Crashes: a move is durable before its entries are returned. How far the owner had read at its last delta,
/// and what was open then, stands beside it (SeenBook); the next owner moves what these transactions left
/// since, as the delta may rest on entries with higher numbers. Late entries that no durable delta knows of
/// may stay where they are: nothing was acted upon that is not simply done again in their order.
///
/// A page ends where it is full, inside a transaction, too (LogRow::more). What it had no room for is known
/// from the places; of late entries, that the transactions that left them stay open, and how far one was
/// read. A server that has gone back (Connector) makes all places of owners void: their leases have ended.
class Reader final : public LogReader {
 public:
  explicit Reader(ReaderContext& context);
  ~Reader() override;

  void add(ShardId shard, Seq after, Lease lease) override;
  void remove(ShardId shard) override;
  LogChunk read(std::size_t max_rows) override;
  void wait(Duration at_most) override;

 private:
  struct Place {
    std::int64_t after = 0;
    Lease lease;
    std::uint64_t setbacks = 0;  // of the server, when it was added
    std::int64_t last_at = INT64_MIN;
    bool is_caught_up = false;
    bool is_adopted = false;           // where the log begins, and what was left open, is known
    bool is_lost = false;              // the lease is stale: nothing more is returned
    bool is_told = false;              // that it is
    std::set<std::int64_t> inherited;  // transactions of which everything must be moved

    bool is_owned() const { return lease != Lease{}; }
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;  // shard, transaction

  struct Next {
    bool is_late = false;
    std::int64_t shard = 0, seq = 0;
  };
  struct Page {
    std::optional<Result> result;
    Snapshot snapshot;
    std::uint64_t changes = 0;  // definitions and wakes
    std::vector<Pair> to_move;
    std::optional<Next> next;  // the entry that the page has no room for
  };

  Connection& connection();
  bool is_before(std::int64_t shard, std::int64_t other) const;
  void start_over();
  void adopt();
  Page fetch_page(std::size_t rows, std::int64_t bytes);
  void take_rows(const Page& page, LogChunk& chunk);
  void settle(const Page& page);
  void note_seen();
  void move(const std::vector<Pair>& pairs);

  bool has_something();
  bool fall_asleep();
  void wake_up();
  void note_blind(const Snapshot& snapshot);
  Duration until_next_look() const;
  bool doze(Duration at_most);

  ReaderContext& context_;
  const std::int64_t id_;
  Waker waker_;
  std::unique_ptr<Connection> connection_;
  bool can_listen_ = false;

  std::map<std::int64_t, Place> places_;
  std::set<std::int64_t> open_;
  std::optional<Next> late_;    // what the last page had no room for is late, and begins here
  std::int64_t first_ = 0;      // of the shards, in the next page: one that is full passes the turn on
  std::int64_t end_ = 0;        // of the last snapshot
  std::uint64_t setbacks_ = 0;  // that are known
  std::optional<std::uint64_t> changes_;  // at the last read

  struct Flag {
    Duration since{};         // on the system's clock: waiting is real
    std::int64_t number = 0;  // in the store
  };
  std::optional<Flag> flag_;                // that it sleeps
  std::map<std::int64_t, Duration> blind_;  // may have looked at the flag before it was set; known since when
  int busy_reads_ = 0;
};

}  // namespace ordo::store::postgres
