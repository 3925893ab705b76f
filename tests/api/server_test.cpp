// A node in a program: what wraps its runs, what it tells, where and when runs go, how it ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "support.h"

namespace ordo::api {
namespace server_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST(ApiServer, drains_what_was_pushed) {
  Told<> ran;
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", telling(ran));
  EXPECT_EQ(server.worker_count(), 1U);
  auto client = server.client();
  client.push("orders", {.id = "before"});
  server.start();
  EXPECT_FALSE(server.node_id().empty());
  client.push("orders", {.id = "after"});
  client.push("orders", {.id = "scheduled", .delay = 1h});
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(ran.now(), UnorderedElementsAre("before", "after"));
  const auto stats = server.admin().stats();
  EXPECT_EQ(stats.total.processed, 2U);
  EXPECT_EQ(stats.total.scheduled, 1U);
  server.stop();
}

TEST(ApiServer, tells_how_long_its_leases_last_from_the_start) {  // a guard knows no end of them before
  Told<Duration> told;
  auto config = config_of({{.name = "orders"}});
  config.node.lease = 1h;
  Server server(config);
  server.add("orders", make_worker([](Batch&) {}));
  server.on_lease_renewed([&](Duration time) { told.tell(time); });
  server.start();
  EXPECT_THAT(told.now(), AllOf(Not(IsEmpty()), Each(AllOf(Gt(59min), Le(1h)))));
}

TEST(ApiServer, wraps_runs_in_middlewares_the_first_outermost) {
  Told<> calls;
  Server server(config_of({{.name = "orders"}}));
  for (const auto* name : {"a", "b"}) {
    server.use([&calls, name](Batch& batch, const std::function<void()>& next) {
      calls.tell(name + batch.jobs()[0].id);
      next();
      calls.tell(std::string(name) + " end");
    });
  }
  server.add("orders", telling(calls));
  server.start();
  server.client().push("orders", {.id = "1"});
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(calls.now(), ElementsAre("a1", "b1", "1", "b end", "a end"));
}

TEST(ApiServer, fails_a_run_that_a_middleware_keeps) {
  Told<> ran;
  Server server(config_of({{.name = "orders", .max_retries = 0}}));
  server.use([](Batch&, const std::function<void()>&) {});
  server.add("orders", telling(ran));
  server.start();
  server.client().push("orders", {.id = "1"});
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(ran.now(), IsEmpty());
  EXPECT_EQ(server.admin().stats().total.dead, 1U);
}

TEST(ApiServer, tells_events_to_those_who_want_them) {
  Told<> all, failures;
  Server server(config_of({{.name = "good"}, {.name = "bad", .max_retries = 0}}));
  server.subscribe(
      {.types = {EventType::job_started, EventType::job_finished}, .queues = {"good"}},
      [&](const Event& event) { all.tell(std::string(to_string(event.type)) + " " + event.id); });
  server.subscribe(
      {.types = {EventType::job_failed, EventType::job_dead}, .queues = {}}, [&](const Event& event) {
        failures.tell(std::string(to_string(event.type)) + " " + event.queue + ": " + event.error);
      });
  server.subscribe({}, [](const Event&) { throw std::runtime_error("a handler that fails stops nothing"); });
  server.add("good", make_worker([](Batch&) {}));
  server.add("bad", make_worker([](Batch&) { throw std::runtime_error("no"); }));
  server.start();
  server.client().push("good", {.id = "1"});
  server.client().push("bad", {.id = "2"});
  EXPECT_THAT(all.wait(2), ElementsAre("job_started 1", "job_finished 1"));
  EXPECT_THAT(failures.wait(1), Contains("job_dead bad: no"));
}

TEST(ApiServer, calls_hooks_and_deaths) {
  class Mortal final : public Worker {
   public:
    Mortal(Told<>& told, std::string name) : told_(told), name_(std::move(name)) {}
    void perform(Batch&) override { throw std::runtime_error("no"); }
    void retries_exhausted(const std::vector<JobView>& dead) override {
      told_.tell(name_ + ": " + dead.at(0).id + " " + dead[0].error);
    }

   private:
    Told<>& told_;
    const std::string name_;
  };
  Told<> told;
  Server server(config_of({{.name = "orders", .max_retries = 0}}));
  server.set_hooks({.on_start = [&] { told.tell("start"); }, .on_stop = [&] { told.tell("stop"); }});
  server.add("orders", std::make_unique<Mortal>(told, "orders"));
  server.add("orders", std::make_unique<Mortal>(told, "bill"), "bill");
  server.start();
  server.client().push("orders", {.id = "1"});
  told.wait(2);
  server.client().push("orders", {.id = "2", .kind = "bill"});
  told.wait(3);
  server.stop();
  EXPECT_THAT(told.now(), ElementsAre("start", "orders: 1 no", "bill: 2 no", "stop"));
}

TEST(ApiServer, retries_on_time) {
  Told<std::int32_t> counts;
  Server server(config_of({{.name = "orders", .retry = retry_after(1ms)}}));
  server.add("orders", make_worker([&](Batch& batch) {
               counts.tell(batch.jobs()[0].retry_count);
               if (batch.jobs()[0].retry_count < 2) throw std::runtime_error("not yet");
             }));
  server.start();
  server.client().push("orders", {.id = "1"});
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(counts.now(), ElementsAre(-1, 0, 1, 2));
}

TEST(ApiServer, asks_a_scheduler_of_the_program) {
  Told<> ran, begun;
  Gate gate;
  auto config = config_of(
      {{.name = "first", .shards = 1}, {.name = "last", .shards = 1}, {.name = "gate", .shards = 1}});
  config.node.threads = 1;
  // Serves "last" before "first", although that was pushed later: it waits until both are there to choose
  // from.
  config.node.choose_shard = [seen = false](const std::vector<ShardLoad>& loads) mutable {
    std::optional<std::size_t> chosen;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      if (loads[i].queue == "last") seen = true;
      if (loads[i].queue == "gate" || loads[i].queue == "last") chosen = i;
    }
    return chosen || !seen ? chosen : std::optional<std::size_t>(0);
  };
  Server server(config);
  server.add("first", telling(ran));
  server.add("last", telling(ran));
  server.add("gate", make_worker([&](Batch&) {
               begun.tell("gate");
               gate.pass();
             }));
  server.start();
  auto client = server.client();
  client.push("gate", {.id = "0"});
  begun.wait(1);
  client.push_many("first", {{.id = "a"}, {.id = "b"}});
  client.push_many("last", {{.id = "x"}, {.id = "y"}});
  gate.open();
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(ran.now(), ElementsAre("x", "y", "a", "b"));
}

