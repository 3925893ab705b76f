#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace ordo {

/// Throws Error{unavailable} that says which limit to look at.
[[noreturn]] void fail_to_start_thread(const std::system_error& error);

/// Starts a thread. Throws Error{unavailable} where the system gives no more: a limit of processes or memory.
template <class Body>
std::jthread start_thread(Body body) {
  try {
    return std::jthread(std::move(body));
  } catch (const std::system_error& error) {
    fail_to_start_thread(error);
  }
}

}  // namespace ordo
