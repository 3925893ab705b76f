// What a program's code may throw, and from where it may call: the rows of the tables of docs/embedding.md
// that no other test stands for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>

#include <ordo/testing.hpp>

#include "support.h"

namespace ordo::api {
namespace throwing_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

/// Throws where it is told to.
class ThrowingWorker final : public Worker {
 public:
  enum class Where : std::uint8_t { nowhere, format_error, dump_error, retries_exhausted };
  explicit ThrowingWorker(Where where) : where_(where) {}

  void perform(Batch&) override { throw std::runtime_error("the job failed"); }
  std::string format_error(std::exception_ptr error) override {
    check(Where::format_error);
    return Worker::format_error(std::move(error));
  }
  std::string dump_error(const std::string& error) override {
    check(Where::dump_error);
    return error;
  }
  void retries_exhausted(const std::vector<JobView>&) override { check(Where::retries_exhausted); }

 private:
  void check(Where where) const {
    if (where == where_) throw std::runtime_error("thrown by the worker");
  }

  const Where where_;
};
using Where = ThrowingWorker::Where;

Config no_retries() { return config_of({{.name = "orders", .shards = 1, .max_retries = 0}}); }

TEST(Throwing, a_text_of_an_error_that_cannot_be_made_is_said_so) {
  const std::map<Where, std::string> texts = {
      {Where::nowhere, "the job failed"},
      {Where::format_error, "perform failed, and so did the worker's format_error"},
      {Where::dump_error, "the job failed (and the worker's dump_error failed)"}};
  for (const auto& [where, text] : texts) {
    testing::Bench bench(no_retries());
    bench.add("orders", std::make_unique<ThrowingWorker>(where));
    bench.push("orders", {.id = "1"});
    EXPECT_EQ(bench.drain(), 1U);
    const auto dead = bench.dead("orders");
    ASSERT_THAT(dead, SizeIs(1));
    EXPECT_EQ(dead[0].error_kind, FailureKind::handler);
    EXPECT_EQ(dead[0].error, text);
  }
}

TEST(Throwing, deaths_that_cannot_be_told_are_logged_or_come_out_of_a_bench) {
  Told<> lines, dead;
  Server server(no_retries());
  server.add("orders", std::make_unique<ThrowingWorker>(Where::retries_exhausted));
  server.subscribe({.types = {EventType::job_dead}}, [&](const Event& event) { dead.tell(event.id); });
  server.set_log([&](LogLevel, std::string_view line) { lines.tell(std::string(line)); });
  server.start();
  server.client().push("orders", {.id = "1"});
  dead.wait(1);
  server.stop();
  EXPECT_THAT(lines.now(), Contains(HasSubstr("threw: thrown by the worker")));
  EXPECT_EQ(server.admin().stats().total.dead, 1U);

  testing::Bench bench(no_retries());
  bench.add("orders", std::make_unique<ThrowingWorker>(Where::retries_exhausted));
  bench.push("orders", {.id = "1"});
  EXPECT_THROW(bench.drain(), std::runtime_error);
  EXPECT_THAT(bench.dead("orders"), SizeIs(1));
}

TEST(Throwing, a_server_may_be_stopped_where_deaths_are_told) {
  class Stopping final : public Worker {
   public:
    explicit Stopping(std::function<void()> stop) : stop_(std::move(stop)) {}
    void perform(Batch&) override { throw std::runtime_error("the job failed"); }
    void retries_exhausted(const std::vector<JobView>&) override { stop_(); }

   private:
    std::function<void()> stop_;
  };
  Told<> stopped;
  Server server(no_retries());
  server.add("orders", std::make_unique<Stopping>([&] {
               server.stop();
               stopped.tell("");
             }));
  server.start();
  server.client().push("orders", {.id = "1"});
  stopped.wait(1);
  EXPECT_FALSE(server.running());
  EXPECT_EQ(server.admin().stats().total.dead, 1U);
}

TEST(Throwing, who_serves_a_shard_fails_the_node_whose_last_words_may_throw) {
  auto config = config_of({{.name = "orders", .shards = 1}});
  std::atomic<bool> fails{false};
  config.node.serves_shard = [&](const std::string&, std::uint32_t) {
    if (fails) throw std::runtime_error("no idea");
    return true;
  };
  config.node.poll_interval = 10ms;
  Told<> words, lines;
  Server server(config);
  server.add("orders", make_worker([](Batch&) {}));
  server.set_log([&](LogLevel, std::string_view line) { lines.tell(std::string(line)); });
  server.set_hooks({.last_words = [&](const std::exception_ptr&) {
    words.tell("");
    throw std::runtime_error("not even words");
  }});
  server.start();
  fails = true;
  words.wait(1);
  EXPECT_FALSE(server.running());
  EXPECT_THROW(server.wait(), std::runtime_error);
  server.stop();
  EXPECT_THAT(lines.now(), Contains(HasSubstr("the node stops: no idea")));
  EXPECT_THAT(lines.now(), Contains(HasSubstr("last_words threw: not even words")));
}

TEST(Throwing, what_a_visit_throws_comes_out_of_its_call) {
  Server server(no_retries());
  server.add("orders", std::make_unique<ThrowingWorker>(Where::nowhere));
  server.start();
  auto client = server.client();
  client.push("orders", {.id = "1"});
  client.push("orders", {.id = "later", .delay = 1h});
  EXPECT_TRUE(server.drain());
  auto admin = server.admin();
  const auto thrown_by = [](const auto& call) {
    try {
      call();
    } catch (const std::logic_error& error) {
      return std::string(error.what());
    }
    return std::string("(none)");
  };
  const auto visit = [](const auto&) -> bool { throw std::logic_error("seen enough"); };
  EXPECT_EQ(thrown_by([&] { admin.jobs("orders", {}, visit); }), "seen enough");
  EXPECT_EQ(thrown_by([&] { admin.export_jobs("orders", {}, visit); }), "seen enough");
  EXPECT_EQ(thrown_by([&] { admin.dead("orders", {}, visit); }), "seen enough");
  EXPECT_EQ(thrown_by([&] { admin.dead_jobs("orders", {}, {}, visit); }), "seen enough");
  EXPECT_THAT(admin.jobs("orders"), SizeIs(1));
  EXPECT_EQ(admin.count_dead("orders").jobs, 1U);
}

TEST(Throwing, a_run_may_quiet_its_server_and_adds_nothing_to_its_bench) {
  Told<> told;
  Server server(config_of({{.name = "orders", .shards = 1}}));
  server.add("orders", make_worker([&](Batch& batch) {
               server.quiet();
               told.tell(batch.jobs().front().id);
             }));
  server.start();
  server.client().push("orders", {.id = "1"});
  EXPECT_THAT(told.wait(1), ElementsAre("1"));
  server.stop();

  testing::Bench bench(config_of({{.name = "orders"}}));
  std::string refusal;
  bench.add("orders", make_worker([&](Batch&) {
              refusal = refusal_of([&] { bench.add("mail", make_worker([](Batch&) {})); });
            }));
  bench.push("orders", {.id = "1"});
  EXPECT_EQ(bench.drain(), 1U);
  EXPECT_THAT(refusal, HasSubstr("before its first job"));
}

TEST(Throwing, each_function_of_the_program_that_throws_is_logged_by_its_name) {
  class Deaf final : public Worker {
    void perform(Batch&) override { throw std::runtime_error("the job failed"); }
    std::string load_error(const std::string&) override { throw std::runtime_error("loading"); }
    void retries_exhausted(const std::vector<JobView>&) override { throw std::runtime_error("exhausted"); }
  };
  Told<> dead, renewed, lines;
  Server server(no_retries());
  server.add("orders", std::make_unique<Deaf>());
  server.subscribe({.types = {EventType::job_dead}},
                   [](const Event&) { throw std::runtime_error("handling"); });
  server.subscribe({.types = {EventType::job_dead}}, [](const Event&) { throw 1; });
  server.subscribe({.types = {EventType::job_dead}}, [&](const Event& event) { dead.tell(event.id); });
  server.on_lease_renewed([first = true](Duration) mutable {
    if (std::exchange(first, false)) throw std::runtime_error("listening");
  });
  server.on_lease_renewed([&](Duration) { renewed.tell(""); });
  server.set_hooks({.on_start = [] { throw std::runtime_error("starting"); },
                    .on_stop = [] { throw std::runtime_error("stopping"); }});
  server.set_log([&](LogLevel level, std::string_view line) {
    if (level == LogLevel::error && line.find(" threw") != std::string_view::npos)
      lines.tell(std::string(line));
  });
  server.start();
  server.client().push("orders", {.id = "1"});
  renewed.wait(1);
  dead.wait(1);
  server.stop();
  EXPECT_THAT(lines.now(),
              UnorderedElementsAre("on_start threw: starting", "a listener of leases threw: listening",
                                   "a handler of events threw: handling", "a handler of events threw",
                                   "load_error threw: loading", "retries_exhausted threw: exhausted",
                                   "on_stop threw: stopping"));
}

TEST(Throwing, a_second_next_fails_the_run_or_the_push_whatever_the_middleware_catches) {
  const auto twice = [](const std::function<void()>& next) {
    next();
    try {
      next();
    } catch (...) {
    }
  };
  Told<> ran;
  Server server(no_retries());
  server.use([&](Batch&, const std::function<void()>& next) { twice(next); });
  server.add("orders", telling(ran));
  server.start();
  auto client = server.client();
  client.push("orders", {.id = "1"});
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(ran.now(), ElementsAre("1"));
  std::vector<std::string> errors;
  server.admin().dead("orders", {}, [&](const DeadView& dead) {
    errors.push_back(dead.error);
    return true;
  });
  EXPECT_THAT(errors, ElementsAre(HasSubstr("called on twice")));
  client.use([&](const auto&, auto&, const std::function<void()>& next) { twice(next); });
  EXPECT_THAT(refusal_of([&] { client.push("orders", {.id = "2"}); }), HasSubstr("called on twice"));
}

TEST(Throwing, an_outcome_of_an_unknown_kind_fails_its_job) {
  const Outcome unknown{static_cast<Outcome::Kind>(99)};
  testing::Bench bench(config_of({{.name = "orders", .shards = 1, .max_retries = 0}, {.name = "typed"}}));
  bench.add("orders", make_worker([&](Batch& batch) { batch.report(0, unknown); }));
  bench.add("typed", make_worker<std::string>([&](const TypedJob<std::string>&) { return unknown; }));
  bench.push("orders", {.id = "1"});
  bench.push("typed", {.id = "1", .payload = "text", .max_retries = 0});
  EXPECT_EQ(bench.drain(), 2U);
  for (const auto* queue : {"orders", "typed"}) {
    const auto dead = bench.dead(queue);
    ASSERT_THAT(dead, SizeIs(1)) << queue;
    EXPECT_THAT(dead[0].error, HasSubstr("unknown kind"));
  }
}

/// A node that loses its leases while a run of it goes on, as its renewals do not come back.
struct Cut {
  explicit Cut(std::function<void(Server&)> on_lease_lost) {
    auto config = config_of({{.name = "orders", .shards = 1}}, store.url());
    config.node.lease = 1s;
    config.node.shutdown_timeout = 0s;
    server = std::make_unique<Server>(config);
    server->add("orders", make_worker([this](Batch& batch) {
                  started.tell(batch.jobs().front().id);
                  run.pass();
                }));
    server->on_lease_renewed([this](Duration) {
      if (is_cut) renewal.pass();
    });
    server->set_hooks({.on_lease_lost = [this, tell = std::move(on_lease_lost)] {
      lost.tell("");
      tell(*server);
    }});
    server->set_log([this](LogLevel, std::string_view line) { lines.tell(std::string(line)); });
    server->start();
    server->client().push("orders", {.id = "1"});
    started.wait(1);
    is_cut = true;
    lost.wait(1);
  }

