#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

#include <ordo/time.hpp>

namespace ordo::runtime {

/// How far a node is with its end, and what made it end. Thread-safe: its threads say what has happened, and
/// who stops it waits for that.
class NodeEnd {
 public:
  struct State {
    bool stopping = false;       ///< it takes nothing more
    bool asked_to_stop = false;  ///< another process wishes that it stops
    bool hurry = false;          ///< whoever is patient is to be so no longer
    std::exception_ptr failure;  ///< of one of its threads
    std::size_t runs = 0;        ///< that may be executed
    std::size_t rest = 0;        ///< shards, and other runs: they wait for the store
    bool released = false;       ///< the engine gives everything back
    bool engine_over = false;    ///< its thread does nothing any more
    bool leaving = false;        ///< the store is to forget it, ...
    bool left = false;           ///< ... and does
    bool keeper_over = false;    ///< its thread does nothing any more

    bool failed() const { return failure != nullptr; }
    /// No run of it goes on, and none will start.
    bool runs_are_over() const { return (released || engine_over) && runs == 0; }
    /// Nothing of it is left to write or to give back.
    bool is_idle() const { return runs_are_over() && (rest == 0 || engine_over); }
  };

  State state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }

  /// `change` the state, and tells whoever waits. Returns what it does.
  template <class Change>
  auto note(Change change) {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    return change(state_);
  }

  /// What the engine has. Told often, and rarely news.
  void note_work(std::size_t runs, std::size_t rest) {
    const std::lock_guard lock(mutex_);
    const bool is_news = runs != state_.runs || rest != state_.rest;
    state_.runs = runs;
    state_.rest = rest;
    if (is_news && state_.stopping) changed_.notify_all();
  }

  /// The first failure counts. False: there was one.
  bool fail(std::exception_ptr error) {
    return note([&](State& state) {
      if (state.failed()) return false;
      state.failure = std::move(error);
      return state.stopping = true;
    });
  }

  /// Until that is so, or the time is over. What it is then.
  State wait(Duration at_most, const std::function<bool(const State&)>& done) {
    std::unique_lock lock(mutex_);
    if (at_most < kForEver) {
      changed_.wait_for(lock, at_most, [&] { return done(state_); });
    } else {
      changed_.wait(lock, [&] { return done(state_); });
    }
    return state_;
  }
  State wait(const std::function<bool(const State&)>& done) { return wait(kForEver, done); }

 private:
  static constexpr Duration kForEver = std::chrono::hours{24 * 365};  // no clock can add more

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_;
};

}  // namespace ordo::runtime
