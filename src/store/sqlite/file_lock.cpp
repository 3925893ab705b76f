// The turnstile. Not here: what is done under it (committer.cpp), and SQLite's own locks, which stay in
// force.
#include "store/sqlite/file_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <ordo/error.hpp>

#include "base/clock.h"

namespace ordo::store::sqlite {
namespace {

using namespace std::chrono_literals;

// A killed holder does not count its release, so sleepers look again after this long.
constexpr Duration kGlance = 50ms;

struct ProcessState {
  char letter = '?';  // 'T': stopped
  std::uint64_t started = 0;
};

ProcessState read_process(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  ProcessState state;
  fields >> state.letter;
  std::string skipped;
  for (int field = 4; field <= 21; ++field) fields >> skipped;
  fields >> state.started;
  return state;
}

bool is_lock_on(const std::filesystem::path& fdinfo, off_t byte) {
  std::ifstream file(fdinfo);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string word, number, kind, mode, access, owner, inode;
    off_t start = -1;
    fields >> word >> number >> kind >> mode >> access >> owner >> inode >> start;
    if (word == "lock:" && kind == "OFDLCK" && start == byte) return true;
  }
  return false;
}

/// Which of the stopped processes holds the byte: one that was stopped before it could leave its name, or
/// after it took it back. 0: none that may be looked at.
std::uint32_t find_stopped_holder(const Descriptor& lock, off_t byte) {
  namespace fs = std::filesystem;
  struct stat ours {};
  if (fstat(lock.number(), &ours) != 0) return 0;
  std::error_code ignored;
  for (fs::directory_iterator process("/proc", ignored), end; process != end; process.increment(ignored)) {
    const std::string name = process->path().filename();
    std::uint32_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc{}) continue;
    if (read_process(pid).letter != 'T') continue;
    for (fs::directory_iterator open_file(process->path() / "fd", ignored); open_file != end;
         open_file.increment(ignored)) {
      struct stat theirs {};
      if (stat(open_file->path().c_str(), &theirs) != 0) continue;
      if (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino) continue;
      if (is_lock_on(process->path() / "fdinfo" / open_file->path().filename(), byte)) return pid;
    }
  }
  return 0;
}

std::uint64_t pid_namespace() {
  struct stat facts {};
  return stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

}  // namespace

// How long one waiter has watched one hold. Only time in which this process ran counts: a terminal may stop
// the waiter together with the holder.
struct FileLock::Watch {
  std::uint64_t hold = 0;
  Duration waited{};
  Duration stopped{};
};

struct FileLock::Waiting {
  explicit Waiting(std::atomic<std::uint32_t>& count) : count_(count) { count_.fetch_add(1); }
  ~Waiting() { count_.fetch_sub(1); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  std::atomic<std::uint32_t>& count_;
};

struct FileLock::Turn {
  explicit Turn(FileLock& lock) : lock_(lock) { lock_.take(lock_.page().next); }
  ~Turn() { lock_.free(lock_.page().next); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  FileLock& lock_;
};

FileLock::FileLock(const std::string& database, LockPatience patience)
    : path_(database + "-lock"),
      patience_(patience),
      file_(open_beside(database, "-lock")),
      page_(file_, path_),
      started_(read_process(static_cast<std::uint32_t>(getpid())).started),
      namespace_id_(pid_namespace()) {
  static_assert(sizeof(Page) <= SharedPage::kBytes && std::atomic<std::uint64_t>::is_always_lock_free);
}

off_t FileLock::byte_of(const Slot& slot) const {
  return reinterpret_cast<const char*>(&slot) - static_cast<const char*>(page_.data());
}

bool FileLock::try_take(const Slot& slot) { return try_lock_byte(file_, byte_of(slot), path_); }

void FileLock::take(Slot& slot) {
  if (!try_take(slot)) wait_for(slot);
  slot.started.store(started_);
  slot.namespace_id.store(namespace_id_);
  slot.pid.store(static_cast<std::uint32_t>(getpid()));
  slot.holds.fetch_add(1);
}

void FileLock::wait_for(Slot& slot) {
  const Waiting waiting(slot.waiting);
  Watch watch{.hold = slot.holds.load()};
  for (;;) {
    const auto freed = slot.freed.load();
    if (try_take(slot)) return;
    const auto before = system_clock().steady();
    futex_wait(slot.freed, freed, kGlance);
    look_at_holder(slot, watch, std::min(system_clock().steady() - before, kGlance));
  }
}

void FileLock::free(Slot& slot) {
  slot.pid.store(0);
  unlock_byte(file_, byte_of(slot));
  slot.freed.fetch_add(1);
  if (slot.waiting.load() != 0) futex_wake(slot.freed);
}

void FileLock::look_at_holder(const Slot& slot, Watch& watch, Duration slept) {
  if (slot.holds.load() != watch.hold) {
    watch = {.hold = slot.holds.load()};
    return;
  }
  watch.waited += slept;
  if (watch.waited < std::min(patience_.stopped, patience_.running) / 5) return;
  auto pid = slot.pid.load();
  bool is_stopped = false;
  if (pid == 0) {
    pid = find_stopped_holder(file_, byte_of(slot));
    is_stopped = pid != 0;
  } else if (slot.namespace_id.load() == namespace_id_) {
    const auto state = read_process(pid);
    is_stopped = state.letter == 'T' && state.started == slot.started.load();
  }
  watch.stopped = is_stopped ? watch.stopped + slept : Duration::zero();
  if (watch.stopped >= patience_.stopped && slot.holds.load() == watch.hold) {
    if (kill(static_cast<pid_t>(pid), SIGKILL) == 0) {
      watch.stopped = Duration::zero();
      return;
    }
    throw Error(ErrorKind::unavailable,
                "cannot write: process " + std::to_string(pid) + " is stopped while it holds " + path_ +
                    "; continue it (kill -CONT " + std::to_string(pid) + ") or end it");
  }
  const bool is_long_work = page().long_hold.load() == page().main.holds.load();
  if (watch.waited >= (is_long_work ? patience_.at_long_work : patience_.running)) {
    throw Error(ErrorKind::unavailable, "cannot write: process " + std::to_string(pid) + " has held " +
                                            path_ + " for " + std::to_string(watch.waited / 1s) +
                                            " s; see what it does (a slow disk?) or end it");
  }
}

StopSignalsBlocked::StopSignalsBlocked() {
  sigset_t stops;
  sigemptyset(&stops);
  for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) sigaddset(&stops, signal);
  pthread_sigmask(SIG_BLOCK, &stops, &before_);
}

StopSignalsBlocked::~StopSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

FileLock::Hold::Hold(FileLock& lock) : lock_(lock) {
  const Turn turn(lock_);
  lock_.take(lock_.page().main);
}

void FileLock::Hold::expect_long_work() {
  auto& page = lock_.page();
  page.long_hold.store(page.main.holds.load());
}

FileLock::Hold::~Hold() {
  auto& page = lock_.page();
  page.long_hold.store(0);
  lock_.free(page.main);
}

}  // namespace ordo::store::sqlite
