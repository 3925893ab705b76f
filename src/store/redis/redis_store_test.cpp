// What the contract does not ask: a server that restarts, forgets, is full, or is the wrong one; other
// programs that push.

#include "store/redis/redis_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <set>
#include <thread>

#include <ordo/error.hpp>

#include "domain/entry.h"
#include "store/blocking.h"
#include "store/open.h"
#include "store/redis/keys.h"
#include "store/redis/test_server.h"
#include "store/test_log.h"

namespace ordo::store::redis {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

constexpr Patience kImpatient{.answer = 5s, .connect = 100ms};

std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

Texts bodies(Store& store, ShardId shard) {
  Texts texts;
  const auto chunk = read_log(store, std::span(&shard, 1));
  for (const auto& row : chunk.rows) texts.emplace_back(chunk.body(row));
  return texts;
}

Grant own(Store& store, ShardId shard, const std::string& node = "n1") {
  store.join(node, "");
  for (const auto& row : store.shards()) {
    if (row.shard != shard) continue;
    const Claim claim{.shard = shard, .seen_owner = row.owner, .seen_token = row.token};
    return store.acquire(node, 7, std::span(&claim, 1)).at(0);
  }
  throw std::runtime_error("no such shard");
}

CommitResult commit(Store& store, const Grant& grant, std::uint64_t batch, std::vector<Seq> erase = {}) {
  return commit_and_wait(
             store, {{.shard = grant.shard, .lease = grant.lease, .batch = batch, .erase = std::move(erase)}})
      .at(0);
}

class RedisStoreTest : public testing::Test {
 protected:
  void SetUp() override { server().empty(); }

