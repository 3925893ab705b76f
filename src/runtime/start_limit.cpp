#include "runtime/start_limit.h"

#include <algorithm>

namespace ordo::runtime {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds{1};
constexpr Duration kLongestPause = std::chrono::seconds{30};
constexpr Duration kTrial = std::chrono::seconds{1};  // a start that fails does so by then
constexpr Duration kWell = std::chrono::minutes{1};

}  // namespace

bool StartLimit::failed(Duration now, std::size_t others) {
  const bool is_news = pause_ == Duration{0};
  if (limited_ && !trying_) {
    // One of those that were under way as the first failed.
    known_ = most_ = std::min(most_, others);
    return false;
  }
  limited_ = true;
  trying_ = has_tried_ = false;
  known_ = most_ = others;
  step_ = 1;
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  next_ = now + pause_;
  return is_news;
}

void StartLimit::started(Duration now, std::size_t runs) {
  if (!limited_ || runs <= known_) return;
  has_tried_ = true;
  next_ = now + kTrial;
}

bool StartLimit::look(Duration now, std::size_t threads) {
  if (now < next_) return false;
  if (!limited_) {
    *this = {};
    return true;
  }
  if (trying_ && has_tried_) {
    known_ = most_;
    step_ *= 2;
    has_tried_ = false;
    if (known_ >= threads) {
      limited_ = trying_ = false;
      next_ = now + kWell;
      return false;
    }
  }
  trying_ = true;
  most_ = known_ + step_;
  next_ = now + kTrial;
  return false;
}

}  // namespace ordo::runtime
