// What becomes of pushes whose unique key another job has.
#include <atomic>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ordo/error.hpp>

#include "client/client_impl.h"
#include "domain/unique.h"
#include "store/memory/memory_store.h"
#include "store/test_log.h"

namespace ordo {
namespace unique_push_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using What = Pushed::What;

class StillClock final : public Clock {
 public:
  Time wall() override { return now; }
  Duration steady() override { return now.time_since_epoch(); }
  Time now{1'700'000'000s};
};

class UniquePush : public ::testing::Test {
 protected:
  Client::Impl& with(Unique rule) {
    Config config;
    config.queues = {{.name = "orders", .shards = 2, .unique = rule}};
    client_.emplace(std::make_shared<StoreHandle>(std::move(config), clock_, store_));
    return *client_;
  }
  Pushed push(NewJob job) {
    std::vector<NewJob> jobs;
    jobs.push_back(std::move(job));
    return client_->push_each("orders", std::move(jobs)).front();
  }
  /// All entries: "push 1", "cancel 1".
  std::vector<std::string> log() {
    const auto queue = *store_->queues().find("orders");
    const std::vector<store::ShardId> shards{{queue.number, 0}, {queue.number, 1}};
    std::vector<std::string> texts;
    const auto chunk = store::read_log(*store_, shards);
    for (const auto& row : chunk.rows) {
      const auto entry = *domain::decode_entry(chunk.body(row));
      texts.push_back((entry.type == domain::EntryType::cancel ? "cancel " : "push ") +
                      std::string(entry.id));
      last_run_at_ = entry.run_at;
      last_holds_ = entry.options.unique;
    }
    return texts;
  }
  std::optional<std::string> row(const std::string& key) {
    return store_->wait_row("orders!", domain::unique_row_key("orders", key));
  }

