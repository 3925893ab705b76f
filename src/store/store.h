#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/finding.hpp>
#include <ordo/time.hpp>

#include "domain/shard_id.h"
#include "store/response_buffer.h"

namespace ordo::store {

using domain::Seq;
using domain::ShardId;

// ---------------------------------------------------------------------------------------------------- the
// log

/// The right to write a shard: both must match what the store holds.
struct Lease {
  std::uint64_t token = 0;   ///< rises with every acquisition of the shard
  std::uint64_t holder = 0;  ///< random, one per acquisition call

  bool operator==(const Lease&) const = default;
};

/// An entry to append: the store knows its shard and nothing of its bytes.
struct NewEntry {
  ShardId shard;
  std::string bytes;
};

/// An entry as read. `at` is the store's time at its append, never below that of an entry read before: once
/// that is erased, a later reader may be told an earlier time.
struct LogRow {
  Seq seq = 0;
  ShardId shard;
  Time at{};
  std::uint64_t offset = 0;  ///< into LogChunk::bytes, of which there may be over 4 GiB
  std::uint32_t size = 0;
  bool set_aside = false;  ///< as Delta says
  /// The chunk ends inside this row's append. Its rest is what is read of the shard next; until then nothing
  /// of the shard may start, as the rest may come before it.
  bool more = false;
};

/// Some entries, each shard's in log order. Never ends in the middle of an append, unless its row says so
/// (PostgreSQL) or entries of it were set aside.
struct LogChunk {
  std::string bytes;
  std::vector<LogRow> rows;
  /// Shards that the reader reads for an owner whose lease it has found to be over: nothing more of them is
  /// returned, and the owner is to drop them. Told once. Not every store looks: who owns shards compares what
  /// it holds with shards(), too.
  std::vector<std::pair<ShardId, Lease>> lost;
  /// Shards of the reader that it has now read to their end for the first time: all that was acknowledged
  /// before they were added has been returned.
  std::vector<ShardId> caught_up;
  /// All caught-up shards are read up to here. 0 where the numbers of different shards cannot be compared.
  Seq through = 0;
  bool at_end = true;  ///< nothing more was there
  /// A definition has changed or wake() was called since the read before. May be said for other reasons, too.
  bool woken = false;

  /// Appends an entry; where its body stands is filled in.
  void add(LogRow row, std::string_view body) {
    static_assert(sizeof row.offset >= sizeof bytes.size());
    row.offset = bytes.size();
    row.size = static_cast<std::uint32_t>(body.size());
    rows.push_back(row);
    bytes.append(body);
  }

  std::string_view body(const LogRow& row) const {
    return std::string_view(bytes).substr(row.offset, row.size);
  }
};

// ------------------------------------------------------------------------------------------ what an owner
// writes

struct StateRow {
  Seq seq = 0;  ///< the job's first entry
  std::string bytes;

  bool operator==(const StateRow&) const = default;
};

/// A payload that died. `no` is given by the store: rises per shard, never used twice in a queue.
struct DeadRow {
  ShardId shard;
  std::uint64_t no = 0;
  Time at{};
  std::string bytes;

  bool operator==(const DeadRow&) const = default;
};

/// What is kept of ended jobs, many in one row. `no` is its owner's.
struct KeptRow {
  std::uint64_t no = 0;  ///< below 2^53
  std::string head;      ///< what a reader who looks for a row needs of it
  std::string body;

