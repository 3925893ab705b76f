// A process that forks while it has the store open.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "contract/sqlite_test_process.h"
#include "store/blocking.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/node_locks.h"
#include "store/sqlite/sqlite_store.h"

namespace ordo::store::sqlite {
namespace sqlite_fork_test {

/// A forked child that does this, and says so on the way.
class Child {
 public:
  using Say = std::function<void()>;
  using Hear = std::function<void()>;

  explicit Child(const std::function<bool(const Say&, const Hear&)>& what) {
    if (pipe2(to_.data(), O_CLOEXEC) != 0 || pipe2(from_.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("pipe2");
    pid_ = fork();
    if (pid_ != 0) return;
    close(to_[1]);
    bool good = false;
    char byte = 'x';
    try {
      good = what([&] { [[maybe_unused]] const auto said = write(from_[1], &byte, 1); },
                  [&] { [[maybe_unused]] const auto heard = read(to_[0], &byte, 1); });
    } catch (const std::exception& error) {
      ::fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(good ? 0 : 1);
  }
  ~Child() {
    for (const int number : {to_[0], to_[1], from_[0], from_[1]}) close(number);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void tell() const { [[maybe_unused]] const auto written = write(to_[1], "x", 1); }
  bool hear() {
    close(std::exchange(from_[1], -1));
    char byte = 0;
    return read(from_[0], &byte, 1) == 1;
  }
  bool is_good() {
    int status = -1;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return status == 0;
  }

 private:
  std::array<int, 2> to_{}, from_{};
  pid_t pid_ = -1;
};

/// As a store does, without its thread: the thread sanitizer takes none in a child.
void write_in_turn(const std::string& path) {
  FileLock lock(path);
  const FileLock::Hold hold(lock);
  Connection own(path, Connection::Mode::read_write);
  own.run("BEGIN IMMEDIATE; UPDATE counter SET head = head; COMMIT");
}

TEST(StoreFork, a_child_holds_no_lock_of_its_parent) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  TestProcess other("hold_locks_and_fork", directory.file());
  ASSERT_EQ(other.hear(), 'r');
  const NodeLocks nodes(directory.file());
  EXPECT_FALSE(nodes.is_gone("elsewhere"));
  other.signal(SIGKILL);
  other.wait();  // its child goes on until the pipe is closed
  EXPECT_TRUE(nodes.is_gone("elsewhere"));
  FileLock lock(directory.file());
  const FileLock::Hold hold(lock);
}

TEST(StoreFork, a_child_writes_though_its_parent_was_writing) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  const ShardId shard{store.define("orders", 1).number, 0};
  Connection writing(directory.file(), Connection::Mode::read_write);
  writing.run("BEGIN IMMEDIATE; UPDATE counter SET head = head");
  Child child([&](const Child::Say&, const Child::Hear& hear) {
    hear();
    write_in_turn(directory.file());
    return true;
  });
  writing.run("COMMIT");
  child.tell();
  EXPECT_TRUE(child.is_good());
  append_and_wait(store, {{.shard = shard, .bytes = "of the parent"}});
}

TEST(StoreFork, what_a_child_reads_no_checkpoint_overwrites) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  const ShardId shard{store.define("orders", 1).number, 0};
  append_and_wait(store, {{.shard = shard, .bytes = "x"}});
  Connection other(directory.file(), Connection::Mode::read_write, 0);
  auto seen = std::make_unique<Snapshot>(other);
  other.number("SELECT count(*) FROM counter");
  Child child([&](const Child::Say& say, const Child::Hear& hear) {
    Connection own(directory.file(), Connection::Mode::read_only);
    const Snapshot snapshot(own);
    const auto before = own.number("SELECT count(*) FROM counter");
    say();
    hear();
    return own.number("SELECT count(*) FROM counter") == before;
  });
  ASSERT_TRUE(child.hear());
  seen.reset();
  append_and_wait(store, {{.shard = shard, .bytes = "y"}});
  EXPECT_EQ(
      sqlite3_wal_checkpoint_v2(other.handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr) & 0xff,
      SQLITE_BUSY);
  child.tell();
  EXPECT_TRUE(child.is_good());
}

// Another thread may be anywhere in SQLite during a fork, inside its mutexes, too.
TEST(StoreFork, children_open_the_file_whatever_other_threads_did) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto busy = [&](const std::function<void()>& act) {
    return std::jthread([act](const std::stop_token& stop) {
      while (!stop.stop_requested()) act();
    });
  };
  const auto pushing = busy([&] { append_and_wait(store, {{.shard = shard, .bytes = "x"}}); });
  const auto opening =
      busy([&] { Connection(directory.file(), Connection::Mode::read_only).number("SELECT 1"); });
  for (int i = 0; i < 30; ++i) {
    Child child([&](const Child::Say&, const Child::Hear&) {
      write_in_turn(directory.file());
      return true;
    });
    ASSERT_TRUE(child.is_good()) << i;
  }
}

}  // namespace sqlite_fork_test
}  // namespace ordo::store::sqlite
