#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <ordo/log.hpp>
#include <ordo/worker.hpp>

#include "execute/fd.h"
#include "execute/lease_signal.h"
#include "execute/process.h"

namespace ordo::execute {

struct CommandOptions {
  std::vector<std::string> command;  ///< a program, looked up in PATH, and its arguments
  std::string queue;
  std::string kind;
  LogSink log{};
  std::shared_ptr<LeaseSignal> lease{};  ///< null: the node's leases do not end the processes
  std::string guard{};                   ///< what to run as guard, see guard_program(); empty: none
  std::function<bool()> is_stopping{};   ///< the node ends; any thread
};

/// What can be run as guard: this program if ordo::main() is its main, else `ordo` from PATH, else nothing.
/// Without a guard a worker whose node is killed ends only when it reads the end of its stdin, and a stopped
/// node's goes on.
std::string guard_program();

/// Called by a program whose main() runs guard_main() for kGuardArgument.
void set_guard_program(std::string path);

/// Runs batches in processes of a command that talks JSON lines (docs/command-workers.md): one process per
/// thread of the pool, started at its first batch and kept. The destructor ends them: stdin closed, 5 s,
/// TERM, 2 s, KILL.
class CommandWorker final : public Worker {
 public:
  /// Throws Error{invalid_argument} for an empty command.
  explicit CommandWorker(CommandOptions options);
  ~CommandWorker() override;
  CommandWorker(const CommandWorker&) = delete;
  CommandWorker& operator=(const CommandWorker&) = delete;

  const std::string& program() const { return options_.command.front(); }

  void perform(Batch& batch) override;
  void on_response(Batch& batch, const Response&) override { perform(batch); }  // it stands in the request

 private:
  struct Slot;
  struct Run;

  Slot& slot_of(unsigned thread);
  void start(Slot& slot);
  bool take_idle_process(Slot& slot);
  void check_pause();
  void note_bad_end(Slot& slot, const std::string& how);
  void note_good_end(Slot& slot);
  std::optional<std::string_view> next_answer(Slot& slot) const;
  bool retire_if_unfit(Slot& slot);
  void look_after_idle_processes(const std::stop_token& stop);
  void perform_in(Slot& slot, Batch& batch);
  std::size_t perform_line(Slot& slot, Run& run, std::size_t first);
  bool was_stopped_with_node(const Process& process) const;
  Outcome put_back_alone(const Process& process, const Outcome& failure, std::size_t jobs) const;
  std::optional<Outcome> exchange(Slot& slot, Run& run, std::size_t first, std::size_t end);
  void log(LogLevel level, int pid, std::string_view source, std::string_view text) const;

  CommandOptions options_;
  std::string name_;  ///< "orders" or "orders/charge"
  std::mutex mutex_;
  std::condition_variable_any stopping_;
  std::map<unsigned, std::unique_ptr<Slot>> slots_;
  unsigned bad_ends_ = 0;  ///< of processes that had not answered well, in a row
  std::string last_bad_end_;
  Duration next_start_{};   ///< steady: none before, while ends are bad
  std::jthread caretaker_;  ///< last: it uses the others
};

/// Why no run of it can start: it is a command whose program is not there, as far as a look can tell.
/// Nothing: it is none, or can.
std::optional<std::string> why_no_program(const Worker* worker);

}  // namespace ordo::execute
