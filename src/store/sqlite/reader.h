#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/shard_set.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/open_files.h"
#include "store/store.h"

namespace ordo::store::sqlite {

/// A read-only connection with the statements of the log. One thread at a time.
class Reader {
 public:
  explicit Reader(const std::string& path);

  /// `head`: the number of the last append. The chunk's `through` may pass its last row.
  LogChunk read(Seq after, const ShardSet& wanted, std::size_t max_rows, Seq& head);
  LogChunk fetch(ShardId shard, std::span<const Seq> seqs);
  std::vector<ShardFacts> load(std::span<const ShardId> shards);
  std::vector<KeptRow> kept_heads(ShardId shard, std::uint64_t from, std::size_t max_rows);
  std::vector<KeptRow> kept(ShardId shard, std::span<const std::uint64_t> nos);

  Connection& connection() { return connection_; }

 private:
  struct Scan {
    LogChunk* chunk = nullptr;
    const ShardSet* wanted = nullptr;
    std::size_t row_limit = 0;
    std::size_t scanned = 0;
  };

  static Connection& prepared(Connection& connection, Scan& scan);
  static void add_functions(Connection& connection, Scan& scan);
  static void take_row(sqlite3_context* context, int count, sqlite3_value** columns) noexcept;

  Seq head();

  Connection connection_;
  Scan scan_state_;  // of the read() that runs
  Statement head_, scan_, entry_;
  std::size_t last_rows_ = 0;
  std::size_t last_bytes_ = 0;
};

/// Readers for as many threads as read at once; kept for the next. Thread-safe.
class ReaderPool {
 public:
  ReaderPool(std::string path, const OpenFiles& files) : path_(std::move(path)), files_(files) {}

  /// What `body(Reader&)` returns. A reader that failed is not used again.
  template <class Body>
  auto with(Body body) {
    files_.check();
    auto reader = take();
    auto result = body(*reader);
    put_back(std::move(reader));
    return result;
  }

 private:
  std::unique_ptr<Reader> take();
  void put_back(std::unique_ptr<Reader> reader);

  const std::string path_;
  const OpenFiles& files_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reader>> idle_;
};

}  // namespace ordo::store::sqlite
