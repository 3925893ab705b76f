// What is said and done when a server throws keys away, and when it has.

#include "store/redis/keys.h"
#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_eviction_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

void set(TestServer& server, const std::string& name, const std::string& value) {
  server.run({"CONFIG", "SET", name, value});
}

/// All that it has.
void evict(TestServer& server) {
  set(server, "maxmemory-policy", "allkeys-lru");
  set(server, "maxmemory", "1");
  const auto end = system_clock().steady() + 10s;
  while (server.run({"DBSIZE"}).integer > 0 && system_clock().steady() < end) {
  }
  set(server, "maxmemory", "0");
  set(server, "maxmemory-policy", "noeviction");
}

/// A server that has evicted a key before.
class EvictedTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.run({"SET", "of another program", "1"});
    evict(server_);
  }

  TestServer server_;
};

TEST_F(RedisStoreTest, pushes_are_refused_while_the_server_may_throw_them_away) {
  TestServer server;
  RedisStore store(server.location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto grant = own(store, shard);
  EXPECT_THAT(store.dangers(), IsEmpty());
  set(server, "maxmemory-policy", "allkeys-lru");
  const auto length = [&] { return server.run({"XLEN", shard_key(shard, "log")}).integer; };
  const auto push = [&](std::size_t count) {
    return failure_of([&] { append_and_wait(store, std::vector<NewEntry>(count, {shard, "a"})); });
  };
  EXPECT_THAT(push(1), AllOf(HasSubstr("cannot tell whether it lasts: append"), HasSubstr("allkeys-lru"),
                             HasSubstr("set maxmemory-policy noeviction")));
  ASSERT_EQ(length(), 1);
  for (const std::size_t count : {1, 2}) {
    EXPECT_THAT(push(count), AllOf(HasSubstr("cannot append"), HasSubstr("allkeys-lru")));
    EXPECT_EQ(length(), 1) << "it is known by now";
  }
  const auto row = WaitRow{.key = "k", .bytes = "b"};
  EXPECT_THAT(failure_of([&] { store.step_rows("orders", {{.row = row}}); }), HasSubstr("allkeys-lru"));
  EXPECT_THAT(failure_of([&] { store.define("others", 1); }), HasSubstr("allkeys-lru"));
  EXPECT_THAT(store.dangers(), ElementsAre(AllOf(HasSubstr(server.location().name()), HasSubstr("allkeys"))));
  EXPECT_TRUE(store.renew("n1", 5s)) << "what runs goes on";
  EXPECT_EQ(commit(store, grant, 1), CommitResult::applied);
  set(server, "maxmemory-policy", "volatile-lru");
  EXPECT_EQ(push(1), "nothing was thrown") << "no job has a time to live";
  set(server, "maxmemory-policy", "noeviction");
  EXPECT_EQ(push(2), "nothing was thrown");
  EXPECT_EQ(length(), 4);
  EXPECT_THAT(store.dangers(), IsEmpty());
}

TEST_F(EvictedTest, the_number_of_evicted_keys_is_told) {
  RedisStore store(server_.location());
  store.queues();
  EXPECT_THAT(store.dangers(), ElementsAre(HasSubstr("evicted 1 key for lack of memory")));
  const auto findings = store.examine();
  const auto found = std::ranges::find_if(
      findings, [](const auto& finding) { return finding.what.find("evicted 1 key") != std::string::npos; });
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->level, Finding::Level::bad);
  set(server_, "maxmemory-policy", "volatile-lru");
  store.queues();
  EXPECT_THAT(store.dangers(), IsEmpty()) << "those of other programs";
}

TEST_F(EvictedTest, what_was_evicted_during_a_push_refuses_it_and_is_a_setback) {
  RedisStore store(server_.location());
  const ShardId shard{store.define("orders", 1).number, 0};
  EXPECT_EQ(store.setbacks(), 0u);
  evict(server_);
  EXPECT_THAT(failure_of([&] { append_and_wait(store, {{.shard = shard, .bytes = "a"}}); }),
              HasSubstr("evicted"));
  EXPECT_EQ(store.setbacks(), 1u);
}

