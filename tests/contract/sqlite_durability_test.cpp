// An acknowledgement means that the disk has it. The C library's calls are watched: this file's definitions
// take their place in the whole test program.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "contract/sqlite_test_process.h"
#include "store/blocking.h"
#include "store/sqlite/sqlite_store.h"
#include "store/test_log.h"

namespace {

std::atomic<int> syncs_of_wal{0};

void note_sync(int file) {
  std::array<char, 4096> path{};
  const auto link = "/proc/self/fd/" + std::to_string(file);
  const auto size = ::readlink(link.c_str(), path.data(), path.size());
  if (size > 0 && std::string_view(path.data(), static_cast<std::size_t>(size)).ends_with("-wal"))
    ++syncs_of_wal;
}

}  // namespace

extern "C" int fdatasync(int file) {
  note_sync(file);
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

extern "C" int fsync(int file) {
  note_sync(file);
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace ordo::store::sqlite {
namespace {

/// How often the log was synced until `call` returned.
template <class Call>
int syncs_of(Call call) {
  const int before = syncs_of_wal;
  call();
  return syncs_of_wal - before;
}

TEST(SqliteDurability, every_acknowledgement_comes_after_a_sync_of_the_log) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  ShardId shard;
  EXPECT_GE(syncs_of([&] { shard.queue = store.define("orders", 1).number; }), 1) << "a definition";
  for (int i = 0; i < 10; ++i) {
    int at_the_end = 0;
    const int before = syncs_of_wal;
    std::atomic<bool> done = false;
    store.append({{.shard = shard, .bytes = "x"}}, [&](const std::exception_ptr& error) {
      EXPECT_EQ(error, nullptr);
      at_the_end = syncs_of_wal;
      done = true;
      done.notify_all();
    });
    done.wait(false);
    EXPECT_GT(at_the_end, before) << "a push";
  }
  store.join("n1", "");
  const Claim wish{.shard = shard};
  Lease lease;
  EXPECT_GE(syncs_of([&] { lease = store.acquire("n1", 1, std::span(&wish, 1)).at(0).lease; }), 1)
      << "a lease";
  for (std::uint64_t batch = 1; batch <= 10; ++batch) {
    EXPECT_GE(syncs_of([&] {
                const auto results = commit_and_wait(
                    store, {{.shard = shard, .lease = lease, .batch = batch, .erase = {batch}}});
                EXPECT_EQ(results.at(0), CommitResult::applied);
              }),
              1)
        << "the end of a job";
  }
}

TEST(SqliteDurability, questions_wait_for_no_disk_and_what_comes_behind_them_does) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  const ShardId shard{store.define("orders", 1).number, 0};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(syncs_of([&] {
                const auto id = store.ask("n1", "who?");
                while (store.questions("n1").empty()) std::this_thread::yield();
                store.answer("n1", id, "me");
                while (!store.take_answer("n1", id)) std::this_thread::yield();
              }),
              0);
    EXPECT_GE(syncs_of([&] { append_and_wait(store, {{.shard = shard, .bytes = "x"}}); }), 1);
  }
}

TEST(SqliteDurability, what_was_pushed_together_shares_a_sync) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  const ShardId shard{store.define("orders", 1).number, 0};
  const std::vector<NewEntry> many(1000, {.shard = shard, .bytes = "x"});
  EXPECT_EQ(syncs_of([&] { append_and_wait(store, many); }), 1);
}

}  // namespace
}  // namespace ordo::store::sqlite
