#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

// For the tests of this folder: a directory on a real disk, and other processes.
namespace ordo::store::sqlite {

class TestDirectory {
 public:
  TestDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "ordo-sqlite-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
    path_ = path;
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  std::string file(const std::string& name = "jobs.db") const { return path_ / name; }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Another process of this test program, which plays the role `what` on `path` (process_roles_test.cpp). The
/// two talk by single bytes.
class TestProcess {
 public:
  static constexpr int kIn = 3;
  static constexpr int kOut = 4;

  TestProcess(const std::string& what, const std::string& path) {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (pipe2(to.data(), O_CLOEXEC) != 0 || pipe2(from.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("pipe2");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // Duplicates of high numbers first: the target numbers may be those of the pipes themselves.
    const int in = fcntl(to[0], F_DUPFD_CLOEXEC, 100);
    const int out = fcntl(from[1], F_DUPFD_CLOEXEC, 100);
    posix_spawn_file_actions_adddup2(&actions, in, kIn);
    posix_spawn_file_actions_adddup2(&actions, out, kOut);
    std::string program = "/proc/self/exe";
    std::string filter = "--gtest_filter=StoreProcess.plays_its_role";
    std::string brief = "--gtest_brief=1";
    std::string role = "ORDO_TEST_ROLE=" + what;
    std::string file = "ORDO_TEST_FILE=" + path;
    std::array<char*, 4> arguments = {program.data(), filter.data(), brief.data(), nullptr};
    std::array<char*, 3> environment = {role.data(), file.data(), nullptr};
    const int error =
        posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    for (const int number : {in, out, to[0], from[1]}) close(number);
    in_ = to[1];
    out_ = from[0];
    if (error != 0) throw std::runtime_error("posix_spawn");
  }
  ~TestProcess() {
    close(in_);
    if (pid_ > 0) {
      signal(SIGKILL);
      wait();
    }
    close(out_);
  }
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  pid_t pid() const { return pid_; }
  void tell() const { [[maybe_unused]] const auto written = write(in_, "x", 1); }
  /// The byte that it says next; 0: it has ended.
  char hear() const {
    char byte = 0;
    return read(out_, &byte, 1) == 1 ? byte : '\0';
  }
  void signal(int number) const { ::kill(pid_, number); }

  /// Its wait status. With WUNTRACED also once it is stopped.
  int wait(int options = 0) {
    int status = 0;
    waitpid(pid_, &status, options);
    if (!WIFSTOPPED(status)) pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
};

}  // namespace ordo::store::sqlite
