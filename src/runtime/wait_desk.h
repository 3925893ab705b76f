#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <ordo/worker.hpp>

#include "base/random.h"
#include "store/group_queue.h"
#include "store/store.h"
#include "store/tokens.h"
#include "store/waits.h"

namespace ordo::runtime {

/// Registers what the jobs of runs wait for. Blocks for the store, but for settle_later(). Thread-safe.
class WaitDesk {
 public:
  WaitDesk(store::Store& store, Random random) : store_(store), random_(random) {}

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
    return {store::make_token(store_, queue, key, wait, deadline)};
  }

  /// The outcomes of a run, and those of them that wait and are not registered.
  struct Ended {
    std::string queue;
    std::vector<Outcome> outcomes;
    std::vector<std::pair<std::size_t, store::Wanted>> waits;  ///< by outcome: to be registered, or shortened
    std::function<void(std::vector<Outcome>)> done{};
  };
  /// Registers them. What cannot wait becomes what comes of it: a failure, or, when the store does not
  /// answer, the job is put back.
  void settle(Ended& run);
  /// The same on a thread of the desk, for many runs at once; then that calls `done`, which must not throw.
  /// So a run that ends with a wait holds no thread of its pool for the store. While that thread has enough
  /// to do, the calling one does it.
  void settle_later(Ended run);
  /// What was left to that thread is done, and there is none any more.
  void end();

  /// What the job of that run wants if it is to wait. `outcome` learns until when; `left`: of the attempt's
  /// time.
  store::Wanted want(const Run& run, const BatchJob& job, Outcome& outcome, Duration left);

  Time now() { return store_.now(); }

 private:
  std::string new_id();
  bool leave(Ended& run);
  void settle_all(std::span<Ended> runs);
  void loop(const std::stop_token& stop);

  store::Store& store_;
  std::mutex mutex_;
  Random random_;
  store::GroupQueue<Ended> ended_;
  std::size_t left_ = 0;  // waits that its thread has
  bool is_over_ = false;
  std::jthread thread_;  // once there is something for it; it uses all of the above
};

/// The waits of one run, while it is executed on a thread.
class RunWaits {
 public:
  /// Lets the batch expect() from now on. `ends`: of the attempt, by the steady clock; null: nothing can
  /// wait.
  RunWaits(WaitDesk* desk, Batch& batch, std::function<Duration()> left);

  /// The run has ended with these: what waits without having been expected, or for a shorter time, is to be
  /// told to the store.
  WaitDesk::Ended end(std::vector<Outcome> outcomes);

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
