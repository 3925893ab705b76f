#pragma once

#include <sys/types.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <string>

#include "store/sqlite/futex.h"
#include "store/sqlite/side_file.h"

namespace ordo::store::sqlite {

/// Keeps the terminal from stopping this thread's process while it exists, as far as the other threads block
/// these signals, too.
class StopSignalsBlocked {
 public:
  StopSignalsBlocked();
  ~StopSignalsBlocked();
  StopSignalsBlocked(const StopSignalsBlocked&) = delete;
  StopSignalsBlocked& operator=(const StopSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// How long a waiter bears with one and the same hold.
struct LockPatience {
  Duration stopped = std::chrono::seconds{5};  ///< of a process that is stopped (SIGSTOP)
  Duration running = std::chrono::seconds{30};
  Duration at_long_work = std::chrono::minutes{10};  ///< of a running one that has said so
};

/// The lock under which every write transaction and every checkpoint of every process runs (SQLite 3.40's
/// WAL-reset bug needs the second, fairness the first). A turnstile of two kernel locks on FILE-lock: who
/// holds `next` gets `main` next, so a busy writer cannot starve the others. The kernel frees both when their
/// process dies. Used by one thread; objects exclude each other also within a process.
class FileLock {
 public:
  explicit FileLock(const std::string& database, LockPatience patience = {});

  /// Waits for its turn. Who stays stopped inside the lock for too long is killed if it is the same user's;
  /// throws Error{unavailable} that names it otherwise, or when one hold takes too long.
  class Hold {
   public:
    explicit Hold(FileLock& lock);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    /// It may last: a checkpoint behind a long reader copies gigabytes. Waiters bear with it.
    void expect_long_work();

   private:
    const StopSignalsBlocked signals_;
    FileLock& lock_;
  };

 private:
  // In shared memory; a crash may leave anything in it. The kernel lock alone says who holds, the rest speeds
  // up the hand-over and names the holder.
  struct Slot {
    FutexWord freed;  // counts releases
    std::atomic<std::uint32_t> waiting;
    std::atomic<std::uint32_t> pid;
    std::atomic<std::uint64_t> started;       // the holder's start time, in ticks since boot
    std::atomic<std::uint64_t> namespace_id;  // in which its pid means something
    std::atomic<std::uint64_t> holds;         // counts acquisitions
  };
  struct Page {
    Slot next;
    Slot main;
    // Behind the slots, whose places are the locks' and were always there.
    std::atomic<std::uint64_t> long_hold;  // the hold of `main` that expects long work
  };
  struct Watch;
  struct Waiting;
  struct Turn;

  off_t byte_of(const Slot& slot) const;
  bool try_take(const Slot& slot);
  void take(Slot& slot);
  void wait_for(Slot& slot);
  void free(Slot& slot);
  void look_at_holder(const Slot& slot, Watch& watch, Duration slept);
  Page& page() const { return *static_cast<Page*>(page_.data()); }

  const std::string path_;
  const LockPatience patience_;
  Descriptor file_;
  SharedPage page_;
  std::uint64_t started_;
  std::uint64_t namespace_id_;
};

}  // namespace ordo::store::sqlite
