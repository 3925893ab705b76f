#include "runtime/outage.h"

#include <utility>

#include <fmt/format.h>

#include "base/time_text.h"

namespace ordo::runtime {
namespace {

constexpr Duration kOutageSaidAgain = std::chrono::minutes{1};

}  // namespace

std::optional<std::string> Outage::failed(const std::string& what, const std::string& error,
                                          Duration steady) {
  const std::lock_guard lock(mutex_);
  const bool is_first = what_.empty();
  what_.insert(what);
  failing_ = what_.size();
  if (is_first) {
    since_ = said_at_ = steady;
    return fmt::format("the store is lost: cannot {}, trying again: {}", what, error);
  }
  if (steady - said_at_ < kOutageSaidAgain) return std::nullopt;
  said_at_ = steady;
  return fmt::format("the store is lost for {:.0f} s: cannot {}, trying again: {}",
                     seconds_of(steady - since_), what, error);
}

std::optional<std::string> Outage::succeeded(const std::string& what, Duration steady) {
  if (failing_ == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (what_.erase(what) == 0) return std::nullopt;
  failing_ = what_.size();
  if (!what_.empty()) return std::nullopt;
  return fmt::format("the store answers again, after {:.1f} s", seconds_of(steady - since_));
}

}  // namespace ordo::runtime
