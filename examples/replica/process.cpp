#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

extern char** environ;

namespace replica {
namespace {

std::runtime_error failure(const std::string& what, int error) {
  return std::runtime_error("cannot " + what + ": " + std::strerror(error));
}

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    // Close-on-exec, or other programs would keep this one's input open.
    if (pipe2(ends, O_CLOEXEC) != 0) throw failure("make a pipe", errno);
    read = ends[0];
    write = ends[1];
  }
};

}  // namespace

Process::Process(const std::vector<std::string>& arguments, Errors errors) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const Pipe to, from;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from.write, STDOUT_FILENO);
  if (errors == Errors::hidden) {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  const int error = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to.read);
  close(from.write);
  input_ = to.write;
  output_ = from.read;
  if (error != 0) {
    close(input_);
    close(output_);
    throw failure("run " + arguments.front(), error);
  }
}

Process::~Process() {
  close_input();
  if (pid_ > 0) wait();
  close(output_);
}

void Process::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(input_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw failure("write to a program", errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void Process::close_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

bool Process::fill() {
  if (taken_ > 0) buffer_.erase(0, std::exchange(taken_, 0));
  char bytes[65536];
  while (true) {
    const auto count = read(output_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw failure("read from a program", errno);
    buffer_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }
}

std::string Process::read_line() {
  while (true) {
    const auto end = buffer_.find('\n', taken_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(taken_, end - taken_);
      taken_ = end + 1;
      return line;
    }
    if (!fill()) throw std::runtime_error("a program ended too early");
  }
}

std::string Process::read_bytes(std::size_t count) {
  while (buffer_.size() - taken_ < count) {
    if (!fill()) throw std::runtime_error("a program ended too early");
  }
  std::string bytes = buffer_.substr(taken_, count);
  taken_ += count;
  return bytes;
}

std::string Process::read_all() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

int Process::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string output_of(const std::vector<std::string>& arguments, Process::Errors errors) {
  Process process(arguments, errors);
  process.close_input();
  std::string output = process.read_all();
  if (const int status = process.wait(); status != 0) {
    std::string command;
    for (const auto& argument : arguments) command += (command.empty() ? "" : " ") + argument;
    throw std::runtime_error("'" + command + "' ended with " + std::to_string(status));
  }
  return output;
}

}  // namespace replica
