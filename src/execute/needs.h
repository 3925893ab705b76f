#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ordo::execute {

/// What a node with command workers takes of its system, when all of its threads are at work.
struct Needs {
  std::uint64_t workers = 0;  ///< processes of commands
  std::uint64_t threads = 0;  ///< of its pools
  bool guarded = true;        ///< each worker has a guard, a process of its own

  std::uint64_t descriptors() const;
  std::uint64_t processes() const;  ///< threads count like processes
};

/// What the system gives; the largest number where there is no limit.
struct Limits {
  std::uint64_t descriptors = UINT64_MAX;
  std::uint64_t processes = UINT64_MAX;
};

/// Of this process: rlimits and, for processes, the control group. Raises the soft limit of descriptors to
/// what is needed, as far as the hard one allows.
Limits limits_for(const Needs& needs);

/// What falls short, in sentences.
std::vector<std::string> shortages(const Needs& needs, const Limits& limits);

}  // namespace ordo::execute