TEST_F(EvictedTest, a_queue_that_was_evicted_is_whole_again_after_a_look) {
  RedisStore store(server_.location());
  store.define("orders", 2);
  own(store, {store.define("orders", 2).number, 0});
  evict(server_);
  const auto queue = store.define("orders", 2);
  ASSERT_EQ(store.shards().size(), 2u);
  const ShardId shard{queue.number, 0};
  append_and_wait(store, {{.shard = shard, .bytes = "a"}});
  const auto grant = own(store, shard);
  EXPECT_EQ(bodies(store, shard), Texts{"a"});
  EXPECT_EQ(commit(store, grant, 1), CommitResult::applied);
}

TEST_F(EvictedTest, the_rest_of_a_shard_of_which_a_part_was_evicted_stays) {
  for (const auto* part : {"log", "meta"}) {
    RedisStore before(server_.location());
    const ShardId shard{before.define(part, 2).number, 1};
    append_and_wait(before, {{.shard = shard, .bytes = "a"}});
    server_.run({"DEL", shard_key(shard, part)});
    RedisStore store(server_.location());
    store.shards();
    append_and_wait(store, {{.shard = shard, .bytes = "b"}});
    own(store, shard);
    EXPECT_EQ(bodies(store, shard).back(), "b") << part;
    EXPECT_EQ(bodies(store, shard).size(), part == std::string("meta") ? 2u : 1u);
  }
}

TEST_F(EvictedTest, a_queue_whose_name_was_evicted_gets_its_jobs_again) {
  RedisStore store(server_.location());
  store.define("first", 1);
  const auto queue = store.define("orders", 2);
  const ShardId shard{queue.number, 1};
  append_and_wait(store, {{.shard = shard, .bytes = "a"}});
  server_.run({"DEL", std::string(kQueuesKey), std::string(kRegistryKey)});
  const auto other = store.define("other", 1);
  EXPECT_GT(other.number, queue.number) << "the first is that of other jobs";
  server_.run({"DEL", shard_key({queue.number, 0}, "log"), shard_key({queue.number, 0}, "meta")});
  EXPECT_EQ(store.define("orders", 5), queue);
  append_and_wait(store, {{.shard = {queue.number, 0}, .bytes = "into one that is made again"}});
  EXPECT_EQ(bodies(store, shard), Texts{"a"});
  EXPECT_EQ(store.define("first", 1).number, 1u);
  server_.run({"DEL", std::string(kRegistryKey)});
  EXPECT_GT(store.define("one more", 1).number, other.number);
}

TEST_F(EvictedTest, a_queue_that_is_removed_is_not_restored) {
  RedisStore store(server_.location());
  const auto queue = store.define("orders", 1);
  EXPECT_TRUE(store.remove("orders"));
  EXPECT_THAT(RedisStore(server_.location()).shards(), IsEmpty());
  EXPECT_THAT(server_.run({"KEYS", "ordo:{" + std::to_string(queue.number) + ":*"}).items, IsEmpty());
  EXPECT_NE(store.define("orders", 1).number, queue.number);
}

TEST(RedisEviction, tells_whether_jobs_can_be_gone) {
  const Eviction is{.policy = "allkeys-random", .keys = 2};
  EXPECT_TRUE(is.takes_jobs());
  EXPECT_THAT(is.policy_text(), HasSubstr("allkeys-random"));
  EXPECT_THAT(is.keys_text(), HasSubstr("2 keys"));
  EXPECT_FALSE((Eviction{.policy = "volatile-lfu", .keys = 2}.may_have_taken_jobs()));
  EXPECT_FALSE((Eviction{.policy = "noeviction"}.may_have_taken_jobs()));
}

}  // namespace redis_eviction_test
}  // namespace ordo::store::redis
