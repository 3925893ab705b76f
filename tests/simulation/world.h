#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <ordo/time.hpp>

#include "base/clock.h"
#include "base/random.h"

namespace ordo::simulation {

/// Something that takes steps: a thread of a node, a producer, the hand that breaks things.
struct Actor {
  std::string name;
  std::function<void()> step;
  Duration due{};           ///< wants to run from then on
  Duration asleep_until{};  ///< its process is stopped
  bool busy = false;        ///< on the stack
  bool outside = false;     ///< never runs in the middle of another's step
  bool gone = false;

  void wake_at(Duration at) { due = std::min(due, at); }
};

/// One thread, one seed: time, chance, and who goes next.
///
/// Time stands still within a step, but for preempt(): others may then take steps in the middle of one, as
/// threads do.
class World {
 public:
  World(std::uint64_t seed, bool print) : random(seed * 0x9e3779b97f4a7c15ULL + 1), print_(print) {}

  Random random;

  Duration now() const { return now_; }
  Time wall() const { return right_wall() + wrong_by(); }
  void jump_wall(Duration by) {
    latest_ = latest_wall();
    wall_offset_ += by;
  }
  /// What the clock would show if it had not leapt.
  Time right_wall() const { return kEpoch + now_ + wall_offset_; }
  Duration wrong_by() const { return leaps_.empty() ? Duration{0} : leaps_.back().wrong_by; }
  /// The clock leaps there.
  void set_wrong(Duration by) {
    latest_ = latest_wall();
    leaps_.push_back({now_, by});
  }
  /// Since when the clock has not leapt.
  Duration leapt_at() const { return leaps_.empty() ? Duration{0} : leaps_.back().at; }
  /// The latest time that a process which lives since then may go by to end something for its age, now or
  /// before: what the clock has shown without a leap ahead within the minute before.
  Time latest_believed(Duration since) const;
  /// What was to last from `set_at` to `end` may be over by then: only the span counts, from when the clock
  /// was set back before that.
  bool may_be_cut(Time end, Time set_at, Time now) const;
  /// The latest that the clock has ever shown.
  Time latest_wall() const { return std::max(latest_, wall()); }

  Actor* add(std::string name, std::function<void()> step);
  /// Once, in `delay` from now.
  void later(Duration delay, std::function<void()> call);
  /// Called after time has moved.
  std::function<void()> on_time;

  /// One step of whoever may go; time moves on when nobody may. False: nobody ever wants to.
  bool step();
  /// Others may go now, some steps long.
  void preempt();
  /// Others go on for this long.
  void nap(Duration time);
  bool calm = false;  ///< no preemption any more

  bool chance(std::uint64_t one_in) { return random.below(one_in) == 0; }
  Duration upto(Duration most) {
    return Duration{static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most.count()) + 1))};
  }

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    note(fmt::format(format, std::forward<Args>(args)...));
  }
  /// What must never be. The first one ends the simulation.
  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    accuse(fmt::format(format, std::forward<Args>(args)...));
  }
  const std::string& failure() const { return failure_; }
  bool failed() const { return !failure_.empty(); }
  std::uint64_t trace_hash() const { return hash_; }
  std::uint64_t steps() const { return steps_; }

 private:
  /// Since then the clock is so much later than it should be.
  struct Leap {
    Duration at{}, wrong_by{};
  };

  bool step_one(bool nested);
  Duration believed_wrong(Duration since, Duration at) const;
  void note(const std::string& line);
  void accuse(std::string what);

  static constexpr Time kEpoch{std::chrono::seconds{1'700'000'000}};
  static constexpr int kDeepest = 2;

  const bool print_;
  Duration now_{std::chrono::seconds{1000}};
  Duration wall_offset_{};
  Time latest_{};
  std::vector<Leap> leaps_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<Actor*> ready_;
  int depth_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
  std::string failure_;
};

/// A machine's clock: its own time since boot, and the wall that all share.
class SimClock final : public Clock {
 public:
  SimClock(const World& world, Duration offset) : world_(world), offset_(offset) {}
  Time wall() override { return world_.wall(); }
  Duration steady() override { return world_.now() + offset_; }

 private:
  const World& world_;
  const Duration offset_;
};

}  // namespace ordo::simulation
