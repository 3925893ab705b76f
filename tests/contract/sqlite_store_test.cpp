#include "store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "contract/sqlite_test_process.h"
#include "store/blocking.h"
#include "store/open.h"
#include "store/sqlite/raw_bench.h"
#include "store/sqlite/schema.h"
#include "store/test_log.h"

namespace ordo::store::sqlite {
namespace sqlite_store_test {

using namespace std::chrono_literals;

/// Runs plain SQL as another program would.
void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_refusal(const std::string& path, ErrorKind kind, const std::string& why) {
  try {
    const SqliteStore store(path, system_clock());
    ADD_FAILURE() << "opened " << path;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(SqliteStore, is_opened_by_its_url) {
  const TestDirectory directory;
  EXPECT_TRUE(open("sqlite:" + directory.file(), system_clock())->queues().queues.empty());
  EXPECT_TRUE(std::filesystem::exists(directory.file()));
  EXPECT_TRUE(open("memory:", system_clock())->queues().queues.empty());
  for (const std::string url : {"", "sqlite", "sqlite:", "sqlite::memory:", "mysql://x", "/tmp/x.db"}) {
    EXPECT_THROW(open(url, system_clock()), Error) << url;
  }
}

TEST(SqliteStore, needs_a_directory_and_a_file) {
  const TestDirectory directory;
  expect_refusal(directory.file("none/jobs.db"), ErrorKind::invalid_argument, "directory");
  expect_refusal(directory.path(), ErrorKind::invalid_argument, "not a file");
}

TEST(SqliteStore, refuses_what_is_no_database_and_leaves_it) {
  const TestDirectory directory;
  const std::string text(10'000, 'x');
  std::ofstream(directory.file()) << text;
  expect_refusal(directory.file(), ErrorKind::corrupt, "not a database");
  EXPECT_EQ(bytes_of(directory.file()), text);
  EXPECT_FALSE(std::filesystem::exists(directory.file("jobs.db-lock")));
}

TEST(SqliteStore, refuses_another_programs_database_and_leaves_it) {
  const TestDirectory directory;
  run_sql(directory.file(), "CREATE TABLE theirs(x)");
  const auto before = bytes_of(directory.file());
  expect_refusal(directory.file(), ErrorKind::invalid_argument, "another program");
  EXPECT_EQ(bytes_of(directory.file()), before);
}

TEST(SqliteStore, refuses_a_newer_schema_and_leaves_it) {
  const TestDirectory directory;
  { const SqliteStore store(directory.file(), system_clock()); }
  run_sql(directory.file(), "PRAGMA user_version=" + std::to_string(schema_version() + 1));
  expect_refusal(directory.file(), ErrorKind::unsupported, "newer");
  run_sql(directory.file(), "PRAGMA user_version=" + std::to_string(schema_version()));
  EXPECT_TRUE(SqliteStore(directory.file(), system_clock()).queues().queues.empty());
}

TEST(SqliteStore, refuses_a_file_of_a_development_version_and_leaves_it) {
  const TestDirectory directory;
  run_sql(directory.file(),
          "CREATE TABLE counter(id INTEGER PRIMARY KEY, head INTEGER NOT NULL) STRICT;"
          " PRAGMA application_id=0x4f72646f; PRAGMA user_version=5");
  const auto before = bytes_of(directory.file());
  expect_refusal(directory.file(), ErrorKind::unsupported, "development version");
  expect_refusal(directory.file(), ErrorKind::unsupported, "ordo jobs QUEUE export");
  EXPECT_EQ(bytes_of(directory.file()), before);
}

TEST(SqliteStore, reports_a_damaged_file) {
  const TestDirectory directory;
  {
    SqliteStore store(directory.file(), system_clock());
    const ShardId shard{store.define("orders", 1).number, 0};
    append_and_wait(store, std::vector<NewEntry>(2000, {.shard = shard, .bytes = std::string(100, 'x')}));
  }
  run_sql(directory.file(), "PRAGMA wal_checkpoint(TRUNCATE)");
  {
    std::fstream file(directory.file(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(4096);
    const std::string garbage(200'000, '\xee');
    file.write(garbage.data(), std::ssize(garbage));
  }
  try {
    SqliteStore store(directory.file(), system_clock());
    const ShardId shard{1, 0};
    read_log(store, std::span(&shard, 1));
    FAIL() << "read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt) << error.what();
    EXPECT_NE(std::string(error.what()).find("backup"), std::string::npos) << error.what();
  }
}

TEST(SqliteStore, names_the_lock_of_another_program) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock(), 50);
  const ShardId shard{store.define("orders", 1).number, 0};
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(directory.file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  try {
    append_and_wait(store, {{.shard = shard, .bytes = "x"}});
    ADD_FAILURE() << "appended";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_NE(std::string(error.what()).find("another program"), std::string::npos) << error.what();
  }
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_close(other);
  append_and_wait(store, {{.shard = shard, .bytes = "x"}});
  EXPECT_EQ(read_log(store, std::span(&shard, 1)).rows.size(), 1u);
}

TEST(SqliteStore, gives_the_files_beside_it_its_own_mode) {
  const TestDirectory directory;
  std::ofstream(directory.file()).close();
  ASSERT_EQ(chmod(directory.file().c_str(), 0660), 0);
  SqliteStore store(directory.file(), system_clock());
  store.join("n1", "");
  for (const auto* suffix : {"-lock", "-wake", "-reserve", "-node-n1", "-wal", "-shm"}) {
    struct stat facts {};
    ASSERT_EQ(stat((directory.file() + suffix).c_str(), &facts), 0) << suffix;
    EXPECT_EQ(facts.st_mode & 0777, 0660u) << suffix;
  }
}

TEST(SqliteStore, agrees_on_its_files_under_another_name) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  std::filesystem::create_symlink(directory.file(), directory.file("link.db"));
  SqliteStore other(directory.file("link.db"), system_clock());
  const auto log = store.open_log();
  log->read(10);
  other.define("orders", 1);
  EXPECT_TRUE(log->read(10).woken);
  EXPECT_FALSE(std::filesystem::exists(directory.file("link.db-lock")));
}

TEST(SqliteStore, keeps_the_wal_bounded_though_others_read) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  const ShardId shard{store.define("orders", 1).number, 0};
  const std::vector<NewEntry> entries(1000, {.shard = shard, .bytes = std::string(1000, 'x')});
  store.join("n1", "");
  const auto log = store.open_log();
  log->add(shard);
  std::uintmax_t largest = 0;
  for (int i = 0; i < 150; ++i) {  // 150 MB
    EXPECT_EQ(log->read(20'000).rows.size(), i == 0 ? 0u : 1000u);
    append_and_wait(store, entries);
    store.renew("n1", 5s);  // after the checkpoint, which a read at the same time could put off
    largest = std::max(largest, std::filesystem::file_size(directory.file("jobs.db-wal")));
  }
  EXPECT_LT(largest, 50u << 20);
}

/// Stands still unless it is told to go on.
class SteppedClock final : public Clock {
 public:
  Time wall() override { return system_clock().wall(); }
  Duration steady() override { return steady_.load(); }
  void advance(Duration by) { steady_ = steady_.load() + by; }

 private:
  std::atomic<Duration> steady_{1h};
};

// A vain checkpoint makes all writers wait for the reader, so it is not repeated at once.
TEST(SqliteStore, uses_the_wal_again_a_second_after_a_reader_that_stayed) {  // stores.md §5.2
  const TestDirectory directory;
  SteppedClock clock;
  SqliteStore store(directory.file(), clock);
  const ShardId shard{store.define("orders", 1).number, 0};
  const std::vector<NewEntry> entries(1000, {.shard = shard, .bytes = std::string(1000, 'x')});
  const auto append = [&](int megabytes) {
    for (int i = 0; i < megabytes; ++i) append_and_wait(store, entries);
    store.renew("n1", 5s);  // behind the checkpoint of the last append
    return std::filesystem::file_size(directory.file("jobs.db-wal")) >> 20;
  };
  sqlite3* reader = nullptr;
  ASSERT_EQ(sqlite3_open_v2(directory.file().c_str(), &reader, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM entry", nullptr, nullptr, nullptr);
  EXPECT_GT(append(60), 55U) << "it cannot begin anew";
  sqlite3_close(reader);
  EXPECT_GT(append(60), 110U) << "it was tried again too soon";
  clock.advance(1s);
  append(1);
  EXPECT_LT(append(1), 50U);
  EXPECT_EQ(read_log(store, std::span(&shard, 1)).rows.size(), 122'000u);
}

TEST(SqliteStore, finishes_what_was_submitted_before_it_goes) {
  const TestDirectory directory;
  int done = 0;
  {
    SqliteStore store(directory.file(), system_clock());
    const ShardId shard{store.define("orders", 1).number, 0};
    for (int i = 0; i < 100; ++i) {
      store.append({{.shard = shard, .bytes = "x"}},
                   [&](const std::exception_ptr& error) { done += error == nullptr; });
    }
  }
  EXPECT_EQ(done, 100);
  SqliteStore store(directory.file(), system_clock());
  const ShardId shard{1, 0};
  EXPECT_EQ(read_log(store, std::span(&shard, 1)).rows.size(), 100u);
}

TEST(SqliteStore, a_refused_call_does_not_fail_its_neighbours) {
  const TestDirectory directory;
  SqliteStore store(directory.file(), system_clock());
  const ShardId shard{store.define("orders", 1).number, 0};
  // What an owner never does: a number that the table cannot hold twice.
  run_sql(directory.file(), "INSERT INTO entry VALUES(3, 0, 0, 0, x'')");
  int good = 0;
  int bad = 0;
  std::promise<void> all;
  for (int i = 0; i < 5; ++i) {
    store.append({{.shard = shard, .bytes = "x"}}, [&, i](const std::exception_ptr& error) {
      (error == nullptr ? good : bad) += 1;
      if (i == 4) all.set_value();
    });
  }
  all.get_future().wait();
  EXPECT_EQ(good, 2);
  EXPECT_EQ(bad, 3);
}

TEST(RawBench, measures) {
  const TestDirectory directory;
  EXPECT_GT(raw_append_delete_rate(directory.file(), 2000, 100, 500), 0);
  EXPECT_GT(raw_commit_latency(directory.file(), 5), 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  std::ofstream(directory.file()).close();
  EXPECT_THROW(raw_commit_latency(directory.file(), 5), Error);
}

}  // namespace sqlite_store_test
}  // namespace ordo::store::sqlite
