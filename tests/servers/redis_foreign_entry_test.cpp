// What other programs write into a log, however odd it is, stops nobody who reads it.
#include "domain/entry.h"
#include "store/redis/keys.h"
#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_foreign_entry_test {

class RedisForeignEntry : public RedisStoreTest {
 protected:
  void SetUp() override {
    RedisStoreTest::SetUp();
    shard_ = {store_.define("orders", 1).number, 0};
    key_ = shard_key(shard_, "log");
  }
  void xadd(const std::string& id, Texts fields) {
    Texts words = {"XADD", key_, "NOMKSTREAM", id};
    words.insert(words.end(), fields.begin(), fields.end());
    const auto said = server().run(words);
    if (said.is_error()) throw std::runtime_error(said.text);
  }
  void push(const std::string& text) { append_and_wait(store_, {{.shard = shard_, .bytes = text}}); }

  Texts read(LogReader& log) {
    Texts texts;
    for (int page = 0; page < 200; ++page) {
      const auto chunk = log.read(10);
      for (const auto& row : chunk.rows) {
        EXPECT_GT(row.seq, last_);
        last_ = row.seq;
        times_.push_back(row.at);
        texts.emplace_back(chunk.body(row));
      }
      if (chunk.at_end) return texts;
    }
    ADD_FAILURE() << "it has no end";
    return texts;
  }
  std::unique_ptr<LogReader> reader(Lease lease = {}) {
    last_ = 0;
    times_.clear();
    auto log = store_.open_log();
    log->add(shard_, 0, lease);
    return log;
  }
  void expect_times_of_now() const {
    for (const auto at : times_) EXPECT_LT(std::chrono::abs(at - system_clock().wall()), 1h);
  }

  RedisStore store_{server().location()};
  ShardId shard_;
  std::string key_;
  Seq last_ = 0;
  std::vector<Time> times_;
};

TEST_F(RedisForeignEntry, a_bad_number_in_m_is_that_entrys_affair) {
  const Texts bad = {"x", "", "-1", "1.5", "99999999999999999999", "4194304"};
  for (const auto& number : bad) xadd("*", {"e", "bytes", "m", number});
  xadd("*", {"e", "bytes", "m", "0", "more", "1"});
  push("good");
  const auto texts = read(*reader());
  ASSERT_EQ(texts.size(), bad.size() + 2);
  for (std::size_t i = 0; i <= bad.size(); ++i) {
    EXPECT_FALSE(domain::decode_entry(texts[i]));
    EXPECT_THAT(texts[i], HasSubstr("bytes")) << "it is kept as it was pushed";
  }
  EXPECT_EQ(texts.back(), "good");
}

// Beyond what a number of ours can say, or so far ahead that its job, and all behind it, would wait for ever.
TEST_F(RedisForeignEntry, an_id_from_the_far_future_is_numbered_anew_by_the_owner) {
  const auto ahead = std::to_string((store_.now() + 24h * 365).time_since_epoch().count() / 1000);
  for (const auto& id : Texts{"18446744073709551615-5", "4398046511104-0", ahead + "-7"}) {
    server().empty();
    SetUp();
    push("before");
    xadd(id, {"e", "odd"});
    push("behind");
    xadd("*", {"payload", "plain"});
    const auto grant = own(store_, shard_);
    EXPECT_LT(time_of(grant.head), store_.now() + 24h * 366) << id;
    const auto log = reader(grant.lease);
    const auto texts = read(*log);
    ASSERT_EQ(texts.size(), 4u) << id;
    EXPECT_EQ(texts[0], "before");
    EXPECT_EQ(texts[1], "odd");
    EXPECT_EQ(texts[2], "behind");
    EXPECT_EQ(domain::decode_entry(texts[3])->payload, "plain");
    expect_times_of_now();
    push("next");
    EXPECT_EQ(read(*log), Texts{"next"}) << id;
    expect_times_of_now();
    EXPECT_EQ(bodies(store_, shard_).size(), 5u) << "each once";
    EXPECT_EQ(commit(store_, grant, grant.batch + 1, {last_}), CommitResult::applied);
  }
}

TEST_F(RedisForeignEntry, who_only_looks_sees_entries_with_odd_ids_too) {
  push("before");
  xadd("18446744073709551615-5", {"e", "odd"});
  for (int i = 0; i < 25; ++i) push("behind");
  EXPECT_EQ(read(*reader()).size(), 27u);
  expect_times_of_now();
}

// The server gives no number any more then, and refuses every push, until the owner has read it.
TEST_F(RedisForeignEntry, a_log_whose_numbers_are_used_up_takes_pushes_again) {
  const auto grant = own(store_, shard_);
  const auto log = reader(grant.lease);
  xadd("18446744073709551615-18446744073709551615", {"e", "last"});
  EXPECT_NE(failure_of([&] { push("refused"); }), "nothing was thrown");
  EXPECT_EQ(read(*log), Texts{"last"});
  push("taken");
  EXPECT_EQ(read(*log), Texts{"taken"});
}

