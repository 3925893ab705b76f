#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "execute/fd.h"

namespace ordo::execute {

/// Signals as a new program expects them: none blocked or ignored.
class SpawnAttributes {
 public:
  enum class Group { same, own };

  explicit SpawnAttributes(Group group);
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

/// Makes `descriptors` the child's 0, 1, 2, … and closes everything from there on; none: keeps the standard
/// streams.
class SpawnActions {
 public:
  explicit SpawnActions(const std::vector<int>& descriptors = {});
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

/// A worker process, or the guard that runs it, as leader of a process group of its own.
struct Spawned {
  pid_t pid = -1;
  Fd pid_fd;
  Fd input;  ///< its stdin, to write to; nobody else holds the other end
  Fd output;
  Fd errors;
  Fd guard;  ///< socket to the guard; none without one
};

/// Starts `command` under the guard program, or by itself when `guard` is empty; a lease end may be sent
/// before. The descriptors are non-blocking where the node uses them. Throws Error{unavailable} with the
/// reason.
Spawned spawn_worker(const std::vector<std::string>& command, const std::string& guard);

/// Signals the worker if it has left `group` (setsid), and those in the group that it leads now. Its number
/// must still be its own.
void signal_leaver(pid_t worker, pid_t group, int signal);

/// The errno with which `program` could not be started as it is now: not there, or not executable. 0: none.
int error_of_program(const std::string& program);

/// Why `program` could not be started, from the errno of the attempt.
std::string start_error_text(const std::string& program, int error);

/// "SEGV" of 11.
std::string signal_name(int signal);

}  // namespace ordo::execute
