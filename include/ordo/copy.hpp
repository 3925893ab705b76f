#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ordo/time.hpp>

namespace ordo {

/// Where a copy stands.
struct CopyProgress {
  enum class Step : std::uint8_t {
    reading,  ///< counts what there is; `all` is 0
    copying,
    checking,
  };
  Step step = Step::reading;
  std::uint64_t done = 0;  ///< entries
  std::uint64_t all = 0;
};

/// What a verified copy does with the queues of the store that it was made of.
enum class CopySource : std::uint8_t {
  pause,  ///< no node starts anything there, until resume(): jobs would run in both stores
  keep,
};

/// What a copy brought, as one of the two stores has it.
struct CopyTotals {
  std::uint64_t entries = 0;    ///< pushed payloads and controls
  std::uint64_t states = 0;     ///< jobs that have failed, waited or changed
  std::uint64_t dead = 0;       ///< dead payloads
  std::uint64_t processed = 0;  ///< counts of ended jobs
  std::uint64_t failed = 0;     ///< counts of failed runs
  std::uint64_t checksum = 0;   ///< of all of these, in order

  bool operator==(const CopyTotals&) const = default;
};

struct CopiedQueue {
  std::string name{};
  CopyTotals from{};
  CopyTotals to{};
};

struct CopyResult {
  std::vector<CopiedQueue> queues{};  ///< in FROM's order
  std::uint64_t appended = 0;         ///< entries that this call wrote; the rest was there already

  /// Both stores agree. If not, TO's queues stay paused.
  bool verified() const;
};

/// Copies everything of the store `from` into the store `to`, so that a node started there goes on where one
/// of `from` would have: same order per key, merging, retries and due times (docs/copy.md). `from` keeps what
/// it has; `source` says whether its queues are paused at the end.
///
/// Owns all shards of both stores for its time, as a node does; `lease` as the nodes of both have it. While
/// it lasts, the queues of `to` are paused. After an end at any moment, however hard, the same call goes on
/// where it stood; after a finished one it copies what was pushed into `from` since. Blocks; memory: about 10
/// bytes an entry, and the job states. `progress` is called now and then on the caller's thread. Throws
/// Error{invalid_argument}: a URL is wrong, both are the same, or the file of `from` is not there;
/// Error{unavailable}: a living node owns shards, or a store does not answer; Error{unsupported}: `to` has
/// content of its own, or nodes worked on one of the stores since an earlier copy.
CopyResult copy_store(const std::string& from, const std::string& to,
                      const std::function<void(const CopyProgress&)>& progress = {},
                      Duration lease = std::chrono::seconds{10}, CopySource source = CopySource::pause);

}  // namespace ordo
