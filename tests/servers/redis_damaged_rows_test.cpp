// What other programs write beside the logs, or a failing disk: what cannot be read is left out and told of,
// and everything else goes on.
#include "store/redis/keys.h"
#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_damaged_rows_test {

using testing::ElementsAre;
using testing::IsEmpty;

class RedisDamagedRows : public RedisStoreTest {
 protected:
  void SetUp() override {
    RedisStoreTest::SetUp();
    bad_ = {store_.define("bad", 1).number, 0};
    good_ = {store_.define("good", 1).number, 0};
  }
  static void run(const Texts& words) {
    const auto said = server().run(words);
    if (said.is_error()) throw std::runtime_error(said.text);
  }
  void push(ShardId shard, const std::string& text) {
    append_and_wait(store_, {{.shard = shard, .bytes = text}});
  }
  std::vector<ShardId> shards() {
    std::vector<ShardId> ids;
    for (const auto& row : store_.shards()) ids.push_back(row.shard);
    return ids;
  }

  RedisStore store_{server().location()};
  ShardId bad_, good_;
};

TEST_F(RedisDamagedRows, a_definition) {
  for (const auto* text : {"x", "", "1", "1:2", "1:x:0", "a:1:0", "1:2000000000:0", "1:0:0", "0:1:0",
                           "99999999999999999999:1:0", "1:99999999999999999999:0"}) {
    run({"HSET", std::string(kQueuesKey), "bad", text});
    const auto list = store_.queues();
    ASSERT_EQ(list.queues.size(), 1u) << text;
    EXPECT_EQ(list.queues[0].name, "good");
    EXPECT_THAT(store_.left_out(), ElementsAre(HasSubstr("'bad'"))) << text;
    EXPECT_THAT(shards(), ElementsAre(good_));
    EXPECT_FALSE(is_definition(store_.define("bad", 3))) << text;
    EXPECT_EQ(server().run({"HGET", std::string(kQueuesKey), "bad"}).text, text) << "nobody writes over it";
  }
  EXPECT_EQ(store_.define("good", 1).number, good_.queue);
  run({"HSET", std::string(kRegistryKey), "version", "x"});
  EXPECT_EQ(store_.queues().queues.size(), 1u);
}

TEST_F(RedisDamagedRows, a_nodes_count_and_request) {
  store_.join("a", "facts");
  store_.join("b", "");
  run({"HSET", std::string(kNodesKey), "a", "many"});
  run({"HSET", std::string(kNodesKey), "zz\x1b[31m", "5"});
  run({"HSET", std::string(kRequestsKey), "b", "99"});
  const auto nodes = store_.nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].id, "b");
  EXPECT_EQ(nodes[0].request, NodeRequest::none);
  EXPECT_THAT(store_.left_out(), ElementsAre(HasSubstr("'a'")));
  store_.leave("zz\x1b[31m", 5);
  EXPECT_EQ(store_.nodes().size(), 1u);
  for (const auto* count : {"many", "9223372036854775807", "", "-1"}) {
    run({"HSET", std::string(kNodesKey), "a", count});
    EXPECT_FALSE(store_.renew("a", 5s)) << "it joins again: " << count;
    store_.join("a", "facts");
    EXPECT_EQ(store_.nodes().size(), 2u) << count;
    EXPECT_TRUE(store_.renew("a", 5s)) << count;
  }
}

TEST_F(RedisDamagedRows, a_shards_numbers) {
  for (const auto* field : {"token", "batch", "position", "dead", "trimmed", "dead_count", "holder"}) {
    const auto before = server().run({"HGET", shard_key(bad_, "meta"), field}).text;
    for (const auto* number : {"x", "", "-1", "99999999999999999999"}) {
      run({"HSET", shard_key(bad_, "meta"), field, number});
      EXPECT_THAT(shards(), ElementsAre(good_)) << field << " " << number;
      EXPECT_THAT(store_.left_out(), ElementsAre(HasSubstr("meta"))) << field << " " << number;
    }
    run({"HSET", shard_key(bad_, "meta"), field, before});
    EXPECT_EQ(shards().size(), 2u) << field;
  }
  run({"HSET", shard_key(bad_, "meta"), "batch", "9223372036854775807"});
  EXPECT_THAT(shards(), ElementsAre(good_)) << "no batch can be its next";
  EXPECT_THAT(store_.left_out(), ElementsAre(HasSubstr("batch 9223372036854775807")));
  const auto grant = own(store_, good_);
  EXPECT_EQ(commit(store_, grant, grant.batch + 1), CommitResult::applied);
}

