// What the contract does not ask of a cluster: slots that move, scripts that one server forgets, connections
// that are lost in the middle of a commit. A master that dies: redis_failover_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <future>
#include <set>
#include <thread>

#include "base/clock.h"
#include "store/limits.h"
#include "store/open.h"
#include "store/redis/keys.h"
#include "support/redis_cluster.h"
#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_cluster_test {

class RedisCluster : public testing::Test {
 protected:
  void SetUp() override { cluster().empty(); }

  static TestCluster& cluster() {
    static TestCluster only;
    return only;
  }

  /// A queue with a shard on each master, and those shards.
  static std::vector<ShardId> one_on_each(Store& store) {
    const auto queue = store.define("orders", 64);
    std::vector<ShardId> shards;
    for (std::size_t at = 0; at < TestCluster::kMasters; ++at) {
      for (std::uint32_t index = 0; index < queue.shards; ++index) {
        const ShardId shard{queue.number, index};
        if (cluster().master_of(slot_of(shard)) != at) continue;
        shards.push_back(shard);
        break;
      }
    }
    EXPECT_EQ(shards.size(), TestCluster::kMasters);
    return shards;
  }

  static Slot slot_of(ShardId shard) { return cluster_slot(shard_key(shard, "log")); }

  static int connections_of(std::size_t master) {
    const std::string name = "total_connections_received:";
    const auto told = cluster().server(master).run({"INFO", "stats"}).text;
    return std::stoi(told.substr(told.find(name) + name.size()));
  }

  static void move_on(
      ShardId shard, const std::function<void()>& between = [] {}) {
    const auto slot = slot_of(shard);
    cluster().move(slot, (cluster().master_of(slot) + 1) % TestCluster::kMasters, between);
  }
};

/// Owns a shard: reads its log, and erases what it has read.
class Owner {
 public:
  Owner(Store& store, ShardId shard) : store_(store), grant_(own(store, shard)), log_(store.open_log()) {
    log_->add(shard, 0, grant_.lease);
  }

  /// One page, and the commit for it: the same one again while its outcome is not known.
  void work(Duration at_most) {
    LogChunk chunk;
    failure_of([&] {
      chunk = log_->read(100);
      if (chunk.rows.empty()) log_->wait(at_most);
    });
    if (chunk.rows.empty()) return;
    std::vector<Seq> erase;
    for (const auto& row : chunk.rows) {
      seen.emplace_back(chunk.body(row));
      erase.push_back(row.seq);
    }
    ++batch_;
    for (bool is_known = false; !is_known;) {
      failure_of([&] {
        EXPECT_EQ(commit(store_, grant_, batch_, erase), CommitResult::applied);
        is_known = true;
      });
    }
  }

  Texts seen;

 private:
  Store& store_;
  const Grant grant_;
  const std::unique_ptr<LogReader> log_;
  std::uint64_t batch_ = 0;
};

TEST_F(RedisCluster, keys_are_in_the_slots_that_the_servers_say) {
  for (const std::string key : {"ordo:{ordo}:queues", "ordo:{1:3}:log", "a", "{}b", "{c}{d}", "x{", ""}) {
    const auto said = cluster().server(0).run({"CLUSTER", "KEYSLOT", key}).integer;
    EXPECT_EQ(cluster_slot(key), said) << key;
  }
}

TEST(RedisRedirect, is_read_as_it_is_written) {
  const Address from{"10.0.0.1", 7000};
  const auto of = [&](const std::string& text) {
    return redirect_of({.type = Reply::Type::error, .text = text}, from);
  };
  const auto moved = of("MOVED 3999 10.0.0.2:6381");
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->slot, 3999);
  EXPECT_EQ(moved->to, (Address{"10.0.0.2", 6381}));
  EXPECT_TRUE(moved->moved);
  EXPECT_FALSE(of("ASK 1 10.0.0.2:6381")->moved);
  EXPECT_EQ(of("MOVED 1 :6381")->to, (Address{"10.0.0.1", 6381})) << "a server that does not know its name";
  EXPECT_EQ(of("MOVED 1 ::1:6381")->to, (Address{"::1", 6381}));
  for (const std::string text : {"MOVED", "MOVED ", "MOVED 1", "MOVED x a:1", "MOVED 16384 a:1",
                                 "MOVED 1 a:x", "MOVED 1 a:70000", "ERR MOVED 1 a:1", "MOVED 1:2 a"}) {
    EXPECT_FALSE(of(text)) << text;
  }
}

