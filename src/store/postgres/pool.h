#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "store/postgres/connector.h"

namespace ordo::store::postgres {

/// Connections for as many threads as ask at once; some are kept for the next. Thread-safe.
class ConnectionPool {
 public:
  /// `connector` must outlive it.
  explicit ConnectionPool(Connector& connector) : connector_(connector) {}

  /// What `body(Connection&)` returns. A connection on which something failed is not used again.
  template <class Body>
  auto with(Body body) {
    auto connection = take();
    try {
      auto result = body(*connection);
      put_back(std::move(connection));
      return result;
    } catch (const DatabaseError& error) {
      if (error.state().empty()) forget_idle();
      throw;
    }
  }

  /// For good.
  std::unique_ptr<Connection> take() {
    for (;;) {
      std::unique_ptr<Connection> connection;
      {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) break;
        connection = std::move(idle_.back());
        idle_.pop_back();
      }
      if (connection->is_usable()) return connection;
    }
    return connector_.connect();
  }

  /// One was lost or says nothing any more: so may be those that were made before, and each would be waited
  /// for.
  void forget_idle() {
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }

 private:
  static constexpr std::size_t kIdle = 4;

  void put_back(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdle) idle_.push_back(std::move(connection));
  }

  Connector& connector_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace ordo::store::postgres
