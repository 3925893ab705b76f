// Rows of unique keys, which are written in one step with entries.
#include "store/unique.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "contract/backends.h"
#include "domain/entry.h"

namespace ordo::store {
namespace unique_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using What = RowResult::What;

class UniqueRows : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    queue_ = define("orders", 3);
  }

  RowStep step(const std::string& key, const std::string& bytes, std::optional<std::string> seen = {},
               std::vector<NewEntry> entries = {}, Time until = Time::max()) {
    return {{key, bytes, true, until}, std::move(seen), std::move(entries)};
  }
  NewEntry entry(const std::string& body, std::uint32_t shard = 0) { return {{queue_.number, shard}, body}; }
  RowResult one(RowStep each) { return second().step_rows("orders!", {std::move(each)}).at(0); }
  std::vector<std::string> log(std::uint32_t shard = 0) { return read_all({queue_.number, shard}); }
  std::optional<std::string> row(const std::string& key = "k") { return store().wait_row("orders!", key); }

  static RowResult done() { return {What::done, {}}; }
  static RowResult conflict(std::optional<std::string> there) { return {What::conflict, std::move(there)}; }

  QueueDefinition queue_;
};

TEST_P(UniqueRows, ARowAndItsEntriesAreWrittenTogetherOrNotAtAll) {
  EXPECT_EQ(one(step("k", "a", {}, {entry("1"), entry("2", 1), entry("3")})), done());
  EXPECT_EQ(one(step("k", "b", {}, {entry("4")})), conflict("a"));
  EXPECT_EQ(one(step("k", "b", "x", {entry("4")})), conflict("a"));
  EXPECT_EQ(one(step("l", "b", "x", {entry("4")})), conflict(std::nullopt));
  EXPECT_EQ(row(), "a");
  EXPECT_EQ(row("l"), std::nullopt);
  EXPECT_THAT(log(), ElementsAre("1", "3"));
  EXPECT_THAT(log(1), ElementsAre("2"));
  EXPECT_EQ(one(step("k", "b", "a", {entry("4")})), done());
  EXPECT_EQ(row(), "b");
  EXPECT_THAT(log(), ElementsAre("1", "3", "4"));
}

TEST_P(UniqueRows, ARowIsTakenAwayIfItIsStillTheSame) {
  EXPECT_EQ(one(step("k", "a")), done());
  EXPECT_EQ(one(step("k", "", "b", {entry("1")}, Time::min())), conflict("a"));
  EXPECT_EQ(one(step("k", "", "a", {entry("2")}, Time::min())), done());
  EXPECT_EQ(row(), std::nullopt);
  EXPECT_EQ(one(step("k", "", "a", {}, Time::min())), conflict(std::nullopt));
  EXPECT_EQ(one(step("k", "c")), done());
  EXPECT_THAT(log(), ElementsAre("2"));
}

TEST_P(UniqueRows, StepsOfOneCallSeeEachOther) {
  const std::string odd("\0\xFF'\n", 4);
  const auto results =
      store().step_rows("orders!", {step("k", "a", {}, {entry("1")}), step("k", "b", {}, {entry("2")}),
                                    step(odd, odd, {}, {entry(odd)}), step("k", "b", "a", {entry("3")})});
  EXPECT_THAT(results, ElementsAre(done(), conflict("a"), done(), done()));
  EXPECT_THAT(log(), ElementsAre("1", odd, "3"));
  EXPECT_EQ(row(odd), odd);
  EXPECT_THAT(store().step_rows("orders!", {}), IsEmpty());
}

TEST_P(UniqueRows, WhoseTimeIsOverIsNotThere) {
  const auto past = store().now() - 1s;
  EXPECT_EQ(one(step("k", "a", {}, {}, past)), done());
  EXPECT_EQ(row(), std::nullopt);
  EXPECT_EQ(one(step("k", "b", {}, {}, store().now() + 1h)), done());
  EXPECT_EQ(one(step("k", "c")), conflict("b"));
}

