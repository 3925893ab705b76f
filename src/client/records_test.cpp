// What is kept of ended jobs, as readers of the store find it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "client/admin_impl.h"
#include "client/reshard.h"
#include "domain/kept_book.h"
#include "domain/records.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace records_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SetClock final : public Clock {
 public:
  Time wall() override { return Time{hours{24 * 20000}} + now; }
  Duration steady() override { return now; }
  Duration now = hours{1};
};

class RecordsTest : public ::testing::Test {
 protected:
  RecordsTest() {
    config.queues.push_back({.name = "orders", .shards = 2});
    store->define("orders", 2);
    for (const std::uint32_t index : {0U, 1U}) {
      store->join("n1", "");
      const store::Claim claim{{1, index}, {}, 0, 0};
      grants.push_back(store->acquire("n1", 1, std::span(&claim, 1)).at(0));
      QueueOptions keeping;
      keeping.keep = hours{1};
      books.emplace_back(keeping);
      books.back().load({});
    }
  }

  domain::KeptRecord record(const std::string& id, Duration age, JobStatus ending = JobStatus::done) {
    domain::KeptRecord record;
    record.ending = ending;
    record.kind = "orders";
    record.id = record.key = id;
    record.ended = clock.wall() - age;
    record.error = ending == JobStatus::failed ? "no" : "";
    return record;
  }
  /// As an owner writes it.
  void keep(std::uint32_t shard, const std::vector<domain::KeptRecord>& records) {
    domain::KeptBlock block;
    for (const auto& each : records) block.add(each);
    const auto body = block.body("n1");
    const auto head = block.head(body);
    store::Delta delta;
    delta.shard = {1, shard};
    delta.lease = grants[shard].lease;
    delta.batch = ++grants[shard].batch;
    delta.keep = {books[shard].add(head), domain::encode(head), body};
    domain::Counts counts;
    counts.kept = books[shard].counts();
    delta.counts = domain::encode(counts);
    ASSERT_EQ(store::commit_and_wait(*store, {delta}).at(0), store::CommitResult::applied);
  }
  std::vector<std::string> ids(const RecordFilter& filter, std::string* cursor = nullptr) {
    Admin::Impl admin(std::make_shared<StoreHandle>(config, clock, store));
    std::vector<std::string> ids;
    const auto last = admin.records("orders", filter, [&](const RecordView& record) {
      ids.push_back(record.id);
      return true;
    });
    if (cursor != nullptr) *cursor = last;
    return ids;
  }
  std::size_t forget(const JobName& name) {
    return Admin::Impl(std::make_shared<StoreHandle>(config, clock, store)).forget("orders", name);
  }

  SetClock clock;
  Config config;
  std::shared_ptr<store::memory::MemoryStore> store = std::make_shared<store::memory::MemoryStore>(clock);
  std::vector<store::Grant> grants;
  std::vector<domain::KeptBook> books;
};

TEST_F(RecordsTest, the_newest_of_all_shards_come_first) {
  keep(0, {record("1", minutes{9}), record("2", minutes{5})});
  keep(1, {record("3", minutes{7}), record("4", minutes{1})});
  keep(0, {record("5", minutes{3})});
  EXPECT_THAT(ids({}), ElementsAre("4", "5", "2", "3", "1"));
  EXPECT_THAT(ids({.limit = 2}), ElementsAre("4", "5"));
}

TEST_F(RecordsTest, a_page_begins_behind_the_one_before) {
  for (int i = 0; i < 10; ++i)
    keep(i % 2, {record(std::to_string(i), minutes{10}), record("x", minutes{10})});
  std::vector<std::string> all = ids({.limit = 100}), paged;
  std::string cursor;
  for (std::size_t before = 1; before != paged.size();) {
    before = paged.size();
    for (const auto& id : ids({.limit = 3, .after = cursor}, &cursor)) paged.push_back(id);
    if (cursor.empty()) break;
  }
  EXPECT_EQ(paged, all);
  EXPECT_THROW(ids({.after = "none"}), Error);
}

