#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

#include <ordo/admin.hpp>
#include <ordo/log.hpp>
#include <ordo/time.hpp>

#include "base/clock.h"
#include "web/news.h"

namespace ordo::web {

/// Looks at the stats once a second, for the history and for all readers of events together.
///
/// A look that takes long is taken less often: all of them cost a twentieth of a thread at most.
class StatsWatch {
 public:
  StatsWatch(Admin& admin, News& news, LogSink log, Clock& clock);
  ~StatsWatch() { stop(); }
  StatsWatch(const StatsWatch&) = delete;
  StatsWatch& operator=(const StatsWatch&) = delete;

  void start();
  void stop();

  /// One look; when it wants the next one.
  Duration tick();

 private:
  void look();

  Admin& admin_;
  News& news_;
  const LogSink log_;
  Clock& clock_;
  bool is_away_ = false;
  std::mutex mutex_;
  std::condition_variable_any asleep_;
  std::jthread thread_;
};

}  // namespace ordo::web
