#include "base/start_thread.h"

#include <ordo/error.hpp>

namespace ordo {

SignalsBlocked::SignalsBlocked() {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (int signal = 1; signal < 32; ++signal) sigaddset(&blocked, signal);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) {
    sigdelset(&blocked, signal);
  }
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void fail_to_start_thread(const std::system_error& error) {
  throw Error(ErrorKind::unavailable, "cannot start a thread: " + error.code().message() +
                                          "; raise the limit of processes (ulimit -u, or the container's "
                                          "pids limit) or of memory (ulimit -v), or take fewer threads");
}

}  // namespace ordo