  bool operator==(const KeptRow&) const = default;
};

/// Everything one shard's owner has to say in one commit. Lists of typed records: a later feature adds a
/// list. A retried commit of unknown outcome carries the same batch number and the same bytes.
struct Delta {
  ShardId shard;
  Lease lease;
  std::uint64_t batch = 0;       ///< must be the shard's last batch + 1
  std::vector<Seq> erase;        ///< entries that are finished or merged away
  std::vector<StateRow> states;  ///< put: new or replaced
  std::vector<Seq> erase_states;
  /// Entries that will be needed for long: the store may move them to where they do not stand in the room of
  /// others. They keep their numbers, and are read, fetched and erased as before. What is not there is passed
  /// over.
  std::vector<Seq> set_aside;
  std::vector<DeadRow> dead;              ///< appended; `no` and `shard` are ignored
  std::uint64_t max_dead = 0;             ///< rows the shard may keep, the oldest go first; 0: do not trim
  Time dead_before = Time::min();         ///< dead rows older than this go, too
  std::optional<KeptRow> keep{};          ///< put: new or replaced
  std::vector<std::uint64_t> erase_kept;  ///< by their numbers; what is not there is passed over
  Seq position = 0;                       ///< the counts cover the log up to here
  std::string counts;
};

enum class CommitResult {
  applied,  ///< durable: now, or already by an earlier attempt of the same batch
  unkept,   ///< the same, but there was no room for what was to be kept
  stale,  ///< refused whole: lease or batch number is not the store's, or the shard is free; nothing changed
};

/// A shard's part of the store, as its new owner loads it (entries are read as a log).
struct ShardFacts {
  ShardId shard;
  std::vector<StateRow> states;
  std::string counts;  ///< as last committed; empty: never
};

// ------------------------------------------------------------------------------------------------ queues,
// nodes

struct QueueDefinition {
  std::uint32_t number = 0;
  std::string name;
  std::uint32_t shards = 0;  ///< fixed when the queue is first seen; replace() changes it
  bool paused = false;
  bool closed = false;  ///< nothing more is appended; another definition is about to take its place

  /// What a queue becomes, while it is resharded: filled by `ordo reshard` alone, and shown to nobody.
  bool is_hidden() const { return name.ends_with(kHiddenEnd); }
  static constexpr char kHiddenEnd = '>';  ///< no queue of a user's has it in its name
  static std::string hidden_name(std::string_view queue) { return std::string(queue) + kHiddenEnd; }
  /// The queue that a hidden one is to become, or the queue itself.
  std::string_view shown_name() const { return std::string_view(name).substr(0, name.find(kHiddenEnd)); }

  bool operator==(const QueueDefinition&) const = default;
};

/// A queue that is to be there.
struct QueueWish {
  std::string name;
  std::uint32_t shards = 0;
  bool takes_any = false;      ///< one that is there may have another number: for who asks, not for the store
  std::uint64_t max_dead = 0;  ///< dead payloads the queue may keep, likewise; 0: any number
};

struct QueueList {
  std::uint64_t version = 0;            ///< changes with every change of a definition
  std::vector<QueueDefinition> queues;  ///< in order of creation

  const QueueDefinition* find(std::string_view name) const;
  /// All of them, for who looks for many. Valid as long as the list is.
  std::map<std::string_view, const QueueDefinition*> by_name() const;

  bool operator==(const QueueList&) const = default;
};

/// What somebody elsewhere wishes of a node.
enum class NodeRequest : std::uint8_t {
  none,
  quiet,  ///< to take no more jobs
  stop,   ///< to stop, as by a signal
};

struct NodeRow {
  std::string id;
  std::uint64_t renewals =
      0;              ///< a node lives while this counter moves; about the store's time of that, in µs
  std::string facts;  ///< opaque to the store
  bool gone = false;  ///< the store knows that its process has ended
  NodeRequest request = NodeRequest::none;

  bool operator==(const NodeRow&) const = default;
};

struct ShardRow {
  ShardId shard;
  std::string owner;  ///< node id; empty: free
  std::uint64_t token = 0;
  std::uint64_t batch = 0;
  Seq position = 0;
  std::string counts;
  std::uint64_t dead = 0;          ///< dead rows now
  std::uint64_t dead_trimmed = 0;  ///< dead rows dropped by max_dead or age, for ever
};

/// A wish for one shard, with what the candidate has seen. It is granted only while that is still so.
struct Claim {
  ShardId shard;
  std::string seen_owner;  ///< empty: free
  std::uint64_t seen_token = 0;
  std::uint64_t seen_renewals = 0;  ///< of the owner; ignored when the store knows that the owner is gone

