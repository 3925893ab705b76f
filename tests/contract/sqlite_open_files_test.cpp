// Files that are deleted, replaced or planted by somebody else.

#include "store/sqlite/open_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "contract/sqlite_test_process.h"
#include "store/blocking.h"
#include "store/sqlite/sqlite_store.h"
#include "store/test_log.h"

namespace ordo::store::sqlite {
namespace sqlite_open_files_test {

namespace fs = std::filesystem;

constexpr const char* kAllSuffixes[] = {"", "-wal", "-shm", "-lock", "-wake"};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

mode_t mode_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777 : 0;
}

template <class Call>
void expect_replaced(const std::string& path, Call call) {
  try {
    call();
    ADD_FAILURE() << path << " is gone, and nobody says so";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt) << error.what();
    EXPECT_EQ(std::string(error.what()).find(path + " was deleted or replaced"), 0u) << error.what();
  }
}

TEST(OpenFiles, a_deleted_file_ends_reading_and_writing) {
  for (const std::string suffix : kAllSuffixes) {
    const TestDirectory directory;
    SqliteStore store(directory.file(), system_clock());
    const ShardId shard{store.define("orders", 1).number, 0};
    append_and_wait(store, {{.shard = shard, .bytes = "x"}});
    const auto path = directory.file() + suffix;
    fs::remove(path);
    expect_replaced(path, [&] { append_and_wait(store, {{.shard = shard, .bytes = "y"}}); });
    expect_replaced(path, [&] { store.renew("n1", std::chrono::seconds{5}); });
    expect_replaced(path, [&] { read_log(store, std::span(&shard, 1)); });
    expect_replaced(path, [&] { store.shards(); });
  }
}

TEST(OpenFiles, a_backup_moved_over_the_file_is_not_touched_and_takes_pushes_when_opened_anew) {
  const TestDirectory directory;
  ShardId shard;
  {
    SqliteStore backup(directory.file("backup.db"), system_clock());
    shard.queue = backup.define("orders", 1).number;
  }
  auto store = std::make_unique<SqliteStore>(directory.file(), system_clock());
  shard.queue = store->define("orders", 1).number;
  store->join("n1", "");
  append_and_wait(*store, {{.shard = shard, .bytes = "of the old file"}});
  for (const auto* suffix : {"-wal", "-shm"})
    fs::rename(directory.file("backup.db") + suffix, directory.file() + suffix);
  fs::rename(directory.file("backup.db"), directory.file());
  const auto file = content(directory.file());
  const auto wal = content(directory.file("jobs.db-wal"));
  expect_replaced(directory.file(), [&] { append_and_wait(*store, {{.shard = shard, .bytes = "y"}}); });
  {
    SqliteStore anew(directory.file(), system_clock());
    append_and_wait(anew, {{.shard = shard, .bytes = "of the new file"}});
    EXPECT_EQ(read_log(anew, std::span(&shard, 1)).rows.size(), 1u);
    expect_replaced(directory.file(), [&] { store->nodes(); });
    store.reset();
    append_and_wait(anew, {{.shard = shard, .bytes = "and another"}});
    EXPECT_EQ(read_log(anew, std::span(&shard, 1)).rows.size(), 2u) << "the old store's end does no harm";
  }
  EXPECT_EQ(content(directory.file()), file) << "no checkpoint, and nothing by the old store";
  EXPECT_EQ(content(directory.file("jobs.db-wal")).substr(0, wal.size()), wal);
}

TEST(PlantedFiles, links_are_neither_followed_nor_changed) {
  for (const bool is_hard : {false, true}) {
    for (const std::string suffix : {"-lock", "-wake", "-reserve", "-node-n1", "-wal", "-shm"}) {
      if (is_hard && (suffix == "-wal" || suffix == "-shm")) continue;  // SQLite's own affair
      const TestDirectory directory;
      const auto victim = directory.file("victim");
      std::ofstream(victim) << "secret";
      ASSERT_EQ(chmod(victim.c_str(), 0600), 0);
      const auto planted = directory.file() + suffix;
      if (suffix == "-wal" || suffix == "-shm") {  // beside a new database SQLite removes them
        { const SqliteStore makes(directory.file(), system_clock()); }
        fs::remove(planted);
      }
      if (is_hard) {
        fs::create_hard_link(victim, planted);
      } else {
        fs::create_symlink(victim, planted);
      }
      try {
        SqliteStore store(directory.file(), system_clock());
        store.join("n1", "");
        ADD_FAILURE() << "opened " << planted;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
      }
      EXPECT_EQ(content(victim), "secret") << suffix;
      EXPECT_EQ(mode_of(victim), 0600u) << suffix;
    }
  }
}

TEST(PlantedFiles, a_link_to_nothing_makes_no_file) {
  const TestDirectory directory;
  fs::create_symlink(directory.file("elsewhere"), directory.file());
  EXPECT_THROW(SqliteStore(directory.file(), system_clock()), Error);
  fs::remove(directory.file());
  fs::create_symlink(directory.file("elsewhere"), directory.file("jobs.db-lock"));
  EXPECT_THROW(SqliteStore(directory.file(), system_clock()), Error);
  EXPECT_FALSE(fs::exists(directory.file("elsewhere")));
}

TEST(PlantedFiles, a_strangers_file_is_refused_beside_a_database_of_its_owner_alone) {
  if (getuid() != 0) GTEST_SKIP() << "needs root to make a stranger's file";
  const TestDirectory directory;
  std::ofstream(directory.file("jobs.db-wake")).close();
  ASSERT_EQ(chown(directory.file("jobs.db-wake").c_str(), 65534, 65534), 0);
  EXPECT_THROW(SqliteStore(directory.file(), system_clock()), Error);
  ASSERT_EQ(chmod(directory.file().c_str(), 0660), 0);
  const SqliteStore store(directory.file(), system_clock());
}

TEST(FileModes, a_new_database_is_its_owners_alone_or_its_groups_whatever_the_umask) {
  for (const mode_t mask : {0, 077}) {
    for (const auto& [setting, mode] :
         {std::pair("", 0600u), std::pair("?mode=0600", 0600u), std::pair("?mode=0660", 0660u)}) {
      const TestDirectory directory;
      const auto before = ::umask(mask);
      {
        SqliteStore store(directory.file() + setting, system_clock());
        store.join("n1", "");
      }
      ::umask(before);
      for (const std::string suffix : {"", "-wal", "-shm", "-lock", "-wake", "-reserve", "-node-n1"})
        EXPECT_EQ(mode_of(directory.file() + suffix), mode) << suffix << setting;
    }
  }
}

TEST(FileModes, other_settings_are_refused) {
  const TestDirectory directory;
  for (const std::string setting : {"?", "?mode=", "?mode=0644", "?mode=660", "?made=0600"}) {
    EXPECT_THROW(SqliteStore(directory.file() + setting, system_clock()), Error) << setting;
  }
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

}  // namespace sqlite_open_files_test
}  // namespace ordo::store::sqlite
