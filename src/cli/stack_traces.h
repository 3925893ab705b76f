#pragma once

#include <string>

namespace ordo::cli {

/// Takes the signal that asks a thread for its stack. Once, before the first stack_traces().
void prepare_stack_traces();

/// The stacks of all threads of this process, which go on running. A thread that does not answer within two
/// seconds is named as such. One call at a time.
std::string stack_traces();

/// Writes `text` to $TMPDIR/ordo-PID-traces.txt, or /tmp, and returns the path; empty if it cannot be
/// written.
std::string write_traces(const std::string& text);

}  // namespace ordo::cli
