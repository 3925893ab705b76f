// A log that is closed gets another name. Who reads it must not take it for an empty one, whatever fails
// while it looks: `ordo reshard` throws the log away once it has read it to its end.

#include "store/redis/keys.h"
#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_closed_log_test {

/// Signs on as a user of its own, whose rights can be taken away. Beside the queue that is closed it reads
/// one that goes on: a read that has news does not fail.
class RedisClosedLog : public RedisStoreTest {
 protected:
  void SetUp() override {
    RedisStoreTest::SetUp();
    allow({"~*"});
    auto location = server().location();
    location.user = "reader";
    location.password = "secret";
    reading_.emplace(location);
    shard_ = {store_.define("orders", 1).number, 0};
    beside_ = {store_.define("beside", 1).number, 0};
    log_ = reading_->open_log();
    log_->add(shard_);
    log_->add(beside_);
  }
  void TearDown() override { server().run({"ACL", "DELUSER", "reader"}); }

  static void allow(const Texts& keys) {
    Texts words = {"ACL", "SETUSER", "reader", "on", ">secret", "&*", "+@all", "resetkeys"};
    words.insert(words.end(), keys.begin(), keys.end());
    const auto said = server().run(words);
    if (said.is_error()) throw std::runtime_error(said.text);
  }
  /// All but the closed log.
  void forbid_the_look() { allow({"~ordo:{ordo}:*", "~*:log", "~*:aside", "~" + shard_key(beside_, "*")}); }

  void push_and_close() {
    append_and_wait(store_, {{.shard = shard_, .bytes = "a"}, {.shard = shard_, .bytes = "b"}});
    append_and_wait(store_, {{.shard = beside_, .bytes = "x"}});
    store_.close("orders");
  }

  /// Until it says that nothing more is there.
  Texts read_to_end() {
    Texts texts;
    for (bool at_end = false; !at_end;) {
      const auto chunk = log_->read(10);
      for (const auto& row : chunk.rows) texts.emplace_back(chunk.body(row));
      at_end = chunk.at_end;
    }
    return texts;
  }

  RedisStore store_{server().location()};
  std::optional<RedisStore> reading_;
  ShardId shard_, beside_;
  std::unique_ptr<LogReader> log_;
};

TEST_F(RedisClosedLog, is_read_to_its_end) {
  read_to_end();
  push_and_close();
  EXPECT_THAT(read_to_end(), testing::UnorderedElementsAre("a", "b", "x"));
}

// Who lists its jobs reads their payloads.
TEST_F(RedisClosedLog, still_gives_the_entries_that_are_asked_for) {
  push_and_close();
  std::vector<Seq> seqs;
  for (const auto& row : log_->read(10).rows) {
    if (row.shard == shard_) seqs.push_back(row.seq);
  }
  const auto chunk = store_.fetch(shard_, seqs);
  ASSERT_EQ(chunk.rows.size(), 2u);
  EXPECT_EQ(chunk.body(chunk.rows[0]), "a");
  EXPECT_EQ(chunk.body(chunk.rows[1]), "b");
}

TEST_F(RedisClosedLog, is_not_at_its_end_while_nobody_could_look_for_it) {
  read_to_end();
  push_and_close();
  forbid_the_look();
  const auto chunk = log_->read(10);
  EXPECT_EQ(chunk.rows.size(), 1u) << "the other queue goes on";
  EXPECT_FALSE(chunk.at_end);
  EXPECT_THAT(failure_of([&] { read_to_end(); }), HasSubstr("no permissions"));
  allow({"~*"});
  EXPECT_EQ(read_to_end(), (Texts{"a", "b"}));
}

TEST_F(RedisClosedLog, is_not_caught_up_when_the_first_look_fails) {
  push_and_close();
  forbid_the_look();
  const auto chunk = log_->read(10);
  EXPECT_THAT(chunk.caught_up, testing::ElementsAre(beside_));
  EXPECT_FALSE(chunk.at_end);
  allow({"~*"});
  const auto rest = log_->read(10);
  EXPECT_THAT(rest.caught_up, testing::ElementsAre(shard_));
  EXPECT_EQ(rest.rows.size(), 2u);
}

TEST_F(RedisClosedLog, is_found_behind_a_cut_connection) {
  for (int i = 0; i < 2; ++i) read_to_end();  // a new connection looks twice
  push_and_close();
  server().run({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_THAT(read_to_end(), testing::UnorderedElementsAre("a", "b", "x"));
}

}  // namespace redis_closed_log_test
}  // namespace ordo::store::redis
