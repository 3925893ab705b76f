#include "cli/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <ordo/error.hpp>

#include "base/start_thread.h"

namespace ordo::cli {
namespace {

sigset_t signals_of_node() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGTSTP, SIGTTIN, SIGHUP}) ::sigaddset(&set, signal);
  return set;
}

}  // namespace

void block_signals() {
  const sigset_t set = signals_of_node();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a reader of our output that went away is no reason to drop the jobs
}

SignalThread::SignalThread(SignalActions actions) : actions_(std::move(actions)) {
  const sigset_t set = signals_of_node();
  events_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  the_end_ = ::eventfd(0, EFD_CLOEXEC);
  if (events_ < 0 || the_end_ < 0) {
    throw Error(ErrorKind::unavailable, std::string("cannot wait for signals: ") + std::strerror(errno));
  }
  thread_ = start_thread([this] { run(); });
}

SignalThread::~SignalThread() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(the_end_, &one, sizeof one));
  thread_.join();
  if (stopper_.joinable()) stopper_.join();
  if (reloader_.joinable()) reloader_.join();
  ::close(events_);
  ::close(the_end_);
}

void SignalThread::run() {
  for (;;) {
    pollfd watched[] = {{events_, POLLIN, 0}, {the_end_, POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents != 0) return;
    signalfd_siginfo event{};
    if (::read(events_, &event, sizeof event) == static_cast<ssize_t>(sizeof event)) {
      take(static_cast<int>(event.ssi_signo));
    }
  }
}

// What comes meanwhile means the config as it is by then.
void SignalThread::reload() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(reloads_, true)) {
      reloads_again_ = true;
      return;
    }
  }
  const auto all = [this] {
    while (true) {
      actions_.reload();
      const std::lock_guard lock(mutex_);
      if (std::exchange(reloads_again_, false)) continue;
      reloads_ = false;
      return;
    }
  };
  try {
    reloader_ = start_thread(all);
  } catch (const Error&) {
    all();
  }
}

void SignalThread::take(int signal) {
  if (signal == SIGTSTP) return actions_.quiet();
  if (signal == SIGTTIN) return actions_.traces();
  if (signal == SIGHUP) return reload();
  if (!stopping_.exchange(true)) {
    try {
      stopper_ = start_thread([this] { actions_.stop(); });
    } catch (const Error&) {
      actions_.stop();  // an INT is not heard meanwhile
    }
  } else if (signal == SIGINT) {
    actions_.stop_now();
  }
}

}  // namespace ordo::cli
