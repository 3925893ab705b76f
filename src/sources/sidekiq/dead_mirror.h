#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ordo/options.hpp>

#include "base/clock.h"
#include "sources/redis_link.h"
#include "sources/source.h"
#include "store/store.h"

namespace ordo::sources {

/// Keeps Sidekiq's set of dead jobs like the dead set of a source's queues: what dies here is shown there,
/// and what is brought back, deleted or trimmed here goes there, too. Of each queue the newest kMostShown are
/// shown, for 180 days: Sidekiq's bounds. Dead jobs of others are left alone.
///
/// It compares the two: the rows of the store with the hash `ordo:mirrored:SOURCE`, which names what was
/// shown. One script changes hash and set together, once for each row. So a crash at any point is mended by
/// the next comparison, in whatever process. Belongs to one thread.
class DeadMirror {
 public:
  /// The store and the clock must outlive it. Throws Error{invalid_argument}.
  DeadMirror(const SourceOptions& source, store::Store& store, Clock& clock);

  /// A bounded part of a comparison, which begins when something may have changed, and never at once after
  /// another or a failure. Throws Error: the next one begins again.
  Source::Shown tick();
  /// Another process may have changed it meanwhile.
  void forget();

  static std::string hash_key(const SourceOptions& source) { return "ordo:mirrored:" + source.name; }
  static constexpr Duration kLook = std::chrono::seconds{1};
  static constexpr std::uint64_t kMostShown = 10'000;

 private:
  struct Comparison {
    std::set<std::string> gone{};  ///< shown, and not seen among the rows yet
    std::vector<std::uint32_t> queues{};
    std::map<std::uint32_t, std::uint64_t> too_many{};  ///< by queue: so many of its oldest rows are left out
    std::uint64_t after = 0;                            ///< of the last queue
    bool is_read = false;                               ///< all rows are
    Duration took{};
  };
  using Signs = std::vector<std::uint64_t>;

  Signs signs(Comparison& next);
  bool begin();
  Source::Shown go_on();
  void show_some();
  bool take_away_some();
  void fit_page(std::size_t rows, std::size_t bytes);

  const SourceOptions source_;
  store::Store& store_;
  Clock& clock_;
  const std::set<std::string, std::less<>> names_;  // of Ordo's queues that its jobs go to
  RedisLink link_;
  std::set<std::string> shown_;
  std::optional<Comparison> comparison_;
  std::optional<Signs> compared_;               // what the last comparison was of
  std::optional<Duration> next_, compared_at_;  // steady
  std::size_t page_rows_;                       // of the next page
  bool has_ended_well_ = true;                  // the last tick
};

}  // namespace ordo::sources
