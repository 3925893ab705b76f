#pragma once

#include <cstddef>

#include <ordo/time.hpp>

namespace ordo::runtime {

/// How many runs of a kind this node can start just now. None once one could not be started: then no more
/// than went on at that moment, and after a pause one more, then twice as many more each second, until all
/// that the pool has threads for start again or one fails and the pause is doubled. Times are steady.
class StartLimit {
 public:
  /// A run could not be started, while `others` of the kind went on. True: that is news.
  bool failed(Duration now, std::size_t others);

  /// One more may start beside `runs`.
  bool admits(std::size_t runs) const { return !limited_ || runs < most_; }
  /// None starts at all: as if there were no code.
  bool is_absent() const { return limited_ && most_ == 0; }
  bool is_limited() const { return limited_; }

  /// There are `runs` now, with one that was just handed out.
  void started(Duration now, std::size_t runs);

  /// What time does; true: starts have succeeded for so long that all is well again, and the next failure
  /// will be news.
  bool look(Duration now, std::size_t threads);
  /// When look() is due next.
  Duration next() const { return next_; }

 private:
  bool limited_ = false;
  bool trying_ = false;  ///< more than are known to start
  bool has_tried_ = false;
  std::size_t known_ = 0;  ///< so many could be started
  std::size_t most_ = 0;
  std::size_t step_ = 1;
  Duration pause_{};  ///< zero: nothing has failed for long
  Duration next_ = Duration::max();
};

}  // namespace ordo::runtime
