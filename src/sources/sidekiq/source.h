#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/options.hpp>

#include "base/clock.h"
#include "sources/inlet.h"
#include "sources/queue_room.h"
#include "sources/sidekiq/dead_mirror.h"
#include "sources/sidekiq/mapping.h"
#include "sources/sidekiq/origin.h"
#include "sources/sidekiq/retry_set.h"
#include "sources/source.h"

namespace ordo::sources {

/// Takes the jobs of Sidekiq, Resque and Verk clients from their lists into shard logs.
///
/// The way of a job, and why no crash loses or doubles it:
///   1. A script moves it from its list into the stream of what is taken (SidekiqOrigin::take). Before, it is
///      in the list; after, it is in the stream, which every process reads.
///   2. Its entry is appended to the log in one step with the row that says up to where the stream is stored
///      (Inlet::append). Before, the next reader of the stream begins at the old row and brings it; after, it
///      begins behind it. If the answer is lost, or another process was faster, the row is read again.
///   3. It is taken out of the stream with the next script. What a crash leaves there is before the row.
/// The same for jobs of the sorted sets: the script that moves one does so only if it is still there.
class SidekiqSource final : public Source {
 public:
  /// `at`: called at the named points between the steps; tests crash there.
  using CrashPoint = std::function<void(std::string_view point)>;

  /// Store and clock must outlive it. `import`: takes all that is there, once; nothing: what others push.
  /// Throws Error{invalid_argument}.
  SidekiqSource(store::Store& store, Clock& clock, Config config, SourceOptions source,
                Duration poll_interval, CrashPoint at = {}, std::unique_ptr<SidekiqOrigin> import = {});

  Duration tick() override;
  Shown show() override;
  Shown hand_over() override;
  void wait(Duration at_most) override;
  void wake() override { origin_->wake(); }
  void leave() override;

  // Of an import.
  SidekiqOrigin::Left find_all() { return origin_->find_all(); }
  const domain::SourceRow& row() { return inlet_.row(); }
  /// All is taken: the same server may get another stream later. Throws Error{unavailable}.
  void finish();

 private:
  struct Made {
    std::vector<store::NewEntry> entries;
    domain::SourceRow next;
    std::vector<std::pair<std::string, store::RowStep>>
        undo{};  ///< by queue: unique rows that were made for them
  };

  Duration step();
  void look_again();
  bool store_all(const SidekiqOrigin::Batch& batch);
  Made make(const std::vector<SidekiqOrigin::Taken>& jobs, std::size_t& begin);
  void let_go(std::vector<std::pair<std::string, store::RowStep>> undo);
  void add(Made& made, const SidekiqOrigin::Taken& taken, MappedJob mapped);
  void pass(std::string_view point) const {
    if (at_) at_(point);
  }

  const Config config_;
  const SourceOptions source_;
  const Duration poll_interval_;
  const CrashPoint at_;
  Clock& clock_;
  const std::unique_ptr<SidekiqOrigin> origin_;
  Inlet inlet_;
  QueueRoom room_;
  std::optional<DeadMirror> mirror_;       // nothing: the dead are not shown there
  std::optional<RetrySet> retries_;        // nothing: the origin retries nothing
  std::optional<Duration> looked_at_due_;  // steady
  bool is_checked_ = false;                // the store can do it
  bool has_ended_well_ = true;             // the last tick
  std::atomic<bool> is_taker_ = false;     // it was with the last tick
  std::atomic<bool> is_compared_ = true;   // else another process may have changed what the mirror shows
  bool is_full_ = false;                   // likewise: its queues were
};

}  // namespace ordo::sources
