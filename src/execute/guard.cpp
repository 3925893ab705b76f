// The guard of one worker process: a process of one thread that outlives neither its node nor the node's
// lease.

#include "execute/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "execute/fd.h"
#include "execute/reaper.h"
#include "execute/spawn.h"

namespace ordo::execute {
namespace {

void send_message(GuardMessage message) {
  // The socket holds far more than the three messages there can be.
  static_cast<void>(::send(kGuardFd, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT));
}

[[noreturn]] void kill_all(pid_t child) {
  signal_leaver(child, ::getpgrp(), SIGKILL);
  ::kill(0, SIGKILL);
  ::_exit(1);
}

bool has_socket() {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(kGuardFd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/// What is sent to the group is meant for the worker.
void ignore_signals() {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP,
                           SIGTTIN, SIGTTOU, SIGVTALRM, SIGPROF, SIGIO}) {
    ::signal(signal, SIG_IGN);
  }
}

/// Orphans of the worker come to this process, which reaps them: to a node that is process 1 of a container
/// they would come else, or to whoever is. The descriptor is readable when one has ended.
Fd adopt_orphans_of_worker() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// Else the node would not see the worker close its output.
void let_go_of_streams() {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int stream : {0, 1, 2}) ::dup2(null.get(), stream);
}

/// Sets the timer to the last of the lease ends that wait in the socket. Kills when the node is gone.
void read_lease_ends(int timer, pid_t child) {
  for (;;) {
    std::int64_t end = 0;
    const auto size = ::recv(kGuardFd, &end, sizeof end, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size != static_cast<ssize_t>(sizeof end)) kill_all(child);
    itimerspec at{};
    if (end != Duration::max().count()) {
      at.it_value.tv_sec = end > 0 ? end / 1'000'000 : 0;
      at.it_value.tv_nsec = end > 0 ? end % 1'000'000 * 1000 : 1;
    }
    ::timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, nullptr);
  }
}

}  // namespace

void send_lease_end(int socket, Duration end) {
  const std::int64_t count = end.count();
  static_cast<void>(::send(socket, &count, sizeof count, MSG_NOSIGNAL | MSG_DONTWAIT));
}

std::optional<GuardMessage> receive_guard_message(int socket) {
  GuardMessage message;
  if (::recv(socket, &message, sizeof message, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof message)) {
    return std::nullopt;
  }
  return message;
}

int guard_main(int argc, char** argv) {
  if (argc < 3 || !has_socket()) return 2;  // not started by a node
  ignore_signals();
  const Fd timer(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) {
    send_message({GuardMessage::Kind::not_started, errno});
    return 0;
  }
  const Fd ended = adopt_orphans_of_worker();
  const SpawnAttributes attributes(SpawnAttributes::Group::same);
  const SpawnActions actions;  // closes all but the standard streams
  pid_t child = -1;
  if (const int error = ::posix_spawnp(&child, argv[2], actions.get(), attributes.get(), argv + 2, environ)) {
    send_message({GuardMessage::Kind::not_started, error});
    return 0;
  }
  let_go_of_streams();
  send_message({GuardMessage::Kind::started, child});

  Fd child_fd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!child_fd) kill_all(child);
  for (;;) {
    pollfd watched[] = {{kGuardFd, POLLIN, 0},
                        {timer.get(), POLLIN, 0},
                        {child_fd.get(), POLLIN, 0},
                        {ended.get(), POLLIN, 0}};
    if (::poll(watched, 4, -1) < 0) continue;
    if (watched[0].revents != 0) read_lease_ends(timer.get(), child);
    if (std::uint64_t times = 0; ::read(timer.get(), &times, sizeof times) > 0) {
      send_message({GuardMessage::Kind::lease_ended, 0});
      kill_all(child);
    }
    if (signalfd_siginfo signal{}; ::read(ended.get(), &signal, sizeof signal) > 0) reap_all_but(child);
    if (watched[2].revents != 0) {
      // It is not reaped: while its guard lives, its number is not used again.
      siginfo_t end{};
      if (::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT) != 0) continue;
      if (end.si_pid != child) continue;
      const int status =
          end.si_code == CLD_EXITED ? W_EXITCODE(end.si_status, 0) : W_EXITCODE(0, end.si_status);
      send_message({GuardMessage::Kind::ended, status});
      child_fd.reset();  // poll() passes over it
    }
  }
}

}  // namespace ordo::execute
