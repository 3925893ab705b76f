#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/admin.hpp>
#include <ordo/time.hpp>

#include "web/run_times.h"

namespace ordo::web {

/// What happened in each second of the last hour, by queue and kind, in memory. Thread-safe.
///
/// A second in which nothing of a queue happened and nothing of it waited takes no room; another takes about
/// 80 bytes. All of it takes 64 MiB at most: then the oldest seconds go before their hour is over.
class History {
 public:
  explicit History(std::size_t most_bytes = std::size_t{64} << 20) : most_bytes_(most_bytes) {}

  /// The stats of that moment, and the runs of this process since the ones before.
  void add(Time at, const Stats& stats, const std::map<RunTimes::Name, RunTimes::Lately>& runs);

  struct Wish {
    std::string queue{};  ///< empty: all
    std::string kind{};   ///< empty: all; else what the runs of this process tell
    Time from{}, to{};
    Duration step{};  ///< of whole seconds
  };
  /// What happened within one step; nothing: it is not known.
  struct Point {
    Time at{};  ///< its beginning
    std::optional<std::uint64_t> pushed{}, done{}, failed{}, dead{};
    std::optional<double> lag{};
    TimeSteps run{}, wait{};
  };
  std::vector<Point> read(const Wish& wish) const;
  std::size_t bytes() const;

 private:
  struct Known {
    std::uint64_t in_system = 0, processed = 0, failed = 0, dead = 0;
  };
  /// Of one second and one name.
  struct Entry {
    std::uint32_t name = 0;
    std::uint32_t pushed = 0, done = 0, failed = 0, dead = 0;
    float lag = 0;
    std::uint32_t first_step = 0;  ///< of the frame's
    std::uint16_t runs = 0, waits = 0;
  };
  struct Frame {
    Time at{};
    std::vector<Entry> entries{};  ///< by name
    std::vector<TimeSteps::Count> steps{};

    std::size_t bytes() const;
  };

  std::uint32_t number_of(const RunTimes::Name& name);
  void add_queue(Frame& frame, const std::string& queue, const QueueStats& stats);
  void forget_removed(const Stats& stats);
  void add_runs(Frame& frame, const RunTimes::Name& name, const RunTimes::Lately& runs);
  bool admits(const Wish& wish, const RunTimes::Name& name) const;
  void add_to(Point& point, const Frame& frame, const Wish& wish) const;

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::map<RunTimes::Name, std::uint32_t> numbers_;
  std::vector<RunTimes::Name> names_;
  std::map<std::string, Known> known_;  // by queue, as of the last stats
  std::deque<Frame> frames_;
  std::size_t bytes_ = 0;
};

}  // namespace ordo::web
