// A program that uses every call of Server, Client, Admin and Bench from several threads at once, with code
// of its own that throws. The sanitizers look at it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <set>
#include <thread>

#include <ordo/testing.hpp>

#include "support.h"

namespace ordo::api {
namespace threads_test {

using ::testing::SizeIs;

constexpr int kRounds = 15;

/// A server whose every function throws now and then, and the jobs of "counted" that have ended well.
class Program {
 public:
  explicit Program(const std::string& store) : config(config_with(store)), server(config) {
    server.add("counted", make_worker([this](Batch& batch) {
                 for (const auto& job : batch.jobs()) counted.tell(job.id);
               }));
    server.add("failing", make_worker([this](Batch& batch) {
                 for (std::size_t i = 0; i < batch.jobs().size(); ++i) {
                   switch (++runs_ % 4) {
                     case 0:
                       batch.fail(i, "reported");
                       break;
                     case 1:
                       batch.snooze(i, 1ms);
                       break;
                     case 2:
                       batch.discard(i, "not wanted");
                       break;
                     default:
                       throw std::runtime_error("thrown");
                   }
                 }
               }));
    server.add("failing", make_worker([](Batch& batch) { Gate::wait_for(batch.stop()); }), "held");
    server.add("other", make_worker([this](Batch&) { inner_.push("counted", {.id = "inner"}); }));
    server.use([](Batch& batch, const std::function<void()>& next) {
      next();
      if (batch.queue() == "failing") throw std::runtime_error("a middleware threw");
    });
    server.subscribe({}, [this](const Event&) { now_and_then("a handler"); });
    server.subscribe({.types = {EventType::job_dead}}, [this](const Event&) { now_and_then("another"); });
    server.on_lease_renewed([this](Duration) { now_and_then("a listener"); });
    server.set_log([this](LogLevel, std::string_view) { now_and_then("a log"); });
    ServerHooks hooks;
    hooks.on_start = [] { throw std::runtime_error("on_start"); };
    hooks.on_stop = [] { throw std::runtime_error("on_stop"); };
    server.set_hooks(hooks);
  }

  static Config config_with(const std::string& store) {
    Config config = config_of(
        {{.name = "counted"},
         {.name = "failing", .shards = 2, .batch_size = 3, .max_retries = 1, .retry = retry_after(1ms)},
         {.name = "other", .threads = 2}},
        store);
    config.node.lease = 2s;
    return config;
  }

  const Config config;
  Told<> counted;

 private:
  void now_and_then(const char* who) {
    if (++calls_ % 3 == 0) throw std::runtime_error(who);
  }

  std::atomic<unsigned> runs_{0}, calls_{0};
  Client inner_{config};

 public:
  Server server;  // last: it calls the rest
};

/// Calls all of them at the same time, `kRounds` times each.
void at_once(const std::vector<std::function<void(int round)>>& calls) {
  std::vector<std::jthread> threads;
  for (const auto& call : calls) {
    threads.emplace_back([&call] {
      for (int round = 0; round < kRounds; ++round) call(round);
    });
  }
}

/// What others do to the same job or queue may come first.
template <class Call>
void may_be_refused(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::invalid_argument || error.kind() == ErrorKind::conflict)
        << error.what();
  }
}

/// A look at a queue that another thread reshards says that it is to be made again.
template <class Look>
void until_whole(const Look& look) {
  for (;;) {
    try {
      return look();
    } catch (const Error& error) {
      if (std::string_view(error.what()).find("was resharded meanwhile") == std::string_view::npos) throw;
    }
  }
}

// The first of them opens the store, which in memory is another one each time.
TEST(Threads, clients_and_admins_before_start_are_of_one_store) {
  constexpr std::size_t kThreads = 8;
  Told<> ran;
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", telling(ran));
  std::latch all_there(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        all_there.arrive_and_wait();
        if (i % 2 == 0) static_cast<void>(server.admin().stats());
        server.client().push("orders", {.id = std::to_string(i)});
      });
    }
  }
  EXPECT_THAT(server.admin().jobs("orders"), SizeIs(kThreads));
  server.start();
  EXPECT_THAT(ran.wait(kThreads), SizeIs(kThreads));
}

