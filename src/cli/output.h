#pragma once

#include <string_view>

#include "cli/table.h"

namespace ordo::cli {

/// Writes to stdout; what does not fit into the device is told by finish_output().
void print(std::string_view text);

/// Colours only for people: a terminal, and no NO_COLOR.
Colours colours_of_stdout();

bool is_terminal(int fd);

/// Flushes stdout. Throws Error{unavailable} if something could not be written.
void finish_output();

}  // namespace ordo::cli