  static TestServer& server() {
    static TestServer only;
    return only;
  }
};

// ---------------------------------------------------------------------------------------------- connections

TEST_F(RedisStoreTest, is_opened_by_its_url) {
  const auto port = std::to_string(server().location().port);
  const auto tcp = open("redis://127.0.0.1:" + port, system_clock());
  const auto unix_socket = open("redis+unix://" + server().by_socket().socket, system_clock());
  const ShardId shard{tcp->define("orders", 1).number, 0};
  append_and_wait(*unix_socket, {{.shard = shard, .bytes = "a"}});
  EXPECT_EQ(bodies(*tcp, shard), Texts{"a"});
  const auto elsewhere = open("redis://127.0.0.1:" + port + "/3", system_clock());
  EXPECT_TRUE(elsewhere->queues().queues.empty());
}

TEST_F(RedisStoreTest, says_that_nobody_listens) {
  EXPECT_THAT(failure_of([] { open("redis://:secret@127.0.0.1:1", system_clock()); }),
              testing::AllOf(HasSubstr("redis://127.0.0.1:1"), HasSubstr("Connection refused"),
                             testing::Not(HasSubstr("secret"))));
}

TEST_F(RedisStoreTest, a_server_that_evicts_is_refused) {
  server().run({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const auto said = failure_of([] { RedisStore store(server().location()); });
  server().run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_THAT(said, testing::AllOf(HasSubstr("allkeys-lru"), HasSubstr("noeviction")));
}

TEST_F(RedisStoreTest, a_replica_is_refused_and_its_confirmation_can_be_asked_for) {
  TestServer primary({"--repl-diskless-sync-delay", "0"});
  const auto port = std::to_string(primary.location().port);
  {
    auto location = primary.location();
    location.replicas = 1;
    RedisStore store(location, {.replicas = 20ms});
    EXPECT_THAT(failure_of([&] { store.define("orders", 1); }), HasSubstr("0 of 1 replicas"));
  }
  TestServer replica({"--replicaof", "127.0.0.1", port});
  EXPECT_THAT(failure_of([&] { RedisStore store(replica.location()); }), HasSubstr("replica"));
  const auto store = open("redis://127.0.0.1:" + port + "?wait=1", system_clock());
  const auto end = system_clock().steady() + 20s;
  while (failure_of([&] { store->define("orders", 1); }) != "nothing was thrown" &&
         system_clock().steady() < end) {
  }
  const ShardId shard{store->define("orders", 1).number, 0};
  append_and_wait(*store, {{.shard = shard, .bytes = "a"}});
  EXPECT_EQ(replica.run({"XLEN", shard_key(shard, "log")}).integer, 1) << "no later than the acknowledgement";
}

TEST(RedisServerCheck, knows_who_can_keep_jobs) {
  const std::string good =
      "# Server\r\nredis_version:6.2.0\r\nrole:master\r\nmaxmemory_policy:noeviction\r\nloading:0\r\n";
  check_server(good, "x");
  const auto with = [&](const std::string& from, const std::string& to) {
    auto info = good;
    return failure_of([&] { check_server(info.replace(info.find(from), from.size(), to), "x"); });
  };
  EXPECT_THAT(with("6.2.0", "6.0.16"), HasSubstr("6.2 or newer"));
  EXPECT_THAT(with("6.2.0", "5.9"), HasSubstr("6.2 or newer"));
  EXPECT_EQ(with("6.2.0", "10.0.1"), "nothing was thrown");
  EXPECT_THAT(with("noeviction", "allkeys-lfu"), HasSubstr("allkeys-lfu"));
  EXPECT_EQ(with("noeviction", "volatile-ttl"), "nothing was thrown")
      << "no key of the store has a time to live";
  EXPECT_THAT(with("loading:0", "loading:1"), HasSubstr("loads"));
  EXPECT_THAT(with("role:master", "role:slave"), HasSubstr("replica"));
}

TEST(RedisServerCheck, tells_the_operator_what_can_be_lost) {
  TestServer forgetful;
  const auto said = RedisStore(forgetful.location()).examine();
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[1].level, Finding::Level::bad);
  forgetful.run({"CONFIG", "SET", "appendonly", "yes"});
  forgetful.run({"CONFIG", "SET", "maxmemory", "2mb"});
  const auto now = RedisStore(forgetful.location()).examine();
  EXPECT_EQ(now[1].level, Finding::Level::good) << now[1].what;
  EXPECT_THAT(now[2].what, HasSubstr("of 2 MiB"));
}

TEST_F(RedisStoreTest, signs_on_with_user_and_password) {
  TestServer guarded({"--requirepass", "sec%ret"});
  auto location = guarded.location();
  EXPECT_THAT(failure_of([&] { RedisStore store(location); }), HasSubstr("NOAUTH"));
  location.password = "wrong";
  EXPECT_THAT(failure_of([&] { RedisStore store(location); }), HasSubstr("WRONGPASS"));
  location.password = "sec%ret";
  const auto port = std::to_string(location.port);
  EXPECT_EQ(open("redis://:sec%25ret@127.0.0.1:" + port, system_clock())->define("orders", 1).number, 1u);

  Connection root(location, 5s);
  CommandText rights;  // those that docs/redis.md names
  rights.add("ACL", "SETUSER", "ordo", "on", ">word", "~ordo:*", "+@all", "-@dangerous", "+info");
  root.ask("make a user", rights);
  const auto store = open("redis://ordo:word@127.0.0.1:" + port, system_clock());
  const ShardId shard{store->define("orders", 1).number, 0};
  append_and_wait(*store, {{.shard = shard, .bytes = "a"}, {.shard = shard, .bytes = "b"}});
  const auto grant = own(*store, shard);
  EXPECT_EQ(bodies(*store, shard), (Texts{"a", "b"}));
  EXPECT_EQ(commit(*store, grant, 1), CommitResult::applied);
  EXPECT_TRUE(store->remove("orders"));
  rights = {};
  rights.add("ACL", "SETUSER", "ordo", "-xadd");
  root.ask("take a right away", rights);
  EXPECT_THAT(failure_of([&] { store->define("orders", 1); }), HasSubstr("docs/redis.md"));
}

TEST_F(RedisStoreTest, speaks_tls_and_checks_the_certificate) {
  const auto directory = server().directory();
  const auto ca = (directory / "cert.pem").string();
  const auto key = (directory / "key.pem").string();
  const auto make =
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ordo -addext "
      "subjectAltName=IP:127.0.0.1,DNS:localhost -keyout " +
      key + " -out " + ca + " 2>/dev/null";
  ASSERT_EQ(std::system(make.c_str()), 0);
  TestServer guarded({"--port", "0", "--tls-port", "PORT", "--tls-cert-file", ca, "--tls-key-file", key,
                      "--tls-ca-cert-file", ca, "--tls-auth-clients", "no"});
  const auto port = std::to_string(guarded.location().port);
  for (const std::string host : {"127.0.0.1", "localhost"}) {
    const auto store = open("rediss://" + host + ":" + port + "?ca=" + ca, system_clock());
    const ShardId shard{store->define("orders", 1).number, 0};
    const std::string large(100'000, 'x');
    append_and_wait(*store, {{.shard = shard, .bytes = large}});
    EXPECT_EQ(bodies(*store, shard).back(), large);
  }
  EXPECT_THAT(failure_of([&] { open("rediss://127.0.0.1:" + port, system_clock()); }),
              HasSubstr("certificate"));
}

// ------------------------------------------------------------------------------------------------- restarts

TEST_F(RedisStoreTest, what_is_acknowledged_survives_a_kill_with_appendonly_always) {
  TestServer durable({"--appendonly", "yes", "--appendfsync", "always"});
  RedisStore store(durable.location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto grant = own(store, shard);
  const auto log = store.open_log();
  log->add(shard);
  std::atomic<bool> stop = false;
  Texts acknowledged;
  std::jthread producer([&] {
    for (int i = 0; !stop; ++i) {
      const auto body = std::to_string(i);
      const auto text = failure_of([&] {
        append_and_wait(store, {{.shard = shard, .bytes = body}});
        acknowledged.push_back(body);
      });
      const bool is_known = text == "nothing was thrown";
      EXPECT_TRUE(is_known || text.starts_with("cannot tell whether it is done")) << text;
    }
  });
  Texts seen;
  std::uint64_t batch = 0;
  const auto work = [&](std::size_t until) {
    std::vector<Seq> erase;
    while (seen.size() < until) {
      const auto failure = failure_of([&] {
        const auto chunk = log->read(100);
        for (const auto& row : chunk.rows) {
          seen.emplace_back(chunk.body(row));
          erase.push_back(row.seq);
        }
        log->wait(10ms);
      });
    }
    // The outcome of a commit may be unknown: the same batch is sent until it is known.
    ++batch;
    for (auto result = CommitResult::stale; result != CommitResult::applied;) {
      const auto failure = failure_of([&] { result = commit(store, grant, batch, erase); });
      if (failure == "nothing was thrown") {
        ASSERT_EQ(result, CommitResult::applied);
      }
    }
  };
  for (std::size_t round = 1; round <= 4; ++round) {
    work(seen.size() + 50);
    durable.kill();
    durable.start();
  }
  stop = true;
  producer.join();
  work(seen.size());
  const auto rest = bodies(store, shard);
  seen.insert(seen.end(), rest.begin(), rest.end());
  std::set<std::string> unique(seen.begin(), seen.end());
  for (const auto& body : acknowledged) EXPECT_TRUE(unique.contains(body)) << body;
  EXPECT_EQ(unique.size(), seen.size()) << "what was erased did not come back";
}

TEST_F(RedisStoreTest, a_batch_of_unknown_outcome_is_applied_once) {
  TestServer durable({"--appendonly", "yes", "--appendfsync", "always"});
  RedisStore store(durable.location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto grant = own(store, shard);
  for (std::uint64_t batch = 1; batch <= 20; ++batch) {
    Delta delta{.shard = shard, .lease = grant.lease, .batch = batch};
    delta.dead = {{.bytes = std::to_string(batch)}};
    // Cut while it is under way: before or behind the server's work, as it happens.
    auto cut = std::async(std::launch::async, [&] { durable.run({"CLIENT", "KILL", "TYPE", "normal"}); });
    for (bool is_known = false; !is_known;) {
      const auto failure = failure_of([&] {
        EXPECT_EQ(commit_and_wait(store, {delta}).at(0), CommitResult::applied);
        is_known = true;
      });
    }
    failure_of([&] { cut.get(); });
  }
  EXPECT_EQ(store.dead(shard.queue, 0, 100).size(), 20u);
}

TEST_F(RedisStoreTest, numbers_go_on_after_a_restart_with_an_empty_log) {
  TestServer durable({"--appendonly", "yes", "--appendfsync", "always"});
  RedisStore store(durable.location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto grant = own(store, shard);
  append_and_wait(store, {{.shard = shard, .bytes = "a"}});
  const auto before = read_log(store, std::span(&shard, 1)).rows.at(0).seq;
  ASSERT_EQ(commit(store, grant, 1, {before}), CommitResult::applied);
  durable.run({"BGREWRITEAOF"});
  const auto rewritten = [&] {
    return durable.run({"INFO", "persistence"}).text.find("aof_rewrite_in_progress:0") != std::string::npos &&
           durable.run({"INFO", "persistence"}).text.find("aof_rewrite_scheduled:0") != std::string::npos;
  };
  for (const auto end = system_clock().steady() + 10s; !rewritten() && system_clock().steady() < end;) {
  }
  durable.kill();
  durable.start();
  append_and_wait(store, {{.shard = shard, .bytes = "b"}});
  EXPECT_GT(read_log(store, std::span(&shard, 1)).rows.at(0).seq, before);
}

TEST_F(RedisStoreTest, a_reader_goes_on_where_it_stood_after_a_lost_connection) {
  RedisStore store(server().location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto log = store.open_log();
  log->add(shard);
  append_and_wait(store, {{.shard = shard, .bytes = "a"}});
  EXPECT_EQ(log->read(10).rows.size(), 1u);
  server().run({"CLIENT", "KILL", "TYPE", "normal"});
  append_and_wait(store, {{.shard = shard, .bytes = "b"}});
  LogChunk chunk;
  while (chunk.rows.empty()) failure_of([&] { chunk = log->read(10); });
  ASSERT_EQ(chunk.rows.size(), 1u);
  EXPECT_EQ(chunk.body(chunk.rows[0]), "b");
  EXPECT_TRUE(chunk.woken) << "what happened meanwhile is not known";
}

TEST_F(RedisStoreTest, an_owner_whose_server_has_lost_entries_reads_its_shard_anew) {  // stores.md §2.4
  RedisStore store(server().location());
  const ShardId shard{store.define("orders", 2).number, 0};
  const ShardId other{shard.queue, 1};
  const auto grant = own(store, shard);
  const auto kept = own(store, other);
  append_and_wait(store, {{.shard = shard, .bytes = "a"}, {.shard = other, .bytes = "b"}});
  const auto log = store.open_log();
  log->add(shard, 0, grant.lease);
  log->add(other, 0, kept.lease);
  while (!log->read(10).at_end) {
  }
  const auto key = shard_key(shard, "log");
  server().run({"DEL", key});
  server().run({"XADD", key, "5-1", "id", "1"});
  server().run({"CLIENT", "KILL", "TYPE", "normal"});
  failure_of([&] { log->read(10); });
  log->read(10);
  EXPECT_EQ(commit(store, grant, 1), CommitResult::stale);
  EXPECT_EQ(commit(store, kept, 1), CommitResult::applied);
  append_and_wait(store, {{.shard = shard, .bytes = "c"}});
  const auto heir = own(store, shard);
  EXPECT_FALSE(heir.clean);
  EXPECT_EQ(bodies(store, shard).size(), 2u) << "what came in between is there";
}

TEST_F(RedisStoreTest, an_idle_connection_that_was_closed_costs_nothing) {
  RedisStore store(server().location());
  store.define("orders", 1);
  server().run({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_EQ(store.queues().queues.size(), 1u);
}

TEST_F(RedisStoreTest, a_server_that_is_gone_is_said_in_time_and_found_again) {
  TestServer mortal;
  RedisStore store(mortal.location(), kImpatient);
  const auto log = store.open_log();
  log->read(1);
  mortal.kill();
  EXPECT_THAT(failure_of([&] { store.queues(); }), HasSubstr("Connection refused"));
  EXPECT_THAT(failure_of([&] { log->read(1); }), HasSubstr("no connection"));
  auto waits = std::async(std::launch::async, [&] { log->wait(10s); });
  store.wake();
  EXPECT_EQ(waits.wait_for(5s), std::future_status::ready);
  mortal.start();
  EXPECT_TRUE(store.queues().queues.empty());
  EXPECT_TRUE(log->read(1).woken);
}

TEST_F(RedisStoreTest, a_server_that_is_stopped_is_not_waited_for_without_end) {
  TestServer frozen;
  RedisStore store(frozen.location(), {.answer = 200ms, .connect = 100ms});
  const ShardId shard{store.define("orders", 1).number, 0};
  frozen.signal(SIGSTOP);
  EXPECT_THAT(failure_of([&] { append_and_wait(store, {{.shard = shard, .bytes = "a"}}); }),
              HasSubstr("does not answer"));
  frozen.signal(SIGCONT);
  const auto end = system_clock().steady() + 10s;
  while (failure_of([&] { store.queues(); }) != "nothing was thrown" && system_clock().steady() < end) {
  }
  EXPECT_EQ(store.queues().queues.size(), 1u);
}

TEST_F(RedisStoreTest, scripts_that_the_server_has_forgotten_are_given_again) {
  RedisStore store(server().location());
  const ShardId shard{store.define("orders", 2).number, 0};
  const auto grant = own(store, shard);
  server().run({"SCRIPT", "FLUSH"});
  append_and_wait(store, {{.shard = shard, .bytes = "a"}, {.shard = shard, .bytes = "b"}});
  server().run({"SCRIPT", "FLUSH"});
  EXPECT_EQ(commit(store, grant, 1), CommitResult::applied);
  EXPECT_EQ(bodies(store, shard), (Texts{"a", "b"}));
}

// --------------------------------------------------------------------------------------------------- limits

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
  EXPECT_TRUE(store.renew("n1"));
  store.join("n2", "");
  store.leave("n2", {});
  store.set_paused("orders", true);
  const auto rows = read_log(store, std::span(&shard, 1)).rows;
  ASSERT_EQ(rows.size(), 2u);
  Delta delta{.shard = shard, .lease = grant.lease, .batch = 1, .erase = {rows[1].seq}};
  delta.states = {{rows[0].seq, "failed once"}};
  delta.dead = {{.bytes = "dead"}};
  EXPECT_EQ(commit_and_wait(store, {delta}).at(0), CommitResult::applied);
  EXPECT_EQ(commit(store, grant, 2), CommitResult::applied) << "nothing to erase, but counts to store";
  const std::pair<ShardId, Lease> lease{shard, grant.lease};
  store.release(std::span(&lease, 1));
  EXPECT_TRUE(own(store, shard).clean);
  EXPECT_TRUE(store.remove("orders"));
}

TEST_F(RedisStoreTest, a_large_delta_is_one_step) {
  RedisStore store(server().location());
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

// ------------------------------------------------------------------------------------------ the server's
// time

TEST_F(RedisStoreTest, time_is_the_servers_and_tokens_rise_with_it) {
  RedisStore store(server().location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto before = store.now();
  append_and_wait(store, {{.shard = shard, .bytes = "a"}});
  const auto first = own(store, shard).lease.token;
  const std::string far = "9000000000000000";
  const auto after = store.now();
  const auto at = read_log(store, std::span(&shard, 1)).rows.at(0).at;
  EXPECT_GE(at, before - 5ms);
  EXPECT_LE(at, after + 5ms);
  EXPECT_GE(first, static_cast<std::uint64_t>((before - 5ms).time_since_epoch().count()));
  EXPECT_LE(first, static_cast<std::uint64_t>((after + 5ms).time_since_epoch().count()));
  store.leave("n1", {});
  server().run({"HSET", shard_key(shard, "meta"), "token", far});
  EXPECT_EQ(own(store, shard).lease.token, 9000000000000001u) << "after the clock went back";
}

// -------------------------------------------------------------------------------------------- other programs

TEST_F(RedisStoreTest, other_programs_push_with_one_xadd) {
  RedisStore store(server().location());
  const ShardId shard{store.define("orders", 1).number, 0};
  const auto log_key = shard_key(shard, "log");
  const auto log = store.open_log();
  log->add(shard);
  log->read(1);
  auto waits = std::async(std::launch::async, [&] { log->wait(10s); });
  server().run({"XADD", log_key, "NOMKSTREAM", "*", "id", "42", "payload", "{\"v\":1}"});
  ASSERT_EQ(waits.wait_for(5s), std::future_status::ready);
  server().run({"XADD", log_key, "NOMKSTREAM", "*", "id", "43", "key", "k", "kind", "mail", "score", "1.5",
                "run_at", "1700000000.25", "priority", "-3", "timeout", "2.5"});
  server().run({"XADD", log_key, "NOMKSTREAM", "*", "payload", "without a name"});
  server().run({"XADD", log_key, "NOMKSTREAM", "*", "id", "44", "colour", "red"});
  waits.get();
  const auto chunk = log->read(10);
  ASSERT_EQ(chunk.rows.size(), 4u);
  const auto entry = [&](std::size_t i) { return domain::decode_entry(chunk.body(chunk.rows[i])); };
  EXPECT_EQ(entry(0), (domain::Entry{.kind = "orders", .key = "42", .id = "42", .payload = "{\"v\":1}"}));
  EXPECT_EQ(entry(1), (domain::Entry{.kind = "mail",
                                     .key = "k",
                                     .id = "43",
                                     .score = 1.5,
                                     .run_at = Time{1'700'000'000'250'000us},
                                     .options = {.priority = -3, .timeout = 2'500ms}}));
  EXPECT_EQ(entry(2).id, id_of(chunk.rows[2].seq));
  EXPECT_EQ(entry(2).payload, "without a name");
  EXPECT_EQ(entry(3).kind, "invalid-push");
  EXPECT_THAT(std::string(entry(3).payload), HasSubstr("colour"));
  const auto seq = chunk.rows[0].seq;
  const auto again = store.fetch(shard, std::span(&seq, 1));
  EXPECT_EQ(again.body(again.rows.at(0)), chunk.body(chunk.rows[0]));
  store.remove("orders");
  EXPECT_TRUE(server().run({"XADD", log_key, "NOMKSTREAM", "*", "id", "45"}).is_nil()) << "the queue is gone";
}

}  // namespace
}  // namespace ordo::store::redis
