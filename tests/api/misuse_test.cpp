// Calls at the wrong time or in the wrong place: an Error, and nothing has changed; never undefined
// behaviour, never a call that does not return.

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include <ordo/bench.hpp>

#include "support.h"

namespace ordo::api {
namespace misuse_test {

std::unique_ptr<Worker> idle_worker() {
  return make_worker([](Batch&) {});
}

TEST(Misuse, before_start) {
  Server server(config_of({{.name = "orders"}}));
  EXPECT_NE(refusal_of([&] { server.wait(); }).find("Server::wait() was called before start()"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { server.drain(); }).find("call start() first"), std::string::npos);
  EXPECT_NE(refusal_of([&] { server.quiet(); }).find("before start()"), std::string::npos);
  server.stop();
  EXPECT_EQ(server.node_id(), "");
  server.add("orders", idle_worker());
  server.start();
  EXPECT_NE(server.node_id(), "");
}

TEST(Misuse, twice) {
  Told<> told;
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", telling(told));
  server.start();
  EXPECT_NE(refusal_of([&] { server.start(); }).find("a Server runs once"), std::string::npos);
  server.client().push("orders", {.id = "1"});
  told.wait(1);
  server.stop();
  server.stop();
  server.stop(Server::Stop::now);
  server.wait();
  server.quiet();
  EXPECT_NE(refusal_of([&] { server.start(); }).find("a Server runs once"), std::string::npos);
}

TEST(Misuse, set_up_after_start) {
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", idle_worker());
  server.start();
  EXPECT_NE(refusal_of([&] {
              server.add("mail", idle_worker());
            }).find("Server::add(\"mail\") was called after start()"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { server.only({}); }), "(none)");
  EXPECT_NE(refusal_of([&] { server.use([](auto&, const auto& next) { next(); }); }), "(none)");
  EXPECT_NE(refusal_of([&] { server.subscribe({}, [](const Event&) {}); }), "(none)");
  EXPECT_NE(refusal_of([&] { server.set_hooks({}); }), "(none)");
  EXPECT_NE(refusal_of([&] { server.set_log({}); }), "(none)");
  EXPECT_NE(refusal_of([&] { server.on_lease_renewed([](Duration) {}); }), "(none)");
  EXPECT_EQ(server.worker_count(), 1U);
}

TEST(Misuse, a_start_that_failed_may_be_tried_again) {
  Config config = config_of({{.name = "orders", .shards = 2}});
  const TemporaryStore store;
  config.store = store.url();
  Client(config).push("orders", {.id = "1"});
  config.queues[0].shards = 3;
  Server server(config);
  server.add("orders", idle_worker());
  EXPECT_THROW(server.start(), Error);
  EXPECT_THROW(server.wait(), Error);
  EXPECT_THROW(server.start(), Error);
  server.stop();
}

TEST(Misuse, hooks_that_stop_or_start) {
  Told<> told;
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", idle_worker());
  server.set_hooks({.on_start =
                        [&] {
                          told.tell(refusal_of([&] { server.stop(); }));
                          told.tell(refusal_of([&] { server.start(); }));
                        },
                    .on_stop =
                        [&] {
                          server.stop();
                          told.tell(refusal_of([&] { server.wait(); }));
                        }});
  server.start();
  server.stop();
  const auto refusals = told.wait(3);
  for (const auto& refusal : refusals) EXPECT_NE(refusal, "(none)");
}

TEST(Misuse, threads_that_stop_and_wait_at_once) {
  for (int round = 0; round < 20; ++round) {
    Server server(config_of({{.name = "orders"}}));
    server.add("orders", idle_worker());
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { server.start(); });
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        if (server.node_id().empty()) refusal_of([&] { server.wait(); });
        server.stop(i == 0 ? Server::Stop::graceful : Server::Stop::now);
      });
    }
    threads.clear();
    server.stop();
  }
}

TEST(Misuse, a_run_that_waits_for_itself) {
  Told<> told;
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", make_worker([&](Batch&) {
               told.tell(refusal_of([&] { server.stop(); }));
               told.tell(refusal_of([&] { server.drain(); }));
               told.tell(refusal_of([&] { server.wait(); }));
             }));
  server.start();
  server.client().push("orders", {});
  for (const auto& refusal : told.wait(3)) {
    EXPECT_NE(refusal.find("by a run of this server"), std::string::npos) << refusal;
  }
  EXPECT_TRUE(server.drain());
}

TEST(Misuse, a_measurement_that_is_not_there) {
  BenchOptions options;
  options.only = {"raw", "nonsense"};
  const auto refusal = refusal_of([&] { run_bench(options, [](const BenchFigure&) { FAIL(); }); });
  for (const auto& name : bench_names()) EXPECT_NE(refusal.find(name), std::string::npos) << refusal;
}

/// On each kind of store that is here without a server.
class Callback : public ::testing::TestWithParam<bool> {
 protected:
  Config config() {
    return config_of({{.name = "orders"}, {.name = "mail"}}, GetParam() ? file_.url() : "memory:");
  }

 private:
  TemporaryStore file_;
};

TEST_P(Callback, what_would_wait_for_the_store_is_refused) {
  Told<> told;
  Server server(config());
  server.add("orders", idle_worker());
  server.start();
  auto client = server.client();
  auto admin = server.admin();
  const auto tell = [&](const auto& call) { told.tell(refusal_of(call)); };
  client.push_async("orders", {{.id = "1"}}, [&](std::exception_ptr) {
    tell([&] { client.push("orders", {}); });
    tell([&] { client.push_many("orders", {{}, {}}); });
    tell([&] { client.push_async("mail", {{}}, [](std::exception_ptr) {}); });  // it would be looked up first
    tell([&] { server.stop(); });
    tell([&] { server.stop(Server::Stop::now); });
    tell([&] { server.start(); });
    tell([&] { server.drain(); });
    tell([&] { server.wait(); });
    tell([&] { static_cast<void>(admin.stats()); });
    tell([&] { static_cast<void>(admin.jobs("orders")); });
    tell([&] { admin.cancel("orders", {.id = "1"}); });
    tell([&] { admin.retry_dead("orders", {}); });
    tell([&] { admin.pause("orders"); });
    tell([&] { admin.remove("orders"); });
    tell([&] { admin.reshard("orders", 7); });
    tell([&] { const Client other(config()); });
  });
  for (const auto& refusal : told.wait(16)) {
    EXPECT_NE(refusal.find("push_async"), std::string::npos) << refusal;
  }
  EXPECT_TRUE(server.drain());
  server.stop();
}

TEST_P(Callback, pushes_go_on_from_it) {
  Client client(config());
  std::promise<void> done;
  int left = 200;
  std::function<void(std::exception_ptr)> next = [&](std::exception_ptr error) {
    EXPECT_FALSE(error);
    if (--left == 0) return done.set_value();
    client.push_async("orders", {{.id = std::to_string(left)}}, next);
  };
  client.push_async("orders", {{}}, next);
  ASSERT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
}

INSTANTIATE_TEST_SUITE_P(Stores, Callback, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "sqlite" : "memory"; });

}  // namespace misuse_test
}  // namespace ordo::api
