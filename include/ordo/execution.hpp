#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ordo/server.hpp>

namespace ordo {

/// How a config's workers are run.
struct ExecutionChoice {
  LogSink log{};                    ///< what commands print goes here
  std::vector<std::string> only{};  ///< these queues; empty: all
};

/// The workers that a config names by command or library, on a server, and how they change with it.
/// Not thread-safe; must not outlive the server.
class ConfiguredWorkers {
 public:
  /// As add_configured_workers().
  ConfiguredWorkers(Server& server, Config config, ExecutionChoice choice = {});
  ~ConfiguredWorkers();
  ConfiguredWorkers(const ConfiguredWorkers&) = delete;
  ConfiguredWorkers& operator=(const ConfiguredWorkers&) = delete;

  /// Brings the running server to what `config` says: queues that are new, gone or have other settings, new
  /// limits, schedules. What changed, a line each. Does not wait for running jobs.
  ///
  /// Throws Error{invalid_argument}, with all that takes a new start, and nothing is changed: other settings
  /// of the store, of [node] or of a limit, and libraries, which cannot be loaded anew. Otherwise as
  /// Server::change_queues().
  std::vector<std::string> reload(Config config);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Adds the workers that `config` names by command or library to `server`. A library that several queues or
/// kinds name is loaded once. Throws Error{invalid_argument} for a library that cannot be loaded.
void add_configured_workers(Server& server, const Config& config, const ExecutionChoice& choice = {});

/// Opens a shared library and lets its `ordo_load` add workers. It stays loaded until the process ends.
/// Throws Error{invalid_argument}: no such library, no `ordo_load`, built for another ABI, or what that has
/// thrown; of the same kind if it was an Error.
void load_library(Server& server, const std::string& path);

/// Must be the first thing in main() of a program that runs command workers and does not use ordo::main():
/// the guards of their processes are this program again. Returns the exit code if this process is such a
/// guard.
std::optional<int> run_as_guard(int argc, char** argv);

}  // namespace ordo