TEST(Threads, every_call_from_several_threads_and_what_it_calls_may_throw) {
  TemporaryStore store;
  Program program(store.url());
  auto& server = program.server;
  const auto name = [](const char* prefix, int round) { return prefix + std::to_string(round); };

  // Before and while it starts.
  at_once({[&](int round) { server.client().push("counted", {.id = name("early-", round)}); },
           [&](int) { static_cast<void>(server.admin().stats()); },
           [&](int) { static_cast<void>(server.running() || !server.node_id().empty()); },
           [&](int round) {
             if (round == kRounds / 2) server.start();
           }});
  ASSERT_TRUE(server.running());
  EXPECT_EQ(server.worker_count(), 4U);

  auto shared = server.client();
  auto admin = server.admin();
  Told<> pushed;
  shared.push("other", {});
  at_once({
      [&](int round) { shared.push("counted", {.id = name("one-", round)}); },
      [&](int round) {
        std::vector<NewJob> jobs;
        for (int i = 0; i < 10; ++i) jobs.push_back({.id = name("many-", round * 10 + i)});
        shared.push_many("counted", std::move(jobs));
      },
      [&](int round) {
        shared.push_async("counted", {{.id = name("async-", round)}}, [&](const std::exception_ptr& error) {
          pushed.tell(error ? "failed" : "stored");
          shared.push_async("other", {{}}, [](const std::exception_ptr&) {});
          throw std::runtime_error("a callback");
        });
      },
      [&](int round) {
        Client own(program.config);
        own.use([](const std::string&, std::vector<NewJob>& jobs, const std::function<void()>& next) {
          for (auto& job : jobs) job.priority = 50;
          next();
        });
        own.push("counted", {.id = name("own-", round)});
        own.push("failing", {.id = name("f", round % 5), .kind = round % 4 == 0 ? "held" : ""});
        Client moved(std::move(own));
        EXPECT_THROW(own.push("counted", {}), Error);
        own = std::move(moved);
        own.push("failing", {.id = name("f", round % 5)});
      },
      [&](int) {
        static_cast<void>(admin.stats());
        static_cast<void>(admin.queues());
        static_cast<void>(admin.nodes());
        static_cast<void>(admin.examine());
        static_cast<void>(admin.problems());
        static_cast<void>(admin.windows("failing"));
        static_cast<void>(admin.jobs("failing"));
        static_cast<void>(admin.jobs("failing", {.states = {JobStatus::dead}}));
      },
      [&](int round) {
        may_be_refused([&] { admin.cancel("failing", {.id = name("f", round % 5), .kind = "held"}); });
        may_be_refused([&] { admin.run_now("failing", {.id = name("f", round % 5), .kind = "failing"}); });
        may_be_refused([&] { admin.kill("failing", {.id = name("f", round % 5), .kind = "failing"}); });
        may_be_refused(
            [&] { admin.reschedule("failing", {.id = name("f", round % 5), .kind = "failing"}, Time{}); });
        may_be_refused([&] { admin.edit("failing", {.id = name("f", round % 5), .kind = "held"}, "other"); });
        may_be_refused([&] { admin.edit_dead("failing", {.id = name("f", round % 5)}, "other"); });
        admin.dead("failing", {}, [](const DeadView&) { return true; });
        round % 2 == 0 ? admin.retry_dead("failing", {}) : admin.delete_dead("failing", {});
      },
      [&](int) {
        admin.pause("other");
        admin.resume("other");
        EXPECT_FALSE(admin.quiet_node("nobody"));
        admin.acting_as("somebody").note({.action = "look"});
        admin.audit({}, [](const AuditEntry&) { return true; });
      },
      [&](int) {
        testing::Bench bench(config_of({{.name = "orders"}}));
        bench.add("orders", make_worker([](Batch&) {}));
        bench.push("orders", {});
        EXPECT_EQ(bench.drain(), 1U);
        const auto before = bench.now();
        bench.advance(1s);
        EXPECT_EQ(bench.now(), before + 1s);
        bench.set_inline(true);
        bench.push("orders", {});
        EXPECT_TRUE(bench.jobs("orders").empty());
        EXPECT_TRUE(bench.dead("orders").empty());
      },
  });
  EXPECT_THAT(pushed.wait(kRounds), ::testing::Each("stored"));

  // The end, from everywhere.
  std::thread waiting([&] { server.wait(); });
  std::thread draining([&] { server.drain(); });
  std::set<std::string> ran;
  const auto has_all = [&] {
    for (const auto& id : program.counted.now()) ran.insert(id);
    return ran.size() >= 14U * kRounds + 1;  // early, one, many, async, own, and those that runs push
  };
  while (!has_all()) static_cast<void>(admin.stats());
  server.quiet();
  at_once({[&](int) { server.stop_for(0s); }, [&](int) { server.stop(); },
           [&](int) { server.stop(Server::Stop::now); }, [&](int) { static_cast<void>(server.running()); },
           [&](int round) { server.client().push("counted", {.id = name("late-", round)}); }});
  waiting.join();
  draining.join();
  EXPECT_FALSE(server.running());
  EXPECT_EQ(admin.stats().total.running, 0U);
}