  /// Of a shard that another node has not given back. A store that cannot see processes takes that node for
  /// dead, as who waits for its return would let a job that kills its nodes kill for ever.
  bool takes_from_another(std::string_view node) const { return !seen_owner.empty() && seen_owner != node; }
};

/// An end of ownership, and what the next owner is told of it (Grant).
struct Release {
  ShardId shard;
  Lease lease;
  bool clean = true;
  bool crashed = false;

  bool operator==(const Release&) const = default;
};

struct Grant {
  ShardId shard;
  Lease lease;
  std::uint64_t batch = 0;  ///< the shard's last committed batch number
  Seq head = 0;             ///< no entry of the shard that is there has a higher number
  bool clean = true;        ///< the previous owner released it
  /// The previous owner is known dead; where the store cannot see processes, it was silent for a lease.
  bool crashed = false;

  /// Gives it back as it was: nothing of the shard was begun.
  Release unused() const { return {shard, lease, clean, crashed}; }
};

/// A response that a transaction of a user's has left in the store (PostgreSQL).
struct InboxRow {
  std::int64_t number = 0;  ///< their order
  std::string queue;
  std::string key;
  std::string message_id;  ///< each has one
  std::string body;

  bool operator==(const InboxRow&) const = default;
};

/// A row of a queue, beside its logs.
struct WaitRow {
  std::string key;
  std::string bytes;
  bool listed = false;       ///< wait_rows() gives it; the others are only remembered
  Time until = Time::max();  ///< not there any more from then on

  bool operator==(const WaitRow&) const = default;
};

/// A row that is to be written if it still is as it was seen, and what is then appended in the same step.
struct RowStep {
  WaitRow row;                      ///< `until` = Time::min(): it is taken away
  std::optional<std::string> seen;  ///< nothing: it is not there
  std::vector<NewEntry> entries{};
};

struct RowResult {
  enum class What : std::uint8_t {
    done,      ///< all of it, and durable
    conflict,  ///< the row is another: nothing has changed
    refused,   ///< the queue of an entry does not exist or is closed: nothing has changed
  };
  What what = What::done;
  std::optional<std::string> there{};  ///< of a conflict: the row's bytes; nothing: there is none

  bool operator==(const RowResult&) const = default;
};

/// What somebody asks a node. The store knows nothing of the bytes.
struct Question {
  std::string id;
  std::string bytes;

  bool operator==(const Question&) const = default;
};
inline constexpr std::size_t kMostQuestionBytes = 16u << 10;
inline constexpr std::size_t kMostAnswerBytes = 256u << 10;
inline constexpr std::size_t kMostQuestions = 32;
/// So long questions and answers are kept: nobody waits longer than half of it.
inline constexpr Duration kQuestionLife = std::chrono::seconds{4};

using Completion = std::function<void(std::exception_ptr)>;
using CommitCompletion = std::function<void(std::vector<CommitResult>, std::exception_ptr)>;

/// Reads the logs of a set of shards: each behind a given place, then whatever is appended to it, each entry
/// once. Belongs to one thread; the store must outlive it.
class LogReader {
 public:
  virtual ~LogReader() = default;

  /// Reads `shard`, too, behind `after`: from the beginning by default. Where entries can become visible
  /// later than others with higher numbers (PostgreSQL), the reader of the owner gives such an entry a new
  /// number before it returns it, so that every shard is read in the order of its numbers, now and by the
  /// next owner; `lease` is the owner's, and none for a reader that only looks: that one may miss an entry or
  /// see it twice while the owner numbers it anew or sets it aside. Adding a shard again starts it over.
  virtual void add(ShardId shard, Seq after = 0, Lease lease = {}) = 0;
  virtual void remove(ShardId shard) = 0;

  /// About `max_rows` entries and about 8 MiB. Throws Error{unavailable}; the next call goes on where this
  /// one stood. Entries of removed queues are not there.
  virtual LogChunk read(std::size_t max_rows) = 0;

