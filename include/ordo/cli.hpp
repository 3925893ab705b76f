#pragma once

#include <ordo/server.hpp>

namespace ordo {

/// The whole command line of Ordo, for a program with workers of its own:
///
///   int main(int argc, char** argv) {
///     return ordo::main(argc, argv, [](ordo::Server& server) { server.add("orders", ...); });
///   }
///
/// `load` is called by `work` before its server starts. Installs signal handlers. Returns the exit code
/// (faces: 0 done, 1 tried and failed, 2 nothing tried).
int main(int argc, char** argv, const std::function<void(Server&)>& load = {});

}  // namespace ordo
