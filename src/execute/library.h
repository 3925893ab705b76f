#pragma once

#include <string>

#include <ordo/server.hpp>

namespace ordo::execute {

/// Loads a shared library and lets its `ordo_load` add workers to `server`. It stays loaded until the process
/// ends.
///
/// The library exports `extern "C" const int ordo_abi = ordo::kAbi;` and `extern "C" void
/// ordo_load(ordo::Server&)`; the number is compared before anything of ours is called. A path without a
/// slash is taken as one in the working directory. Throws Error{invalid_argument} for a library that cannot
/// be loaded, lacks a symbol or has another number, and whatever ordo_load throws.
void load_library(const std::string& path, Server& server);

}  // namespace ordo::execute