TEST_F(RedisForeignEntry, the_last_number_of_all_may_end_a_page_of_odd_ones) {
  const auto grant = own(store_, shard_);
  const auto log = reader(grant.lease);
  const std::string last = "18446744073709551615";
  for (int i = 1; i < 1000; ++i) xadd(last + "-" + std::to_string(i), {"e", "odd"});
  xadd(last + "-" + last, {"e", "last"});
  const auto texts = read(*log);
  ASSERT_EQ(texts.size(), 1000u);
  EXPECT_EQ(texts.back(), "last");
}

TEST_F(RedisForeignEntry, a_number_too_many_for_a_millisecond_comes_to_the_end) {
  const auto grant = own(store_, shard_);
  const auto log = reader(grant.lease);
  push("before");
  const auto ms = std::to_string(store_.now().time_since_epoch().count() / 1000 + 50);
  xadd(ms + "-99999999999", {"e", "odd"});
  EXPECT_EQ(read(*log), (Texts{"before", "odd"}));
  push("behind");
  EXPECT_EQ(read(*log), Texts{"behind"});
}

// What an owner has read may stand in its states and lists: it keeps its number.
TEST_F(RedisForeignEntry, what_an_owner_has_written_about_keeps_its_number) {
  const auto ahead = (store_.now() + 24h * 365).time_since_epoch().count() / 1000;
  const auto id = std::to_string(ahead) + "-7";
  xadd(id, {"e", "known"});
  auto grant = own(store_, shard_);
  Delta delta{.shard = shard_, .lease = grant.lease, .batch = grant.batch + 1};
  delta.position = *seq_of(id);
  ASSERT_EQ(commit_and_wait(store_, {delta}).at(0), CommitResult::applied);
  EXPECT_EQ(read(*reader(grant.lease)), Texts{"known"});
  EXPECT_EQ(last_, *seq_of(id));
}

// The next death would have a smaller number, which a stream refuses, and the shard could write nothing any
// more.
TEST_F(RedisForeignEntry, a_death_comes_behind_what_another_program_put_among_the_dead) {
  push("a");
  const auto grant = own(store_, shard_);
  server().run({"XADD", shard_key(shard_, "dead"), "*", "x", "1"});
  Delta delta{.shard = shard_, .lease = grant.lease, .batch = grant.batch + 1, .erase = {grant.head}};
  delta.dead = {{shard_, 0, store_.now(), "first"}, {shard_, 0, store_.now(), "second"}};
  ASSERT_EQ(commit_and_wait(store_, {delta}).at(0), CommitResult::applied);
  Texts dead;
  for (const auto& words : server().run({"XRANGE", shard_key(shard_, "dead"), "-", "+"}).items)
    dead.push_back(words.at(1).items.back().text);
  EXPECT_EQ(dead, (Texts{"1", "first", "second"}));
}

// Nothing of a script is undone: an entry that it had erased by then would be lost.
TEST_F(RedisForeignEntry, a_delta_that_cannot_be_written_whole_erases_nothing) {
  for (const std::string part : {"states", "dead", "ages", "aside", "a number too high"}) {
    server().empty();
    SetUp();
    push("a");
    const auto grant = own(store_, shard_);
    const bool is_entry = part == "a number too high";
    const auto key = shard_key(shard_, is_entry ? "dead" : part);
    server().run(is_entry ? Texts{"XADD", key, "18446744073709551615-5", "x", "1"} : Texts{"SET", key, "x"});
    Delta delta{.shard = shard_, .lease = grant.lease, .batch = grant.batch + 1, .erase = {grant.head}};
    delta.states = {{grant.head, "state"}};
    delta.dead = {{shard_, 0, store_.now(), "dead"}};
    EXPECT_THAT(failure_of([&] { commit_and_wait(store_, {delta}); }),
                HasSubstr(is_entry ? "number that is too high" : "WRONGTYPE"))
        << part;
    server().run({"DEL", key});
    EXPECT_EQ(bodies(store_, shard_), Texts{"a"}) << part;
    EXPECT_EQ(commit_and_wait(store_, {delta}).at(0), CommitResult::applied) << part;
  }
}

TEST_F(RedisForeignEntry, what_stands_where_records_are_kept_holds_up_no_end) {
  for (const std::string part : {"kept", "heads"}) {
    server().empty();
    SetUp();
    push("a");
    const auto grant = own(store_, shard_);
    server().run({"SET", shard_key(shard_, part), "x"});
    Delta delta{.shard = shard_, .lease = grant.lease, .batch = grant.batch + 1, .erase = {grant.head}};
    delta.keep = KeptRow{7, "head", "body"};
    delta.erase_kept = {1, 2};
    EXPECT_EQ(commit_and_wait(store_, {delta}).at(0), CommitResult::unkept) << part;
    EXPECT_EQ(bodies(store_, shard_), Texts{}) << part;
  }
}

TEST_F(RedisForeignEntry, members_beside_the_log_that_are_none_of_ours_are_passed_over) {
  push("a");
  server().run({"ZADD", shard_key(shard_, "aside"), "0", "nonsense", "0", "zzz:"});
  EXPECT_EQ(read(*reader()), Texts{"a"});
}

}  // namespace redis_foreign_entry_test
}  // namespace ordo::store::redis