TEST(ApiServer, keeps_a_shard_on_one_thread) {
  Told<unsigned> threads;
  std::atomic<int> inside{0};
  auto config = config_of({{.name = "orders", .shards = 1, .affinity = Affinity::shard}});
  config.node.threads = 4;
  Server server(config);
  server.add("orders", make_worker([&](Batch& batch) {
               EXPECT_EQ(++inside, 1);
               threads.tell(batch.thread());
               --inside;
             }));
  server.start();
  std::vector<NewJob> jobs(200);
  server.client().push_many("orders", std::move(jobs));
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(threads.now(), SizeIs(200));
  const auto seen = threads.now();
  EXPECT_THAT(seen, Each(seen.front()));
}

TEST(ApiServer, pools_do_not_starve_each_other) {
  for (const std::string blocked : {"own", "shared"}) {
    Told<> ran;
    Gate gate;
    auto config = config_of({{.name = "own", .threads = 1}, {.name = "shared"}});
    config.node.threads = 1;
    Server server(config);
    for (const std::string queue : {"own", "shared"}) {
      server.add(queue, make_worker([&, queue](Batch&) {
                   if (queue == blocked) gate.pass();
                   ran.tell(queue);
                 }));
    }
    server.start();
    const std::string other = blocked == "own" ? "shared" : "own";
    server.client().push_many(blocked, std::vector<NewJob>(20));
    server.client().push_many(other, std::vector<NewJob>(20));
    EXPECT_THAT(ran.wait(20), Each(other));
    gate.open();
    ran.wait(40);
  }
}

TEST(ApiServer, pauses_and_resumes) {
  Told<> ran, events;
  Server server(config_of({{.name = "orders"}, {.name = "other"}}));
  server.add("orders", telling(ran));
  server.add("other", telling(ran));
  server.subscribe({.types = {EventType::queue_paused, EventType::queue_running}, .queues = {"orders"}},
                   [&](const Event& event) { events.tell(std::string(to_string(event.type))); });
  server.start();
  auto admin = server.admin();
  auto client = server.client();
  admin.pause("orders");
  EXPECT_THAT(events.wait(1), ElementsAre("queue_paused"));
  client.push("orders", {.id = "1"});
  client.push("other", {.id = "2"});
  EXPECT_THAT(ran.wait(1), ElementsAre("2"));
  EXPECT_TRUE(server.drain());  // paused jobs are left
  EXPECT_THAT(ran.now(), ElementsAre("2"));
  admin.resume("orders");
  EXPECT_THAT(ran.wait(2), ElementsAre("2", "1"));
}

