#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ordo/server.hpp>

namespace ordo {

/// Adds the workers that `config` names by command or library to `server`, those of `queues` only unless that
/// is empty. Call it after server.set_log(), which the workers' output goes to. Returns how many were added.
/// Throws Error{invalid_argument} for a library that cannot be loaded.
std::size_t add_configured_workers(Server& server, const Config& config,
                                   const std::vector<std::string>& queues = {});

/// Opens a shared library and lets its `ordo_load` add workers. It stays loaded until the process ends.
/// Throws Error{invalid_argument}: no such library, no `ordo_load`, or built for another ABI.
void load_library(Server& server, const std::string& path);

/// Must be the first thing in main() of a program that runs command workers and does not use ordo::main():
/// the guards of their processes are this program again. Returns the exit code if this process is such a
/// guard.
std::optional<int> run_as_guard(int argc, char** argv);

}  // namespace ordo
