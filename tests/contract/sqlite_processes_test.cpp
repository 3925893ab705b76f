// Several processes on one file.

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "contract/sqlite_test_process.h"
#include "store/blocking.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/sqlite_store.h"
#include "store/test_log.h"

namespace ordo::store::sqlite {
namespace sqlite_processes_test {

using namespace std::chrono_literals;

TEST(StoreProcesses, a_push_wakes_the_others_at_once) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  TestProcess other("push", directory.file());
  ASSERT_EQ(other.hear(), 'r');
  const auto log = store.open_log();
  log->add({1, 0}, 0, {});
  while (!log->read(10).at_end) {
  }
  for (int number = 1; number <= 20; ++number) {
    const auto start = system_clock().steady();
    other.tell();
    log->wait(kUnlessWoken);
    EXPECT_EQ(log->read(10).rows.size(), 1u) << number;
    EXPECT_LT(system_clock().steady() - start, kPatience) << "milliseconds on an idle machine";
    EXPECT_EQ(other.hear(), 'p');
  }
}

TEST(StoreProcesses, a_busy_writer_does_not_starve_the_others) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  TestProcess other("push_on", directory.file());
  ASSERT_EQ(other.hear(), 'r');
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto start = system_clock().steady();
  constexpr int kPushes = 60;
  for (int i = 0; i < kPushes; ++i) append_and_wait(store, {{.shard = shard, .bytes = "x"}});
  EXPECT_LT(system_clock().steady() - start, kPatience) << "starved, it pushes once a second at best";
}

TEST(StoreProcesses, a_killed_node_is_gone) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  TestProcess other("be_a_node", directory.file());
  ASSERT_EQ(other.hear(), 'r');
  ASSERT_EQ(store.nodes().size(), 1u);
  EXPECT_FALSE(store.nodes()[0].gone);
  other.signal(SIGKILL);
  other.wait();
  EXPECT_TRUE(store.nodes()[0].gone);
  store.leave("elsewhere", {});
  EXPECT_FALSE(std::filesystem::exists(directory.file("jobs.db-node-elsewhere")));
}

TEST(StoreProcesses, who_stands_still_inside_the_lock_is_killed) {  // stores.md §5.1
  const TestDirectory directory;
  const SqliteStore store(directory.file(), system_clock());
  TestProcess other("stop_in_lock", directory.file());
  ASSERT_TRUE(WIFSTOPPED(other.wait(WUNTRACED)));
  FileLock lock(directory.file(), {.stopped = 300ms, .running = 30s});
  const FileLock::Hold hold(lock);
  const int status = other.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(StoreProcesses, who_stands_still_inside_the_lock_without_a_name_is_killed) {
  const TestDirectory directory;
  const SqliteStore store(directory.file(), system_clock());
  TestProcess other("stop_before_its_name", directory.file());
  ASSERT_TRUE(WIFSTOPPED(other.wait(WUNTRACED)));
  ASSERT_EQ(other.hear(), 'r');
  FileLock lock(directory.file(), {.stopped = 300ms, .running = 30s});
  const FileLock::Hold hold(lock);
  const int status = other.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(StoreProcesses, who_runs_inside_the_lock_for_too_long_is_named) {
  const TestDirectory directory;
  const SqliteStore store(directory.file(), system_clock());
  TestProcess other("stay_in_lock", directory.file());
  ASSERT_EQ(other.hear(), 'r');
  FileLock lock(directory.file(), {.stopped = 50ms, .running = 200ms});
  try {
    const FileLock::Hold hold(lock);
    FAIL() << "two hold the lock";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_NE(std::string(error.what()).find(std::to_string(other.pid())), std::string::npos) << error.what();
  }
  other.tell();
  EXPECT_EQ(other.wait(), 0);
  const FileLock::Hold hold(lock);
}

TEST(StoreProcesses, who_does_long_work_inside_the_lock_has_a_patience_of_its_own) {  // stores.md §5.1
  const TestDirectory directory;
  const SqliteStore store(directory.file(), system_clock());
  const std::pair<std::string, LockPatience> kinds[] = {
      {"work_in_lock", {.stopped = 5ms, .running = 1h, .at_long_work = 0s}},
      {"stay_in_lock", {.stopped = 5ms, .running = 0s, .at_long_work = 1h}}};
  for (const auto& [role, only_this_ends] : kinds) {
    TestProcess other(role, directory.file());
    ASSERT_EQ(other.hear(), 'r');
    FileLock lock(directory.file(), only_this_ends);
    EXPECT_THROW(const FileLock::Hold hold(lock), Error) << role;
    other.tell();
    EXPECT_EQ(other.wait(), 0);
  }
}

TEST(StoreProcesses, the_lock_of_a_killed_process_is_free) {
  const TestDirectory directory;
  const SqliteStore store(directory.file(), system_clock());
  TestProcess other("stay_in_lock", directory.file());
  ASSERT_EQ(other.hear(), 'r');
  other.signal(SIGKILL);
  FileLock lock(directory.file());
  const FileLock::Hold hold(lock);
}

TEST(StoreProcesses, a_file_without_rights_is_one_clear_error) {
  const TestDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 0755), 0);
  { const SqliteStore store(directory.file(), system_clock()); }
  ASSERT_EQ(chmod(directory.file().c_str(), 0444), 0);
  const TestProcess stranger("open_as_nobody", directory.file());
  EXPECT_EQ(stranger.hear(), 'u');
  const TestProcess nobody("open_as_nobody", directory.file("new.db"));
  EXPECT_EQ(nobody.hear(), getuid() == 0 ? 'u' : 'o') << "root's directory";
}

}  // namespace sqlite_processes_test
}  // namespace ordo::store::sqlite