TEST_F(RedisCluster, is_found_by_any_server_that_answers) {
  const auto port = std::to_string(cluster().server(2).location().port);
  const auto store = open("redis://127.0.0.1:1,127.0.0.1:" + port, system_clock());
  const auto shards = one_on_each(*store);
  append_and_wait(*store, {{.shard = shards[0], .bytes = "a"}, {.shard = shards[1], .bytes = "b"}});
  EXPECT_EQ(bodies(*store, shards[0]), Texts{"a"});
  EXPECT_EQ(bodies(*store, shards[1]), Texts{"b"});
  EXPECT_THAT(failure_of([&] { open("redis://127.0.0.1:" + port + "/3", system_clock()); }),
              HasSubstr("database 0"));
  TestServer single;
  const auto other = std::to_string(single.location().port);
  EXPECT_THAT(failure_of([&] { open("redis://127.0.0.1:" + other + ",127.0.0.1:1", system_clock()); }),
              HasSubstr("no cluster"));
}

TEST_F(RedisCluster, tells_the_operator_of_each_master) {
  const auto said = RedisStore(cluster().location()).examine();
  ASSERT_EQ(said.size(), 1u + 4 * TestCluster::kMasters);
  EXPECT_EQ(said[0].level, Finding::Level::good);
  EXPECT_THAT(said[0].what, HasSubstr("3 masters"));
  EXPECT_THAT(said[4].what, HasSubstr("no replica"));
  EXPECT_THAT(said.back().what, HasSubstr("127.0.0.1:"));
}

TEST_F(RedisCluster, one_reader_hears_of_the_shards_of_all_masters) {
  RedisStore store(cluster().location());
  RedisStore other(cluster().location());
  const auto shards = one_on_each(store);
  const auto log = store.open_log();
  for (const auto shard : shards) log->add(shard);
  while (!log->read(10).at_end) {
  }
  for (int round = 0; round < 20; ++round) {
    const auto shard = shards[static_cast<std::size_t>(round) % shards.size()];
    auto push =
        std::async(std::launch::async, [&] { append_and_wait(other, {{.shard = shard, .bytes = "a"}}); });
    LogChunk chunk;
    while (chunk.rows.empty()) {
      log->wait(10s);
      chunk = log->read(10);
    }
    EXPECT_EQ(chunk.rows.at(0).shard, shard);
    push.get();
  }
}

TEST_F(RedisCluster, a_silent_master_of_many_shards_does_not_keep_a_reader_from_the_others) {
  constexpr Duration kAnswer = 500ms;
  RedisStore store(cluster().location(), {.answer = kAnswer});
  const auto queue = store.define("orders", 64);
  const auto log = store.open_log();
  std::vector<ShardId> elsewhere;
  constexpr std::size_t kSilent = 2;
  for (std::uint32_t index = 0; index < queue.shards; ++index) {
    const ShardId shard{queue.number, index};
    log->add(shard);
    if (cluster().master_of(cluster_slot(shard_key(shard, "log"))) != kSilent) elsewhere.push_back(shard);
  }
  while (!log->read(10).at_end) {
  }
  const auto pid = cluster().server(kSilent).pid();
  const auto before = connections_of(kSilent);
  ::kill(pid, SIGSTOP);
  const auto began = system_clock().steady();
  for (int i = 0; i < 5; ++i) {
    append_and_wait(store, {{.shard = elsewhere[0], .bytes = "a"}});
    std::size_t rows = 0;
    while (rows == 0) {
      failure_of([&] { rows = log->read(10).rows.size(); });
      if (rows == 0) log->wait(100ms);
    }
  }
  // Not one attempt to reach it for each of its 20 shards, twice a read: they take a quarter of the time at
  // most. However long that was.
  const auto most = (system_clock().steady() - began) / (4 * kAnswer);
  ::kill(pid, SIGCONT);
  EXPECT_LE(connections_of(kSilent) - before, most + 3) << "and the first ones, and that of the test";
}

