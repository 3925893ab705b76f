// How a server is found, signed on to and judged.

#include "store/redis/connection.h"

#include <cstdlib>

#include "store/open.h"
#include "store/redis/keys.h"
#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_connection_test {

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
  const auto end = system_clock().steady() + kPatience;
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
  EXPECT_THAT(now[1].what, HasSubstr("2 s"));
  EXPECT_THAT(now[2].what, HasSubstr("of 2 MiB"));
  forgetful.run({"CONFIG", "SET", "appendfsync", "always"});
  EXPECT_THAT(RedisStore(forgetful.location()).examine()[1].what, HasSubstr("loses nothing"));
  forgetful.run({"CONFIG", "SET", "appendfsync", "no"});
  EXPECT_EQ(RedisStore(forgetful.location()).examine()[1].level, Finding::Level::warning);
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
  EXPECT_THAT(store->examine()[1].what, testing::Not(HasSubstr("appendfsync always"))) << "it may not ask";
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

}  // namespace redis_connection_test
}  // namespace ordo::store::redis