  /// Returns once something may be there that the last read() did not see, or that read() would say it was
  /// woken, by whichever process; or after `at_most`. Nothing is missed between the two.
  virtual void wait(Duration at_most) = 0;
};

/// A durable store of logs, states, dead payloads, leases and queue definitions. One interface, batch first,
/// each call one atomic step (Redis Cluster: for each shard). Entries are numbered per shard: rising, never
/// used twice, and never compared between shards. store::memory is the executable specification; every other
/// store answers alike.
///
/// Thread-safe, unless said. Blocking calls may take as long as the store's disk or server.
/// Every call throws (or completes with) Error{unavailable} when the store cannot answer; the step then
/// happened wholly or not at all.
class Store {
 public:
  virtual ~Store() = default;

  // --- log ---

  /// Appends all or nothing (Redis Cluster: shard by shard), in the order given; `done` runs on the store's
  /// own thread (memory: the caller's) once they are durable. Wakes all who wait. Entries of one call become
  /// visible together. `done` must not block. Completes with Error{invalid_argument} when a shard's queue
  /// does not exist (removed) or is closed, or above 256 MiB; in a Redis Cluster with PartlyRefused
  /// (limits.h) when others have taken theirs.
  virtual void append(std::vector<NewEntry> entries, Completion done) = 0;

  /// The same, and returns when they are durable. Throws what append() completes with. Not for a completion's
  /// thread.
  virtual void append_durably(std::vector<NewEntry> entries);

  virtual std::unique_ptr<LogReader> open_log() = 0;

  /// The given entries of the shard (ascending), those that still exist.
  virtual LogChunk fetch(ShardId shard, std::span<const Seq> seqs) = 0;

  /// Makes every LogReader::wait() of every process return; of this one alone if the store cannot be reached.
  virtual void wake() = 0;

  // --- owner ---

  /// Applies the deltas of one or more shards in one durable step; each shard's part is refused whole if
  /// stale. At most one commit per shard may be in flight. `done` as in append(); one result per delta, in
  /// order.
  /// `erase` and `states` name numbers of the delta's own shard; the store does not check it.
  virtual void commit(std::vector<Delta> deltas, CommitCompletion done) = 0;

  /// About how many rows a delta should have (entries to erase, states, dead payloads): few where others wait
  /// while it is applied.
  virtual std::size_t max_delta_rows() const { return std::numeric_limits<std::size_t>::max(); }

  /// How many entries a delta may set aside; 0: this store has no use for it.
  virtual std::size_t max_set_aside() const { return 0; }

  /// What `shards` hold beside their entries.
  virtual std::vector<ShardFacts> load(std::span<const ShardId> shards) = 0;

  // --- what is kept ---

  /// The heads of the shard's kept rows with no >= `from`, ascending, at most `max_rows`; without bodies.
  virtual std::vector<KeptRow> kept_heads(ShardId shard, std::uint64_t from, std::size_t max_rows) = 0;

  /// Those of the given rows (ascending) that are there, about 8 MiB, and one at least if there is one: who
  /// wants more asks again behind the last.
  virtual std::vector<KeptRow> kept(ShardId shard, std::span<const std::uint64_t> nos) = 0;

  /// Another head and body for the row of that number, durable when it returns; anybody may ask for it.
  /// False: it is not there. Throws Error{invalid_argument} when the queue is closed.
  virtual bool replace_kept(ShardId shard, const KeptRow& row) = 0;

  // --- queues ---

  virtual QueueList queues() = 0;

  /// The definitions of these, in their order; those that are new are created. An existing one keeps its own
  /// number of shards. One step for each queue, and for all of them about the work of one.
  virtual std::vector<QueueDefinition> define_all(std::span<const QueueWish> queues) = 0;

  QueueDefinition define(std::string_view name, std::uint32_t shards) {
    const QueueWish queue{std::string(name), shards};
    return define_all({&queue, 1}).front();
  }

  /// False: no such queue. Bumps the version and wakes.
  virtual bool set_paused(std::string_view name, bool paused) = 0;

  /// Removes the definition and everything that is stored for the queue. False: no such queue.
  virtual bool remove(std::string_view name) = 0;