TEST_F(RedisDamagedRows, a_field_of_states) {
  run({"HSET", shard_key(bad_, "states"), "odd", "bytes", "7", "good"});
  const auto facts = store_.load(std::vector{bad_, good_});
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].states, (std::vector<StateRow>{{7, "good"}}));
  EXPECT_THAT(store_.left_out(), ElementsAre(HasSubstr("'odd'")));
}

TEST_F(RedisDamagedRows, an_entry_among_the_dead) {
  auto grant = own(store_, bad_);
  const auto bury = [&](const std::string& text) {
    Delta delta{.shard = bad_, .lease = grant.lease, .batch = ++grant.batch, .dead = {{.bytes = text}}};
    return commit_and_wait(store_, {delta}).at(0);
  };
  const auto dead = [&](std::size_t most) {
    Texts texts;
    for (std::uint64_t after = 0;;) {
      const auto rows = store_.dead(bad_.queue, after, most);
      for (const auto& row : rows) texts.push_back(row.bytes);
      if (rows.size() < most) return texts;
      after = rows.back().no;
    }
  };
  ASSERT_EQ(bury("a"), CommitResult::applied);
  run({"XADD", shard_key(bad_, "dead"), "2-0", "colour", "red"});
  ASSERT_EQ(bury("b"), CommitResult::applied);
  run({"XADD", shard_key(bad_, "dead"), "*", "a", "soon", "b", "c"});
  ASSERT_EQ(bury("c"), CommitResult::applied) << "the server gives no lower number any more";
  run({"XADD", shard_key(bad_, "dead"), "*", "one", "two"});
  for (const std::size_t most : {1U, 2U, 100U}) EXPECT_EQ(dead(most), (Texts{"a", "b", "c"})) << most;
  store_.dead(bad_.queue, 0, 100);
  EXPECT_EQ(store_.left_out().size(), 3u);
  const auto rows = store_.dead(bad_.queue, 0, 100);
  std::vector<std::uint64_t> nos;
  std::vector<NewEntry> entries;
  for (const auto& row : rows) {
    nos.push_back(row.no);
    entries.push_back({.shard = bad_, .bytes = row.bytes});
  }
  EXPECT_EQ(store_.revive(bad_.queue, nos, entries), 3u);
  EXPECT_THAT(dead(100), IsEmpty());
}

// One wrong key, and no stream of the server could be read any more.
TEST_F(RedisDamagedRows, a_key_of_another_kind) {
  const auto grant = own(store_, good_);
  const auto log = store_.open_log();
  log->add(bad_);
  log->add(good_, 0, grant.lease);
  push(good_, "1");
  log->read(10);
  run({"SET", shard_key(bad_, "log"), "x"});
  push(good_, "2");
  Texts texts;
  for (int reads = 0; reads < 20 && texts.empty(); ++reads) {
    const auto chunk = log->read(10);
    for (const auto& row : chunk.rows) texts.emplace_back(chunk.body(row));
  }
  EXPECT_EQ(texts, Texts{"2"});
  EXPECT_TRUE(log->read(10).at_end) << "who reads to the end comes there";
  EXPECT_EQ(bodies(store_, good_).size(), 2u);
  EXPECT_THAT(bodies(store_, bad_), IsEmpty());
  for (const auto* part : {"log", "closed", "states", "dead", "ages", "aside", "meta"}) {
    run({"DEL", shard_key(bad_, "log")});
    run({"SET", shard_key(bad_, part), "x"});
    RedisStore other(server().location());
    const auto rows = other.shards();
    ASSERT_EQ(rows.size(), 1u) << part;
    EXPECT_EQ(rows[0].shard, good_);
    EXPECT_THAT(other.left_out(), ElementsAre(HasSubstr(part))) << part;
    EXPECT_NO_THROW(other.load(std::vector{bad_, good_})) << part;
    EXPECT_NO_THROW(other.dead(bad_.queue, 0, 10)) << part;
    EXPECT_NO_THROW(other.examine()) << part;
    run({"DEL", shard_key(bad_, part)});
  }
  EXPECT_EQ(commit(store_, grant, grant.batch + 1), CommitResult::applied);
}

}  // namespace redis_damaged_rows_test
}  // namespace ordo::store::redis
