// A worker process seen from its node. What a run makes of it: execute/command_worker.h.

#include "execute/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "base/clock.h"
#include "execute/guard.h"
#include "execute/reaper.h"

namespace ordo::execute {
namespace {

constexpr std::size_t kReadSize = 64U << 10;
constexpr std::size_t kKeptErrors = 4U << 10;
/// After the end: pipes hold at most a MiB, unless something outside the group still writes.
constexpr std::size_t kMaxLeftOver = 2U << 20;

int wait_for(std::span<pollfd> watched, Duration time) {
  time = std::clamp<Duration>(time, Duration{0}, std::chrono::hours{1});
  const timespec timeout{time.count() / 1'000'000, time.count() % 1'000'000 * 1000};
  return ::ppoll(watched.data(), watched.size(), &timeout, nullptr);
}

/// Of a pipe that nobody reads any more the signal is not wanted, and this may be a thread of the program's.
ssize_t write_without_signal(int pipe, std::string_view bytes) {
  sigset_t broken_pipe, before, pending;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  ::sigpending(&pending);
  const auto size = ::write(pipe, bytes.data(), bytes.size());
  const int reason = errno;
  if (size < 0 && reason == EPIPE && ::sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    ::sigtimedwait(&broken_pipe, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = reason;
  return size;
}

/// -1: nothing there now; 0: the end.
ssize_t read_some(const Fd& from, std::vector<char>& buffer) {
  if (!from) return -1;
  const auto size = ::read(from.get(), buffer.data(), buffer.size());
  if (size < 0 && errno != EAGAIN && errno != EINTR) return 0;
  return size;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const std::string& guard,
                 std::shared_ptr<LeaseSignal> lease, Sinks sinks)
    : sinks_(std::move(sinks)),
      lease_(std::move(lease)),
      program_(command[0]),
      spawned_(spawn_worker(command, guard)),
      buffer_(kReadSize) {
  if (!spawned_.guard) {
    worker_pid_ = spawned_.pid;
  } else if (lease_) {
    lease_->add(spawned_.guard.get());
  }
}

Process::~Process() {
  kill();
  if (lease_ && spawned_.guard) lease_->remove(spawned_.guard.get());
}

void Process::send(std::string_view line) {
  unsent_ = line;
  sent_ = 0;
  write_request();
}

void Process::write_request() {
  while (!unsent_.empty() && spawned_.input && !is_deaf_) {
    const auto size = write_without_signal(spawned_.input.get(), unsent_);
    if (size < 0 && errno == EPIPE) is_deaf_ = true;
    if (size <= 0) return;  // full
    unsent_.remove_prefix(static_cast<std::size_t>(size));
    sent_ += static_cast<std::size_t>(size);
  }
}

std::size_t Process::unread() const {
  int bytes = 0;
  return spawned_.input && ::ioctl(spawned_.input.get(), FIONREAD, &bytes) == 0
             ? static_cast<std::size_t>(bytes)
             : 0;
}

bool Process::has_unread_request() const { return !unsent_.empty() || unread() > 0; }

bool Process::ignored_request() const { return spawned_.input && unread() == sent_; }

bool Process::wait(Duration time, int wake) {
  if (ended_) return false;
  const short to_write = unsent_.empty() ? 0 : POLLOUT;  // without it the end of the reader is told alone
  const bool is_known =
      worker_pid_ != 0;  // what it says is told with its id, which the guard says about then
  std::array<pollfd, 6> watched = {{{is_known ? spawned_.output.get() : -1, POLLIN, 0},
                                    {is_known ? spawned_.errors.get() : -1, POLLIN, 0},
                                    {spawned_.guard.get(), POLLIN, 0},
                                    {spawned_.pid_fd.get(), POLLIN, 0},
                                    {wake, POLLIN, 0},
                                    {is_deaf_ ? -1 : spawned_.input.get(), to_write, 0}}};
  if (wait_for(watched, time) <= 0) return false;
  if (watched[2].revents != 0) read_guard();
  if ((watched[5].revents & POLLERR) != 0) is_deaf_ = true;
  if (watched[5].revents != 0) write_request();
  if (watched[1].revents != 0) read_errors();
  if (watched[0].revents != 0) read_output();
  if (watched[3].revents != 0 && !status_) guard_died_ = bool(spawned_.guard);
  if (watched[3].revents != 0 || status_ || start_error_ != 0) finish();
  return true;
}

void Process::read_guard() {
  while (const auto message = receive_guard_message(spawned_.guard.get())) {
    switch (message->kind) {
      case GuardMessage::Kind::started:
        worker_pid_ = message->value;
        break;
      case GuardMessage::Kind::not_started:
        start_error_ = message->value;
        break;
      case GuardMessage::Kind::ended:
        status_ = message->value;
        break;
      case GuardMessage::Kind::lease_ended:
        lease_ended_ = true;
        break;
    }
  }
}

bool Process::read_output() {
  const auto size = read_some(spawned_.output, buffer_);
  if (size == 0) spawned_.output.reset();
  if (size <= 0) return false;
  has_spoken_ = true;
  output_.add({buffer_.data(), static_cast<std::size_t>(size)});
  return true;
}

bool Process::read_errors() {
  const auto size = read_some(spawned_.errors, buffer_);
  if (size == 0) spawned_.errors.reset();
  if (size > 0) log_errors({buffer_.data(), static_cast<std::size_t>(size)});
  return size > 0;
}

void Process::log_errors(std::string_view bytes) {
  last_errors_.append(bytes);
  if (last_errors_.size() > 4 * kKeptErrors) last_errors_.erase(0, last_errors_.size() - kKeptErrors);
  errors_.add(bytes);
  while (const auto line = errors_.next()) sinks_.log(worker_pid_, *line);
}

std::optional<std::string_view> Process::next_answer() {
  for (;;) {
    auto line = output_.next();
    if (!line && is_mute()) line = output_.last();
    if (!line || line->starts_with('{')) return line;
    if (!line->empty()) sinks_.chatter(worker_pid_, *line);
  }
}

// The worker has ended, or its guard. Nothing of the group may write on while the pipes are emptied.
void Process::finish() {
  reap();
  std::size_t left_over = 0;
  while (left_over < kMaxLeftOver && read_errors()) left_over += kReadSize;
  left_over = 0;
  while (left_over < kMaxLeftOver && read_output()) left_over += kReadSize;
  spawned_.output.reset();
  spawned_.errors.reset();
  if (const auto line = errors_.last()) sinks_.log(worker_pid_, *line);
  ended_ = true;
}

void Process::reap() {
  if (reaped_) return;
  if (spawned_.guard) read_guard();
  signal(SIGKILL);
  pollfd leader{spawned_.pid_fd.get(), POLLIN, 0};
  while (::poll(&leader, 1, -1) < 0) {
  }
  if (spawned_.guard) read_guard();
  const auto status = reap_own(spawned_.pid);
  if (status && (!spawned_.guard || guard_died_)) status_ = status_.value_or(*status);
  reaped_ = true;
}

// While its leader is not reaped, the group's number is not used again; nor is the worker's while its guard
// lives.
void Process::signal(int number) {
  pollfd leader{spawned_.pid_fd.get(), POLLIN, 0};
  if (worker_pid_ != 0 && ::poll(&leader, 1, 0) == 0) signal_leaver(worker_pid_, spawned_.pid, number);
  ::kill(-spawned_.pid, number);
}

void Process::kill() {
  if (!ended_) finish();
}

void Process::terminate() {
  if (!reaped_) signal(SIGTERM);
}

// Programs that handle the signal, and shells, end with 128 and its number.
bool Process::was_told_to_end() const {
  if (!status_ || start_error_ != 0 || lease_ended_) return false;
  const int signal = WIFSIGNALED(*status_) ? WTERMSIG(*status_) : WEXITSTATUS(*status_) - 128;
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

std::string Process::how_it_ended() const {
  if (!status_) return "ended";
  if (WIFSIGNALED(*status_)) return "killed by signal " + signal_name(WTERMSIG(*status_));
  return "exited with code " + std::to_string(WEXITSTATUS(*status_));
}

Outcome Process::ending() const {
  if (start_error_ != 0) return Outcome::not_started(start_error_text(program_, start_error_));
  if (guard_died_ && worker_pid_ == 0 && !has_spoken_ && !lease_ended_) {
    return Outcome::not_started(
        "cannot run the command \"" + program_ + "\": the guard that was to start it " +
        (status_ && WIFSIGNALED(*status_) ? "was " : "") + how_it_ended() + " (is there enough memory?)");
  }
  if (lease_ended_) {
    return Outcome::fail("the worker process was killed: its node did not renew its leases",
                         FailureKind::lease_lost);
  }
  std::string text =
      "the worker process " + std::string(status_ && WIFSIGNALED(*status_) ? "was " : "") + how_it_ended();
  if (status_ && WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0) text += " without an answer";
  auto errors = std::string_view(last_errors_);
  if (errors.size() > kKeptErrors) errors.remove_prefix(errors.size() - kKeptErrors);
  while (!errors.empty() && (static_cast<unsigned char>(errors[0]) & 0xC0) == 0x80) errors.remove_prefix(1);
  while (errors.ends_with('\n')) errors.remove_suffix(1);
  const auto last = errors.substr(errors.rfind('\n') + 1);  // npos + 1: from its begin
  if (!errors.empty()) text.append(": ").append(last);
  if (last.size() < errors.size()) text.append("\nstderr:\n").append(errors);
  return Outcome::fail(std::move(text), FailureKind::crash);
}

void Process::wait_for_all(const std::vector<std::unique_ptr<Process>>& processes, Duration end) {
  for (;;) {
    std::vector<pollfd> watched;
    for (const auto& process : processes) {
      if (process->ended_) continue;
      const auto& spawned = process->spawned_;
      for (const Fd* fd : {&spawned.output, &spawned.errors, &spawned.guard, &spawned.pid_fd}) {
        watched.push_back({fd->get(), POLLIN, 0});
      }
    }
    const Duration left = end - system_clock().steady();
    if (watched.empty() || left <= Duration{0}) return;
    wait_for(watched, left);
    for (const auto& process : processes) {
      process->wait(Duration{0}, -1);
      while (process->next_answer()) {
      }
    }
  }
}

void Process::end_all(std::vector<std::unique_ptr<Process>>& processes, Duration patience,
                      Duration patience_after_term) {
  for (const auto& process : processes) process->close_input();
  wait_for_all(processes, system_clock().steady() + patience);
  for (const auto& process : processes) process->terminate();
  wait_for_all(processes, system_clock().steady() + patience_after_term);
  for (const auto& process : processes) {
    if (!process->ended_) process->signal(SIGKILL);
  }
  for (const auto& process : processes) process->kill();
}

}  // namespace ordo::execute
