#pragma once

#include <algorithm>
#include <cstddef>

#include "store/limits.h"

namespace ordo::store::redis {

/// How much a read asks its servers for. How many rows fill a page is known from the last ones; what comes
/// after a pause may be of any size, so few are asked for first, and then twice as many each time. A server
/// whose client-output-buffer-limit is below an answer ends the connection instead: so what failed is asked
/// for in halves, of rows and then of shards, and now and then for more again.
class ReadSize {
 public:
  std::size_t rows() const { return rows_; }      ///< of all shards together
  std::size_t shards() const { return shards_; }  ///< that are asked at once

  /// `is_all`: nothing more was there.
  void passed(std::size_t rows, std::size_t bytes, bool is_all) {
    if (rows > 0) {
      if (++passed_ % kPagesToGrow == 0) {
        bytes_ = std::min(bytes_ * 2, kReadBytes);
        shards_ = std::min<std::size_t>(shards_ * 2, kMaxShards);
      }
      const auto fitting = bytes_ / std::max<std::size_t>(1, bytes / rows);
      rows_ = std::clamp(std::min(fitting, rows_ * 2), std::size_t{1}, kMostRows);
    }
    if (is_all) rows_ = std::min(rows_, std::max(kFirstRows, rows * 2));
  }

  /// The answers to so many shards, of so many rows each at most, did not come.
  void failed(std::size_t rows_per_shard, std::size_t shards) {
    passed_ = 0;
    bytes_ = std::max(bytes_ / 2, kFewestBytes);
    rows_ = std::max<std::size_t>(rows_ / 2, 1);
    if (rows_per_shard <= 1) shards_ = std::clamp<std::size_t>(shards / 2, 1, shards_);
  }

 private:
  static constexpr std::size_t kFirstRows = 8;
  static constexpr std::size_t kMostRows = std::size_t{1} << 16;
  static constexpr std::size_t kFewestBytes = 1024;
  static constexpr unsigned kPagesToGrow = 64;

  std::size_t rows_ = kFirstRows;
  std::size_t bytes_ = kReadBytes;
  std::size_t shards_ = kMaxShards;
  unsigned passed_ = 0;
};

}  // namespace ordo::store::redis
