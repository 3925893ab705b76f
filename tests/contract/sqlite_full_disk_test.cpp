// A disk of 32 MiB that is filled to the last byte: pushes are refused, the owner's erases go on.

#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "contract/sqlite_test_process.h"
#include "store/blocking.h"
#include "store/sqlite/sqlite_store.h"
#include "store/test_log.h"

namespace ordo::store::sqlite {
namespace sqlite_full_disk_test {

constexpr std::size_t kBatch = 500;

class SmallDisk {
 public:
  SmallDisk() {
    // In a mount table of this process's own, so that nothing is left when a test is killed.
    static const bool has_own_mounts =
        unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (!has_own_mounts) return;
    is_mounted_ = mount("ordo", directory_.path().c_str(), "tmpfs", 0, "size=32m") == 0;
  }
  ~SmallDisk() {
    if (is_mounted_) umount(directory_.path().c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_mounted() const { return is_mounted_; }
  std::string file(const std::string& name = "jobs.db") const { return directory_.file(name); }

 private:
  const TestDirectory directory_;
  bool is_mounted_ = false;
};

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.is_mounted()) GTEST_SKIP() << "needs the right to mount a small file system";
    store_.emplace(disk_.file(), system_clock());
    shard_ = {store_->define("orders", 1).number, 0};
    store_->join("n1", "");
    const Claim wish{.shard = shard_};
    lease_ = store_->acquire("n1", 1, std::span(&wish, 1)).at(0).lease;
  }

  /// The refusal, or nothing when it was appended.
  std::optional<std::string> append() {
    try {
      append_and_wait(*store_,
                      std::vector<NewEntry>(kBatch, {.shard = shard_, .bytes = std::string(1000, 'x')}));
      return std::nullopt;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unavailable);
      return error.what();
    }
  }

  /// Erases everything, batch by batch. False: refused.
  bool erase_all() {
    const auto head = this->head();
    for (Seq seq = 0; seq < head;) {
      Delta delta{.shard = shard_, .lease = lease_, .batch = ++batch_};
      for (std::size_t i = 0; i < kBatch; ++i) delta.erase.push_back(++seq);
      delta.position = seq;
      if (commit_and_wait(*store_, {std::move(delta)}).at(0) != CommitResult::applied) return false;
    }
    return read_log(*store_, std::span(&shard_, 1)).rows.empty();
  }

  Seq head() {
    const auto log = read_log(*store_, std::span(&shard_, 1));
    return log.rows.empty() ? 0 : log.rows.back().seq;
  }

  /// Another program takes what is left.
  void fill_with_something_else() {
    std::ofstream file(disk_.file("log"));
    const std::string kibibyte(1024, 'x');
    while (file << kibibyte << std::flush) {
    }
  }

  void cut_wal() {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(disk_.file().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(database);
    ASSERT_EQ(std::filesystem::file_size(disk_.file("jobs.db-wal")), 0u);
  }

  SmallDisk disk_;
  std::optional<SqliteStore> store_;
  ShardId shard_;
  Lease lease_;
  std::uint64_t batch_ = 0;
};

TEST_F(FullDisk, refuses_pushes_and_keeps_what_is_stored) {
  std::optional<std::string> refusal;
  while (!(refusal = append())) {
  }
  EXPECT_NE(refusal->find("disk is full"), std::string::npos) << *refusal;
  EXPECT_NE(refusal->find(disk_.file()), std::string::npos) << *refusal;
  const auto pushed = head();
  EXPECT_GT(pushed, 0u);
  EXPECT_EQ(pushed % kBatch, 0u) << "a refused push left a part";
  store_.reset();
  store_.emplace(disk_.file(), system_clock());
  EXPECT_EQ(head(), pushed);
  EXPECT_TRUE(append().has_value());
}

TEST_F(FullDisk, lets_the_owner_erase_and_takes_pushes_again_afterwards) {
  while (!append()) {
  }
  fill_with_something_else();
  EXPECT_TRUE(append().has_value());
  EXPECT_TRUE(store_->renew("n1", std::chrono::seconds{5}));
  EXPECT_TRUE(erase_all());
  std::filesystem::remove(disk_.file("log"));
  EXPECT_EQ(append(), std::nullopt);
  EXPECT_TRUE(erase_all());
}

TEST_F(FullDisk, that_leaves_no_room_for_a_wal_lets_the_owner_erase) {
  for (int i = 0; i < 8; ++i) ASSERT_EQ(append(), std::nullopt);
  cut_wal();
  fill_with_something_else();
  EXPECT_TRUE(append().has_value());
  EXPECT_TRUE(erase_all());
  EXPECT_EQ(std::filesystem::file_size(disk_.file("jobs.db-reserve")), 0u)
      << "this test is to need the reserve";
  EXPECT_TRUE(append().has_value()) << "the reserve is for erasing";
  std::filesystem::remove(disk_.file("log"));
  EXPECT_EQ(append(), std::nullopt);
}

TEST_F(FullDisk, takes_ends_without_their_records) {
  while (!append()) {
  }
  fill_with_something_else();
  const auto end = [&] {
    Delta delta{.shard = shard_, .lease = lease_, .batch = ++batch_};
    delta.erase = {batch_};
    delta.keep = {batch_, "head", std::string(10'000, 'x')};
    return commit_and_wait(*store_, {std::move(delta)}).at(0);
  };
  auto result = CommitResult::applied;
  for (int i = 0; i < 1000 && result == CommitResult::applied; ++i) result = end();
  EXPECT_EQ(result, CommitResult::unkept);
  EXPECT_EQ(read_log(*store_, std::span(&shard_, 1)).rows.front().seq, batch_ + 1);
  std::filesystem::remove(disk_.file("log"));
  EXPECT_EQ(end(), CommitResult::applied);
  const std::vector nos{batch_};
  EXPECT_EQ(store_->kept(shard_, nos).size(), 1u);
}

TEST_F(FullDisk, lets_a_node_that_cannot_leave_keep_its_lock) {
  for (int i = 0; i < 8; ++i) ASSERT_EQ(append(), std::nullopt);
  cut_wal();
  fill_with_something_else();
  EXPECT_TRUE(erase_all());  // from the reserve
  cut_wal();
  fill_with_something_else();
  EXPECT_THROW(store_->leave("n1", std::nullopt), Error);
  EXPECT_TRUE(std::filesystem::exists(disk_.file("jobs.db-node-n1")));
  std::filesystem::remove(disk_.file("log"));
  store_->leave("n1", std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(disk_.file("jobs.db-node-n1")));
}

}  // namespace sqlite_full_disk_test
}  // namespace ordo::store::sqlite