  /// Closes the queue for good: when it returns, its log has its last entry, and no append, transaction or
  /// change of the dead that began before is still under way. append(), revive() and erase_dead() are refused
  /// from then on, with Error{invalid_argument}. It may be read on; nobody commits to it any more. May wait
  /// for who pushes in a transaction. False: no such queue. Bumps the version and wakes.
  virtual bool close(std::string_view name) = 0;

  /// One step: the queue `name`, which is closed, is removed with everything that is stored for it but its
  /// wait rows, and the one with the number `by` gets its name, and is paused if it was. False: there is none
  /// of the two, or the first is not closed; nothing has changed. Bumps the version and wakes.
  virtual bool replace(std::string_view name, std::uint32_t by) = 0;

  // --- nodes and leases ---

  /// Registers a node under its generated id: 1 to 64 of A-Z a-z 0-9 . _ - (else Error{invalid_argument}).
  /// Joining again replaces the facts and moves the counter to max(last + 1, store time in µs): a node that
  /// was forgotten and joins again never shows a count that others have seen of it.
  virtual void join(const std::string& node, const std::string& facts) = 0;

  /// Moves the node's counter, likewise. False: the node is not registered any more (its leases may be
  /// taken). Later than `patience` the answer would be of no use: a store that has connections to spare gives
  /// this one up then and throws Error{unavailable}, so that the next renewal has another one.
  virtual bool renew(const std::string& node, Duration patience = std::chrono::seconds{5}) = 0;

  /// Forgets the node and frees what it still holds (as an unclean end, unless released before). With
  /// `seen_renewals` only while its counter still stands there: it may have come back to life.
  virtual void leave(const std::string& node, std::optional<std::uint64_t> seen_renewals = {}) = 0;

  virtual std::vector<NodeRow> nodes() = 0;

  /// How often another server has answered than before, or an older state of it, since this store was opened:
  /// leases and lists may have been forgotten with what it lacks. Has risen before any of its answers is
  /// given.
  virtual std::uint64_t setbacks() { return 0; }

  /// How long ago somebody last noted a setback, by the server's clock; who has just started has seen none.
  /// None: the store is not known to have gone back. Notes one for all who ask later if `is_known`, or if the
  /// servers have other histories than when somebody asked last.
  virtual std::optional<Duration> setback_age(bool /*is_known*/) { return {}; }

  /// Leaves a wish in the node's row, where it will see it, and wakes. False: no such node.
  virtual bool request(const std::string& node, NodeRequest request) = 0;

  /// All shards of all queues with owner, token and counts.
  virtual std::vector<ShardRow> shards() = 0;

  /// Grants what is still as the candidate saw it, in the order of `claims`; nothing to a node that is not
  /// registered. A new token is max(last + 1, store time in µs).
  virtual std::vector<Grant> acquire(const std::string& node, std::uint64_t holder,
                                     std::span<const Claim> claims) = 0;

  /// Frees the shards; stale leases are ignored.
  virtual void release(std::span<const Release> ends) = 0;

  // --- the dead ---

  /// Dead rows of a queue with no > `after`, ascending, at most `max_rows`.
  virtual std::vector<DeadRow> dead(std::uint32_t queue, std::uint64_t after, std::size_t max_rows) = 0;

  /// The shards of the dead rows of a queue that died first, the oldest row first, at most `max_rows`.
  virtual std::vector<ShardId> oldest_dead(std::uint32_t queue, std::size_t max_rows) = 0;

  /// Removes rows; returns how many were there. Throws Error{invalid_argument} when the queue is closed.
  virtual std::size_t erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) = 0;

