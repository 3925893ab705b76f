#pragma once

#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

namespace ordo {

/// Throws Error{unavailable} that says which limit to look at.
[[noreturn]] void fail_to_start_thread(const std::system_error& error);

/// While it lives, threads are started with all signals blocked but those of faults and the real-time ones: a
/// program's signals go to its own threads.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// Starts a thread. Throws Error{unavailable} where the system gives no more: a limit of processes or memory.
template <class Body>
std::jthread start_thread(Body body) {
  const SignalsBlocked blocked;
  try {
    return std::jthread(std::move(body));
  } catch (const std::system_error& error) {
    fail_to_start_thread(error);
  }
}

}  // namespace ordo
