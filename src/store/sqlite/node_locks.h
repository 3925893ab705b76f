#pragma once

#include <map>
#include <mutex>
#include <string>

#include "store/sqlite/side_file.h"

namespace ordo::store::sqlite {

/// The kernel knows which nodes live: each holds a lock on FILE-node-<id> until its process ends.
/// Thread-safe.
class NodeLocks {
 public:
  explicit NodeLocks(std::string database) : database_(std::move(database)) {}

  /// Does nothing if it is held already and the file is still there. Throws Error{invalid_argument} when
  /// another process lives under this id.
  void hold(const std::string& node);

  /// Gives the lock up, if it is ours, and removes the file.
  void drop(const std::string& node);

  /// True: no process holds it. A node of this very process is alive.
  bool is_gone(const std::string& node) const;

 private:
  std::string path(const std::string& node) const { return database_ + "-node-" + node; }

  const std::string database_;
  std::mutex mutex_;
  std::map<std::string, Descriptor> held_;
};

}  // namespace ordo::store::sqlite
