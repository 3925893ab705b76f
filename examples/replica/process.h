#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace replica {

/// A program with pipes to its standard input and output. Not copied, used by one thread at a time.
class Process {
 public:
  enum class Errors { shown, hidden };

  /// Throws std::runtime_error when it cannot be started.
  explicit Process(const std::vector<std::string>& arguments, Errors errors = Errors::shown);
  ~Process();  ///< closes its input and waits for its end
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void write(std::string_view bytes);
  void close_input();

  /// Without the newline. Throws at the end of the output.
  std::string read_line();
  std::string read_bytes(std::size_t count);
  std::string read_all();

  /// Its exit status; 128 + the signal that ended it.
  int wait();

 private:
  bool fill();

  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string buffer_;  // read, not taken
  std::size_t taken_ = 0;
};

/// Runs a program to its end; its output. Throws std::runtime_error unless it exits with 0.
std::string output_of(const std::vector<std::string>& arguments,
                      Process::Errors errors = Process::Errors::shown);

}  // namespace replica
