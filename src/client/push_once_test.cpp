// Pushes under a key.
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ordo/error.hpp>

#include "client/client_impl.h"
#include "store/memory/memory_store.h"
#include "store/test_log.h"

namespace ordo {
namespace push_once_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using What = PushedOnce::What;

class StillClock final : public Clock {
 public:
  Time wall() override { return now; }
  Duration steady() override { return now.time_since_epoch(); }
  Time now{1'700'000'000s};
};

class PushOnce : public ::testing::Test {
 protected:
  PushOnce() {
    Config config;
    config.queues = {{.name = "orders", .shards = 3}, {.name = "unique", .unique = Unique{.by = "id"}}};
    client_.emplace(std::make_shared<StoreHandle>(std::move(config), clock_, store_));
  }
  PushedOnce push(const std::string& key, const std::string& content, std::vector<NewJob> jobs) {
    return client_->push_once("orders", std::move(jobs), {key, content});
  }
  std::multiset<std::string> stored() {
    const auto queue = *store_->queues().find("orders");
    std::multiset<std::string> ids;
    const std::vector<store::ShardId> shards{{queue.number, 0}, {queue.number, 1}, {queue.number, 2}};
    const auto chunk = store::read_log(*store_, shards);
    for (const auto& row : chunk.rows) ids.emplace(domain::decode_entry(chunk.body(row))->id);
    return ids;
  }

  StillClock clock_;
  std::shared_ptr<store::memory::MemoryStore> store_ = std::make_shared<store::memory::MemoryStore>(clock_);
  std::optional<Client::Impl> client_;
};

TEST_F(PushOnce, the_same_again_is_stored_once_and_answered_alike) {
  const auto first = push("k", "hash", {{.id = "1"}, {.payload = "x"}, {.payload = "x"}});
  EXPECT_EQ(first.what, What::pushed);
  ASSERT_EQ(first.ids.size(), 3U);
  EXPECT_EQ(first.ids[0], "1");
  EXPECT_NE(first.ids[1], first.ids[2]);
  clock_.now += 23h;
  const auto again = push("k", "hash", {{.id = "1"}, {.payload = "x"}, {.payload = "x"}});
  EXPECT_EQ(again.what, What::again);
  EXPECT_EQ(again.ids, first.ids);
  EXPECT_EQ(stored(), std::multiset<std::string>(first.ids.begin(), first.ids.end()));
}

TEST_F(PushOnce, what_is_refused_by_now_was_stored_all_the_same) {
  const auto expires = clock_.now + 1h;
  push("k", "hash", {{.id = "1", .expires = expires}});
  clock_.now += 2h;
  EXPECT_EQ(push("k", "hash", {{.id = "1", .expires = expires}}).what, What::again);
  EXPECT_THROW(push("new", "hash", {{.id = "1", .expires = expires}}), Error);
}

TEST_F(PushOnce, other_content_under_a_key_is_not_stored) {
  push("k", "hash", {{.id = "1"}});
  const auto other = push("k", "another", {{.id = "2"}});
  EXPECT_EQ(other.what, What::other);
  EXPECT_THAT(other.ids, IsEmpty());
  EXPECT_EQ(push("another key", "another", {{.id = "2"}}).what, What::pushed);
  EXPECT_THAT(stored(), ElementsAre("1", "2"));
}

TEST_F(PushOnce, a_key_is_forgotten_after_a_day) {
  push("k", "hash", {{.id = "1"}});
  clock_.now += 24h;
  EXPECT_EQ(push("k", "another", {{.id = "2"}}).what, What::pushed);
  EXPECT_THAT(stored(), ElementsAre("1", "2"));
}

TEST_F(PushOnce, what_is_wrong_is_refused_and_takes_no_key) {
  const auto refuse = [&](const std::string& key, const std::string& content, std::vector<NewJob> jobs) {
    EXPECT_THROW(push(key, content, std::move(jobs)), Error) << key.size() << ' ' << content;
  };
  refuse("", "hash", {{.id = "1"}});
  refuse(std::string(201, 'k'), "hash", {{.id = "1"}});
  refuse("k", "", {{.id = "1"}});
  refuse("k", std::string(256, 'c'), {{.id = "1"}});
  refuse("k", "hash", std::vector<NewJob>(1001));
  refuse("k", "hash", {{.id = std::string(256, 'i')}});
  EXPECT_THROW(client_->push_once("unique", {{.id = "1"}}, {"k", "hash"}), Error);
  EXPECT_EQ(push("k", "hash", {{.id = "1"}}).what, What::pushed);
}

}  // namespace push_once_test
}  // namespace ordo
