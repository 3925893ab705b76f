// A program that uses every call of Server, Client, Admin and Bench from several threads at once, with code
// of its own that throws. The sanitizers look at it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include <ordo/testing.hpp>

#include "support.h"

namespace ordo::api {
namespace {

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
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << error.what();
  }
}

TEST(Threads, every_call_from_several_threads_and_what_it_calls_may_throw) {
  TemporaryStore store;
  Program program(store.url());
  auto& server = program.server;
  const auto name = [](const char* prefix, int round) { return prefix + std::to_string(round); };

  // Before and while it starts.
  at_once({[&](int round) { server.client().push("counted", {.id = name("early-", round)}); },
           [&](int) { server.admin().stats(); },
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
        admin.stats();
        admin.queues();
        admin.nodes();
        admin.examine();
        admin.jobs("failing");
        admin.jobs("failing", {.states = {JobStatus::dead}});
      },
      [&](int round) {
        may_be_refused([&] { admin.cancel("failing", {.id = name("f", round % 5), .kind = "held"}); });
        may_be_refused([&] { admin.run_now("failing", {.id = name("f", round % 5), .kind = "failing"}); });
        admin.dead("failing", {}, [](const DeadView&) { return true; });
        round % 2 == 0 ? admin.retry_dead("failing", {}) : admin.delete_dead("failing", {});
      },
      [&](int) {
        admin.pause("other");
        admin.resume("other");
        EXPECT_FALSE(admin.quiet_node("nobody"));
      },
      [&](int) {
        testing::Bench bench(config_of({{.name = "orders"}}));
        bench.add("orders", make_worker([](Batch&) {}));
        bench.push("orders", {});
        EXPECT_EQ(bench.drain(), 1U);
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
  while (!has_all()) admin.stats();
  server.quiet();
  at_once({[&](int) { server.stop_for(0s); }, [&](int) { server.stop(); },
           [&](int) { server.stop(Server::Stop::now); }, [&](int) { static_cast<void>(server.running()); },
           [&](int round) { server.client().push("counted", {.id = name("late-", round)}); }});
  waiting.join();
  draining.join();
  EXPECT_FALSE(server.running());
  EXPECT_EQ(admin.stats().total.running, 0U);
}

}  // namespace
}  // namespace ordo::api
