#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ordo/events.hpp>
#include <ordo/time.hpp>

namespace ordo::web {

/// How long many things took, by steps of an eighth, from 10 µs to years: a percentile is off by 6 % at most.
class TimeSteps {
 public:
  struct Count {
    std::uint8_t step = 0;
    std::uint32_t times = 0;
  };

  void add(Duration time) { add({step_of(time), 1}); }
  void add(Count count) { counts_[count.step] += count.times; }

  /// In seconds; nothing: there was nothing. `share`: 0.5 for the median.
  std::optional<double> percentile(double share) const;
  const std::map<std::uint8_t, std::uint32_t>& counts() const { return counts_; }

 private:
  static std::uint8_t step_of(Duration time);

  std::map<std::uint8_t, std::uint32_t> counts_;
};

/// The same for ever, in the buckets that Prometheus is told.
struct TimeBuckets {
  static constexpr std::array kBounds_s = {0.001, 0.005, 0.01, 0.05,  0.1,    0.5,    1.0,
                                           5.0,   10.0,  60.0, 300.0, 1800.0, 7200.0, 86400.0};

  std::array<std::uint64_t, kBounds_s.size() + 1> counts{};  ///< each of its own; the last: above all bounds
  double sum_s = 0;

  void add(Duration time);
};

/// What the runs of this process did, by queue and kind, as its events tell. Thread-safe.
class RunTimes {
 public:
  using Name = std::pair<std::string, std::string>;  ///< queue, kind
  /// Names beyond those count as this one: labels and memory are bounded.
  static constexpr std::size_t kMostNames = 1'000;
  static constexpr const char* kOthers = "other";

  struct Lately {
    std::uint32_t done = 0, failed = 0, dead = 0;
    TimeSteps run{}, wait{};
  };
  struct Total {
    std::uint64_t done = 0, failed = 0, dead = 0;
    TimeBuckets run{}, wait{};
  };

  void add(const Event& event);
  /// Since it was called last.
  std::map<Name, Lately> take();
  std::map<Name, Total> totals() const;

 private:
  mutable std::mutex mutex_;
  std::map<Name, Lately> lately_;
  std::map<Name, Total> totals_;
};

}  // namespace ordo::web
