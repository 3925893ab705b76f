#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ordo/time.hpp>

namespace ordo::domain {

/// Starts that count as one instant.
struct Starts {
  Time at{};
  std::uint32_t count = 0;

  bool operator==(const Starts&) const = default;
};

/// The starts that a rate remembers, in their order. Where it is not to remember each, those of one `grain`
/// of time count as the last of them: so they are never over too early. Not thread-safe.
class StartLog {
 public:
  /// `remembered`: sums up what several of them hold, and outlives them; null: nobody asks.
  explicit StartLog(std::size_t* remembered = nullptr) : remembered_(remembered) {}
  ~StartLog() { resize_to({}); }
  StartLog(const StartLog&) = delete;
  StartLog& operator=(const StartLog&) = delete;

  std::uint64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  Time last() const { return all_.back().at; }

  /// Not before the last one. `grain` = 0: each instant by itself.
  void add(Time at, std::uint32_t count, Duration grain);
  /// Those up to then are over.
  void forget(Time until);
  /// The clock was put ahead: all were so much later.
  void shift(Duration by);
  /// The clock was put back: what lies ahead counts as now.
  void cut(Time now);
  /// One that was added at that time was none; if it was cut, the oldest. Nothing, if it is over.
  void take_back(Time at);
  /// When the start was that is to be over before fewer than `limit` are left, which there are not now.
  Time when_below(std::uint32_t limit) const;

  /// About a hundred at most: where there are more, those of each `per` / 100 together. It goes through what
  /// has changed since the last call and some thousands.
  std::vector<Starts> list(Duration per);
  /// What another owner has seen of the same starts: each counts once.
  void unite(std::span<const Starts> seen, Duration per);

 private:
  std::span<const Starts> all() const { return std::span(all_).subspan(first_); }
  void sum_up(Duration grain);
  void forget_sums();
  void resize_to(std::vector<Starts> starts);

  std::size_t* remembered_;
  std::vector<Starts> all_;
  std::size_t first_ = 0;    // those in front are over
  Time over_ = Time::min();  // up to then all are
  std::uint64_t count_ = 0;
  std::vector<Starts> cells_;  // of those from first_ on, up to ...
  std::size_t summed_ = 0;     // ... this one; not before first_
  Duration cell_{};            // how much time each has
};

}  // namespace ordo::domain