TEST(ApiServer, cancels_a_running_job) {
  Told<> begun, ran;
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", make_worker([&](Batch& batch) {
               begun.tell(batch.jobs()[0].id);
               Gate::wait_for(batch.stop());
               ran.tell("asked to stop");
               throw std::runtime_error("stopped");
             }));
  server.start();
  server.client().push("orders", {.id = "1"});
  begun.wait(1);
  server.admin().cancel("orders", {.id = "1"});
  ran.wait(1);
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(begun.now(), SizeIs(1));
  EXPECT_EQ(server.admin().stats().total.length, 0U);
}

TEST(ApiServer, an_id_stays_blocked_until_a_late_run_returns) {
  Told<> begun, asked, others;
  Gate gate;
  Server server(config_of({{.name = "orders", .max_retries = 0, .timeout = 50ms}, {.name = "other"}}));
  server.add("orders", make_worker([&](Batch& batch) {
               begun.tell(batch.jobs()[0].payloads[0].bytes);
               if (batch.jobs()[0].payloads[0].bytes == "second") return;
               Gate::wait_for(batch.stop());
               asked.tell("asked");
               gate.pass();
             }));
  server.add("other", telling(others));
  server.start();
  auto client = server.client();
  client.push("orders", {.id = "1", .payload = "first"});
  begun.wait(1);
  client.push("orders", {.id = "1", .payload = "second", .timeout = 1h});
  asked.wait(1);
  client.push("other", {.id = "2"});
  others.wait(1);
  EXPECT_THAT(begun.now(), ElementsAre("first"));
  gate.open();
  EXPECT_THAT(begun.wait(2), ElementsAre("first", "second"));
  EXPECT_TRUE(server.drain());
  std::vector<FailureKind> kinds;
  server.admin().dead("orders", {}, [&](const DeadView& view) {
    kinds.push_back(view.error_kind);
    return true;
  });
  EXPECT_THAT(kinds, ElementsAre(FailureKind::timeout));
}

/// A server whose only run waits to be asked to stop.
struct Waiting {
  explicit Waiting(Duration patience) : config(config_of({{.name = "orders"}}, store.url())) {
    config.node.shutdown_timeout = patience;
    server.emplace(config);
    server->add("orders", make_worker([this](Batch& batch) {
                  begun.tell(batch.jobs()[0].id);
                  Gate::wait_for(batch.stop());
                  throw std::runtime_error("stopped");
                }));
    server->start();
    server->client().push("orders", {.id = "1"});
    begun.wait(1);
  }

  JobView left() {
    server.reset();
    const auto jobs = Admin(config).jobs("orders");
    return jobs.size() == 1 ? jobs[0] : JobView{};
  }

  TemporaryStore store;
  Config config;
  Told<> begun;
  std::optional<Server> server;
};

TEST(ApiServer, puts_back_what_does_not_end_in_time) {
  Waiting waiting(0s);
  waiting.server->stop();
  EXPECT_FALSE(waiting.server->drain());
  const auto left = waiting.left();
  EXPECT_EQ(left.id, "1");
  EXPECT_EQ(left.state, JobStatus::due);
  EXPECT_EQ(left.retry_count, -1);
  EXPECT_THAT(Admin(waiting.config).nodes(), IsEmpty());
}

TEST(ApiServer, a_second_stop_does_not_wait) {
  Waiting waiting(1h);
  Told<> stopping;
  std::jthread graceful([&] {
    stopping.tell("stopping");
    waiting.server->stop();
  });
  stopping.wait(1);
  waiting.server->stop(Server::Stop::now);
  graceful.join();
  EXPECT_EQ(waiting.left().id, "1");
}

TEST(ApiServer, lets_runs_finish_when_it_stops) {
  Told<> begun, ended;
  Gate gate;
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", make_worker([&](Batch&) {
               begun.tell("begun");
               gate.pass();
               ended.tell("ended");
             }));
  server.start();
  server.client().push("orders", {.id = "1"});
  begun.wait(1);
  std::jthread stopping([&] { server.stop(); });
  gate.open();
  server.wait();
  EXPECT_THAT(ended.now(), SizeIs(1));
  EXPECT_EQ(server.admin().stats().total.processed, 1U);
}

