#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ordo/options.hpp>

#include "base/clock.h"
#include "sources/redis_link.h"
#include "store/store.h"

namespace ordo::sources {

/// Keeps Sidekiq's set of dead jobs like the dead set of a source's queues: what dies here is shown there,
/// and what is brought back, deleted or trimmed here goes there, too.
///
/// It compares the two: the rows of the store with the hash `ordo:mirrored:SOURCE`, which names what was
/// shown. One script changes hash and set together, once for each row. So a crash at any point is mended by
/// the next comparison, in whatever process. Belongs to one thread.
class DeadMirror {
 public:
  /// The store and the clock must outlive it. Throws Error{invalid_argument}.
  DeadMirror(const SourceOptions& source, store::Store& store, Clock& clock);

  /// A bounded part of a comparison, which begins when something may have changed. True: it goes on at once.
  /// Throws Error{unavailable}: forget().
  bool tick();
  /// Another process may have done so meanwhile.
  void forget();

  static std::string hash_key(const SourceOptions& source) { return "ordo:mirrored:" + source.name; }
  static constexpr Duration kLook = std::chrono::seconds{1};

 private:
  struct Comparison {
    std::set<std::string> gone{};  ///< shown, and not seen among the rows yet
    std::vector<std::uint32_t> queues{};
    std::uint64_t after = 0;  ///< of the first queue
    bool is_read = false;     ///< all rows are
  };
  using Signs = std::vector<std::uint64_t>;

  Signs signs(std::vector<std::uint32_t>& queues);
  bool begin();
  bool show_some();
  bool take_away_some();

  const SourceOptions source_;
  store::Store& store_;
  Clock& clock_;
  const std::set<std::string, std::less<>> names_;  // of Ordo's queues that its jobs go to
  RedisLink link_;
  std::set<std::string> shown_;
  std::optional<Comparison> comparison_;
  std::optional<Signs> compared_;                 // what the last comparison was of
  std::optional<Duration> looked_, compared_at_;  // steady
};

}  // namespace ordo::sources
