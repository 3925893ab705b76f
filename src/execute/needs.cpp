#include "execute/needs.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace ordo::execute {
namespace {

// Two ends of stdin, one of stdout and stderr, the process, what wakes its thread; the guard's socket.
constexpr std::uint64_t kDescriptorsOfWorker = 6;
constexpr std::uint64_t kDescriptorsOfGuard = 1;
// The store, logs, and what is open only while a process starts.
constexpr std::uint64_t kOtherDescriptors = 64;
// Engine, follower, leases, notifier, fetcher, committer, signals, caretakers of workers.
constexpr std::uint64_t kOtherThreads = 16;

std::uint64_t limit_in_control_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto path = line.find('/');
    if (path == std::string::npos) continue;
    const bool is_of_pids = line.find(":pids:") != std::string::npos;
    if (!is_of_pids && !line.starts_with("0::")) continue;
    for (const auto& inside : {line.substr(path), std::string()}) {
      std::ifstream file("/sys/fs/cgroup" + std::string(is_of_pids ? "/pids" : "") + inside + "/pids.max");
      std::uint64_t most = 0;
      if (file >> most) return most;
    }
  }
  return UINT64_MAX;
}

std::string sentence(const Needs& needs, std::uint64_t needed, const char* what, std::uint64_t limit,
                     const char* where) {
  return std::to_string(needs.workers) + " worker processes need " + std::to_string(needed) + " " + what +
         ", and the limit is " + std::to_string(limit) + " (" + where +
         "): raise it, or take fewer threads; what cannot be started waits";
}

}  // namespace

std::uint64_t Needs::descriptors() const {
  return kOtherDescriptors + workers * (kDescriptorsOfWorker + (guarded ? kDescriptorsOfGuard : 0));
}

std::uint64_t Needs::processes() const { return kOtherThreads + threads + workers * (guarded ? 2 : 1); }

Limits limits_for(const Needs& needs) {
  Limits limits;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    if (files.rlim_cur < needs.descriptors() && files.rlim_cur < files.rlim_max) {
      files.rlim_cur = std::min<rlim_t>(needs.descriptors(), files.rlim_max);
      ::setrlimit(RLIMIT_NOFILE, &files);
      ::getrlimit(RLIMIT_NOFILE, &files);
    }
    limits.descriptors = files.rlim_cur;
  }
  rlimit processes{};
  if (::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &processes) == 0) limits.processes = processes.rlim_cur;
  limits.processes = std::min(limits.processes, limit_in_control_group());
  return limits;
}

std::vector<std::string> shortages(const Needs& needs, const Limits& limits) {
  std::vector<std::string> found;
  if (needs.workers == 0) return found;
  if (needs.descriptors() > limits.descriptors) {
    found.push_back(sentence(needs, needs.descriptors(), "open files", limits.descriptors, "ulimit -n"));
  }
  if (needs.processes() > limits.processes) {
    found.push_back(sentence(needs, needs.processes(), "processes and threads", limits.processes,
                             "ulimit -u, or the container's pids limit"));
  }
  return found;
}

}  // namespace ordo::execute
