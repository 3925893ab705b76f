#pragma once

#include <map>
#include <string>
#include <vector>

#include <ordo/options.hpp>

namespace ordo::server {

/// What a config has otherwise than another one, of what a running node may change.
struct ConfigChange {
  std::vector<std::string> added, removed;                  ///< queues, by name
  std::map<std::string, std::vector<std::string>> changed;  ///< keys that differ, by queue
  std::vector<std::string> recoded;     ///< of these, queues with other commands or libraries
  std::vector<std::string> new_limits;  ///< [limit.NAME]
  bool periodic = false;
  std::vector<std::string> web;  ///< keys of [web]
  /// What takes a new start, as in "threads of [node]".
  std::vector<std::string> refused;
};

ConfigChange compare(const Config& before, const Config& after);

/// What runs jobs of the kind: its own command or library, else those of its queue.
const Execution& code_of(const QueueOptions& queue, const KindOptions& kind);
/// It has a command or a library.
bool has_code(const QueueOptions& queue);
/// A library brings code of it.
bool has_library(const QueueOptions& queue);

}  // namespace ordo::server
