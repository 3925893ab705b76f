#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

namespace ordo::execute {

/// Starts a process by `spawn`, which returns an errno, and remembers it as one that `reap_own` will reap.
int spawn_own(pid_t& pid, const std::function<int(pid_t&)>& spawn);

/// Waits for a process of spawn_own(); its status, if it could be had.
std::optional<int> reap_own(pid_t pid);

/// From now on children that have ended and that nobody here has started are reaped if this is process 1: to
/// it go the orphans of a container. Those of spawn_own() are left to reap_own(), and so are those of this
/// process's own group: a library may have started them, and waits for them itself.
void adopt_orphans();

/// The same for a process that has one child alone and is a subreaper: all that has ended but that child.
void reap_all_but(pid_t child);

}  // namespace ordo::execute
