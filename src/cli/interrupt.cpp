#include "cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include <ordo/error.hpp>

#include "base/start_thread.h"
#include "cli/output.h"

namespace ordo::cli {
namespace {

// A HUP that is ignored stays so: `nohup`.
sigset_t those_that_end() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  struct sigaction hang_up {};
  const bool is_ignored = ::sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler == SIG_IGN;
  if (!is_ignored) ::sigaddset(&set, SIGHUP);
  return set;
}

void set(int event) {
  const std::uint64_t one = 1;
  static_cast<void>(::write(event, &one, sizeof one));
}

}  // namespace

// The threads of the library block all signals.
Interrupt::Interrupt(std::function<void()> told) : told_(std::move(told)) {
  const sigset_t set = those_that_end();
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  came_ = ::eventfd(0, EFD_CLOEXEC);
  the_end_ = ::eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || came_ < 0 || the_end_ < 0)
    throw Error(ErrorKind::unavailable, std::string("cannot wait for signals: ") + std::strerror(errno));
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = start_thread([this] { run(); });
}

Interrupt::~Interrupt() {
  set(the_end_);
  thread_.join();
  const sigset_t signals = those_that_end();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  ::close(signals_);
  ::close(came_);
  ::close(the_end_);
}

void Interrupt::run() {
  while (true) {
    pollfd watched[] = {{signals_, POLLIN, 0}, {the_end_, POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents != 0) return;
    signalfd_siginfo event{};
    if (::read(signals_, &event, sizeof event) != static_cast<ssize_t>(sizeof event)) continue;
    if (has_come_.exchange(true)) {
      if (event.ssi_signo == SIGINT) ::_exit(kInterrupted);
      continue;
    }
    set(came_);
    told_();
  }
}

void end_interrupted(const std::string& what) {
  if (is_terminal(STDERR_FILENO)) std::fputs("\r\033[K", stderr);  // a bar, or ^C
  print_error(what);
  ::_exit(kInterrupted);
}

}  // namespace ordo::cli