TEST_P(UniqueRows, OfOthersWhoWritesTakesNoneAway) {
  const auto until = store().now() + 1s;
  for (int i = 0; i < 30; ++i) EXPECT_EQ(one(step("over" + std::to_string(i), "a", {}, {}, until)), done());
  clock_.move(1s);
  while (store().now() < until) std::this_thread::yield();  // a server has a clock of its own
  EXPECT_EQ(one(step("k", "b")), done());
  std::size_t swept = 0;
  while (const auto page = store().sweep_rows("orders!", 100)) swept += page;
  EXPECT_EQ(swept, std::string_view(GetParam().name) == "memory" ? 0U : 30U)
      << "memory keeps none whose time is over";
}

// The clock of a server does not leap here.
TEST_P(UniqueRows, AClockThatIsAheadForAMomentTakesNothingAway) {
  const auto until = store().now() + 1h;
  EXPECT_EQ(one(step("k", "a", {}, {}, until)), done());
  EXPECT_EQ(row(), "a");
  clock_.leap(24h * 8);
  EXPECT_EQ(one(step("k", "b")), conflict("a"));
  EXPECT_EQ(store().wait_rows("orders!", "", 10).size(), 1U);
  EXPECT_EQ(store().sweep_rows("orders!", 10), 0U);
  clock_.move(59s);
  EXPECT_EQ(row(), "a");
  EXPECT_EQ(one(step("k", "b")), conflict("a"));
  if (store().now() < until) return;
  clock_.move(1s);
  EXPECT_EQ(row(), std::nullopt) << "a minute later it is believed";
  EXPECT_EQ(one(step("k", "b")), done());
}

TEST_P(UniqueRows, TheyAreNoWaitsAndGoWithTheirQueue) {
  EXPECT_TRUE(store().put_row("orders", {"k", "wait", true}, {}));
  EXPECT_EQ(one(step("k", "a")), done());
  EXPECT_EQ(store().wait_row("orders", "k"), "wait");
  EXPECT_THAT(store().wait_rows("orders!", "", 10), SizeIs(1));
  EXPECT_THAT(store().wait_rows("orders", "", 10), SizeIs(1));
  EXPECT_TRUE(store().remove("orders"));
  define("orders");
  EXPECT_EQ(row(), std::nullopt);
  EXPECT_EQ(store().wait_row("orders", "k"), std::nullopt);
}

TEST_P(UniqueRows, WhereNoQueueIsRemovedTheyStay) {
  ASSERT_THAT(store().step_rows("none!", {step("k", "a")}), ElementsAre(done()));
  EXPECT_FALSE(store().remove("none"));
  EXPECT_EQ(store().wait_row("none!", "k"), "a");
}

TEST_P(UniqueRows, AQueueThatIsGoneOrClosedRefusesTheStepAlone) {
  define("other", 1);
  const auto results =
      store().step_rows("orders!", {step("k", "a", {}, {{{queue_.number + 7, 0}, "1"}}),
                                    step("l", "a", {}, {{{queue_.number, 3}, "1"}}), step("m", "a")});
  EXPECT_THAT(results, ElementsAre(RowResult{What::refused, {}}, RowResult{What::refused, {}}, done()));
  EXPECT_EQ(row(), std::nullopt);
  const auto next = define(QueueDefinition::hidden_name("orders"), 2);
  ASSERT_TRUE(store().close("orders"));
  EXPECT_EQ(one(step("k", "a", {}, {entry("1")})).what, What::refused);
  EXPECT_EQ(one(step("m", "", "a", {}, Time::min())), done()) << "a row alone may go";
  EXPECT_EQ(one(step("n", "a")), done());
  ASSERT_TRUE(store().replace("orders", next.number));
  EXPECT_EQ(row("n"), "a") << "a reshard leaves them alone";
}

