// Who reaps which children. The number of a process that is not reaped is not given out again.

#include "execute/reaper.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "base/start_thread.h"

namespace ordo::execute {
namespace {

constexpr auto kReapInterval = std::chrono::seconds{1};

struct OwnChildren {
  std::mutex mutex;  ///< held from before a process is there until it is in the set
  std::set<pid_t> pids;
};

OwnChildren& own_children() {
  static OwnChildren* const own = new OwnChildren;  // threads may use it to the very end
  return *own;
}

bool has_ended_child() {
  siginfo_t end{};
  return ::waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid != 0;
}

/// Of a child of this process that has ended and is of another group.
bool is_orphan(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = stat.rfind(')');  // a name may have anything in it
  if (name_end == std::string::npos) return false;
  char state = 0;
  int parent = 0;
  int group = 0;
  if (std::sscanf(stat.c_str() + name_end + 1, " %c %d %d", &state, &parent, &group) != 3) return false;
  return state == 'Z' && parent == ::getpid() && group != ::getpgrp();
}

void reap_orphans() {
  if (!has_ended_child()) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (!folder) return;
  auto& own = own_children();
  const std::lock_guard lock(own.mutex);
  while (const dirent* entry = ::readdir(folder.get())) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0 || own.pids.contains(pid) || !is_orphan(pid)) continue;
    ::waitpid(pid, nullptr, WNOHANG);
  }
}

}  // namespace

int spawn_own(pid_t& pid, const std::function<int(pid_t&)>& spawn) {
  auto& own = own_children();
  const std::lock_guard lock(own.mutex);
  const int error = spawn(pid);
  if (error == 0) own.pids.insert(pid);
  return error;
}

std::optional<int> reap_own(pid_t pid) {
  auto& own = own_children();
  siginfo_t end{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const std::lock_guard lock(own.mutex);  // its number may be another's as soon as it is reaped
  int status = 0;
  const bool is_known = ::waitpid(pid, &status, 0) == pid;
  own.pids.erase(pid);
  return is_known ? std::optional(status) : std::nullopt;
}

void adopt_orphans() {
  if (::getpid() != 1) return;
  static const std::jthread thread = [] {
    return start_thread([](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any ended;
      std::unique_lock lock(mutex);
      while (!ended.wait_for(lock, stop, kReapInterval, [&] { return stop.stop_requested(); }))
        reap_orphans();
    });
  }();
}

void reap_all_but(pid_t child) {
  siginfo_t end{};
  while (::waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid != 0 &&
         end.si_pid != child) {
    ::waitpid(end.si_pid, nullptr, WNOHANG);
    end = {};
  }
}

}  // namespace ordo::execute