TEST_F(RedisCluster, a_closed_log_is_not_at_its_end_while_the_wake_stream_cannot_be_read) {
  RedisStore store(cluster().location(), {.answer = 500ms});
  const auto registry = cluster().master_of(cluster_slot(kWakeKey));
  const auto elsewhere = [&](const std::string& name) {
    const auto queue = store.define(name, 64);
    ShardId shard{queue.number, 0};
    while (cluster().master_of(cluster_slot(shard_key(shard, "log"))) == registry) ++shard.index;
    return shard;
  };
  const auto closed = elsewhere("closed"), beside = elsewhere("beside");
  const auto log = store.open_log();
  for (const auto shard : {closed, beside}) log->add(shard);
  while (!log->read(10).at_end) {
  }
  append_and_wait(store, {{.shard = closed, .bytes = "a"}});
  append_and_wait(store, {{.shard = beside, .bytes = "x"}});
  store.close("closed");
  cluster().server(registry).signal(SIGSTOP);
  LogChunk chunk;
  while (chunk.rows.empty()) failure_of([&] { chunk = log->read(10); });
  EXPECT_EQ(chunk.rows.at(0).shard, beside);
  EXPECT_FALSE(chunk.at_end);
  cluster().server(registry).signal(SIGCONT);
  chunk = {};
  while (chunk.rows.empty()) failure_of([&] { chunk = log->read(10); });
  EXPECT_EQ(chunk.rows.at(0).shard, closed);
}

TEST_F(RedisCluster, a_slot_that_moves_under_load_loses_doubles_and_reorders_nothing) {
  RedisStore store(cluster().location(), {.answer = kPatience, .connect = kPatience});
  const auto shard = one_on_each(store)[0];
  Owner owner(store, shard);
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> pushed = 0;
  std::atomic<std::size_t> refused = 0;
  std::jthread producer([&] {
    while (!stop) {
      // Some at once, without waiting for each.
      std::vector<std::future<void>> all;
      for (int i = 0; i < 8; ++i) {
        auto done = std::make_shared<std::promise<void>>();
        all.push_back(done->get_future());
        std::vector<NewEntry> entries(i % 3 == 2 ? 2 : 1);
        for (auto& entry : entries) entry = {.shard = shard, .bytes = std::to_string(pushed++)};
        store.append(std::move(entries), [done, &refused](std::exception_ptr error) {
          if (error != nullptr) ++refused;
          done->set_value();
        });
      }
      for (auto& one : all) one.get();
    }
  });
  std::jthread mover([&] {
    for (int i = 0; i < 6; ++i) {
      const auto before = pushed.load();
      move_on(shard, [&] {
        while (pushed < before + 30) std::this_thread::yield();
      });
    }
    stop = true;
  });
  while (!stop) owner.work(10ms);
  producer.join();
  const auto want = pushed.load();
  EXPECT_EQ(refused, 0u);
  for (const auto end = system_clock().steady() + 30s;
       owner.seen.size() < want && system_clock().steady() < end;)
    owner.work(10ms);
  ASSERT_EQ(owner.seen.size(), want);
  for (std::size_t i = 0; i < want; ++i) ASSERT_EQ(owner.seen[i], std::to_string(i));
  EXPECT_TRUE(bodies(store, shard).empty()) << "what was erased did not come back";
}

TEST_F(RedisCluster, while_a_slot_moves_commits_wait_and_pushes_and_reads_go_on) {
  RedisStore store(cluster().location(), {.connect = 60s});
  const auto shard = one_on_each(store)[1];
  const auto grant = own(store, shard);
  const auto log = store.open_log();
  log->add(shard);
  log->read(10);
  std::future<CommitResult> committed;
  move_on(shard, [&] {
    append_and_wait(store, {{.shard = shard, .bytes = "a"}});
    append_and_wait(store, {{.shard = shard, .bytes = "b"}, {.shard = shard, .bytes = "c"}});
    EXPECT_EQ(log->read(10).rows.size(), 3u);
    // Not all of its keys are there: the servers cannot know whether they have moved.
    committed = std::async(std::launch::async, [&] { return commit(store, grant, 1); });
  });
  EXPECT_EQ(committed.get(), CommitResult::applied);
  EXPECT_EQ(commit(store, grant, 2), CommitResult::applied);
  for (int i = 0; i < 2; ++i) move_on(shard);  // back to where the other tests expect one
  EXPECT_EQ(bodies(store, shard), (Texts{"a", "b", "c"}));
}

