#pragma once

#include <string>

#include "server/config_value.h"

namespace ordo::server {

/// A store's URL; the file in it becomes relative to the working directory.
std::string resolve_store(const std::string& url, const Origin& origin);

/// The path of any other file; an empty one stays empty.
std::string resolve_file(const std::string& path, const Origin& origin);

/// The path of a library. Always holds a '/', so that the loader does not search for it.
std::string resolve_library(const std::string& path, const Origin& origin);

/// A program: one with a '/' is a path, a bare name is looked up in PATH when it is started.
std::string resolve_program(const std::string& program, const Origin& origin);

}  // namespace ordo::server
