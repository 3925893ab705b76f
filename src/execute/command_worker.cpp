// What a run makes of a worker process: which outcome each way of ending has. The process itself:
// execute/process.h.

#include "execute/command_worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stop_token>

#include <ordo/error.hpp>

#include "base/assert.h"
#include "base/clock.h"
#include "base/shorten.h"
#include "base/start_thread.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "execute/protocol.h"
#include "execute/spawn.h"

namespace ordo::execute {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 5s;
constexpr Duration kPatienceAfterTerm = 2s;
/// A process that closed its stdout or stdin is most often about to end: how it ends is worth waiting for.
constexpr Duration kMutePatience = 5s;
constexpr Duration kIdleMutePatience = 250ms;
constexpr Duration kStopPatience = 1s;  // that the node hears of what its processes have heard
constexpr Duration kStopLook = 10ms;
/// Processes that end badly, one after the other without a good answer, until pauses are made between them.
constexpr unsigned kFreeBadEnds = 10;
constexpr Duration kFirstPause = 100ms;
constexpr Duration kLongestPause = 10s;
constexpr Duration kIdlePeriod = 1s;
constexpr Duration kTalkingPeriod = 10ms;
/// Of 64 KiB, for one process at a time.
constexpr std::size_t kIdleReads = 16;
constexpr std::size_t kKeptLine = 1U << 20;

std::string& own_guard() {
  static std::string path;
  return path;
}

/// On a line of its own, since it may be of a payload and first lines of errors stand in the log.
std::string got(std::string_view answer) {
  static constexpr std::size_t kShown = 80;
  const auto head = utf8_head(answer, kShown);
  return "\ngot " + shortened(head) + (head.size() < answer.size() ? "…" : "") +
         "\nAnswers are JSON (docs/command-workers.md); print anything else to stderr.";
}

std::string why_too_large(const BatchJob& job) {
  const auto bytes = std::to_string(job.payloads.front().bytes.size());
  const auto* with_response = job.response ? " together with the response" : "";
  return "cannot send a payload of " + bytes + " bytes to the command worker: as JSON it does not fit" +
         with_response + " into a line of " + std::to_string(kMaxLine >> 20) +
         " MiB, the most a request may have; push it in smaller pieces, or where the data can be found";
}

/// Why a run is to stop its node knows: but for a timeout the jobs are just put back (runtime/runner.cpp).
Outcome stopped(const Batch& batch) {
  return batch.jobs().size() > 1 ? Outcome::put_back_alone(FailureKind::timeout) : Outcome::put_back();
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace

void set_guard_program(std::string path) { own_guard() = std::move(path); }

std::string guard_program() {
  if (!own_guard().empty()) return own_guard();
  const char* path = ::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const auto folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    std::string program = std::string(folder) + "/ordo";
    if (!folder.empty() && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

/// The process of one thread of the pool.
struct CommandWorker::Slot {
  std::mutex busy;  ///< free but for a pool that gives two threads one number
  std::unique_ptr<Process> process;
  std::string line;
  std::string reply;                ///< to what it said it expects
  bool is_fresh = true;             ///< the process has not answered yet
  bool has_printed_object = false;  ///< what could have been meant as an answer, and is none
  Fd wake;                          ///< an eventfd, while there is a process
};

/// What is fixed for one perform().
struct CommandWorker::Run {
  Batch& batch;
  Duration deadline;
};

CommandWorker::CommandWorker(CommandOptions options) : options_(std::move(options)) {
  if (options_.command.empty() || options_.command[0].empty()) {
    throw Error(ErrorKind::invalid_argument, "the command of queue \"" + options_.queue + "\" is empty");
  }
  name_ = options_.queue == options_.kind ? options_.queue : options_.queue + "/" + options_.kind;
}

CommandWorker::~CommandWorker() {
  caretaker_ = std::jthread();
  std::vector<std::unique_ptr<Process>> processes;
  for (auto& [thread, slot] : slots_) {
    if (slot->process) processes.push_back(std::move(slot->process));
  }
  Process::end_all(processes, kPatience, kPatienceAfterTerm);
}

void CommandWorker::log(LogLevel level, int pid, std::string_view source, std::string_view text) const {
  if (!options_.log) return;
  LogLine line{.level = level, .queue = options_.queue, .kind = options_.kind};
  line.message = name_ + "[" + std::to_string(pid) + "]";
  line.message.append(source).append(": ").append(text);
  options_.log(line);
}

CommandWorker::Slot& CommandWorker::slot_of(unsigned thread) {
  const std::lock_guard lock(mutex_);
  auto& slot = slots_[thread];
  if (!slot) slot = std::make_unique<Slot>();
  if (!caretaker_.joinable()) {
    caretaker_ = start_thread([this](const std::stop_token& stop) { look_after_idle_processes(stop); });
  }
  return *slot;
}

/// Throws Error{unavailable} when the program keeps on ending badly: until a pause is over it is not started.
void CommandWorker::check_pause() {
  const std::lock_guard lock(mutex_);
  if (bad_ends_ < kFreeBadEnds) return;
  const Duration now = system_clock().steady();
  if (now < next_start_) {
    throw Error(ErrorKind::unavailable, "the last " + std::to_string(bad_ends_) + " processes of \"" +
                                            options_.command[0] + "\" ended badly, the last one " +
                                            last_bad_end_ + "; it is started after pauses only");
  }
  const Duration pause = kFirstPause * (1U << std::min(bad_ends_ - kFreeBadEnds, 10U));
  next_start_ = now + std::min(pause, kLongestPause);
}

void CommandWorker::note_bad_end(Slot& slot, const std::string& how) {
  const std::lock_guard lock(mutex_);
  if (!slot.is_fresh) return;
  ++bad_ends_;
  last_bad_end_ = first_line(how);
}

void CommandWorker::note_good_end(Slot& slot) {
  if (!std::exchange(slot.is_fresh, false)) return;
  const std::lock_guard lock(mutex_);
  bad_ends_ = 0;
}

/// One that no other thread uses just now, when no more can be started; with what wakes its thread, if need
/// be.
bool CommandWorker::take_idle_process(Slot& slot) {
  std::vector<Slot*> others;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [thread, other] : slots_) {
      if (other.get() != &slot) others.push_back(other.get());
    }
  }
  for (Slot* other : others) {
    const std::unique_lock idle(other->busy, std::try_to_lock);
    if (!idle || !other->process) continue;
    slot.process = std::move(other->process);
    if (!slot.wake) slot.wake = std::move(other->wake);
    slot.is_fresh = other->is_fresh;
    retire_if_unfit(slot);
    if (slot.process) return true;
  }
  return false;
}

/// Throws Error{unavailable}.
void CommandWorker::start(Slot& slot) {
  slot.process.reset();
  check_pause();
  const auto line_to = [this](std::string_view source) {
    return [this, source](int pid, std::string_view line) { log(LogLevel::info, pid, source, line); };
  };
  try {
    slot.process = std::make_unique<Process>(options_.command, options_.guard, options_.lease,
                                             Process::Sinks{line_to(" stderr"), line_to(" stdout")});
    slot.is_fresh = true;
    slot.has_printed_object = false;
  } catch (const Error&) {
    if (!take_idle_process(slot)) throw;
  }
}

/// What the process of the slot answered next. A print that begins like an answer may have been meant as one:
/// then the run waits for its timeout, and who wonders finds a warning.
std::optional<std::string_view> CommandWorker::next_answer(Slot& slot) const {
  for (;;) {
    const auto line = slot.process->next_answer();
    if (!line || is_answer(*line)) return line;
    const bool is_first = !std::exchange(slot.has_printed_object, true);
    log(is_first ? LogLevel::warning : LogLevel::info, slot.process->pid(), " stdout, no answer", *line);
  }
}

/// Lets go of a process that cannot take a request: it has ended, or said something since its last answer.
/// True when it has written anything.
bool CommandWorker::retire_if_unfit(Slot& slot) {
  Process& process = *slot.process;
  for (std::size_t reads = 0;; ++reads) {
    const auto surplus = next_answer(slot);
    if (surplus || process.has_partial_answer() || process.has_overlong_answer()) {
      log(LogLevel::error, process.pid(), "", "wrote an answer that nobody asked for, is killed");
      slot.process.reset();
      return true;
    }
    if (process.has_ended()) {
      log(LogLevel::info, process.pid(), "", process.how_it_ended() + " between two runs");
      slot.process.reset();
      return true;
    }
    if (process.is_mute() || process.is_deaf()) {
      const Duration end = system_clock().steady() + kIdleMutePatience;
      while (!process.has_ended() && system_clock().steady() < end) {
        process.wait(end - system_clock().steady(), -1);
      }
      log(LogLevel::info, process.pid(), "",
          (process.has_ended() ? process.how_it_ended()
           : process.is_mute() ? "closed its standard output, is killed"
                               : "closed its standard input, is killed") +
              std::string(" between two runs"));
      slot.process.reset();
      return true;
    }
    if (reads == kIdleReads || !process.wait(Duration{0}, -1)) return reads > 0;
  }
}

/// A process may write, or end, when nobody waits for its answer.
void CommandWorker::look_after_idle_processes(const std::stop_token& stop) {
  Duration period = kIdlePeriod;
  for (;;) {
    std::vector<Slot*> slots;
    {
      std::unique_lock lock(mutex_);
      stopping_.wait_for(lock, stop, period, [] { return false; });
      if (stop.stop_requested()) return;
      for (auto& [thread, slot] : slots_) slots.push_back(slot.get());
    }
    period = kIdlePeriod;
    for (Slot* slot : slots) {
      const std::unique_lock idle(slot->busy, std::try_to_lock);
      if (idle && slot->process && retire_if_unfit(*slot)) period = kTalkingPeriod;
    }
  }
}

void CommandWorker::perform(Batch& batch) {
  std::string why;
  try {
    perform_in(slot_of(batch.thread()), batch);
    return;
  } catch (const Error& error) {
    why = error.what();
  }
  for (std::size_t i = 0; i < batch.jobs().size(); ++i) batch.report(i, Outcome::not_started(why));
}

void CommandWorker::perform_in(Slot& slot, Batch& batch) {
  const std::lock_guard lock(slot.busy);
  const Duration now = system_clock().steady();
  Run run{batch, batch.timeout() < Duration::max() - now ? now + batch.timeout() : Duration::max()};

  if (!slot.wake) slot.wake = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!slot.wake) {
    const int reason = errno;
    if (!take_idle_process(slot)) {
      throw Error(ErrorKind::unavailable, start_error_text(options_.command[0], reason));
    }
  }
  std::uint64_t old = 0;
  static_cast<void>(::read(slot.wake.get(), &old, sizeof old));
  {
    const std::stop_callback wake(batch.stop(), [fd = slot.wake.get()] {
      const std::uint64_t one = 1;
      static_cast<void>(::write(fd, &one, sizeof one));
    });
    for (std::size_t first = 0; first < batch.jobs().size();) first = perform_line(slot, run, first);
  }
  if (!slot.process) slot.wake.reset();
  if (slot.line.capacity() > kKeptLine) slot.line = std::string();
}

/// What a process did with the jobs that it was sent says nothing of those that it was not.
Outcome outcome_of_unsent(const Outcome& failure, const Batch& batch) {
  const bool is_of_all = failure.kind == Outcome::Kind::put_back && failure.failure != FailureKind::crash;
  if (is_of_all) return failure;
  return batch.stop().stop_requested() ? stopped(batch) : Outcome::put_back();
}

/// Runs as many jobs as fit into one request, from `first` on; returns where to go on. When the process does
/// not answer, that is the end of the whole batch. Payloads that do not fit are left for the job's next run.
std::size_t CommandWorker::perform_line(Slot& slot, Run& run, std::size_t first) {
  Batch& batch = run.batch;
  slot.line.clear();
  const auto [end, payloads] = append_request(slot.line, batch, first);
  if (end == first) {
    batch.fail(first, why_too_large(batch.jobs()[first]));
    batch.set_delivered(first, 0);
    return first + 1;
  }
  if (payloads) batch.set_delivered(first, *payloads);
  std::optional<Outcome> failure;
  try {
    failure = batch.stop().stop_requested() ? stopped(batch) : exchange(slot, run, first, end);
  } catch (const Error& error) {
    failure = Outcome::not_started(error.what());
  }
  if (!failure) return end;
  slot.process.reset();  // kills what has not ended
  for (std::size_t i = first; i < end; ++i) batch.report(i, *failure);
  const auto unsent = outcome_of_unsent(*failure, batch);
  for (std::size_t i = end; i < batch.jobs().size(); ++i) batch.report(i, unsent);
  return batch.jobs().size();
}

/// Who stops a service may tell all its processes at once (systemd does): that is no crash. The node hears of
/// it at the same time, and may take it in a moment later.
bool CommandWorker::was_stopped_with_node(const Process& process) const {
  if (!options_.is_stopping || !process.was_told_to_end()) return false;
  const Duration end = system_clock().steady() + kStopPatience;
  std::mutex mutex;
  std::condition_variable nobody;
  std::unique_lock lock(mutex);
  while (!options_.is_stopping()) {
    if (system_clock().steady() >= end) return false;
    nobody.wait_for(lock, kStopLook);
  }
  return true;
}

/// Which of the jobs that a process ran together was too much for it, nobody knows.
Outcome CommandWorker::put_back_alone(const Process& process, const Outcome& failure,
                                      std::size_t jobs) const {
  log(LogLevel::error, process.pid(), "",
      first_line(failure.text) + "; it ran " + std::to_string(jobs) +
          " jobs, which are put back and run one by one");
  return Outcome::put_back_alone(failure.failure);
}

/// Sends the request and takes its answer; else what the jobs fail with, and the process is of no more use.
std::optional<Outcome> CommandWorker::exchange(Slot& slot, Run& run, std::size_t first, std::size_t end) {
  // What it wrote may be a payload: it is in no log, which shows first lines of errors only.
  const auto wrong = [&](const std::string& what, const std::string& written = {}) {
    log(LogLevel::error, slot.process->pid(), "", what + "; the process is started again");
    note_bad_end(slot, what);
    return Outcome::fail("the worker process " + what + written);
  };
  if (slot.process) retire_if_unfit(slot);
  if (!slot.process) start(slot);
  slot.process->send(slot.line);
  Duration mute_until = Duration::max();
  bool has_expected = false;  // so it has read its request
  for (;;) {
    Process& process = *slot.process;
    if (const auto answer = next_answer(slot)) {
      if (const auto reply = answer_expect(*answer, run.batch, first, end)) {
        slot.reply = *reply;
        process.send(slot.reply);
        has_expected = true;
        continue;
      }
      const auto error = apply_answer(*answer, run.batch, first, end);
      if (error) return wrong("gave a wrong answer: " + *error, got(*answer));
      note_good_end(slot);
      return std::nullopt;
    }
    if (process.has_overlong_answer()) return wrong("wrote an answer line of more than 16 MiB");
    if (process.has_ended()) {
      // One that ends after its last answer, perhaps on purpose, has not touched this request.
      if (slot.is_fresh || has_expected || !process.ignored_request()) {
        auto ending = process.ending();
        if (ending.is_not_started() && take_idle_process(slot)) {
          slot.process->send(slot.line);
          continue;
        }
        if (was_stopped_with_node(process)) {
          log(LogLevel::info, process.pid(), "",
              process.how_it_ended() + " as the node stops; its jobs are put back");
          return Outcome::put_back();
        }
        if (ending.failure == FailureKind::crash) {
          note_bad_end(slot, process.how_it_ended());
          if (end - first > 1) return put_back_alone(process, ending, end - first);
        }
        return ending;
      }
      log(LogLevel::info, process.pid(), "", process.how_it_ended() + " between two runs");
      start(slot);
      slot.process->send(slot.line);
      continue;
    }
    if (run.batch.stop().stop_requested()) return stopped(run.batch);
    const Duration now = system_clock().steady();
    if (now >= run.deadline) {
      auto failure =
          Outcome::fail("the run took longer than its timeout of " + format_duration(run.batch.timeout()) +
                            "; the worker process was killed",
                        FailureKind::timeout);
      const auto jobs = run.batch.jobs().size();
      return jobs > 1 ? put_back_alone(process, failure, jobs) : failure;
    }
    const bool is_lost = process.is_mute() || (process.is_deaf() && process.has_unread_request());
    if (is_lost && mute_until == Duration::max()) mute_until = now + kMutePatience;
    if (now >= mute_until) {
      return wrong(std::string("closed its standard ") +
                   (process.is_mute() ? "output without an answer" : "input without reading its request") +
                   " and did not end, is killed");
    }
    process.wait(std::min(run.deadline, mute_until) - now, slot.wake.get());
  }
}

std::optional<std::string> why_no_program(const Worker* worker) {
  const auto* command = dynamic_cast<const CommandWorker*>(worker);
  const int error = command == nullptr ? 0 : error_of_program(command->program());
  if (error == 0) return std::nullopt;
  return start_error_text(command->program(), error);
}

}  // namespace ordo::execute