TEST_F(RedisCluster, the_registry_may_move) {
  RedisStore store(cluster().location(), {.connect = 60s});
  const auto shard = one_on_each(store)[0];
  const auto grant = own(store, shard);
  const auto log = store.open_log();
  log->read(1);
  const auto slot = cluster_slot(kNodesKey);
  std::future<bool> renewed;
  cluster().move(slot, (cluster().master_of(slot) + 1) % TestCluster::kMasters, [&] {
    renewed = std::async(std::launch::async, [&] { return store.renew("n1", std::chrono::seconds{5}); });
  });
  EXPECT_TRUE(renewed.get());
  EXPECT_TRUE(store.set_paused("orders", true));
  EXPECT_TRUE(log->read(1).woken);
  EXPECT_EQ(store.queues().queues.size(), 1u);
  EXPECT_EQ(commit(store, grant, 1), CommitResult::applied);
}

TEST_F(RedisCluster, one_master_that_forgets_its_scripts_is_given_them_again) {
  RedisStore store(cluster().location());
  const auto shards = one_on_each(store);
  std::vector<Grant> grants;
  for (const auto shard : shards) grants.push_back(own(store, shard));
  cluster().server(1).run({"SCRIPT", "FLUSH"});
  std::vector<NewEntry> entries;
  std::vector<Delta> deltas;
  for (const auto& grant : grants) {
    entries.insert(entries.end(), 2, {.shard = grant.shard, .bytes = "a"});
    deltas.push_back({.shard = grant.shard, .lease = grant.lease, .batch = 1});
  }
  append_and_wait(store, entries);
  cluster().server(1).run({"SCRIPT", "FLUSH"});
  const auto results = commit_and_wait(store, deltas);
  EXPECT_EQ(results, std::vector<CommitResult>(3, CommitResult::applied));
  for (const auto shard : shards) EXPECT_EQ(bodies(store, shard), (Texts{"a", "a"}));
}

TEST_F(RedisCluster, a_commit_on_three_masters_of_which_one_is_cut_off_counts_once) {
  RedisStore store(cluster().location());
  const auto shards = one_on_each(store);
  std::vector<Grant> grants;
  for (const auto shard : shards) grants.push_back(own(store, shard));
  for (std::uint64_t batch = 1; batch <= 20; ++batch) {
    std::vector<Delta> deltas;
    for (const auto& grant : grants) {
      deltas.push_back({.shard = grant.shard, .lease = grant.lease, .batch = batch});
      deltas.back().dead = {{.bytes = std::to_string(batch)}};
    }
    auto& cut_off = cluster().server(batch % TestCluster::kMasters);
    auto cut = std::async(std::launch::async, [&] { cut_off.run({"CLIENT", "KILL", "TYPE", "normal"}); });
    for (bool is_known = false; !is_known;) {
      failure_of([&] {
        EXPECT_EQ(commit_and_wait(store, deltas), std::vector<CommitResult>(3, CommitResult::applied));
        is_known = true;
      });
    }
    failure_of([&] { cut.get(); });
  }
  EXPECT_EQ(store.dead(shards[0].queue, 0, 1000).size(), 60u);
}

TEST_F(RedisCluster, an_append_that_is_refused_by_half_says_which_shards_took_their_part) {
  RedisStore store(cluster().location());
  const auto shards = one_on_each(store);
  cluster().server(1).run({"DEL", shard_key(shards[1], "log")});
  std::vector<NewEntry> entries(6);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = {.shard = shards[i % 3], .bytes = "a"};
  std::vector<ShardId> taken;
  try {
    append_and_wait(store, entries);
  } catch (const PartlyRefused& error) {
    taken = error.taken();
  }
  EXPECT_THAT(taken, testing::UnorderedElementsAre(shards[0], shards[2]));
  EXPECT_EQ(bodies(store, shards[2]), (Texts{"a", "a"}));
}

