#include "store/sqlite/node_locks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <ordo/error.hpp>

#include "store/odd_rows.h"

namespace ordo::store::sqlite {

void NodeLocks::hold(const std::string& node) {
  const std::lock_guard lock(mutex_);
  if (const auto known = held_.find(node); known != held_.end()) {
    struct stat facts {};
    const bool is_linked = fstat(known->second.number(), &facts) == 0 && facts.st_nlink > 0;
    if (is_linked) return;
    held_.erase(known);  // somebody took us for dead and removed the file
  }
  auto file = open_beside(database_, "-node-" + node);
  if (!try_lock_byte(file, 0, path(node))) {
    throw Error(ErrorKind::invalid_argument,
                "cannot join as node " + node + ": another process holds " + path(node) + "; use another id");
  }
  held_.emplace(node, std::move(file));
}

void NodeLocks::drop(const std::string& node) {
  if (!is_node(node)) return;  // it names no file
  const std::lock_guard lock(mutex_);
  unlink(path(node).c_str());
  held_.erase(node);
}

bool NodeLocks::is_gone(const std::string& node) const {
  if (!is_node(node)) return true;
  const Descriptor file(open(path(node).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  // The file is made before the node's row and removed after it: without a file nobody holds the lock.
  if (file.number() < 0) return errno == ENOENT;
  return !is_byte_locked(file, 0);
}

}  // namespace ordo::store::sqlite