// -------------------------------------------------------------------------- responses, limits, schedules,
// moves

Config everything(const std::string& store) {
  QueueOptions orders{.name = "orders", .shards = 2, .limit = Decimal(3), .lock = "key"};
  QueueOptions kept{.name = "kept", .shards = 2};
  kept.unique = Unique{.by = "id", .on_conflict = OnConflict::ignore};
  auto config = config_of({orders,
                           {.name = "calls", .shards = 2},
                           {.name = "failing", .shards = 1, .max_retries = 0},
                           kept,
                           {.name = "removed", .shards = 1}},
                          store);
  config.limits = {{.name = "crm", .limit = Decimal(5)}};
  config.queues[0].limits = {"crm"};
  config.periodic = {{.name = "often", .queue = "orders", .every = 24h}};
  return config;
}

TEST(Threads, responses_limits_schedules_listings_and_moves_at_once) {
  TemporaryStore store, elsewhere;
  const auto config = everything(store.url());
  validate(config);
  Told<> ran, answered;
  Told<ResponseToken> tokens;
  Server server(config);
  server.only({"orders", "calls", "failing", "late"});
  server.add("orders", make_worker([&](Batch& batch) {
               ran.tell(batch.jobs().front().id);
               batch.limit_penalty(1us);
             }));
  server.add("calls", make_worker(
                          [&](Batch& batch) {
                            const auto& key = batch.jobs().front().id;
                            tokens.tell(batch.expect(0, key));
                            batch.report(0, Outcome::wait(key));
                          },
                          [&](Batch&, const Response& response) { answered.tell(response.key); }));
  server.add("failing", make_worker([](Batch&) { throw std::runtime_error("no"); }));
  server.add("removed", make_worker([](Batch&) {}));  // left out
  server.start();
  auto client = server.client();
  auto admin = server.admin();
  client.push("kept", {.id = "first"});
  client.push("failing", {.id = "first"});
  const auto name = [](const char* prefix, int round) { return prefix + std::to_string(round); };
  const auto visit = [](const JobView&) { return true; };

  at_once({
      [&](int round) {
        client.push_value("orders", std::string("value"), {.id = name("value-", round)});
        EXPECT_EQ(
            client.push_each("orders", {{.id = name("each-", round)}, {.id = name("other-", round)}}).size(),
            2U);
        EXPECT_EQ(client.push_once("orders", {{.id = name("once-", round)}}, {name("key-", round), "1"}).what,
                  PushedOnce::What::pushed);
        static_cast<void>(client.push_each("kept", {{.id = name("kept-", round % 3)}, {.id = "first"}}));
        client.push("failing", {.id = name("f-", round)});
      },
      [&](int round) {
        client.push("calls", {.id = name("call-", round)});
        client.respond("calls", name("call-", round), "body");
      },
      [&](int round) {
        const auto token = tokens.wait(static_cast<std::size_t>(round) + 1)[static_cast<std::size_t>(round)];
        const auto responded = client.respond(token, "by token");
        EXPECT_TRUE(responded == Responded::accepted || responded == Responded::late);
        EXPECT_EQ(client.respond(ResponseToken{"forged"}, "body"), Responded::refused);
      },
      [&](int round) {
        EXPECT_TRUE(admin.set_limit("crm", Decimal(round + 1), {}));
        static_cast<void>(admin.limits());
        admin.unset_limit("crm");
        static_cast<void>(admin.locks());
        static_cast<void>(admin.locks("orders"));
        static_cast<void>(admin.shard_stats());
        admin.waits("calls");
        admin.dead_letters("calls", [](const DeadLetter&) { return true; });
        admin.records("calls", {}, [](const RecordView&) { return true; });
        admin.forget("calls", {.id = "none"});
      },
      [&](int) {
        until_whole([&] { admin.jobs("kept", {}, visit); });
        until_whole([&] { admin.export_jobs("kept", {}, visit); });
        until_whole([&] { static_cast<void>(admin.count_jobs("kept", {})); });
        // The reshard may take the shard away that it looked at.
        may_be_refused([&] { admin.change_jobs("kept", {.states = {JobStatus::due}}, JobChange::run_now); });
        admin.dead_jobs("failing", {}, {}, visit);
        admin.count_dead("failing");
      },
      [&](int round) {
        admin.periodic();
        if (round == 0) admin.run_periodic("often");
        admin.pause_periodic("often");
        admin.resume_periodic("often");
        EXPECT_FALSE(admin.stop_node("nobody"));
        static_cast<void>(admin.sources());
        EXPECT_THROW(admin.reset_source("nobody"), Error);
        const SourceOptions nowhere{.url = "redis+unix:///nowhere/redis.sock", .queue = "orders"};
        EXPECT_THROW(static_cast<void>(admin.importable(nowhere)), Error);
        EXPECT_THROW(static_cast<void>(admin.import_jobs(nowhere)), Error);
      },
      [&](int round) {
        const auto shards = 2U + static_cast<unsigned>(round) / 8;
        if (round % 8 == 0) {
          EXPECT_EQ(admin.reshard("kept", shards + 1).from, shards);
        }
        client.push("removed", {.id = "1"});
        may_be_refused([&] { admin.remove("removed", Admin::RemoveJobs::with_jobs); });
      },
      [&](int) {
        EXPECT_TRUE(server.serves("orders"));
        EXPECT_FALSE(server.serves("removed"));
        server.add_queue({.name = "late"}, make_worker([](Batch&) {}));
        QueueChange change;
        change.serve.push_back({{.name = "late", .batch_size = 2}, {}});
        server.change_queues(std::move(change));
        EXPECT_TRUE(server.remove_queue("late"));
      },
      [&](int round) {
        if (round == 0) {
          TemporaryStore from;
          { Client(config_of({{.name = "orders"}}, from.url())).push("orders", {.id = "1"}); }
          EXPECT_TRUE(copy_store(from.url(), elsewhere.url()).verified());
        }
        const auto read = parse_config("[queue.orders]\nshards = 2\ncommand = [\"true\"]\n");
        validate(read);
        load_config({.store = "memory:"});
        auto own = config_of(read.queues);
        Server other(own);
        ConfiguredWorkers configured(other, own);
        EXPECT_EQ(other.worker_count(), 1U);
      },
  });
  EXPECT_THAT(answered.wait(kRounds), ::testing::SizeIs(kRounds));
  EXPECT_TRUE(server.drain());
  server.stop();
  auto ids = ran.now();
  std::erase_if(ids, [](const std::string& id) { return id.starts_with("often@"); });
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 4U * kRounds);
  EXPECT_EQ(admin.jobs("kept").size(), 4U);
  EXPECT_EQ(admin.count_dead("failing").jobs, kRounds + 1U);
}

}  // namespace threads_test
}  // namespace ordo::api
