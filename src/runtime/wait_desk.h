#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/worker.hpp>

#include "base/random.h"
#include "store/store.h"
#include "store/tokens.h"

namespace ordo::runtime {

/// Registers what the jobs of runs wait for, on the threads that execute them. Blocks for the store.
/// Thread-safe.
class WaitDesk {
 public:
  WaitDesk(store::Store& store, Random random) : store_(store), tokens_(store), random_(random) {}

  struct Run {
    const std::string& queue;
    const std::string& kind;
  };
  /// The id of the wait. Throws Error{invalid_argument}: another job waits for the key, or it is none; else
  /// as the store does.
  std::string expect(const Run& run, const BatchJob& job, const std::string& key, Time deadline);
  /// What answers the wait with this id. Throws as the store does.
  ResponseToken token(const std::string& queue, const std::string& key, const std::string& wait,
                      Time deadline) {
    return {tokens_.make(queue, key, wait, deadline)};
  }

  /// An outcome that waits, once it is registered; else what comes of it: a failure, or, when the store does
  /// not answer, the job is put back. `left`: of the attempt's time. `known`: what the run has expected.
  Outcome settle(const Run& run, const BatchJob& job, Outcome outcome, Duration left,
                 const std::string& known = {});

  Time now() { return store_.now(); }

 private:
  std::string new_id();

  store::Store& store_;
  store::Tokens tokens_;
  std::mutex mutex_;
  Random random_;
};

/// The waits of one run, while it is executed on a thread.
class RunWaits {
 public:
  /// Lets the batch expect() from now on. `ends`: of the attempt, by the steady clock; null: nothing can
  /// wait.
  RunWaits(WaitDesk* desk, Batch& batch, std::function<Duration()> left);

  void settle(std::vector<Outcome>& outcomes);

 private:
  struct Expected {
    std::string wait;
    Time deadline{};
    ResponseToken token{};  ///< empty: none could be made yet
  };

  ResponseToken expect(std::size_t job, const std::string& key);

  WaitDesk* const desk_;
  Batch& batch_;
  const std::function<Duration()> left_;
  std::map<std::pair<std::size_t, std::string>, Expected> known_;  // by job and key
};

}  // namespace ordo::runtime