  StillClock clock_;
  std::shared_ptr<store::memory::MemoryStore> store_ = std::make_shared<store::memory::MemoryStore>(clock_);
  std::optional<Client::Impl> client_;
  std::optional<Time> last_run_at_;
  std::vector<domain::UniqueHold> last_holds_;
};

TEST_F(UniquePush, ARejectedOneIsToldOrThrownAndStopsNoOther) {
  auto& client = with({.by = "/n"});
  const auto job = [](const std::string& id, int n) {
    return NewJob{.id = id, .payload = R"({"n":)" + std::to_string(n) + "}"};
  };
  const auto all = client.push_each("orders", {job("1", 1), job("2", 1), {.id = "3"}, job("4", 2)});
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[1].what, What::rejected);
  EXPECT_EQ(all[1].id, "1");
  EXPECT_EQ(all[1].kind, "orders");
  for (const auto i : {0, 2, 3}) EXPECT_EQ(all[static_cast<std::size_t>(i)].what, What::pushed);
  try {
    client.push("orders", {job("5", 3), job("6", 2)});
    FAIL() << "it is not thrown";
  } catch (const NotUnique& error) {
    EXPECT_EQ(error.kind(), ErrorKind::conflict);
    EXPECT_EQ(error.existing().id, "4");
  }
  EXPECT_THAT(log(), ::testing::UnorderedElementsAre("push 1", "push 3", "push 4", "push 5"));
}

TEST_F(UniquePush, OneThatNobodyWaitsForIsToldLater) {
  auto& client = with({.by = "/n"});
  const auto job = [](const std::string& id, int n) {
    return NewJob{.id = id, .payload = R"({"n":)" + std::to_string(n) + "}"};
  };
  const auto push = [&](std::vector<NewJob> jobs) {
    std::promise<std::string> existing;
    const auto ids = client.push_async("orders", std::move(jobs), [&](std::exception_ptr error) {
      try {
        if (error) std::rethrow_exception(error);
        existing.set_value("");
      } catch (const NotUnique& rejected) {
        existing.set_value(rejected.existing().id);
      }
    });
    EXPECT_FALSE(ids.empty());
    return existing.get_future().get();
  };
  EXPECT_EQ(push({job("1", 1), {.id = "2"}}), "");
  EXPECT_EQ(push({job("3", 1), job("4", 2)}), "1");
  EXPECT_THAT(log(), ::testing::UnorderedElementsAre("push 1", "push 2", "push 4"));
  EXPECT_THROW(client.push_async("orders", {{.id = std::string(256, 'i')}}, [](auto) {}), Error);
}

TEST_F(UniquePush, AllThatWereBegunAreToldBeforeTheClientEnds) {
  auto& client = with({.by = "id"});
  std::atomic<int> told = 0;
  for (int i = 0; i < 50; ++i) {
    client.push_async("orders", {{.id = std::to_string(i % 40)}}, [&](std::exception_ptr error) {
      if (!error) ++told;
      EXPECT_THROW(client.push("orders", {{.id = "x"}}), Error) << "it would wait here";
    });
  }
  client_.reset();
  EXPECT_EQ(told, 40);
  EXPECT_EQ(log().size(), 40U);
}

TEST_F(UniquePush, AnIgnoredOneHasTheIdOfTheOther) {
  auto& client = with({.by = "id", .on_conflict = OnConflict::ignore});
  EXPECT_THAT(client.push("orders", {{.id = "1"}, {.id = "2", .unique = "\"1\""}}), ElementsAre("1", "1"));
  EXPECT_THAT(log(), ElementsAre("push 1"));
}

TEST_F(UniquePush, APeriodIsOver) {
  with({.by = "id", .period = 10s, .on_conflict = OnConflict::throttle});
  EXPECT_EQ(push({.id = "1"}).what, What::pushed);
  log();
  EXPECT_THAT(last_holds_, IsEmpty()) << "no job frees it";
  clock_.now += 9s;
  EXPECT_EQ(push({.id = "1"}).what, What::ignored);
  clock_.now += 1s;
  EXPECT_EQ(push({.id = "1"}).what, What::pushed);
}

TEST_F(UniquePush, AMergedOneGoesToTheJobThatIsThere) {
  with({.by = "/n", .on_conflict = OnConflict::merge});
  push({.id = "1", .payload = R"({"n":1})", .key = "k"});
  const auto before = row("1");
  const auto merged = push({.id = "2", .payload = R"({"n":1})"});
  EXPECT_EQ(merged.what, What::merged);
  EXPECT_EQ(merged.id + merged.key, "1k");
  EXPECT_EQ(row("1"), before);
  EXPECT_THAT(log(), ElementsAre("push 1", "push 1"));
  EXPECT_THAT(last_holds_, IsEmpty());
}

TEST_F(UniquePush, AnotherTakesItsPlace) {
  with({.by = "/n", .on_conflict = OnConflict::replace});
  push({.id = "1", .payload = R"({"n":1})"});
  EXPECT_EQ(push({.id = "2", .payload = R"({"n":1})"}).what, What::pushed);
  EXPECT_EQ(domain::decode_unique_row(*row("1")).or_empty().id, "2");
  EXPECT_THAT(log(), ::testing::UnorderedElementsAre("push 1", "cancel 1", "push 2"));
}

TEST_F(UniquePush, ItIsPutOffByThePeriodInAllAtMost) {
  with({.by = "key", .period = 1min, .on_conflict = OnConflict::debounce});
  const auto start = clock_.now;
  const auto push_later = [&](int number) {
    push({.id = std::to_string(number), .key = "k", .delay = 10s});
    log();
    clock_.now += 9s;
    return *last_run_at_ - start;
  };
  EXPECT_EQ(push_later(1), 10s);
  EXPECT_EQ(push_later(2), 19s);
  for (int i = 3; i < 7; ++i) push_later(i);
  EXPECT_EQ(push_later(7), 64s);
  EXPECT_EQ(push_later(8), 70s);
  EXPECT_EQ(push_later(9), 70s);
}

TEST_F(UniquePush, OneOfAnotherScopeIsNotChanged) {
  with({.by = "id", .scope = UniqueScope::queued_or_running});
  push({.id = "1"});
  with({.by = "id", .on_conflict = OnConflict::replace});
  EXPECT_EQ(push({.id = "1"}).what, What::rejected) << "it may run";
}

TEST_F(UniquePush, AKeyWithoutARuleIsRefused) {
  Config config;
  config.queues = {{.name = "orders", .shards = 2}};
  client_.emplace(std::make_shared<StoreHandle>(std::move(config), clock_, store_));
  EXPECT_THROW(push({.id = "1", .unique = "k"}), Error);
}

}  // namespace unique_push_test
}  // namespace ordo
