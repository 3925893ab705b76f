#include "execute/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include <ordo/error.hpp>

#include "base/assert.h"
#include "base/shorten.h"
#include "execute/guard.h"
#include "execute/reaper.h"

namespace ordo::execute {
namespace {

[[noreturn]] void fail(const std::string& program, int error) {
  throw Error(ErrorKind::unavailable, start_error_text(program, error));
}

/// Moves a descriptor out of the way of those the child gets: a node may run without standard streams.
Fd above_standard(int fd, const std::string& program) {
  Fd low(fd);
  if (fd > kGuardFd) return low;
  Fd high(::fcntl(fd, F_DUPFD_CLOEXEC, kGuardFd + 1));
  if (!high) fail(program, errno);
  return high;
}

struct Ends {
  Fd ours;
  Fd theirs;
};

enum class Direction { to_child, from_child };

Ends make_pipe(Direction direction, const std::string& program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(program, errno);
  const bool to_child = direction == Direction::to_child;
  Fd theirs(ends[to_child ? 0 : 1]);
  Ends pipe{above_standard(ends[to_child ? 1 : 0], program), above_standard(theirs.release(), program)};
  ::fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

Ends make_socket(const std::string& program) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail(program, errno);
  Fd theirs(ends[1]);
  Ends socket{above_standard(ends[0], program), above_standard(theirs.release(), program)};
  return socket;
}

/// The last ones are the store's, so that workers do not take its node down.
void refuse_last_descriptors(const std::string& program, std::initializer_list<int> opened) {
  constexpr rlim_t kKept = 32;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  // The lowest free number is given out first.
  if (static_cast<rlim_t>(std::max(opened)) + kKept >= limit.rlim_cur) fail(program, EMFILE);
}

}  // namespace

SpawnAttributes::SpawnAttributes(Group group) {
  ORDO_ASSERT(::posix_spawnattr_init(&attributes_) == 0);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes_, &none);
  ::posix_spawnattr_setsigdefault(&attributes_, &all);
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (group == Group::own) flags |= POSIX_SPAWN_SETPGROUP;
  ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
}

SpawnActions::SpawnActions(const std::vector<int>& descriptors) {
  ORDO_ASSERT(::posix_spawn_file_actions_init(&actions_) == 0);
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    ::posix_spawn_file_actions_adddup2(&actions_, descriptors[i], static_cast<int>(i));
  }
  const auto first_closed = descriptors.empty() ? 3 : static_cast<int>(descriptors.size());
  ::posix_spawn_file_actions_addclosefrom_np(&actions_, first_closed);
}

Spawned spawn_worker(const std::vector<std::string>& command, const std::string& guard) {
  Ends input = make_pipe(Direction::to_child, command[0]);
  Ends output = make_pipe(Direction::from_child, command[0]);
  Ends errors = make_pipe(Direction::from_child, command[0]);
  std::vector<std::string> words;
  std::vector<int> descriptors = {input.theirs.get(), output.theirs.get(), errors.theirs.get()};
  Ends socket;
  if (!guard.empty()) {
    socket = make_socket(command[0]);
    descriptors.push_back(socket.theirs.get());
    words = {guard, std::string(kGuardArgument)};
  }
  words.insert(words.end(), command.begin(), command.end());
  refuse_last_descriptors(command[0],
                          {input.ours.get(), output.theirs.get(), errors.theirs.get(), socket.theirs.get()});
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const SpawnAttributes attributes(SpawnAttributes::Group::own);
  const SpawnActions actions(descriptors);
  if (guard == kOwnProgram) adopt_orphans();  // any other program may have children in groups of their own
  pid_t pid = -1;
  const int error = spawn_own(pid, [&](pid_t& child) {
    return ::posix_spawnp(&child, argv[0], actions.get(), attributes.get(), argv.data(), environ);
  });
  if (error != 0) fail(words[0], error);
  Fd pid_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pid_fd) {
    const int reason = errno;
    ::kill(-pid, SIGKILL);
    reap_own(pid);
    fail(command[0], reason);
  }
  return {pid,
          std::move(pid_fd),
          std::move(input.ours),
          std::move(output.ours),
          std::move(errors.ours),
          std::move(socket.ours)};
}

void signal_leaver(pid_t worker, pid_t group, int signal) {
  const pid_t now = ::getpgid(worker);
  if (now != -1 && now != group) ::kill(now == worker ? -worker : worker, signal);
}

int error_of_program(const std::string& program) {
  const auto error_of = [](const std::string& path) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) return errno;
    if (!S_ISREG(file.st_mode)) return EACCES;
    return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
  };
  if (program.find('/') != std::string::npos) return error_of(program);
  const char* path = std::getenv("PATH");
  int worst = ENOENT;
  for (std::string_view rest = path != nullptr ? path : "/bin:/usr/bin"; !rest.empty();) {
    const auto folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    const int error = error_of((folder.empty() ? "." : std::string(folder)) + "/" + program);
    if (error == 0) return 0;
    if (error == EACCES) worst = EACCES;
  }
  return worst;
}

std::string start_error_text(const std::string& program, int error) {
  std::string text =
      "cannot run the command \"" + shortened(program) + "\": " + std::generic_category().message(error);
  if (error == ENOENT) text += " (is it installed, and is its path right?)";
  if (error == EACCES) text += " (is it executable?)";
  if (error == EMFILE) text += " (the limit of open files is reached: ulimit -n)";
  if (error == EAGAIN) text += " (the limit of processes is reached: ulimit -u, or the container's)";
  return text;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? name : std::to_string(signal);
}

}  // namespace ordo::execute