// Whoever reads the queues again would still come with what is not there any more.
TEST_P(UniqueRows, AConflictIsToldWhateverTheEntries) {
  const std::vector<NewEntry> nowhere{{{queue_.number + 7, 0}, "1"}},
      beyond{{{queue_.number, 1u << 20}, "1"}};
  ASSERT_EQ(one(step("k", "a")), done());
  for (const auto& entries : {nowhere, beyond}) {
    EXPECT_EQ(one(step("k", "b", {}, entries)), conflict("a"));
    EXPECT_EQ(one(step("k", "b", "x", entries)), conflict("a"));
    EXPECT_EQ(one(step("l", "b", "x", entries)), conflict(std::nullopt));
    EXPECT_EQ(one(step("k", "b", "a", entries)).what, What::refused);
    EXPECT_EQ(one(step("l", "b", {}, entries)).what, What::refused);
  }
  ASSERT_TRUE(store().close("orders"));
  EXPECT_EQ(one(step("k", "", "x", {entry("1")}, Time::min())), conflict("a"));
}

TEST_P(UniqueRows, OfManyOneHasTheKey) {
  constexpr int kThreads = 4, kKeys = 25;
  std::atomic<int> won = 0;
  std::array stores{&store(), &second()};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int key = 0; key < kKeys; ++key) {
        auto each = step("k" + std::to_string(key), std::to_string(thread), {}, {entry(std::to_string(key))});
        auto& at = *stores.at(thread % 2);
        if (at.step_rows("orders!", {std::move(each)}).at(0).what == What::done) ++won;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(won, kKeys);
  EXPECT_THAT(log(), SizeIs(kKeys));
}

// What was appended while the row was a job's stands in front of what says that it is free.
TEST_P(UniqueRows, NothingComesToAJobBehindItsFreedRow) {
  for (int i = 0; i < 20; ++i) {
    const auto key = "k" + std::to_string(i);
    const domain::UniqueHold hold{key, "t", UniqueScope{}, {}};
    const auto bytes = domain::row_of(hold, "orders", key, key);
    ASSERT_EQ(one(step(key, bytes)), done());
    What merged{};
    std::jthread producer([&] {
      merged = second().step_rows("orders!", {step(key, bytes, bytes, {entry("merge " + key)})}).at(0).what;
    });
    const std::pair<ShardId, domain::RowToFree> row{{queue_.number, 0}, {key, bytes, true}};
    free_rows(store(), "orders", {&row, 1});
    producer.join();
    std::vector<std::string> seen;
    for (const auto& body : log()) {
      const auto read = domain::decode_entry(body);
      if (read && read->id == key) seen.emplace_back("freed " + std::string(read->payload));
      if (body == "merge " + key) seen.emplace_back("merge");
    }
    if (merged == What::done) {
      EXPECT_THAT(seen, ElementsAre("merge", "freed t"));
    } else {
      EXPECT_THAT(seen, ElementsAre("freed t"));
    }
    free_rows(second(), "orders", {&row, 1});
    EXPECT_EQ(this->row(key), std::nullopt);
  }
}

TEST_P(UniqueRows, ARowThatIsAnothersStays) {
  const domain::UniqueHold mine{"k", "mine", UniqueScope{}, {}}, other{"k", "other", UniqueScope{}, {}};
  const auto bytes = domain::row_of(other, "orders", "1", "1");
  ASSERT_EQ(one(step("k", bytes)), done());
  const std::pair<ShardId, domain::RowToFree> row{{queue_.number, 0},
                                                  {"k", domain::row_of(mine, "orders", "1", "1"), false}};
  free_rows(store(), "orders", {&row, 1});
  EXPECT_EQ(this->row(), bytes);
  EXPECT_THAT(log(), IsEmpty());
}

// In a cluster rows and logs are in different slots.
INSTANTIATE_TEST_SUITE_P(on, UniqueRows, stores_of_one_place(), backend_name);

class UniqueInACluster : public StoreContract {};

TEST_P(UniqueInACluster, KeysNeedAllInOneSlot) {
  const auto queue = define("orders", 3);
  const RowStep step{{"k", "a", true}, {}, {{{queue.number, 0}, "1"}}};
  try {
    store().step_rows("orders!", {step});
    FAIL() << "it is not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("one slot"));
  }
  EXPECT_EQ(store().wait_row("orders!", "k"), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(on, UniqueInACluster,
                         ::testing::Values(Backend{"redis_cluster", make_redis_cluster_world, false, false}),
                         backend_name);

}  // namespace unique_test
}  // namespace ordo::store