TEST_F(RecordsTest, a_cursor_of_before_a_reshard_is_refused) {
  keep(0, {record("1", minutes{9}), record("2", minutes{5})});
  std::string cursor;
  ids({.limit = 1}, &cursor);
  store->leave("n1", {});
  Reshard(*store, clock, hours{1}, "orders", {}).run(3);
  EXPECT_THROW(ids({.after = cursor}), OldCursor);
  EXPECT_THAT(ids({}), ElementsAre("2", "1"));
}

TEST_F(RecordsTest, those_that_a_filter_fits) {
  keep(0, {record("1", minutes{9}), record("1", minutes{8}, JobStatus::failed), record("2", minutes{5})});
  keep(1, {record("1", minutes{7}, JobStatus::dead)});
  EXPECT_THAT(ids({.id = "1"}), ElementsAre("1", "1", "1"));
  EXPECT_THAT(ids({.states = {JobStatus::done}}), ElementsAre("2", "1"));
  EXPECT_THAT(ids({.states = {JobStatus::failed, JobStatus::dead}}), ElementsAre("1", "1"));
  EXPECT_THAT(ids({.error = "no"}), ElementsAre("1"));
  EXPECT_THAT(ids({.kind = "other"}), IsEmpty());
  EXPECT_THAT(ids({.since = clock.wall() - minutes{7}}), ElementsAre("2", "1"));
  EXPECT_THAT(ids({.until = clock.wall() - minutes{7}}), ElementsAre("1", "1"));
}

TEST_F(RecordsTest, what_is_past_its_time_is_hidden_though_it_is_there) {
  keep(0, {record("old", minutes{61}), record("new", minutes{59})});
  EXPECT_THAT(ids({}), ElementsAre("new"));
  config.queues[0].keep = minutes{30};
  EXPECT_THAT(ids({}), IsEmpty()) << "this config says what counts";
  config.queues[0].kinds.push_back({.kind = "orders"});
  config.queues[0].keep = hours{2};
  EXPECT_THAT(ids({}), ElementsAre("new", "old"));
}

TEST_F(RecordsTest, what_is_forgotten_is_gone_and_nothing_else) {
  keep(0, {record("1", minutes{9}), record("2", minutes{5})});
  keep(0, {record("1", minutes{4})});
  EXPECT_EQ(forget({.id = "1"}), 2U);
  EXPECT_THAT(ids({}), ElementsAre("2"));
  EXPECT_EQ(forget({.id = "1"}), 0U);
  EXPECT_EQ(store->kept_heads({1, 0}, 0, 10).size(), 2U) << "blocks go by their time";
}

TEST_F(RecordsTest, what_a_reshard_takes_elsewhere_meanwhile_is_found_there) {
  class Moving final : public store::memory::MemoryStore {
   public:
    using MemoryStore::MemoryStore;
    std::vector<store::KeptRow> kept_heads(store::ShardId shard, std::uint64_t from,
                                           std::size_t max_rows) override {
      if (auto move = std::exchange(on_look, {})) move();
      return MemoryStore::kept_heads(shard, from, max_rows);
    }
    std::function<void()> on_look;
  };
  const auto moving = std::make_shared<Moving>(clock);
  moving->define("orders", 2);
  store = moving;
  grants.clear();
  store->join("n1", "");
  const store::Claim claim{{1, 0}, {}, 0, 0};
  grants.push_back(store->acquire("n1", 1, std::span(&claim, 1)).at(0));
  keep(0, {record("1", minutes{9})});
  store->release(std::vector{store::Release{{1, 0}, grants[0].lease}});
  moving->on_look = [&] { Reshard(*moving, system_clock(), seconds{10}, "orders", {}).run(3); };
  EXPECT_THAT(ids({}), ElementsAre("1"));
}

TEST_F(RecordsTest, a_block_that_cannot_be_read_is_no_reason_to_show_nothing) {
  keep(0, {record("1", minutes{9})});
  keep(0, {record("2", minutes{9})});
  auto row = store->kept({1, 0}, std::vector{std::uint64_t{1}}).at(0);
  row.body = "bad";
  store->replace_kept({1, 0}, row);
  EXPECT_THAT(ids({}), ElementsAre("2"));
}

}  // namespace records_test
}  // namespace ordo
