#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <ordo/admin.hpp>

namespace ordo::web {

/// The stats as `event: stats` tells them: to who is new everything, then what has changed. Thread-safe.
class LiveStats {
 public:
  /// Those of the next second.
  void take(Time at, Stats stats);
  /// Makes their text now, before tell() needs it: somebody will.
  void prepare_text();
  /// Appends what somebody does not know who has `seen` the ones of that number; `seen` is theirs then.
  /// `queues`: of these alone, and no total; empty: all.
  void tell(std::uint64_t& seen, const std::set<std::string>& queues, std::string& text);

 private:
  /// JSON, and of it what differs from the last ones; empty: nothing does.
  struct Part {
    std::string whole{}, changed{};
  };

  void prepare();

  std::mutex mutex_;
  std::uint64_t number_ = 0;    ///< of the stats that are here
  std::uint64_t prepared_ = 0;  ///< of those that the parts are of
  bool has_changes_ = false;    ///< the parts' `changed` are of the ones before, and the queues are the same
  Time at_{};
  Stats stats_;
  Part total_, failing_;
  std::map<std::string, Part> queues_;
};

}  // namespace ordo::web
