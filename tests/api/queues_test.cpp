// Queues that a program adds, changes and removes while its server runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <fstream>
#include <optional>
#include <thread>

#include "support.h"

namespace ordo::api {
namespace queues_test {

using ::testing::Contains;
using ::testing::HasSubstr;

/// A worker that tells of its end.
class Mortal final : public Worker {
 public:
  explicit Mortal(std::function<void(Batch&)> perform, std::atomic<int>& alive)
      : perform_(std::move(perform)), alive_(alive) {
    ++alive_;
  }
  ~Mortal() override { --alive_; }
  void perform(Batch& batch) override { perform_(batch); }

 private:
  std::function<void(Batch&)> perform_;
  std::atomic<int>& alive_;
};

std::function<void(Batch&)> tell_ids(Told<>& told) {
  return [&told](Batch& batch) {
    for (const auto& job : batch.jobs()) told.tell(job.id);
  };
}

TEST(Queues, are_added_while_the_server_runs) {
  Told<> told;
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", telling(told));
  server.start();
  server.add_queue({.name = "mail", .shards = 3, .threads = 2}, telling(told));
  EXPECT_TRUE(server.serves("mail"));
  EXPECT_EQ(server.worker_count(), 2U);
  server.client().push("mail", {.id = "1"});
  EXPECT_THAT(told.wait(1), Contains("1"));
  server.client().push("orders", {.id = "2"});
  EXPECT_THAT(told.wait(2), Contains("2"));
  EXPECT_TRUE(server.drain());
  until([&] {
    const auto nodes = server.admin().nodes();
    return nodes.size() == 1 && nodes[0].queues == std::vector<std::string>{"mail", "orders"} &&
           nodes[0].threads == 7;
  });
}

TEST(Queues, are_added_before_the_server_starts) {
  Told<> told;
  Server server(config_of({}));
  KindWorkers workers;
  workers.emplace("", telling(told));
  workers.emplace("refund", telling(told));
  server.add_queue({.name = "orders"}, std::move(workers));
  server.add("mail", telling(told));
  server.start();
  server.client().push("orders", {.id = "1"});
  server.client().push("orders", {.id = "2", .kind = "refund"});
  server.client().push("mail", {.id = "3"});
  told.wait(3);
}

TEST(Queues, that_are_removed_end_their_running_jobs_first) {
  Told<> told;
  Gate gate;
  std::atomic<int> alive{0};
  Server server(config_of({{.name = "orders"}, {.name = "mail", .threads = 1}}));
  server.add("orders", telling(told));
  server.add("mail", std::make_unique<Mortal>(
                         [&](Batch& batch) {
                           told.tell(batch.jobs()[0].id);
                           gate.pass();
                         },
                         alive));
  server.start();
  server.client().push("mail", {.id = "1"});
  told.wait(1);
  server.client().push("mail", {.id = "2"});
  std::atomic<bool> is_removed{false};
  std::jthread remover([&] {
    EXPECT_TRUE(server.remove_queue("mail"));
    is_removed = true;
  });
  until([&] { return !server.serves("mail"); });
  EXPECT_FALSE(is_removed) << "its job runs still";
  server.client().push("orders", {.id = "3"});
  told.wait(2);
  gate.open();
  remover.join();
  EXPECT_EQ(alive, 0) << "its worker is destroyed";
  EXPECT_EQ(server.admin().jobs("mail", {}).size(), 1U) << "the other one stays in the store";
  EXPECT_FALSE(server.remove_queue("mail"));
  EXPECT_EQ(told.now(), (std::vector<std::string>{"1", "3"}));
}

TEST(Queues, that_were_removed_are_added_again) {
  Told<> told;
  std::atomic<int> alive{0};
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", telling(told));
  server.start();
  for (int round = 0; round < 5; ++round) {
    QueueOptions mail{.name = "mail"};
    if (round % 2 == 1) mail.threads = 2;
    server.add_queue(std::move(mail), std::make_unique<Mortal>(tell_ids(told), alive));
    server.client().push("mail", {.id = std::to_string(round)});
    told.wait(static_cast<std::size_t>(round) + 1);
    EXPECT_TRUE(server.remove_queue("mail"));
    EXPECT_EQ(alive, 0);
  }
}

TEST(Queues, are_refused_without_a_change) {
  Told<> told;
  const TemporaryStore store;
  Server server(config_of({{.name = "orders"}}, store.url()));
  server.add("orders", telling(told));
  EXPECT_FALSE(server.remove_queue("mail"));
  server.start();
  Client(config_of({{.name = "other", .shards = 3}}, store.url())).push("other", {.id = "1"});
  const auto refusal = [&](QueueOptions options) {
    return refusal_of([&] { server.add_queue(std::move(options), telling(told)); });
  };
  EXPECT_THAT(refusal({.name = "orders"}), HasSubstr("is served already"));
  EXPECT_THAT(refusal({.name = "Mail"}), HasSubstr("Mail"));
  EXPECT_NE(refusal({.name = "mail", .batch_size = 0}), "(none)");
  EXPECT_THAT(refusal({.name = "other", .shards = 4}), HasSubstr("3 shards in the store"));
  EXPECT_NE(refusal_of([&] { server.add_queue({.name = "mail"}, nullptr); }), "(none)");
  EXPECT_NE(refusal_of([&] { server.add_queue({.name = "mail"}, KindWorkers{}); }), "(none)");
  EXPECT_FALSE(server.serves("mail"));
  EXPECT_FALSE(server.serves("other"));
  EXPECT_EQ(server.worker_count(), 1U);

  // One of several: none of them is changed.
  QueueChange change;
  change.serve.push_back({{.name = "mail"}, {}});
  change.serve.back().workers.emplace("", telling(told));
  change.serve.push_back({{.name = "other", .shards = 4}, {}});
  change.serve.back().workers.emplace("", telling(told));
  change.remove.emplace_back("orders");
  EXPECT_NE(refusal_of([&] { server.change_queues(std::move(change)); }), "(none)");
  EXPECT_FALSE(server.serves("mail"));
  EXPECT_TRUE(server.serves("orders"));
  server.client().push("orders", {.id = "1"});
  told.wait(1);
  server.stop();
  EXPECT_NE(refusal({.name = "mail"}), "(none)") << "it has stopped";
}

TEST(Queues, have_other_rules_while_their_jobs_run) {
  Told<> told;
  Gate gate;
  Server server(config_of({{.name = "orders", .max_retries = 0}}));
  server.add("orders", make_worker([&](Batch& batch) {
               told.tell(batch.jobs()[0].id);
               if (batch.jobs()[0].id == "held") return gate.pass();
               throw std::runtime_error("no");
             }));
  server.start();
  server.client().push("orders", {.id = "held"});
  told.wait(1);
  QueueChange change;
  change.serve.push_back({{.name = "orders", .max_retries = 1, .retry = retry_after(0s)}, {}});
  server.change_queues(std::move(change));
  server.client().push("orders", {.id = "1"});
  told.wait(3);  // it is retried: by the rules before it would have died
  gate.open();
  EXPECT_TRUE(server.drain());
  EXPECT_EQ(told.now(), (std::vector<std::string>{"held", "1", "1"})) << "each once, but for the retry";
  EXPECT_EQ(server.admin().stats().by_queue.at(0).second.processed, 1U);
}

TEST(Queues, may_be_changed_by_a_run_but_not_removed) {
  Told<> told;
  Server* self = nullptr;
  Server server(config_of({{.name = "orders"}}));
  self = &server;
  server.add("orders", make_worker([&](Batch&) {
               told.tell(refusal_of([&] { self->remove_queue("orders"); }));
               told.tell(refusal_of([&] { self->add_queue({.name = "mail"}, telling(told)); }));
             }));
  server.start();
  server.client().push("orders", {.id = "1"});
  const auto refusals = told.wait(2);
  EXPECT_THAT(refusals[0], HasSubstr("by a run of this server"));
  EXPECT_EQ(refusals[1], "(none)");
  server.client().push("mail", {.id = "2"});
  EXPECT_THAT(told.wait(3), Contains("2"));
}

TEST(Queues, are_added_and_removed_by_many_threads_at_once) {
  constexpr int kThreads = 4, kRounds = 6;
  Told<> told;
  std::atomic<int> added{0};
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", telling(told));
  server.start();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const std::string own = "own" + std::to_string(i);
        for (int round = 0; round < kRounds; ++round) {
          server.add_queue({.name = own, .shards = 2}, telling(told));
          server.client().push(own, {.id = own + "-" + std::to_string(round)});
          try {
            server.add_queue({.name = "shared"}, telling(told));
            ++added;
          } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
          }
          if (round % 2 == 0) {
            QueueChange change;
            change.serve.push_back({{.name = own, .shards = 2, .batch_size = 2}, {}});
            server.change_queues(std::move(change));
          }
          server.remove_queue("shared");
          if (round + 1 < kRounds) {
            EXPECT_TRUE(server.remove_queue(own));
          }
        }
      });
    }
  }
  EXPECT_GE(added, 1);
  EXPECT_TRUE(server.drain());
  const auto ids = told.now();
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kThreads * kRounds));
}

