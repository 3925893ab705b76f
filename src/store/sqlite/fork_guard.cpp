// What a fork would leave to the child: open files with locks, mutexes of SQLite that threads hold which the
// child does not have, and SQLite's list of files with the locks that this process holds, which the child
// does not hold. A connection that the child opened on such a file would count on them, and read what others
// overwrite.
#include "store/sqlite/fork_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fork.h"

namespace ordo::store::sqlite {
namespace {

// In the order in which SQLite takes one inside another.
constexpr std::array kMutexes = {
    SQLITE_MUTEX_STATIC_OPEN, SQLITE_MUTEX_STATIC_VFS1, SQLITE_MUTEX_STATIC_PRNG, SQLITE_MUTEX_STATIC_MASTER,
    SQLITE_MUTEX_STATIC_LRU,  SQLITE_MUTEX_STATIC_PMEM, SQLITE_MUTEX_STATIC_MEM};

using Stat = int (*)(const char*, struct stat*);
using Fstat = int (*)(int, struct stat*);

struct Guarded {
  std::mutex mutex;
  std::vector<int> kept;  // from children
  std::array<sqlite3_mutex*, kMutexes.size()> sqlite{};
  sqlite3_vfs* vfs = nullptr;
  Stat stat = nullptr;
  Fstat fstat = nullptr;
};
Guarded* guarded = nullptr;  // never freed: others may fork while the process ends

// SQLite knows a file by its device and inode. The kernel's devices have 32 bits.
int mark(int result, struct stat* facts) {
  if (result == 0) facts->st_dev += static_cast<dev_t>(forks()) << 32;
  return result;
}
int stat_of_child(const char* path, struct stat* facts) { return mark(guarded->stat(path, facts), facts); }
int fstat_of_child(int number, struct stat* facts) { return mark(guarded->fstat(number, facts), facts); }

void before_fork() {
  guarded->mutex.lock();
  for (auto* mutex : guarded->sqlite) sqlite3_mutex_enter(mutex);
}

void after_fork() {
  for (auto mutex = guarded->sqlite.rbegin(); mutex != guarded->sqlite.rend(); ++mutex)
    sqlite3_mutex_leave(*mutex);
  guarded->mutex.unlock();
}

void in_child() {
  for (int& number : guarded->kept) {
    if (number >= 0) close(std::exchange(number, -1));
  }
  auto* const vfs = guarded->vfs;
  if (guarded->fstat != nullptr && guarded->stat != nullptr) {
    vfs->xSetSystemCall(vfs, "stat", reinterpret_cast<sqlite3_syscall_ptr>(stat_of_child));
    vfs->xSetSystemCall(vfs, "fstat", reinterpret_cast<sqlite3_syscall_ptr>(fstat_of_child));
  }
  after_fork();
}

Guarded* make_guarded() {
  auto* const made = new Guarded;
  forks();  // it counts before in_child() needs it
  sqlite3_initialize();
  for (std::size_t i = 0; i < kMutexes.size(); ++i) made->sqlite[i] = sqlite3_mutex_alloc(kMutexes[i]);
  made->vfs = sqlite3_vfs_find("unix");
  if (made->vfs != nullptr && made->vfs->iVersion >= 3) {
    made->stat = reinterpret_cast<Stat>(made->vfs->xGetSystemCall(made->vfs, "stat"));
    made->fstat = reinterpret_cast<Fstat>(made->vfs->xGetSystemCall(made->vfs, "fstat"));
  }
  return made;
}

}  // namespace

void guard_forks() {
  static const bool is_done = [] {
    guarded = make_guarded();
    return pthread_atfork(before_fork, after_fork, in_child) == 0;
  }();
  static_cast<void>(is_done);
}

int open_kept_from_children(const char* path, int flags, mode_t mode) {
  guard_forks();
  const std::lock_guard lock(guarded->mutex);
  guarded->kept.reserve(guarded->kept.size() + 1);
  const int number = open(path, flags, mode);
  if (number >= 0) guarded->kept.push_back(number);
  return number;
}

void close_kept_from_children(int number) {
  guard_forks();
  const std::lock_guard lock(guarded->mutex);
  std::erase(guarded->kept, number);
  close(number);
}

void* map_kept_from_children(int number, std::size_t bytes) {
  guard_forks();
  const std::lock_guard lock(guarded->mutex);
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0);
  if (data != MAP_FAILED) madvise(data, bytes, MADV_DONTFORK);
  return data;
}

}  // namespace ordo::store::sqlite