TEST_F(RedisCluster, signals_do_not_end_a_wait_for_several_masters) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, &before);
  RedisStore store(cluster().location());  // its thread takes the signal, and the others do not
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  const auto shards = one_on_each(store);
  {
    const std::jthread sender([](const std::stop_token& stop) {
      while (!stop.stop_requested()) ::kill(::getpid(), SIGUSR1), std::this_thread::yield();
    });
    std::vector<NewEntry> entries;
    for (const auto shard : shards) entries.push_back({.shard = shard, .bytes = "a"});
    for (int i = 0; i < 2000; ++i) append_and_wait(store, entries);
  }
  EXPECT_EQ(bodies(store, shards[0]).size(), 2000u);
  ::pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(RedisCluster, a_payload_can_be_revived_into_a_shard_on_another_master) {
  RedisStore store(cluster().location());
  const auto shards = one_on_each(store);
  const auto grant = own(store, shards[0]);
  Delta delta{.shard = shards[0], .lease = grant.lease, .batch = 1};
  delta.dead = {{.bytes = "x"}, {.bytes = "y"}};
  ASSERT_EQ(commit_and_wait(store, {delta}).at(0), CommitResult::applied);
  std::vector<std::uint64_t> nos;
  for (const auto& row : store.dead(shards[0].queue, 0, 10)) nos.push_back(row.no);
  nos.push_back(nos.back() + 100'000);  // of no payload
  const std::vector<NewEntry> entries = {{.shard = shards[0], .bytes = "a"},
                                         {.shard = shards[1], .bytes = "b"},
                                         {.shard = shards[1], .bytes = "c"}};
  EXPECT_EQ(store.revive(shards[0].queue, nos, entries), 2u);
  EXPECT_EQ(bodies(store, shards[0]), Texts{"a"});
  EXPECT_EQ(bodies(store, shards[1]), Texts{"b"});
  EXPECT_TRUE(store.dead(shards[0].queue, 0, 10).empty());
  EXPECT_EQ(store.revive(shards[0].queue, nos, entries), 0u) << "once";
}

TEST_F(RedisCluster, a_queue_that_was_removed_by_half_can_be_removed_again) {
  RedisStore store(cluster().location());
  const auto shards = one_on_each(store);
  // As a crash between the two steps leaves it: shards are gone, the name is there.
  for (const auto* part : {"log", "meta"}) {
    cluster().server(0).run({"DEL", shard_key(shards[0], part)});
  }
  EXPECT_EQ(store.shards().size(), 63u);
  EXPECT_THAT(failure_of([&] { append_and_wait(store, {{.shard = shards[0], .bytes = "a"}}); }),
              testing::Ne("nothing was thrown"));
  EXPECT_TRUE(store.remove("orders"));
  EXPECT_TRUE(store.queues().queues.empty());
  EXPECT_TRUE(store.shards().empty());
  EXPECT_FALSE(store.remove("orders"));
}

TEST_F(RedisCluster, an_owner_whose_master_has_lost_entries_reads_its_shard_anew) {  // stores.md §2.4
  RedisStore store(cluster().location());
  const auto shards = one_on_each(store);
  const auto grant = own(store, shards[0]), kept = own(store, shards[1]);
  const auto log = store.open_log();
  for (const auto& one : {grant, kept}) log->add(one.shard, 0, one.lease);
  append_and_wait(store, {{.shard = shards[0], .bytes = "a"}, {.shard = shards[1], .bytes = "b"}});
  for (std::size_t rows = 0; rows < 2;) rows += log->read(10).rows.size();
  auto& master = cluster().server(0);
  const auto key = shard_key(shards[0], "log");
  master.run({"DEL", key});
  master.run({"XADD", key, "5-1", "id", "1"});
  master.run({"CLIENT", "KILL", "TYPE", "normal"});
  while (failure_of([&] { log->read(10); }) != "nothing was thrown") {
  }
  EXPECT_EQ(commit(store, grant, 1), CommitResult::stale);
  EXPECT_EQ(commit(store, kept, 1), CommitResult::applied);
  EXPECT_FALSE(own(store, shards[0]).clean);
}

TEST_F(RedisCluster, a_master_that_throws_jobs_away_gets_none) {
  RedisStore store(cluster().server(0).location());
  const auto shards = one_on_each(store);
  cluster().server(1).run({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  std::vector<std::string> said;
  for (const auto shard : shards)
    said.push_back(failure_of([&] { append_and_wait(store, {{.shard = shard, .bytes = "a"}}); }));
  cluster().server(1).run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_EQ(said.at(0), "nothing was thrown");
  EXPECT_THAT(said.at(1), testing::AllOf(HasSubstr("allkeys-lru"),
                                         HasSubstr(std::to_string(cluster().server(1).location().port))));
  EXPECT_EQ(said.at(2), "nothing was thrown");
  append_and_wait(store, {{.shard = shards.at(1), .bytes = "b"}});
}

}  // namespace redis_cluster_test
}  // namespace ordo::store::redis