/// Calls of the system with which this process has written so far; nothing where it does not say so.
std::optional<std::uint64_t> writes_so_far() {
  std::ifstream told("/proc/self/io");
  std::string name;
  std::uint64_t count = 0;
  while (told >> name >> count) {
    if (name == "syscw:") return count;
  }
  return std::nullopt;
}

// Processor time and writes, so that it does not matter what else the machine does.
TEST(Queues, ten_thousand_start_in_no_more_time_each_and_are_written_together) {
  struct Cost {
    double time = 0;
    std::optional<std::uint64_t> writes{};
  };
  const auto cost = [](std::size_t count) {
    const TemporaryStore store;
    std::vector<QueueOptions> queues;
    for (std::size_t i = 0; i < count; ++i) queues.push_back({.name = "q" + std::to_string(i), .shards = 1});
    const auto config = config_of(queues, store.url());
    Told<> told;
    const auto writes = writes_so_far();
    const auto start = std::clock();
    Server server(config);
    for (const auto& queue : queues) server.add(queue.name, telling(told));
    server.start();
    server.client().push("q0", {.id = "first"});
    server.client().push(queues.back().name, {.id = "last"});
    told.wait(2);
    Cost spent{static_cast<double>(std::clock() - start)};
    if (writes) spent.writes = *writes_so_far() - *writes;
    server.stop();
    return spent;
  };
  const auto few = cost(1'000), many = cost(10'000);
  EXPECT_LT(many.time, 40 * few.time);
  if (many.writes) {
    EXPECT_LT(*many.writes, 10'000U) << "each queue is written by itself";
  }
}

TEST(Queues, are_added_while_the_server_stops) {
  for (int round = 0; round < 10; ++round) {
    Told<> told;
    std::atomic<int> added{0};
    Server server(config_of({{.name = "orders"}}));
    server.add("orders", telling(told));
    server.start();
    std::jthread other([&] {
      try {
        for (int i = 0; i < 100; ++i) {
          server.add_queue({.name = "q" + std::to_string(i)}, telling(told));
          ++added;
          server.remove_queue("q" + std::to_string(i));
        }
      } catch (const Error&) {
        // It has stopped.
      }
    });
    until([&] { return added > 0 || round % 2 == 0; });
    server.stop(Server::Stop::now);
  }
}

// The other node goes on with it.
TEST(Queues, that_one_node_removes_are_left_to_the_others) {
  const TemporaryStore store;
  Told<> first_told, second_told;
  Server first(config_of({{.name = "orders"}}, store.url())),
      second(config_of({{.name = "orders"}}, store.url()));
  first.add("orders", telling(first_told));
  second.add("orders", telling(second_told));
  first.start();
  second.start();
  EXPECT_TRUE(first.remove_queue("orders"));
  Client client(config_of({{.name = "orders"}}, store.url()));
  for (int i = 0; i < 20; ++i) client.push("orders", {.id = std::to_string(i)});
  EXPECT_TRUE(second.drain());
  EXPECT_EQ(second_told.now().size(), 20U);
  EXPECT_EQ(first_told.now().size(), 0U);
  EXPECT_TRUE(first.running());
}

TEST(Queues, have_schedules_that_are_stated_anew) {
  Told<> told;
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", make_worker([&](Batch& batch) { told.tell(batch.jobs()[0].payloads[0].bytes); }));
  server.start();
  QueueChange change;
  change.periodic.emplace().push_back({.name = "often", .queue = "orders", .every = 1s, .payload = "tick"});
  server.change_queues(std::move(change));
  EXPECT_THAT(told.wait(2), Contains("tick"));
}

// ------------------------------------------------------------------------------------------- the log

TEST(Log, tells_failures_with_their_fields) {
  Told<LogLine> lines;
  Config config = config_of({{.name = "orders", .max_retries = 1, .retry = retry_after(0s)}});
  config.node.start_job = LogLevel::info;
  config.node.done_job = LogLevel::off;
  Server server(config);
  server.add("orders", make_worker([](Batch& batch) {
               if (batch.jobs()[0].id == "bad") throw std::runtime_error("no\nmore");
             }));
  server.set_log([&](const LogLine& line) {
    if (!line.id.empty()) lines.tell(line);
  });
  server.start();
  server.client().push("orders", {.id = "bad", .key = "k"});
  EXPECT_TRUE(server.drain());
  const auto told = lines.wait(4);
  const auto node = server.node_id();
  server.stop();
  EXPECT_EQ(told[0].message, "job 'bad' of queue 'orders' (key 'k') has started, attempt 1");
  EXPECT_THAT(told[1].message, HasSubstr("has failed at attempt 1, runs again at "));
  EXPECT_EQ(told[1].level, LogLevel::warning);
  EXPECT_EQ(told[1].error, "no");
  EXPECT_EQ(told[1].attempt, 1);
  EXPECT_TRUE(told[1].retry_at);
  EXPECT_EQ(told[2].attempt, 2);
  EXPECT_EQ(told[3].message, "job 'bad' of queue 'orders' (key 'k') has died: no");
  EXPECT_EQ(told[3].level, LogLevel::error);
  for (const auto& line : told) {
    EXPECT_EQ(line.queue + "/" + line.kind + "/" + line.id + "/" + line.key, "orders/orders/bad/k");
    EXPECT_EQ(line.node, node);
  }
}

TEST(Log, says_which_kinds_have_no_code) {
  Told<> lines;
  Server server(config_of({{.name = "orders", .kinds = {{.kind = "refund"}, {.kind = "charge"}}}}));
  server.add("orders", make_worker([](Batch&) {}), "charge");
  server.set_log([&](LogLevel level, std::string_view line) {
    if (level == LogLevel::warning) lines.tell(std::string(line));
  });
  server.start();
  EXPECT_EQ(lines.wait(1)[0], "queue 'orders' has no code here for jobs of kind 'refund', 'orders'");
}

}  // namespace queues_test
}  // namespace ordo::api
