#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace ordo::cli {

inline constexpr int kInterrupted = 130;  ///< exit code, as a shell has it for INT

/// An INT, TERM or HUP during a command that takes long: it is told what was done, instead of ending in
/// silence. A second INT ends the process at once; a service manager may send TERM and HUP together.
class Interrupt {
 public:
  /// `told` is called at the first one, on a thread of its own.
  explicit Interrupt(std::function<void()> told);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Readable from the first one on.
  int fd() const { return came_; }
  bool has_come() const { return has_come_; }

 private:
  void run();

  std::function<void()> told_;
  std::atomic<bool> has_come_ = false;
  int signals_ = -1;  ///< a signalfd
  int came_ = -1;     ///< eventfds
  int the_end_ = -1;
  std::jthread thread_;
};

/// Says what was done and how to go on, and ends the process: whoever is killed leaves no more than this.
[[noreturn]] void end_interrupted(const std::string& what);

}  // namespace ordo::cli
