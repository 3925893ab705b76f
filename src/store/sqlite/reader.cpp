// Reading the log: one scan over the global key, filtered here, because an index by shard costs every append.
#include "store/sqlite/reader.h"

#include <algorithm>
#include <unordered_map>

#include "store/limits.h"
#include "store/sqlite/schema.h"

namespace ordo::store::sqlite {

namespace {

// Bounds the life of a snapshot when hardly any row is wanted.
constexpr std::size_t kScanRows = 200'000;
constexpr std::size_t kIdleReaders = 8;

}  // namespace

Connection& Reader::prepared(Connection& connection, Scan& scan) {
  connection.set_task("read");
  connection.run("PRAGMA query_only=1; PRAGMA cache_size=-8192; PRAGMA temp_store=memory");
  add_functions(connection, scan);
  return connection;
}

Reader::Reader(const std::string& path)
    : connection_(path, Connection::Mode::read_only),
      head_(prepared(connection_, scan_state_), "SELECT head FROM counter"),
      scan_(
          connection_,
          "SELECT 1 FROM entry WHERE seq>?1 AND chunk_ends_before(seq, shard, more, at, body) ORDER BY seq"),
      entry_(connection_, "SELECT shard, at, body FROM entry WHERE seq=?1 AND shard=?2") {}

Seq Reader::head() {
  if (!head_.step()) connection_.fail(SQLITE_CORRUPT);
  const auto head = head_.unsigned_number(0);
  head_.reset();
  return head;
}

// Called by SQLite for every row of the scan, inside one sqlite3_step: a quarter faster than stepping from
// row to row. Result 0: go on; 1: the chunk ends before this row. No memory left ends the process, as no
// exception may pass.
void Reader::take_row(sqlite3_context* context, int, sqlite3_value** columns) noexcept {
  auto& scan = *static_cast<Scan*>(sqlite3_user_data(context));
  auto& chunk = *scan.chunk;
  const auto seq = static_cast<Seq>(sqlite3_value_int64(columns[0]));
  const bool is_full =
      chunk.rows.size() >= scan.row_limit || chunk.bytes.size() >= kReadBytes || scan.scanned >= kScanRows;
  if (is_full && seq > chunk.through) return sqlite3_result_int(context, 1);
  ++scan.scanned;
  chunk.through = seq + static_cast<Seq>(sqlite3_value_int64(columns[2]));
  const auto shard = unpack(sqlite3_value_int64(columns[1]));
  if (scan.wanted->contains(shard)) {
    const void* const body = sqlite3_value_blob(columns[4]);
    const auto size = static_cast<std::size_t>(sqlite3_value_bytes(columns[4]));
    chunk.add({.seq = seq, .shard = shard, .at = Time{Duration{sqlite3_value_int64(columns[3])}}},
              {static_cast<const char*>(body), size});
  }
  sqlite3_result_int(context, 0);
}

void Reader::add_functions(Connection& connection, Scan& scan) {
  const int code =
      sqlite3_create_function_v2(connection.handle(), "chunk_ends_before", 5, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                 &scan, take_row, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) connection.fail(code);
}

LogChunk Reader::read(Seq after, const ShardSet& wanted, std::size_t max_rows, Seq& head) {
  LogChunk chunk;
  chunk.through = after;
  chunk.rows.reserve(last_rows_);  // the next chunk is mostly like the last
  chunk.bytes.reserve(last_bytes_);
  scan_state_ = {
      .chunk = &chunk, .wanted = &wanted, .row_limit = std::max<std::size_t>(max_rows, 1), .scanned = 0};
  const Snapshot snapshot(connection_);
  head = this->head();
  const bool is_cut = scan_.bind(after).step();
  if (is_cut) {
    scan_.reset();
  } else {
    chunk.through = std::max(after, head);
  }
  chunk.at_end = chunk.through >= head;
  last_rows_ = chunk.rows.size();
  last_bytes_ = chunk.bytes.size();
  return chunk;
}

LogChunk Reader::fetch(ShardId shard, std::span<const Seq> seqs) {
  LogChunk chunk;
  chunk.rows.reserve(seqs.size());
  const Snapshot snapshot(connection_);
  for (const Seq seq : seqs) {
    if (!entry_.bind(seq, pack(shard.queue, shard.index)).step()) continue;
    chunk.add({.seq = seq, .shard = unpack(entry_.number(0)), .at = Time{Duration{entry_.number(1)}}},
              entry_.bytes(2));
    entry_.reset();
  }
  return chunk;
}

std::vector<ShardFacts> Reader::load(std::span<const ShardId> shards) {
  std::vector<ShardFacts> facts;
  std::unordered_multimap<std::int64_t, std::size_t> places;  // a caller may name a shard twice
  const Snapshot snapshot(connection_);
  Statement counts(connection_, "SELECT counts FROM shard WHERE id=?1");
  for (const auto shard : shards) {
    const auto id = pack(shard.queue, shard.index);
    places.emplace(id, facts.size());
    auto& fact = facts.emplace_back();
    fact.shard = shard;
    if (!counts.bind(id).step()) continue;
    fact.counts = counts.bytes(0);
    counts.reset();
  }
  Statement states(connection_, "SELECT seq, shard, body FROM state ORDER BY seq");
  while (states.step()) {
    const auto [first, last] = places.equal_range(states.number(1));
    for (auto place = first; place != last; ++place) {
      facts[place->second].states.push_back(
          {.seq = states.unsigned_number(0), .bytes = std::string(states.bytes(2))});
    }
  }
  return facts;
}

std::vector<KeptRow> Reader::kept_heads(ShardId shard, std::uint64_t from, std::size_t max_rows) {
  std::vector<KeptRow> rows;
  Statement heads(connection_, "SELECT no, head FROM kept WHERE shard=?1 AND no>=?2 ORDER BY no LIMIT ?3");
  heads.bind(pack(shard.queue, shard.index), from, std::uint64_t{max_rows});
  while (heads.step()) rows.push_back({heads.unsigned_number(0), std::string(heads.bytes(1)), {}});
  return rows;
}

std::vector<KeptRow> Reader::kept(ShardId shard, std::span<const std::uint64_t> nos) {
  std::vector<KeptRow> rows;
  std::size_t bytes = 0;
  const Snapshot snapshot(connection_);
  Statement row(connection_, "SELECT head, body FROM kept WHERE shard=?1 AND no=?2");
  for (const auto no : nos) {
    if (bytes >= kReadBytes) break;
    if (!row.bind(pack(shard.queue, shard.index), no).step()) continue;
    rows.push_back({no, std::string(row.bytes(0)), std::string(row.bytes(1))});
    row.reset();
    bytes += rows.back().body.size();
  }
  return rows;
}

std::unique_ptr<Reader> ReaderPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto reader = std::move(idle_.back());
      idle_.pop_back();
      return reader;
    }
  }
  auto reader = std::make_unique<Reader>(path_);
  files_.check();
  return reader;
}

void ReaderPool::put_back(std::unique_ptr<Reader> reader) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kIdleReaders) idle_.push_back(std::move(reader));
}

}  // namespace ordo::store::sqlite
