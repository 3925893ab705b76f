#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "store/blocking.h"
#include "store/store.h"

namespace ordo::store {

/// A clock that stands still until it is moved. Thread-safe.
class StoppedClock final : public Clock {
 public:
  Time wall() override;
  Duration steady() override;
  void move(Duration by);
  /// The wall clock alone.
  void leap(Duration by);

 private:
  std::mutex mutex_;
  Duration moved_{}, leapt_{};
};

/// One store as a test sees it: with processes that come and go.
class World {
 public:
  virtual ~World() = default;

  virtual Store& store() = 0;

  /// The same store as a second process has it open.
  virtual Store& second() = 0;

  /// All processes end cleanly; store() is opened anew.
  virtual void reopen() = 0;

  /// Joins as a process of its own …
  virtual void join_elsewhere(const std::string& node, const std::string& facts) = 0;
  /// … which dies without a word. (A server does not see it.)
  virtual void kill(const std::string& node) = 0;
};

using MakeWorld = std::unique_ptr<World> (*)(Clock& clock);

std::unique_ptr<World> make_memory_world(Clock& clock);
std::unique_ptr<World> make_sqlite_world(Clock& clock);
/// On a server that the test program starts once and empties each time.
std::unique_ptr<World> make_redis_world(Clock& clock);
std::unique_ptr<World> make_redis_cluster_world(Clock& clock);
std::unique_ptr<World> make_postgres_world(Clock& clock);

}  // namespace ordo::store
