// What a full server, a large delta and a clock that goes back do; and other programs that push.

#include <future>
#include <set>

#include "domain/entry.h"
#include "store/redis/keys.h"
#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_limits_test {

TEST_F(RedisStoreTest, a_full_server_takes_nothing_more_and_can_be_emptied) {  // stores.md §6.2
  TestServer full;
  RedisStore store(full.location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto grant = own(store, shard);
  append_and_wait(store,
                  {{.shard = shard, .bytes = "a"}, {.shard = shard, .bytes = std::string(100'000, 'x')}});
  full.run({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(failure_of([&] { append_and_wait(store, {{.shard = shard, .bytes = "b"}}); }),
              HasSubstr("maxmemory"));
  EXPECT_THAT(failure_of([&] {
                append_and_wait(store, {{.shard = shard, .bytes = "b"}, {.shard = shard, .bytes = "c"}});
              }),
              HasSubstr("maxmemory"));
  EXPECT_TRUE(store.renew("n1", std::chrono::seconds{5}));
  store.join("n2", "");
  store.leave("n2", {});
  store.set_paused("orders", true);
  const auto rows = read_log(store, std::span(&shard, 1)).rows;
  ASSERT_EQ(rows.size(), 2u);
  Delta delta{.shard = shard, .lease = grant.lease, .batch = 1, .erase = {rows[1].seq}};
  delta.set_aside = {rows[0].seq};
  delta.states = {{rows[0].seq, "failed once"}};
  delta.dead = {{.bytes = "dead"}};
  EXPECT_EQ(commit_and_wait(store, {delta}).at(0), CommitResult::applied);
  EXPECT_EQ(commit(store, grant, 2), CommitResult::applied) << "nothing to erase, but counts to store";
  delta = {.shard = shard, .lease = grant.lease, .batch = 3};
  delta.keep = {1, "head", "body"};
  delta.states = {{rows[0].seq, "failed twice"}};
  EXPECT_EQ(commit_and_wait(store, {delta}).at(0), CommitResult::unkept) << "a trace holds up no end";
  EXPECT_EQ(store.load(std::span(&shard, 1)).at(0).states.at(0).bytes, "failed twice");
  EXPECT_TRUE(store.kept_heads(shard, 0, 10).empty());
  const Release end{shard, grant.lease};
  store.release(std::span(&end, 1));
  EXPECT_TRUE(own(store, shard).clean);
  EXPECT_TRUE(store.remove("orders"));
}

TEST_F(RedisStoreTest, reads_shrink_until_the_output_buffers_of_the_server_let_them_pass) {
  TestServer tight({"--client-output-buffer-limit", "normal", "256kb", "0", "0"});
  RedisStore store(tight.location());
  const auto queue = store.define("orders", 64);
  const ShardId shard{queue.number, 0};
  append_and_wait(store, std::vector<NewEntry>(200, {.shard = shard, .bytes = std::string(10'000, 'x')}));
  for (std::uint32_t index = 1; index < queue.shards; ++index)
    append_and_wait(store, {{.shard = {queue.number, index}, .bytes = std::string(100'000, 'y')}});
  const auto log = store.open_log();
  for (std::uint32_t index = 0; index < queue.shards; ++index) log->add({queue.number, index});
  std::vector<LogRow> rows;
  std::size_t failures = 0, caught_up = 0;
  for (bool at_end = false; !at_end;) {
    LogChunk chunk{.at_end = false};
    failures += failure_of([&] { chunk = log->read(1000); }) != "nothing was thrown";
    ASSERT_LT(failures, 40u);
    at_end = chunk.at_end;
    caught_up += chunk.caught_up.size();
    rows.insert(rows.end(), chunk.rows.begin(), chunk.rows.end());
  }
  EXPECT_EQ(rows.size(), 263u);
  EXPECT_EQ(caught_up, 64u);
  EXPECT_GT(failures, 0u) << "else nothing was tried here";
  std::vector<Seq> seqs;
  for (const auto& row : rows)
    if (row.shard == shard) seqs.push_back(row.seq);
  LogChunk fetched;
  for (failures = 0; fetched.rows.empty(); ++failures) {
    ASSERT_LT(failures, 20u);
    failure_of([&] { fetched = store.fetch(shard, seqs); });
  }
  EXPECT_EQ(fetched.rows.size(), 200u);
  EXPECT_THAT(store.examine().back().what, HasSubstr("more than 256 KiB"));
}

TEST_F(RedisStoreTest, what_a_page_has_no_room_for_is_hardly_asked_for) {
  TestServer own;
  RedisStore store(own.location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto log = store.open_log();
  log->add(shard);
  append_and_wait(store, std::vector<NewEntry>(5'000, {.shard = shard, .bytes = "small"}));
  while (!log->read(8192).at_end) {
  }
  const auto sent = [&] {
    const auto text = own.run({"INFO", "stats"}).text;
    const std::string name = "total_net_output_bytes:";
    return std::stoull(text.substr(text.find(name) + name.size()));
  };
  const std::string big(9'000'000, 'x');
  constexpr std::size_t kEntries = 20;
  for (std::size_t i = 0; i < kEntries; ++i)
    own.run({"XADD", shard_key(shard, "log"), "*", "id", std::to_string(i), "payload", big});
  const auto before = sent();
  std::size_t rows = 0;
  for (bool at_end = false; !at_end;) {
    const auto chunk = log->read(8192);
    EXPECT_LE(chunk.rows.size(), 4u) << "2 MiB of each are kept";
    at_end = chunk.at_end;
    rows += chunk.rows.size();
  }
  EXPECT_EQ(rows, kEntries);
  EXPECT_LT(sent() - before, 2 * kEntries * big.size());
}

TEST_F(RedisStoreTest, an_entry_larger_than_the_output_buffers_of_the_server_is_said_and_others_pass) {
  TestServer tight({"--client-output-buffer-limit", "normal", "256kb", "0", "0"});
  RedisStore store(tight.location());
  const auto queue = store.define("orders", 3);
  for (std::uint32_t index = 0; index < queue.shards; ++index) {
    const std::size_t size = index == 1 ? 1'000'000 : 10'000;
    append_and_wait(store, {{.shard = {queue.number, index}, .bytes = std::string(size, 'x')}});
  }
  const auto log = store.open_log();
  for (std::uint32_t index = 0; index < queue.shards; ++index) log->add({queue.number, index});
  std::size_t rows = 0;
  std::string said;
  for (int i = 0; i < 40 && (rows < 2 || said.find("client-output") == std::string::npos); ++i) {
    const auto failure = failure_of([&] { rows += log->read(1000).rows.size(); });
    if (failure != "nothing was thrown") said = failure;
  }
  EXPECT_EQ(rows, 2u);
  EXPECT_THAT(said, HasSubstr("client-output-buffer-limit"));
}

// A node of a stream is freed when all its entries are gone (stores.md §1.6).
TEST_F(RedisStoreTest, entries_that_wait_do_not_keep_the_room_of_others) {
  RedisStore store(server().location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto grant = own(store, shard);
  append_and_wait(store, std::vector<NewEntry>(6'000, {.shard = shard, .bytes = std::string(100, 'x')}));
  const auto log_room = [&] { return server().run({"MEMORY", "USAGE", shard_key(shard, "log")}).integer; };
  const auto before = log_room();
  Delta rest{.shard = shard, .lease = grant.lease, .batch = 1};
  Delta waiting{.shard = shard, .lease = grant.lease, .batch = 2};
  for (const auto& row : read_log(store, std::span(&shard, 1)).rows) {
    (waiting.set_aside.size() * 30 <= rest.erase.size() ? waiting.set_aside : rest.erase).push_back(row.seq);
  }
  ASSERT_EQ(commit_and_wait(store, {rest}).at(0), CommitResult::applied);
  EXPECT_GT(log_room(), before / 2) << "one of 30 in each node keeps it";
  ASSERT_EQ(commit_and_wait(store, {waiting}).at(0), CommitResult::applied);
  EXPECT_LT(log_room(), before / 20);
  EXPECT_EQ(bodies(store, shard).size(), waiting.set_aside.size());
}

TEST_F(RedisStoreTest, what_other_programs_pushed_is_not_set_aside) {
  RedisStore store(server().location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto grant = own(store, shard);
  server().run({"XADD", shard_key(shard, "log"), "NOMKSTREAM", "*", "id", "42", "payload", "1"});
  Delta delta{.shard = shard, .lease = grant.lease, .batch = 1};
  for (const auto& row : read_log(store, std::span(&shard, 1)).rows) delta.set_aside.push_back(row.seq);
  ASSERT_EQ(commit_and_wait(store, {delta}).at(0), CommitResult::applied);
  const auto chunk = read_log(store, std::span(&shard, 1));
  ASSERT_EQ(chunk.rows.size(), 1u);
  EXPECT_EQ(domain::decode_entry(chunk.body(chunk.rows[0]))->id, "42");
}

TEST_F(RedisStoreTest, a_large_delta_is_one_step) {
  RedisStore store(server().location(), {.answer = kPatience});
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto grant = own(store, shard);
  append_and_wait(store, std::vector<NewEntry>(20'000, {.shard = shard, .bytes = "x"}));
  Delta delta{.shard = shard, .lease = grant.lease, .batch = 1};
  for (const auto& row : read_log(store, std::span(&shard, 1)).rows) {
    delta.erase.push_back(row.seq);
    delta.states.push_back({row.seq, "state"});
    delta.dead.push_back({.bytes = "dead"});
  }
  ASSERT_EQ(delta.erase.size(), 20'000u);
  delta.max_dead = 5;
  EXPECT_EQ(commit_and_wait(store, {delta}).at(0), CommitResult::applied);
  EXPECT_TRUE(bodies(store, shard).empty());
  EXPECT_EQ(store.load(std::span(&shard, 1)).at(0).states.size(), 20'000u);
  EXPECT_EQ(store.dead(shard.queue, 0, 100).size(), 5u);
}

TEST_F(RedisStoreTest, a_page_of_the_dead_costs_about_what_it_holds) {
  RedisStore store(server().location());
  const auto queue = store.define("orders", 16).number;
  std::set<std::uint64_t> nos;
  for (std::uint32_t index = 0; index < 15; ++index) {
    for (std::uint64_t count = 1; count <= (index == 3 ? 100 : 10); ++count) {
      server().run({"XADD", shard_key({queue, index}, "dead"), std::to_string(count) + "-1", "a", "7", "b",
                    std::string(10'000, 'x')});
      nos.insert(dead_no(count, index));
    }
  }
  const auto sent = [&] {
    const auto info = server().run({"INFO", "stats"}).text;
    return std::stoull(std::string(server_fact(info, "total_net_output_bytes")));
  };
  const auto before = sent();
  std::vector<std::uint64_t> listed = {0};
  for (std::vector<DeadRow> page(20); page.size() == 20;) {
    page = store.dead(queue, listed.back(), 20);
    for (const auto& row : page) listed.push_back(row.no);
  }
  EXPECT_TRUE(std::equal(listed.begin() + 1, listed.end(), nos.begin(), nos.end()));
  EXPECT_LT(sent() - before, 3 * nos.size() * 10'000);
  const auto one = sent();
  EXPECT_EQ(store.dead(queue, dead_no(5, 3) - 1, 1).at(0).no, dead_no(5, 3));
  EXPECT_LT(sent() - one, 20'000U);
  EXPECT_EQ(store.dead(queue, dead_no(10, 15) - 1, 1).at(0).no, dead_no(11, 3)) << "it is not there";
}

TEST_F(RedisStoreTest, a_clock_that_went_back_does_not_use_up_the_numbers_of_a_millisecond) {
  RedisStore store(server().location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto log = shard_key(shard, "log");
  const auto ahead = static_cast<std::uint64_t>((store.now() + 1h).time_since_epoch().count() / 1000);
  const auto jump = [&](std::uint64_t ms) {
    server().run({"XSETID", log, std::to_string(ms) + "-" + std::to_string(kSeqHalf - 1)});
  };
  jump(ahead);
  append_and_wait(store, {{.shard = shard, .bytes = "a"}});
  append_and_wait(store, {{.shard = shard, .bytes = "b"}});
  store.queues();  // the correction is behind the first append
  append_and_wait(store, {{.shard = shard, .bytes = "c"}});
  jump(ahead + 10);
  append_and_wait(store, {{.shard = shard, .bytes = "d"}, {.shard = shard, .bytes = "e"}});
  append_and_wait(store, {{.shard = shard, .bytes = "f"}, {.shard = shard, .bytes = "g"}});
  const auto rows = read_log(store, std::span(&shard, 1)).rows;
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[2].seq >> kSeqBits, ahead + 1);
  EXPECT_EQ(rows[5].seq >> kSeqBits, ahead + 11);
  EXPECT_EQ(bodies(store, shard), (Texts{"a", "b", "c", "d", "e", "f", "g"}));
}

TEST_F(RedisStoreTest, time_is_the_servers_and_tokens_rise_with_it) {
  RedisStore store(server().location());
  const ShardId shard{store.define("orders", 1).number, 0};
  constexpr Duration kSlack = 10s;  // one machine, two clocks, and answers that are slow under load
  const auto before = store.now();
  append_and_wait(store, {{.shard = shard, .bytes = "a"}});
  const auto first = own(store, shard).lease.token;
  const std::string far = "9000000000000000";
  const auto after = store.now();
  const auto at = read_log(store, std::span(&shard, 1)).rows.at(0).at;
  EXPECT_GE(at, before - kSlack);
  EXPECT_LE(at, after + kSlack);
  EXPECT_GE(first, static_cast<std::uint64_t>((before - kSlack).time_since_epoch().count()));
  EXPECT_LE(first, static_cast<std::uint64_t>((after + kSlack).time_since_epoch().count()));
  store.leave("n1", {});
  server().run({"HSET", shard_key(shard, "meta"), "token", far});
  EXPECT_EQ(own(store, shard).lease.token, 9000000000000001u) << "after the clock went back";
}

TEST_F(RedisStoreTest, other_programs_push_with_one_xadd) {
  RedisStore store(server().location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto log_key = shard_key(shard, "log");
  const auto log = store.open_log();
  log->add(shard);
  log->read(1);
  auto waits = std::async(std::launch::async, [&] { log->wait(kUnlessWoken); });
  server().run({"XADD", log_key, "NOMKSTREAM", "*", "id", "42", "payload", "{\"v\":1}"});
  ASSERT_EQ(waits.wait_for(kPatience), std::future_status::ready);
  server().run({"XADD", log_key, "NOMKSTREAM", "*", "id", "43", "key", "k", "kind", "mail", "score", "1.5",
                "run_at", "1700000000.25", "priority", "-3", "timeout", "2.5"});
  server().run({"XADD", log_key, "NOMKSTREAM", "*", "payload", "without a name"});
  server().run({"XADD", log_key, "NOMKSTREAM", "*", "id", "44", "colour", "red"});
  waits.get();
  const auto chunk = log->read(10);
  ASSERT_EQ(chunk.rows.size(), 4u);
  const auto entry = [&](std::size_t i) { return *domain::decode_entry(chunk.body(chunk.rows.at(i))); };
  EXPECT_EQ(entry(0), (domain::Entry{.kind = "orders", .key = "42", .id = "42", .payload = "{\"v\":1}"}));
  EXPECT_EQ(entry(1), (domain::Entry{.kind = "mail",
                                     .key = "k",
                                     .id = "43",
                                     .score = 1.5,
                                     .run_at = Time{1'700'000'000'250'000us},
                                     .options = {.priority = -3, .timeout = 2'500ms}}));
  EXPECT_EQ(entry(2).id, id_of(chunk.rows[2].seq));
  EXPECT_EQ(entry(2).payload, "without a name");
  EXPECT_THAT(domain::decode_entry(chunk.body(chunk.rows[3])).why(), HasSubstr("colour"));
  const auto seq = chunk.rows[0].seq;
  const auto again = store.fetch(shard, std::span(&seq, 1));
  EXPECT_EQ(again.body(again.rows.at(0)), chunk.body(chunk.rows[0]));
  store.remove("orders");
  EXPECT_TRUE(server().run({"XADD", log_key, "NOMKSTREAM", "*", "id", "45"}).is_nil()) << "the queue is gone";
}

}  // namespace redis_limits_test
}  // namespace ordo::store::redis