TEST(ApiServer, takes_no_more_when_quiet) {
  Told<> begun, ran;
  Gate gate;
  auto config = config_of({{.name = "orders"}});
  config.node.threads = 1;
  Server server(config);
  server.add("orders", make_worker([&](Batch& batch) {
               begun.tell(batch.jobs()[0].id);
               gate.pass();
             }));
  server.start();
  server.client().push("orders", {.id = "1"});
  begun.wait(1);
  server.quiet();
  server.client().push("orders", {.id = "2"});
  gate.open();
  server.stop();
  EXPECT_THAT(begun.now(), ElementsAre("1"));
}

/// One of several servers on a file.
struct Member {
  Member(const Config& config, const std::string& name, Told<>& ran) : server(config) {
    server.add("orders",
               make_worker([&ran, name](Batch& batch) { ran.tell(name + " " + batch.jobs()[0].id); }));
    server.subscribe({.types = {EventType::shard_moved}, .queues = {}},
                     [this](const Event& event) { moved.tell(std::to_string(event.shard)); });
    server.start();
  }
  std::size_t shards_of(Admin admin) {
    for (const auto& node : admin.nodes()) {
      if (node.id == server.node_id()) return node.shards;
    }
    return 0;
  }

  Told<> moved;
  Server server;
};

TEST(ApiServer, two_in_one_process_share_the_shards_of_a_file) {
  const TemporaryStore store;
  const auto config = config_of({{.name = "orders", .shards = 4}}, store.url());
  Told<> ran;
  Member first(config, "first", ran);
  first.moved.wait(4);
  auto second = std::make_unique<Member>(config, "second", ran);
  second->moved.wait(2);
  EXPECT_EQ(second->shards_of(first.server.admin()), 2U);
  EXPECT_EQ(first.shards_of(first.server.admin()), 2U);

  Client client(config);
  std::set<std::string> ids;
  for (int i = 0; i < 40; ++i) ids.insert(client.push("orders", {.id = std::to_string(i)}));
  EXPECT_TRUE(first.server.drain());
  std::set<std::string> by_first, by_second;
  for (const auto& text : ran.now()) {
    (text.starts_with("first") ? by_first : by_second).insert(text.substr(text.find(' ') + 1));
  }
  EXPECT_FALSE(by_first.empty());
  EXPECT_FALSE(by_second.empty());
  EXPECT_EQ(by_first.size() + by_second.size(), ids.size());

  second->server.stop();
  first.moved.wait(6);  // handed over at once
  client.push_many("orders", std::vector<NewJob>(20));
  EXPECT_TRUE(first.server.drain());
  EXPECT_THAT(ran.now(), SizeIs(60));
}

TEST(ApiServer, asks_a_splitter_of_the_program) {
  const TemporaryStore store;
  Told<> ran;
  const auto config = [&](bool odd) {
    auto made = config_of({{.name = "orders", .shards = 5}}, store.url());
    made.node.serves_shard = [odd](const std::string&, std::uint32_t shard) {
      return (shard % 2 == 1) == odd;
    };
    return made;
  };
  Member odd(config(true), "odd", ran), even(config(false), "even", ran);
  EXPECT_THAT(odd.moved.wait(2), UnorderedElementsAre("1", "3"));
  EXPECT_THAT(even.moved.wait(3), UnorderedElementsAre("0", "2", "4"));
  auto client = odd.server.client();
  for (const auto* id : {"0", "1", "2", "3", "42"}) client.push("orders", {.id = id});  // shards 4 3 2 1 3
  EXPECT_TRUE(odd.server.drain());
  EXPECT_THAT(ran.now(), UnorderedElementsAre("even 0", "odd 1", "even 2", "odd 3", "odd 42"));
}

TEST(ApiServer, starts_with_what_fits_only) {
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", make_worker([](Batch&) {}));
  EXPECT_THROW(server.add("orders", make_worker([](Batch&) {})), Error);
  EXPECT_THROW(server.add("No Name", make_worker([](Batch&) {})), Error);
  Server nowhere(config_of({{.name = "orders"}}, "sqlite:/nonexistent/folder/ordo.db"));
  nowhere.add("orders", make_worker([](Batch&) {}));
  EXPECT_THROW(nowhere.start(), Error);
}

}  // namespace server_test
}  // namespace ordo::api
