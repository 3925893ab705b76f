// The hot path of the SQLite store: appends, fenced deltas, erases. Grouping and errors are the committer's.
#include "store/sqlite/writer.h"

#include <algorithm>

#include "store/limits.h"
#include "store/sqlite/schema.h"

namespace ordo::store::sqlite {
namespace {

// The file grows by this much at a time, ahead of the WAL, so that a checkpoint never needs a full disk's
// space.
constexpr int kGrowthBytes = 1 << 20;
constexpr std::int64_t kPageBytes = 4096;

std::int64_t micros(Time time) { return time.time_since_epoch().count(); }

int remember_wal_pages(void* pages, sqlite3*, const char*, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

}  // namespace

Writer::Writer(Connection& connection, Clock& clock)
    : connection_(connection),
      clock_(clock),
      waits_(connection),
      begin_(connection, "BEGIN IMMEDIATE"),
      commit_(connection, "COMMIT"),
      counters_row_(connection, "SELECT head, at, queue, version FROM counter"),
      set_counters_(connection, "UPDATE counter SET head=?1, at=?2, queue=?3, version=?4"),
      page_count_(connection, "PRAGMA page_count"),
      insert_entry_(connection, "INSERT INTO entry VALUES(?1, ?2, ?3, ?4, ?5)"),
      erase_entry_(connection, "DELETE FROM entry WHERE seq=?1"),
      erase_entries_(connection, "DELETE FROM entry WHERE seq BETWEEN ?1 AND ?2"),
      fence_(connection,
             "UPDATE shard SET batch=?2, position=?3, counts=?4"
             " WHERE id=?1 AND token=?5 AND holder=?6 AND batch=?2-1 AND owner<>''"),
      shard_lease_(connection, "SELECT token, holder, batch, owner<>'' FROM shard WHERE id=?1"),
      put_state_(connection,
                 "INSERT INTO state VALUES(?1, ?2, ?3)"
                 " ON CONFLICT DO UPDATE SET shard=excluded.shard, body=excluded.body"),
      erase_state_(connection, "DELETE FROM state WHERE seq=?1"),
      insert_dead_(connection, "INSERT INTO dead(queue, shard, at, body) VALUES(?1, ?2, ?3, ?4)"),
      count_dead_(connection, "SELECT dead FROM shard WHERE id=?1"),
      trim_oldest_(
          connection,
          "DELETE FROM dead WHERE no IN (SELECT no FROM dead WHERE shard=?1 ORDER BY at, no LIMIT ?2)"),
      trim_older_(connection, "DELETE FROM dead WHERE shard=?1 AND at<?2"),
      set_dead_(connection, "UPDATE shard SET dead=?2, dead_trimmed=dead_trimmed+?3 WHERE id=?1"),
      put_kept_(connection,
                "INSERT INTO kept VALUES(?1, ?2, ?3, ?4)"
                " ON CONFLICT DO UPDATE SET head=excluded.head, body=excluded.body"),
      erase_kept_(connection, "DELETE FROM kept WHERE shard=?1 AND no=?2") {
  sqlite3_wal_hook(connection.handle(), remember_wal_pages, &wal_pages_);
  int growth = kGrowthBytes;
  sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_CHUNK_SIZE, &growth);
}

// --------------------------------------------------------------------------------------------------
// transaction

void Writer::begin() {
  finished_.clear();
  wakes_ = false;
  is_committed_ = false;
  begin_.run();
  read_counters();
  if (counters_.version != definitions_version_) read_definitions();
}

void Writer::commit() {
  erase_finished();
  if (counters_ != stored_counters_) {
    set_counters_.bind(counters_.head, counters_.at, counters_.queue, counters_.version).run();
  }
  claim_disk_space();
  commit_.run();
  is_committed_ = true;
}

void Writer::roll_back() noexcept {
  if (is_committed_) return;
  // SQLite rolls back by itself after some errors.
  if (connection_.in_transaction()) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  definitions_version_ = UINT64_MAX;
}

void Writer::read_counters() {
  if (!counters_row_.step()) connection_.fail(SQLITE_CORRUPT);
  counters_ = {.head = counters_row_.unsigned_number(0),
               .at = counters_row_.number(1),
               .queue = counters_row_.unsigned_number(2),
               .version = counters_row_.unsigned_number(3)};
  counters_row_.reset();
  stored_counters_ = counters_;
}

void Writer::read_definitions() {
  queues_.clear();
  Statement rows(connection_, "SELECT number, shards, closed FROM queue");
  while (rows.step()) {
    queues_[static_cast<std::uint32_t>(rows.number(0))] = {
        .shards = static_cast<std::uint32_t>(rows.number(1)), .closed = rows.number(2) != 0};
  }
  definitions_version_ = counters_.version;
}

void Writer::definitions_changed() {
  ++counters_.version;
  read_definitions();
  wake_after_commit();
}

void Writer::queue_made(const QueueDefinition& queue) {
  queues_[queue.number] = {.shards = queue.shards, .closed = false};
  definitions_version_ = ++counters_.version;
  wake_after_commit();
}

bool Writer::has_shard(ShardId shard) const {
  const auto found = queues_.find(shard.queue);
  return found != queues_.end() && shard.index < found->second.shards;
}

bool Writer::is_closed(std::uint32_t queue) const {
  const auto found = queues_.find(queue);
  return found != queues_.end() && found->second.closed;
}

// In WAL mode the file itself grows at checkpoints only. Growing it here, before the pages are promised,
// leaves a full disk one place to show: the transaction that brings more.
void Writer::claim_disk_space() {
  if (!page_count_.step()) return;
  const auto pages = page_count_.number(0);
  page_count_.reset();
  if (pages <= claimed_pages_) return;
  sqlite3_int64 bytes = pages * kPageBytes;
  if (sqlite3_file_control(connection_.handle(), "main", SQLITE_FCNTL_SIZE_HINT, &bytes) != SQLITE_OK) {
    connection_.fail(SQLITE_FULL);
  }
  claimed_pages_ = (bytes + kGrowthBytes - 1) / kGrowthBytes * (kGrowthBytes / kPageBytes);
}

// ----------------------------------------------------------------------------------------------------------
// log

std::optional<Error> Writer::refusal_of(std::span<const NewEntry> entries) const {
  std::size_t bytes = 0;
  for (const auto& entry : entries) {
    if (!has_shard(entry.shard) || is_closed(entry.shard.queue))
      return unknown_shard(entry.shard.queue, entry.shard.index);
    bytes += entry.bytes.size();
  }
  if (bytes > kMaxAppendBytes) return too_much_to_append(bytes);
  return std::nullopt;
}

void Writer::append(std::span<const NewEntry> entries) {
  if (entries.empty()) return;
  counters_.at = std::max(counters_.at, micros(clock_.wall()));
  std::uint64_t more = entries.size();
  for (const auto& entry : entries) {
    insert_entry_
        .bind(++counters_.head, pack(entry.shard.queue, entry.shard.index), counters_.at, --more,
              Blob{entry.bytes})
        .run();
  }
  wake_after_commit();
}

void Writer::erase_finished() {
  std::sort(finished_.begin(), finished_.end());
  for (std::size_t first = 0; first < finished_.size();) {
    auto last = first;
    while (last + 1 < finished_.size() && finished_[last + 1] <= finished_[last] + 1) ++last;
    if (first == last) {
      erase_entry_.bind(finished_[first]).run();
    } else {
      erase_entries_.bind(finished_[first], finished_[last]).run();
    }
    first = last + 1;
  }
  finished_.clear();
}

// --------------------------------------------------------------------------------------------------------
// owner

CommitResult Writer::apply(const Delta& delta, bool keeps) {
  if (!has_shard(delta.shard)) return CommitResult::stale;
  const auto shard = pack(delta.shard.queue, delta.shard.index);
  const bool is_next =
      fence_
          .bind(shard, delta.batch, delta.position, Blob{delta.counts}, delta.lease.token, delta.lease.holder)
          .run() == 1;
  if (!is_next) return is_applied_already(delta) ? CommitResult::applied : CommitResult::stale;

  finished_.insert(finished_.end(), delta.erase.begin(), delta.erase.end());
  for (const auto& state : delta.states) put_state_.bind(state.seq, shard, Blob{state.bytes}).run();
  for (const Seq seq : delta.erase_states) erase_state_.bind(seq).run();
  bury(delta);
  for (const auto no : delta.erase_kept) erase_kept_.bind(shard, no).run();
  if (!delta.keep) return CommitResult::applied;
  if (!keeps) return CommitResult::unkept;
  put_kept_.bind(shard, delta.keep->no, Blob{delta.keep->head}, Blob{delta.keep->body}).run();
  return CommitResult::applied;
}

bool Writer::replace_kept(ShardId shard, const KeptRow& row) {
  if (is_closed(shard.queue)) throw closed_queue(shard.queue);
  Statement update(connection_, "UPDATE kept SET head=?3, body=?4 WHERE shard=?1 AND no=?2");
  return update.bind(pack(shard.queue, shard.index), row.no, Blob{row.head}, Blob{row.body}).run() == 1;
}

bool Writer::is_applied_already(const Delta& delta) {
  if (!shard_lease_.bind(pack(delta.shard.queue, delta.shard.index)).step()) return false;
  const Lease lease{.token = shard_lease_.unsigned_number(0), .holder = shard_lease_.unsigned_number(1)};
  const bool is_it =
      lease == delta.lease && shard_lease_.unsigned_number(2) == delta.batch && shard_lease_.number(3) != 0;
  shard_lease_.reset();
  return is_it;
}

void Writer::bury(const Delta& delta) {
  const bool trims = delta.max_dead != 0 || delta.dead_before != Time::min();
  if (delta.dead.empty() && !trims) return;
  const auto shard = pack(delta.shard.queue, delta.shard.index);
  count_dead_.bind(shard).step();
  auto dead = count_dead_.number(0);
  count_dead_.reset();
  if (dead == 0 && delta.dead.empty()) return;

  for (const auto& row : delta.dead) {
    insert_dead_.bind(delta.shard.queue, shard, micros(row.at), Blob{row.bytes}).run();
  }
  dead += std::ssize(delta.dead);
  const auto most = static_cast<std::int64_t>(delta.max_dead);
  std::int64_t trimmed = 0;
  if (most != 0 && dead > most) trimmed += trim_oldest_.bind(shard, dead - most).run();
  if (delta.dead_before != Time::min()) trimmed += trim_older_.bind(shard, micros(delta.dead_before)).run();
  set_dead_.bind(shard, dead - trimmed, trimmed).run();
}

}  // namespace ordo::store::sqlite