  TemporaryStore store;
  Told<> started, lost, lines;
  Gate run, renewal;
  std::atomic<bool> is_cut{false};
  std::unique_ptr<Server> server;
};

TEST(Throwing, of_lost_leases_the_program_is_told_once_and_the_node_takes_part_again) {
  Cut cut([](Server&) { throw std::runtime_error("who cares"); });
  until([&] {
    return ::testing::Value(cut.lines.now(), Contains(HasSubstr("on_lease_lost threw: who cares")));
  });
  EXPECT_TRUE(cut.server->running());
  cut.is_cut = false;
  cut.renewal.open();
  cut.run.open();  // what it did does not count
  EXPECT_THAT(cut.started.wait(2), ElementsAre("1", "1"));
  cut.server->client().push("orders", {.id = "2"});
  EXPECT_TRUE(cut.server->drain());
  EXPECT_THAT(cut.started.now(), ElementsAre("1", "1", "2"));
  EXPECT_THAT(cut.lost.now(), SizeIs(1));
}

TEST(Throwing, a_server_may_be_stopped_where_lost_leases_are_told) {
  std::promise<std::size_t> stuck;
  Cut cut([&](Server& server) { stuck.set_value(server.stop_for(0s)); });
  EXPECT_EQ(stuck.get_future().get(), 1U);
  EXPECT_FALSE(cut.server->running());
  cut.renewal.open();
  cut.run.open();
  cut.server.reset();
  EXPECT_THAT(cut.started.now(), SizeIs(1));
}

}  // namespace throwing_test
}  // namespace ordo::api
