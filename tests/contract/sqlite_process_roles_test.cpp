// What a TestProcess does. Run without a role, as in the suite itself, this passes at once.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "contract/sqlite_test_process.h"
#include "store/blocking.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/node_locks.h"
#include "store/sqlite/side_file.h"
#include "store/sqlite/sqlite_store.h"

namespace ordo::store::sqlite {
namespace sqlite_process_roles_test {

void say(char byte) { [[maybe_unused]] const auto written = ::write(TestProcess::kOut, &byte, 1); }

bool hear_parent() {
  char byte = 0;
  return ::read(TestProcess::kIn, &byte, 1) == 1;
}

ShardId first_shard(Store& store) { return {store.define("orders", 1).number, 0}; }

/// Appends one entry each time it is told to.
void push(const std::string& path) {
  SqliteStore store(path, system_clock());
  const auto shard = first_shard(store);
  say('r');
  while (hear_parent()) {
    append_and_wait(store, {{.shard = shard, .bytes = "from elsewhere"}});
    say('p');
  }
}

/// Appends without a pause until its parent goes away.
void push_on(const std::string& path) {
  SqliteStore store(path, system_clock());
  const std::vector<NewEntry> entries(1000, {.shard = first_shard(store), .bytes = std::string(100, 'x')});
  for (char byte = 'r'; ::write(TestProcess::kOut, &byte, 1) == 1; byte = 'w')
    append_and_wait(store, entries);
}

/// Takes the file lock, then stops or waits inside it.
void stop_in_lock(const std::string& path) {
  FileLock lock(path);
  const FileLock::Hold hold(lock);
  say('r');
  raise(SIGSTOP);
}

/// The same, stopped between taking the lock and leaving its name.
void stop_before_its_name(const std::string& path) {
  const auto file = open_beside(path, "-lock");
  if (try_lock_byte(file, 0, path)) say('r');
  raise(SIGSTOP);
}

void stay_in_lock(const std::string& path) {
  FileLock lock(path);
  const FileLock::Hold hold(lock);
  say('r');
  hear_parent();
}

/// The same, and says that it may take long.
void work_in_lock(const std::string& path) {
  FileLock lock(path);
  FileLock::Hold hold(lock);
  hold.expect_long_work();
  say('r');
  hear_parent();
}

void be_a_node(const std::string& path) {
  SqliteStore store(path, system_clock());
  store.join("elsewhere", "");
  say('r');
  hear_parent();
}

/// Holds both kinds of locks, and has a child that lives until the pipe is closed.
void hold_locks_and_fork(const std::string& path) {
  NodeLocks nodes(path);
  nodes.hold("elsewhere");
  FileLock lock(path);
  const FileLock::Hold hold(lock);
  if (fork() == 0) {
    say('r');
    hear_parent();
    _exit(0);
  }
  pause();
}

/// Opens as a user without rights and tells the kind of the Error.
void open_as_nobody(const std::string& path) {
  if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return say('?');
  try {
    SqliteStore store(path, system_clock());
    say('o');
  } catch (const Error& error) {
    say(error.kind() == ErrorKind::unavailable && std::string(error.what()).find(path) != std::string::npos
            ? 'u'
            : 'x');
  }
}

const std::map<std::string, std::function<void(const std::string&)>> kRoles = {
    {"push", push},
    {"push_on", push_on},
    {"stop_in_lock", stop_in_lock},
    {"stop_before_its_name", stop_before_its_name},
    {"stay_in_lock", stay_in_lock},
    {"work_in_lock", work_in_lock},
    {"be_a_node", be_a_node},
    {"hold_locks_and_fork", hold_locks_and_fork},
    {"open_as_nobody", open_as_nobody},
};

TEST(StoreProcess, plays_its_role) {
  const char* const role = std::getenv("ORDO_TEST_ROLE");
  if (role == nullptr) return;
  kRoles.at(role)(std::getenv("ORDO_TEST_FILE"));
}

}  // namespace sqlite_process_roles_test
}  // namespace ordo::store::sqlite
