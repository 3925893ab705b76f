#pragma once

#include <ordo/time.hpp>

namespace ordo::sources {

/// Brings jobs of others into the logs: takes them at their origin, stores them durably, and only then tells
/// the origin. Belongs to one thread, but for wake(), and for show() and hand_over(), which belong to
/// another.
class Source {
 public:
  virtual ~Source() = default;

  /// A bounded piece of work. Returns when it wants to go on at the latest: at once if there may be more. It
  /// may throw Error at any point of its work: the next tick, of this object or of one in another process,
  /// goes on with nothing lost and nothing doubled.
  virtual Duration tick() = 0;

  /// How far the origin shows what became of its jobs.
  enum class Shown {
    nothing,  ///< nothing was to be done yet
    some,     ///< there is more: it goes on at once
    all
  };
  /// A bounded piece of showing it. Called by another thread than tick(), so it holds up no taking. Called
  /// again, it waits before it begins again, also after a failure. Throws Error.
  virtual Shown show() = 0;
  /// Likewise, of bringing failed jobs to the origin, where it retries them.
  virtual Shown hand_over() = 0;

  /// Returns when the origin has news, or after `at_most`, or when wake() was called since the last wait().
  /// Throws Error{unavailable}.
  virtual void wait(Duration at_most) = 0;

  /// Ends a wait(). Thread-safe.
  virtual void wake() = 0;

  /// Lets another process go on at once. Throws Error{unavailable}.
  virtual void leave() = 0;
};

}  // namespace ordo::sources
