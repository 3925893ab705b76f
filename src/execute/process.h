#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/worker.hpp>

#include "execute/lease_signal.h"
#include "execute/line_cutter.h"
#include "execute/spawn.h"

namespace ordo::execute {

/// One running worker process with its pipes and, if it has one, its guard. Used by one thread at a time;
/// nothing but wait() blocks. Its group is killed and reaped by the destructor.
class Process {
 public:
  /// `log` gets the lines of its stderr, and `chatter` those of its stdout that are no answers.
  struct Sinks {
    std::function<void(int pid, std::string_view line)> log;
    std::function<void(int pid, std::string_view line)> chatter;
  };

  /// Throws Error{unavailable}. `lease` may be null.
  Process(const std::vector<std::string>& command, const std::string& guard,
          std::shared_ptr<LeaseSignal> lease, Sinks sinks);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Begins to write a request; wait() writes the rest. One at a time; `line` must live until the answer.
  void send(std::string_view line);

  /// Moves what can be moved: request out, output and errors in. Waits up to `time` for the first of it, for
  /// the end of the process or for `wake` (-1: none) to be readable. False when nothing happened.
  bool wait(Duration time, int wake);

  /// The next line of the output that starts with `{`; the others go to the log. Valid until the next call.
  std::optional<std::string_view> next_answer();

  /// Bytes of an answer that is not complete.
  bool has_partial_answer() const { return output_.unfinished().starts_with('{'); }
  bool has_overlong_answer() const { return output_.is_overlong(); }
  /// It closed its stdout, so no answer can come.
  bool is_mute() const { return !spawned_.output; }
  /// It closed its stdin: what it has not read of the request, and the next one, cannot reach it.
  bool is_deaf() const { return is_deaf_; }
  /// A part of the last request is not read by it.
  bool has_unread_request() const;
  /// It has ended and what it wrote has been read.
  bool has_ended() const { return ended_; }
  /// Nothing of the last request was read by it.
  bool ignored_request() const;

  /// What becomes of a run whose process has ended: Outcome::not_started() if the command could not be run.
  Outcome ending() const;
  /// By one of the signals that ask a service to stop, from elsewhere.
  bool was_told_to_end() const;
  /// "exited with code 3", "killed by signal SEGV".
  std::string how_it_ended() const;

  void close_input() { spawned_.input.reset(); }
  void terminate();  ///< SIGTERM to it and its group
  void kill();       ///< SIGKILL likewise; returns when it is reaped

  /// Of the worker process; 0 while unknown.
  int pid() const { return worker_pid_; }

  /// Ends all: stdin closed, then after `patience` TERM, after `patience_after_term` KILL; returns when all
  /// are reaped.
  static void end_all(std::vector<std::unique_ptr<Process>>& processes, Duration patience,
                      Duration patience_after_term);

 private:
  static void wait_for_all(const std::vector<std::unique_ptr<Process>>& processes, Duration end);
  void write_request();
  std::size_t unread() const;
  void read_guard();
  void signal(int number);
  bool read_output();  ///< false: nothing there
  bool read_errors();
  void log_errors(std::string_view bytes);
  void finish();
  void reap();

  Sinks sinks_;
  std::shared_ptr<LeaseSignal> lease_;
  std::string program_;
  Spawned spawned_;
  int worker_pid_ = 0;
  std::string_view unsent_;
  std::size_t sent_ = 0;
  bool is_deaf_ = false;
  LineCutter output_{LineCutter::Braces::answers};
  LineCutter errors_{LineCutter::Braces::text};
  std::string last_errors_;  ///< the end of stderr
  std::vector<char> buffer_;
  std::optional<int> status_;  ///< of the worker process, as of wait()
  int start_error_ = 0;        ///< errno
  bool lease_ended_ = false;
  bool guard_died_ = false;
  bool has_spoken_ = false;  ///< so it was started, whatever its guard could still tell
  bool reaped_ = false;
  bool ended_ = false;
};

}  // namespace ordo::execute
