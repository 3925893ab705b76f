#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace ordo::store::sqlite {

/// A read-only connection with the statements of the log. One thread at a time.
class Reader {
 public:
  explicit Reader(const std::string& path);

  LogChunk read(Seq after, std::span<const ShardId> shards, std::size_t max_rows);
  LogChunk fetch(std::span<const Seq> seqs);
  Seq head();
  std::vector<ShardFacts> load(std::span<const ShardId> shards);

  Connection& connection() { return connection_; }

 private:
  Connection connection_;
  Statement head_, scan_, entry_;
};

/// Readers for as many threads as read at once; kept for the next. Thread-safe.
class ReaderPool {
 public:
  explicit ReaderPool(std::string path) : path_(std::move(path)) {}

  /// What `body(Reader&)` returns. A reader that failed is not used again.
  template <class Body>
  auto with(Body body) {
    auto reader = take();
    auto result = body(*reader);
    put_back(std::move(reader));
    return result;
  }

 private:
  std::unique_ptr<Reader> take();
  void put_back(std::unique_ptr<Reader> reader);

  const std::string path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reader>> idle_;
};

}  // namespace ordo::store::sqlite