  /// One step: removes each row that is still there and appends its entry; `entries` stand beside `nos`, one
  /// each. Returns how many were revived. Wakes. Refused as append() is.
  virtual std::size_t revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                             std::vector<NewEntry> entries) = 0;

  // --- waits ---

  /// What a queue holds beside its shards, by key (1..255 bytes); a reshard leaves it alone. Nothing: there
  /// is no such row, or its time is over.
  virtual std::optional<std::string> wait_row(std::string_view queue, std::string_view key) = 0;

  /// The listed ones behind `after`, ascending by their bytes, at most `max_rows`.
  virtual std::vector<WaitRow> wait_rows(std::string_view queue, std::string_view after,
                                         std::size_t max_rows) = 0;

  /// Takes rows of that name away whose time is over, and returns how many: `max_rows` at most. Where all
  /// rows are in one table, those of other names may be among them.
  virtual std::size_t sweep_rows(std::string_view queue, std::size_t max_rows) = 0;

  /// Under this name stand the limits that were set while nodes run (domain/limit_change.h), by the name of
  /// the limit. No queue of a user's has it.
  static constexpr std::string_view kLimitRows = "!limits";

  // --- unique keys ---

  /// Rows of a queue that are no waits have this name: wait_row() and wait_rows() read them by it. They are
  /// removed with the queue, as those of waits are.
  static std::string unique_rows(std::string_view queue) { return std::string(queue) + kUniqueEnd; }
  static constexpr char kUniqueEnd = '!';  ///< no queue of a user's has it in its name

  /// One step after the other, each whole or not at all. Wakes all who wait. Throws Error{unavailable}: any
  /// of them may have happened; Error{unsupported}: the row and its entries are in different slots of a Redis
  /// Cluster, and no step was done. Not for a completion's thread.
  virtual std::vector<RowResult> step_rows(std::string_view rows, std::vector<RowStep> steps) = 0;
  /// The row alone. False: it is another.
  bool put_row(std::string_view rows, WaitRow row, std::optional<std::string> seen) {
    return step_rows(rows, {{std::move(row), std::move(seen), {}}}).front().what == RowResult::What::done;
  }

  /// What is known of the responses that queues keep.
  ResponseBuffer& response_buffer() { return response_buffer_; }

  // --- responses that transactions leave ---

  /// Whether there can be any; without, nobody needs to look.
  virtual bool has_inbox() const { return false; }
  /// Those for the queues whose first shard `node` owns, in their order, at most `max_rows`. So one node has
  /// them, but for a moment of a change in which two may.
  virtual std::vector<InboxRow> inbox(std::string_view /*node*/, std::size_t /*max_rows*/) { return {}; }
  /// They are answered, and need not be kept.
  virtual void take_out(std::span<const std::int64_t> /*numbers*/) {}

  // --- questions to nodes ---
  // Nothing of them outlasts kQuestionLife or has to outlast a crash, and nobody may wait for a disk, a lock
  // or another server because of them. Each may be lost.

  /// Asks the node, and wakes it. Returns the question's id: of one node's, they rise with time. Throws
  /// Error{invalid_argument} above kMostQuestionBytes.
  virtual std::string ask(const std::string& node, std::string bytes) = 0;

  /// Those that nobody has answered, the oldest first, kMostQuestions at most. A node looks for them whenever
  /// its reader says that it was woken; if nothing was asked meanwhile, that costs about nothing.
  virtual std::vector<Question> questions(const std::string& node) = 0;

  /// Once. Throws Error{invalid_argument} above kMostAnswerBytes.
  virtual void answer(const std::string& node, const std::string& id, std::string bytes) = 0;

  /// The answer, which is gone soon after.
  virtual std::optional<std::string> take_answer(const std::string& node, const std::string& id) = 0;

  /// The store's clock, UTC. Called often: answers from what is known, without asking a server each time.
  virtual Time now() = 0;

  /// How far now() is ahead of what this program believes: a clock that leaps ahead is believed a minute
  /// later, since what is taken away by a wrong time is lost (domain/clock_guard.h). Mostly zero.
  virtual Duration excess() = 0;
  /// By this time rows of waits and unique keys are over.
  Time believed_now();

  /// Other files stand in the place of those that it opened, or none: it will never work again. Cheap.
  virtual bool is_replaced() const { return false; }

  /// Why what is stored may be lost, or was, in words for the log. Never asks a server.
  virtual std::vector<std::string> dangers() { return {}; }

  /// What the store is, and what of its version, settings, rights and room an operator should know.
  virtual std::vector<Finding> examine() = 0;

 private:
  ResponseBuffer response_buffer_;
};

}  // namespace ordo::store
