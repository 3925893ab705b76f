// Servers that restart, forget, freeze or are gone, and connections that are lost.

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "store/redis/keys.h"
#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_restart_test {

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
  for (const auto end = system_clock().steady() + kPatience; !rewritten() && system_clock().steady() < end;) {
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

TEST_F(RedisStoreTest, a_setback_is_noted_for_who_starts_later) {
  TestServer durable({"--appendonly", "yes", "--appendfsync", "always"});
  RedisStore before(durable.location());
  EXPECT_EQ(before.setback_age(false), std::nullopt);
  durable.kill();
  durable.start();
  Duration noted_for{};
  for (int i = 0; i < 3; ++i) {
    RedisStore starter(durable.location());
    const auto age = starter.setback_age(false);
    ASSERT_TRUE(age);
    EXPECT_EQ(starter.setbacks(), 0u) << "it has seen none";
    EXPECT_TRUE(i == 0 || *age > noted_for) << "it is noted once";
    noted_for = *age;
  }
}

TEST_F(RedisStoreTest, a_setback_that_somebody_has_seen_is_noted_whatever_the_server_calls_itself) {
  RedisStore store(server().location());
  EXPECT_EQ(store.setback_age(false), std::nullopt);
  EXPECT_TRUE(store.setback_age(true));
  EXPECT_TRUE(RedisStore(server().location()).setback_age(false));
}

TEST_F(RedisStoreTest, a_first_replica_is_no_setback) {
  TestServer alone;
  RedisStore before(alone.location());
  EXPECT_EQ(before.setback_age(false), std::nullopt);
  const auto history = [&] {
    const auto info = alone.run({"INFO", "replication"}).text;
    return info.substr(info.find("master_replid:"), 60);
  };
  const auto without = history();
  const TestServer replica({"--replicaof", "127.0.0.1 " + std::to_string(alone.location().port)});
  for (const auto end = system_clock().steady() + kPatience; history() == without;)
    ASSERT_LT(system_clock().steady(), end);
  alone.run({"CLIENT", "KILL", "TYPE", "normal"});
  failure_of([&] { before.queues(); });
  before.queues();
  EXPECT_EQ(before.setbacks(), 0u);
  RedisStore starter(alone.location());
  EXPECT_EQ(starter.setback_age(false), std::nullopt);
}

TEST_F(RedisStoreTest, what_stands_in_the_place_of_the_histories_holds_nobody_up) {
  RedisStore store(server().location());
  const std::string key(kHistoriesKey);
  for (const auto& value : {"x", "", " ", "-1", "-1e30", "-1e19", "nan", "1e999", "99999999999999999"}) {
    server().run({"DEL", key});
    server().run({"HSET", key, "setback", value, "", value});
    EXPECT_EQ(failure_of([&] { EXPECT_LT(store.setback_age(false).value_or(0s), 1s) << value; }),
              "nothing was thrown")
        << value;
  }
  server().run({"DEL", key});
  server().run({"SET", key, "x"});
  EXPECT_EQ(store.setback_age(false), std::nullopt);
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
  auto waits = std::async(std::launch::async, [&] { log->wait(kUnlessWoken); });
  store.wake();
  EXPECT_EQ(waits.wait_for(kPatience), std::future_status::ready);
  mortal.start();
  EXPECT_TRUE(store.queues().queues.empty());
  EXPECT_TRUE(log->read(1).woken);
}

TEST_F(RedisStoreTest, a_server_that_becomes_a_cluster_is_said) {
  TestServer changed;
  RedisStore store(changed.location(), kImpatient);
  const auto log = store.open_log();
  log->read(1);
  changed.kill();
  changed.start_with({"--cluster-enabled", "yes", "--cluster-port", "BUS"});
  EXPECT_THAT(failure_of([&] { store.queues(); }), HasSubstr("has become a cluster; start again"));
  EXPECT_THAT(failure_of([&] { log->read(1); }), HasSubstr("has become a cluster; start again"));
}

TEST_F(RedisStoreTest, a_single_server_is_the_only_one_whatever_it_says_of_slots) {
  SlotMap slots(server().location(), 5s);
  slots.moved(16383, {"elsewhere", 1});
  EXPECT_EQ(slots.server_of(0), server().location().address());
}

TEST_F(RedisStoreTest, a_server_that_is_stopped_is_not_waited_for_without_end) {
  TestServer frozen;
  RedisStore store(frozen.location(), {.answer = 1s, .connect = 100ms});
  const ShardId shard{store.define("orders", 1).number, 0};
  frozen.signal(SIGSTOP);
  EXPECT_THAT(failure_of([&] { append_and_wait(store, {{.shard = shard, .bytes = "a"}}); }),
              HasSubstr("does not answer"));
  frozen.signal(SIGCONT);
  const auto end = system_clock().steady() + kPatience;
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

}  // namespace redis_restart_test
}  // namespace ordo::store::redis
