// A program that embeds a server: runs that ignore their stop, code that throws, ends in the wrong place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <future>
#include <iterator>
#include <set>
#include <thread>

#include <ordo/bench.hpp>
#include <ordo/testing.hpp>

#include "support.h"

namespace ordo::api {
namespace embedding_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Config short_leases(const std::string& store) {
  auto config = config_of({{.name = "orders", .shards = 1}}, store);
  config.node.lease = 1s;
  return config;
}

/// A server with a run that ignores its stop until the gate opens.
struct Stuck {
  explicit Stuck(const std::string& store) : server(std::make_unique<Server>(short_leases(store))) {
    server->add("orders", make_worker([this](Batch&) {
                  started.tell("");
                  gate.pass();
                }));
    server->on_lease_renewed([this](Duration) { renewed.tell(""); });
    server->start();
    server->client().push("orders", {.id = "1"});
    started.wait(1);
  }

  /// Several leases' time.
  void outlast_leases() { renewed.wait(renewed.now().size() + 10); }

  Told<> started, renewed;
  Gate gate;
  std::unique_ptr<Server> server;
};

TEST(Embedding, a_run_that_ignores_its_stop_keeps_its_lease_until_it_returns_and_counts) {
  TemporaryStore store;
  Stuck stuck(store.url());
  Told<> ran_elsewhere;
  Server other(short_leases(store.url()));
  other.add("orders", telling(ran_elsewhere));
  other.start();

  EXPECT_EQ(stuck.server->stop_for(0s), 1U);
  EXPECT_FALSE(stuck.server->running());
  stuck.outlast_leases();
  std::thread ending([&] { stuck.server.reset(); });
  stuck.outlast_leases();
  EXPECT_THAT(ran_elsewhere.now(), IsEmpty());

  stuck.gate.open();
  ending.join();
  other.client().push("orders", {.id = "2"});
  EXPECT_TRUE(other.drain());
  EXPECT_THAT(ran_elsewhere.now(), ElementsAre("2"));
  EXPECT_THAT(stuck.started.now(), SizeIs(1));
  EXPECT_EQ(other.admin().stats().total.processed, 2U);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator listed("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(listed), end(listed)));
}

TEST(Embedding, clients_and_servers_of_one_file_share_its_descriptors_until_the_last_has_gone) {
  TemporaryStore store;
  const auto config = config_of({{.name = "orders"}}, store.url());
  const auto before = open_descriptors();
  {
    auto first = std::make_unique<Client>(config);
    first->push("orders", {.id = "1"});
    const auto with_one = open_descriptors();
    std::vector<std::unique_ptr<Client>> others;
    for (int i = 0; i < 20; ++i) {
      others.push_back(std::make_unique<Client>(config));
      others.back()->push("orders", {.id = "2"});
      static_cast<void>(Admin(config).stats());
    }
    EXPECT_EQ(open_descriptors(), with_one);
    first.reset();
    others.back()->push("orders", {.id = "3"});
    EXPECT_THAT(Admin(config).jobs("orders"), SizeIs(3));
  }
  EXPECT_EQ(open_descriptors(), before);
}

/// Of the database itself, and of the files that stand beside it.
struct StoreDescriptors {
  std::size_t database = 0, all = 0;

  StoreDescriptors() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const auto name = std::filesystem::read_symlink(entry.path(), gone).filename().string();
      if (name.starts_with("ordo.db")) ++all;
      if (name == "ordo.db") ++database;
    }
  }
};

// A server has one of its own, the lock by which others know that it lives, and each further reader has two.
TEST(Embedding, a_file_takes_the_descriptors_that_are_documented) {
  TemporaryStore store;
  const auto config = config_of({{.name = "orders"}}, store.url());
  Client client(config);
  const StoreDescriptors of_client;
  EXPECT_EQ(of_client.all, 6U);
  client.push("orders", {.id = "1"});
  EXPECT_EQ(StoreDescriptors().all, 8U);  // it looked for the queue
  std::vector<std::unique_ptr<Server>> servers;
  while (servers.size() < 3) {
    auto& server = *servers.emplace_back(std::make_unique<Server>(config));
    server.add("orders", make_worker([](Batch&) {}));
    server.start();
    until([&] {  // a reader opens its files one after the other
      const StoreDescriptors now;
      return now.all == of_client.all + servers.size() + 2 * (now.database - of_client.database);
    });
  }
}

TEST(Embedding, clients_go_on_with_the_file_that_was_put_in_the_place_of_theirs) {
  TemporaryStore store, backup;
  const auto config = config_of({{.name = "first"}, {.name = "orders"}}, store.url());
  const auto path = [](const TemporaryStore& of) { return of.url().substr(std::strlen("sqlite:")); };
  Client client(config);
  Admin admin(config);
  std::atomic<int> passed = 0;
  client.use([&](const std::string&, std::vector<NewJob>&, const std::function<void()>& next) {
    ++passed;
    next();
  });
  client.push("first", {.id = "0"});  // so that "orders" has another number than in the backup
  client.push("orders", {.id = "1"});
  { Client(config_of({{.name = "orders"}}, backup.url())).push("orders", {.id = "2"}); }
  for (const char* end : {"-wal", "-shm", ""}) std::filesystem::remove(path(store) + end);
  EXPECT_THROW(client.push("orders", {.id = "3"}), Error) << "it makes no file where none is";
  EXPECT_FALSE(std::filesystem::exists(path(store)));
  for (const char* end : {"-wal", "-shm", ""}) {
    if (std::filesystem::exists(path(backup) + end))
      std::filesystem::copy(path(backup) + end, path(store) + end);
  }
  client.push("orders", {.id = "4"});
  const auto jobs = admin.jobs("orders");
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_THAT((std::set{jobs[0].id, jobs[1].id}), ElementsAre("2", "4"));
  EXPECT_EQ(passed, 3) << "also the one after it, and not the one without a file";
}

/// Whether this process has the file open that is there now.
bool has_open(const std::string& path) {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::any_of(begin(files), end(files), [&](const auto& file) {
    std::error_code is_closed;
    return std::filesystem::read_symlink(file, is_closed) == path;
  });
}

TEST(Embedding, callbacks_of_pushes_may_push_while_the_file_is_replaced) {
  TemporaryStore store;
  const auto config = config_of({{.name = "orders"}}, store.url());
  const auto path = store.url().substr(std::strlen("sqlite:"));
  Client client(config);
  client.push("orders", {.id = "1"});
  std::promise<void> may_go, told;
  client.push_async("orders", {{.id = "2"}}, [&](const std::exception_ptr&) {
    may_go.get_future().wait();
    try {
      client.push_async("orders", {{.id = "3"}}, [](const std::exception_ptr&) {});
    } catch (const Error&) {  // the queue of the new file is not known yet, and who looks for it would wait
    }
    told.set_value();
  });
  for (const char* end : {"-wal", "-shm", ""}) std::filesystem::remove(path + end);
  { Client(config).push("orders", {.id = "other"}); }
  std::thread pushing([&] { client.push("orders", {.id = "4"}); });
  // From then on it waits for the callback, which is the old store's.
  while (!has_open(path)) std::this_thread::yield();
  may_go.set_value();
  told.get_future().wait();
  pushing.join();
  client.push("orders", {.id = "5"});
  const auto jobs = Admin(config).jobs("orders");
  EXPECT_THAT(jobs, ::testing::Contains(::testing::Field(&JobView::id, "5")));
  EXPECT_THAT(jobs, ::testing::Contains(::testing::Field(&JobView::id, "other")));
}

// Of a Config that a program made: the longest time is kept, or refused by name.
TEST(Embedding, the_longest_durations_mean_never_or_are_refused) {
  struct Field {
    const char* name;
    void (*set)(Config&, Duration);
    bool is_refused = false;
  };
  const Field fields[] = {
      {"poll_interval", [](Config& config, Duration time) { config.node.poll_interval = time; }},
      {"shutdown_timeout", [](Config& config, Duration time) { config.node.shutdown_timeout = time; }},
      {"lease", [](Config& config, Duration time) { config.node.lease = time; }, true},
      {"timeout", [](Config& config, Duration time) { config.queues[0].timeout = time; }},
      {"dead_ttl", [](Config& config, Duration time) { config.queues[0].dead_ttl = time; }},
      {"granularity", [](Config& config, Duration time) { config.queues[0].granularity = time; }},
      {"delay", [](Config& config, Duration time) { config.queues[0].retry = retry_after(time); }},
      {"cap", [](Config& config, Duration time) { config.queues[0].retry.cap = time; }},
      {"jitter",
       [](Config& config, Duration time) {
         config.queues[0].retry = retry_after(time);
         config.queues[0].retry.jitter = 1;
       }},
      {"linear",
       [](Config& config, Duration time) {
         config.queues[0].retry = {.strategy = RetryPolicy::Strategy::linear, .delay = time};
       }},
      {"exponential",
       [](Config& config, Duration time) {
         config.queues[0].retry = {.strategy = RetryPolicy::Strategy::exponential, .delay = time};
       }},
      {"delays",
       [](Config& config, Duration time) {
         config.queues[0].retry = {.strategy = RetryPolicy::Strategy::list, .delays = {time}};
       }},
      {"kind",
       [](Config& config, Duration time) {
         config.queues[0].kinds = {{.kind = "other", .timeout = time, .retry = retry_after(time)}};
       }},
  };
  for (const auto& field : fields) {
    SCOPED_TRACE(field.name);
    auto config = config_of({{.name = "orders", .shards = 1}});
    field.set(config, Duration::max());
    if (field.is_refused) {
      EXPECT_THAT(refusal_of([&] { Server{config}; }), HasSubstr(field.name));
      continue;
    }
    Told<> ran;
    Gate gate;
    Server server(config);
    server.add("orders", make_worker([&](Batch& batch) {
                 const auto id = batch.jobs().front().id;
                 ran.tell(id);
                 if (id == "failing") throw std::runtime_error("no");
                 gate.pass();
                 if (batch.stop().stop_requested()) ran.tell("asked to stop");
               }));
    server.start();
    auto client = server.client();
    client.push("orders", {.id = "failing", .timeout = Duration::max()});
    client.push("orders", {.id = "later", .delay = Duration::max()});
    client.push("orders", {.id = "held"});
    EXPECT_THAT(ran.wait(2), UnorderedElementsAre("failing", "held"));  // by two threads
    std::thread stopping([&] { server.stop(); });
    while (server.running()) static_cast<void>(server.admin().stats());
    for (int i = 0; i < 50; ++i) static_cast<void>(server.admin().stats());
    gate.open();
    stopping.join();
    EXPECT_THAT(ran.now(), SizeIs(2));
    EXPECT_EQ(server.admin().stats().total.processed, 1U);
    EXPECT_EQ(server.admin().stats().total.length, 2U);
  }
}

TEST(Embedding, a_node_that_fails_says_so_at_once_and_leaves_its_shards_to_others) {
  TemporaryStore store;
  auto config = config_of({{.name = "orders"}}, store.url());
  config.node.lease = 1h;
  auto failing = config;
  failing.node.choose_shard = [](const auto&) -> std::optional<std::size_t> {
    throw std::runtime_error("no idea");
  };
  Told<> words, lines;
  Server server(failing);
  server.add("orders", make_worker([](Batch&) {}));
  server.set_log([&](LogLevel, std::string_view line) { lines.tell(std::string(line)); });
  ServerHooks hooks;
  hooks.last_words = [&](const std::exception_ptr& error) {
    server.stop();
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& thrown) {
      words.tell(thrown.what());
    }
  };
  server.set_hooks(hooks);
  server.start();
  EXPECT_TRUE(server.running());
  server.client().push("orders", {.id = "1"});
  EXPECT_THAT(words.wait(1), ElementsAre("no idea"));
  EXPECT_FALSE(server.running());
  EXPECT_THROW(server.wait(), std::runtime_error);
  EXPECT_THAT(lines.now(), Contains(HasSubstr("engine thread failed, the node stops: no idea")));

  Told<> ran;
  Server other(config);
  other.add("orders", telling(ran));
  other.start();
  EXPECT_THAT(ran.wait(1), ElementsAre("1"));  // long before the lease would have ended
}

TEST(Embedding, a_node_that_fails_keeps_its_shards_until_its_run_has_returned) {
  TemporaryStore store;
  auto config = config_of({{.name = "orders", .shards = 1, .threads = 2}}, store.url());
  config.node.lease = 1h;
  auto failing = config;
  std::atomic<bool> fails{false};
  failing.node.choose_shard = [&](const auto&) -> std::optional<std::size_t> {
    if (fails) throw std::runtime_error("no idea");
    return 0;
  };
  Told<> started, words, ran;
  Gate gate;
  Server server(failing);
  server.add("orders", make_worker([&](Batch& batch) {
               started.tell(batch.jobs().front().id);
               gate.pass();
             }));
  server.set_hooks({.last_words = [&](const std::exception_ptr&) { words.tell(""); }});
  server.start();
  server.client().push("orders", {.id = "1"});
  started.wait(1);
  fails = true;
  server.client().push("orders", {.id = "2"});
  words.wait(1);

  Server other(config);
  other.add("orders", telling(ran));
  other.start();
  other.client().push("orders", {.id = "1"});  // the key of what runs
  auto admin = other.admin();
  const auto shards_of = [&](const std::string& id) {
    for (const auto& node : admin.nodes()) {
      if (node.id == id) return node.shards;
    }
    return std::uint64_t{0};
  };
  int looks = 0;
  until([&] {
    EXPECT_EQ(shards_of(server.node_id()), 1U);
    return ++looks == 100;
  });
  EXPECT_THAT(ran.now(), IsEmpty());
  gate.open();
  EXPECT_THAT(ran.wait(2), UnorderedElementsAre("1", "2"));
  EXPECT_THAT(started.now(), ElementsAre("1"));
  EXPECT_TRUE(other.drain());
  EXPECT_EQ(shards_of(server.node_id()), 0U);
}

TEST(Embedding, nothing_is_called_any_more_once_stop_has_returned) {
  std::atomic<std::size_t> told{0}, lines{0}, leases{0};
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", make_worker([](Batch&) {}));
  server.subscribe({.types = {EventType::job_finished}}, [&](const Event&) {
    std::this_thread::yield();
    ++told;
  });
  server.set_log([&](LogLevel, std::string_view) { ++lines; });
  server.on_lease_renewed([&](Duration) { ++leases; });
  server.start();
  std::vector<NewJob> jobs(500);
  server.client().push_many("orders", jobs);
  EXPECT_TRUE(server.drain());
  server.stop();
  EXPECT_EQ(told, 500U);
  const auto before = std::tuple(told.load(), lines.load(), leases.load());
  static_cast<void>(server.admin().stats());
  EXPECT_EQ(std::tuple(told.load(), lines.load(), leases.load()), before);
}

// What it tells behind the one that hangs: nothing, and the log counts it.
TEST(Embedding, a_handler_that_does_not_return_is_left_alone_and_what_waits_for_it_is_counted) {
  constexpr std::size_t kJobs = 20;
  Told<> told, lines;
  Gate gate;
  {
    Server server(config_of({{.name = "orders"}}));
    server.add("orders", make_worker([](Batch&) {}));
    server.subscribe({.types = {EventType::job_finished}}, [&](const Event& event) {
      told.tell(event.id);
      gate.pass();
      throw std::runtime_error("too late to be logged");
    });
    server.subscribe({.types = {EventType::job_finished}}, [&](const Event&) { told.tell("another"); });
    server.set_log([&](LogLevel, std::string_view line) { lines.tell(std::string(line)); });
    server.start();
    server.client().push_many("orders", std::vector<NewJob>(kJobs));
    told.wait(1);
    EXPECT_TRUE(server.drain());
    server.stop();
    const auto logged = lines.now();
    const auto found = std::ranges::find_if(
        logged, [](const std::string& line) { return line.find("told to nobody") != std::string::npos; });
    ASSERT_NE(found, logged.end());
    const auto number = found->find("; ");
    ASSERT_NE(number, std::string::npos) << *found;
    EXPECT_EQ(std::stoul(found->substr(number + 2)), kJobs - 1) << *found;
    gate.open();
  }  // waits for the handler
  EXPECT_THAT(told.now(), SizeIs(1));
  EXPECT_THAT(lines.now(), Not(Contains(HasSubstr("too late"))));
}

TEST(Embedding, a_handler_of_events_may_stop_the_server) {
  Told<> stopped;
  Server server(config_of({{.name = "orders"}}));
  server.add("orders", make_worker([](Batch&) {}));
  server.subscribe({.types = {EventType::job_finished}}, [&](const Event&) {
    server.stop();
    stopped.tell("");
  });
  server.start();
  server.client().push("orders", {.id = "1"});
  stopped.wait(1);
  EXPECT_FALSE(server.running());
}

TEST(Embedding, each_callback_stands_alone) {
  class Throwing final : public Worker {
   public:
    explicit Throwing(Told<>& told) : told_(told) {}
    void perform(Batch&) override { throw std::runtime_error("bad"); }
    std::string load_error(const std::string&) override { throw std::runtime_error("cannot load"); }
    void retries_exhausted(const std::vector<JobView>& jobs) override { told_.tell(jobs.at(0).id); }

   private:
    Told<>& told_;
  };
  Told<> dead, events, lines;
  Server server(config_of({{.name = "orders", .max_retries = 0}}));
  server.add("orders", std::make_unique<Throwing>(dead));
  server.subscribe({.types = {EventType::job_dead}}, [](const Event&) { throw std::runtime_error("no"); });
  server.subscribe({.types = {EventType::job_dead}}, [&](const Event& event) { events.tell(event.id); });
  server.on_lease_renewed([](Duration) { throw std::runtime_error("no"); });
  server.set_log([&](LogLevel, std::string_view line) {
    lines.tell(std::string(line));
    throw std::runtime_error("a full disk");
  });
  server.start();
  server.client().push_many("orders", {{.id = "1"}, {.id = "2"}});
  EXPECT_THAT(dead.wait(2), AllOf(Contains("1"), Contains("2")));
  EXPECT_THAT(events.wait(2), AllOf(Contains("1"), Contains("2")));
  EXPECT_TRUE(server.running());
  server.stop();
  EXPECT_THAT(lines.now(), AllOf(Contains(HasSubstr("job '1'")), Contains(HasSubstr("job '2'"))));
}

TEST(Embedding, middlewares_that_go_on_twice_or_leave_nothing) {
  Server server(config_of({{.name = "orders", .max_retries = 0}}));
  Told<> ran;
  server.use([](Batch&, const std::function<void()>& next) {
    next();
    next();
  });
  server.add("orders", telling(ran));
  server.start();
  server.client().push("orders", {.id = "1"});
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(ran.now(), ElementsAre("1"));
  EXPECT_EQ(server.admin().stats().total.dead, 1U);

  auto client = server.client();
  client.use([](const std::string&, std::vector<NewJob>& jobs, const auto& next) {
    const bool all = jobs.size() > 1;
    jobs.clear();
    next();
    if (all) next();
  });
  EXPECT_THAT(refusal_of([&] { client.push("orders", {.id = "2"}); }), HasSubstr("left no job"));
  EXPECT_THAT(refusal_of([&] {
                client.push_many("orders", {{.id = "2"}, {.id = "3"}});
              }),
              HasSubstr("twice"));
}

TEST(Embedding, functions_that_are_not_there) {
  Server server(config_of({{.name = "orders"}}));
  EXPECT_THAT(refusal_of([&] { server.add("orders", nullptr); }), HasSubstr("needs a worker"));
  EXPECT_THAT(refusal_of([&] { server.use(nullptr); }), HasSubstr("needs a function"));
  EXPECT_THAT(refusal_of([&] { server.subscribe({}, nullptr); }), HasSubstr("needs a function"));
  EXPECT_THAT(refusal_of([&] { server.on_lease_renewed(nullptr); }), HasSubstr("needs a function"));
  EXPECT_THAT(refusal_of([] { static_cast<void>(make_worker(std::function<void(Batch&)>())); }),
              HasSubstr("needs a function"));
  auto client = server.client();
  EXPECT_THAT(refusal_of([&] { client.push_async("orders", {{.id = "1"}}, nullptr); }),
              HasSubstr("function"));
  EXPECT_THAT(refusal_of([&] { client.use(nullptr); }), HasSubstr("needs a function"));
}

// At once, and not at the first row; tests of a program are told so, too.
TEST(Embedding, functions_that_are_not_there_for_what_is_visited) {
  const auto config = config_of({{.name = "orders"}});
  Admin admin(config);
  const std::function<bool(JobView)> nothing;
  EXPECT_THAT(refusal_of([&] { admin.jobs("orders", {}, nothing); }), HasSubstr("needs a function"));
  EXPECT_THAT(refusal_of([&] { admin.export_jobs("orders", {}, nothing); }), HasSubstr("needs a function"));
  EXPECT_THAT(refusal_of([&] { admin.dead_jobs("orders", {}, {}, nothing); }), HasSubstr("needs a function"));
  EXPECT_THAT(refusal_of([&] { admin.dead("orders", {}, nullptr); }), HasSubstr("needs a function"));
  EXPECT_THAT(refusal_of([] { run_bench({}, nullptr); }), HasSubstr("needs a function"));
  using Typed = TypedJob<std::string>;
  EXPECT_THAT(
      refusal_of([] { static_cast<void>(make_worker<std::string>(std::function<void(const Typed&)>())); }),
      HasSubstr("needs a function"));
  void (*no_code)(const Typed&) = nullptr;
  EXPECT_THAT(refusal_of([&] { static_cast<void>(make_worker<std::string>(no_code)); }),
              HasSubstr("needs a function"));
  EXPECT_EQ(refusal_of([] { static_cast<void>(make_worker<std::string>([](const Typed&) {})); }), "(none)");
  testing::Bench bench(config);
  EXPECT_THAT(refusal_of([&] { bench.add("orders", nullptr); }), HasSubstr("needs a worker"));
}

TEST(Embedding, what_was_moved_from) {
  Client client(config_of({{.name = "orders"}}));
  Client taken(std::move(client));
  EXPECT_THAT(refusal_of([&] { client.push("orders", {.id = "1"}); }), HasSubstr("moved from"));  // NOLINT
  client = std::move(taken);
  EXPECT_EQ(client.push("orders", {.id = "1"}), "1");
  Admin admin(config_of({{.name = "orders"}}));
  Admin other(std::move(admin));
  EXPECT_THAT(refusal_of([&] { static_cast<void>(admin.stats()); }), HasSubstr("moved from"));  // NOLINT
}

TEST(Embedding, the_last_client_may_go_in_its_own_callback) {
  TemporaryStore store;
  for (int i = 0; i < 20; ++i) {
    std::promise<void> told;
    auto client = std::make_unique<Client>(config_of({{.name = "orders"}}, store.url()));
    auto* asked = client.get();
    asked->push_async("orders", {{.id = "1"}},
                      [&told, last = std::shared_ptr<Client>(std::move(client))](std::exception_ptr) mutable {
                        last.reset();
                        told.set_value();
                      });
    EXPECT_EQ(told.get_future().wait_for(kPatience), std::future_status::ready);
  }
}

TEST(Embedding, a_fork_leaves_the_child_errors_and_no_deadlocks) {
  TemporaryStore store;
  const auto config = config_of({{.name = "orders"}}, store.url());
  Told<> ran;
  auto server = std::make_unique<Server>(config);
  server->add("orders", telling(ran));
  server->start();
  auto client = std::make_unique<Client>(config);
  client->push("orders", {.id = "1"});
  ran.wait(1);
  const auto child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool good = refusal_of([&] { client->push("orders", {.id = "2"}); }).find("forked") != std::string::npos;
    good = good && refusal_of([&] { server->stop(); }).find("forked") != std::string::npos;
    client.reset();
    server.reset();
#ifndef __SANITIZE_THREAD__  // it lets no child of a process with threads start some
    Client(config).push("orders", {.id = "2"});
#endif
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  client->push("orders", {.id = "3"});
  until([&] { return ::testing::Value(ran.now(), Contains("3")); });
}

TEST(Embedding, a_forked_copy_of_a_server_does_not_run_and_refuses_every_call) {
  TemporaryStore store;
  const auto config = config_of({{.name = "orders"}}, store.url());
  Server server(config);
  server.add("orders", make_worker([](Batch&) {}));
  server.start();
  auto client = server.client();
  auto admin = server.admin();
  client.push("orders", {.id = "1"});
  const auto busy = [&](const std::function<void()>& call) {
    return std::jthread([call](const std::stop_token& stop) {
      while (!stop.stop_requested()) call();
    });
  };
  const auto looking = busy([&] { static_cast<void>(server.running() && server.serves("orders")); });
  const auto pushing = busy([&] { client.push("orders", {.id = "2"}); });
  const auto managing = busy([&] { static_cast<void>(admin.queues()); });
  const std::vector<std::function<void()>> calls = {
      [&] { server.stop(); },
      [&] { server.stop_for(0s); },
      [&] { server.quiet(); },
      [&] { server.drain(); },
      [&] { server.wait(); },
      [&] { server.client(); },
      [&] { server.admin(); },
      [&] { static_cast<void>(server.serves("orders")); },
      [&] { static_cast<void>(server.serves("orders", "orders")); },
      [&] { static_cast<void>(server.worker_count()); },
      [&] { server.remove_queue("orders"); },
      [&] { client.push("orders", {}); },
      [&] { client.push_async("orders", {{}}, [](const std::exception_ptr&) {}); },
      [&] { static_cast<void>(admin.stats()); },
      [&] { static_cast<void>(admin.jobs("orders")); },
  };
  for (int round = 0; round < 20; ++round) {
    const auto child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(120);  // a hang
      bool good = !server.running() && server.node_id().empty();
      for (const auto& call : calls) good = good && refusal_of(call).find("forked") != std::string::npos;
      _exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << round;
  }
}

TEST(Embedding, exit_in_a_run_ends_the_program) {
  const auto child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    static Server server(config_of({{.name = "orders"}}));
    server.add("orders", make_worker([](Batch&) { std::exit(7); }));
    server.start();
    server.client().push("orders", {.id = "1"});
    ::pause();  // exit() destroys the server: nothing may call it at that moment
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Embedding, a_config_of_a_program_is_held_to_the_bounds_of_a_file) {
  const auto refused = [](const std::function<void(Config&)>& change) {
    auto config = config_of({{.name = "orders"}});
    change(config);
    const auto why = refusal_of([&] { Server server(config); });
    EXPECT_EQ(refusal_of([&] { Client client(config); }), why);
    EXPECT_EQ(refusal_of([&] { Admin admin(config); }), why);
    EXPECT_EQ(refusal_of([&] { testing::Bench bench(config); }), why);
    return why;
  };
  EXPECT_THAT(refused([](auto& c) { c.node.threads = 0; }),
              HasSubstr("node: threads is 0, out of 1 to 10000"));
  EXPECT_THAT(refused([](auto& c) { c.node.poll_interval = 0s; }), HasSubstr("node: poll_interval"));
  EXPECT_THAT(refused([](auto& c) { c.node.lease = 1ms; }), HasSubstr("node: lease"));
  EXPECT_THAT(refused([](auto& c) { c.node.node_number = 1; }), HasSubstr("node: node_number"));
  EXPECT_THAT(refused([](auto& c) { c.store = ""; }), HasSubstr("store is empty"));
  EXPECT_THAT(refused([](auto& c) { c.queues[0].name = "a b"; }), HasSubstr("queue 'a b': name"));
  EXPECT_THAT(refused([](auto& c) { c.queues.push_back(c.queues[0]); }), HasSubstr("is there twice"));
  EXPECT_THAT(refused([](auto& c) { c.queues[0].shards = 0; }), HasSubstr("queue 'orders': shards is 0"));
  EXPECT_THAT(refused([](auto& c) { c.queues[0].batch_size = 0; }), HasSubstr("batch_size"));
  EXPECT_THAT(refused([](auto& c) { c.queues[0].threads = 0; }), HasSubstr("threads"));
  EXPECT_THAT(refused([](auto& c) { c.queues[0].timeout = 0s; }), HasSubstr("timeout"));
  EXPECT_THAT(refused([](auto& c) { c.queues[0].retry.jitter = std::nan(""); }), HasSubstr("retry.jitter"));
  EXPECT_THAT(refused([](auto& c) { c.queues[0].kinds = {{.kind = "orders"}}; }),
              HasSubstr("the queue's own"));
  EXPECT_THAT(refused([](auto& c) { c.queues[0].kinds = {{.kind = "k", .max_crashes = 0}}; }),
              HasSubstr("kind 'k': max_crashes"));
}

TEST(Embedding, a_copy_holds_no_lease_that_no_node_may_have) {
  TemporaryStore from, to;
  { Client(config_of({{.name = "orders"}}, from.url())).push("orders", {.id = "1"}); }
  for (const Duration lease :
       {Duration::min(), Duration{0}, Duration{1ms}, Duration{24h * 366}, Duration::max()}) {
    EXPECT_THAT(refusal_of([&] { copy_store(from.url(), to.url(), {}, lease); }), HasSubstr("lease"));
  }
  EXPECT_TRUE(copy_store(from.url(), to.url(), {}, 1s).verified());
}

volatile std::sig_atomic_t handled_by_library = 0;
pthread_t main_thread;

TEST(Embedding, signals_of_the_program_go_to_its_own_threads) {
  main_thread = pthread_self();
  struct sigaction action {};
  action.sa_handler = [](int) {
    if (pthread_equal(pthread_self(), main_thread) == 0) handled_by_library = 1;
  };
  struct sigaction before {};
  sigaction(SIGUSR1, &action, &before);
  TemporaryStore store;
  Server server(config_of({{.name = "orders"}}, store.url()));
  server.add("orders", make_worker([](Batch&) {}));
  server.start();
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &old);  // so that only a thread of the library could take it
  kill(getpid(), SIGUSR1);
  server.client().push("orders", {.id = "1"});
  EXPECT_TRUE(server.drain());
  EXPECT_EQ(handled_by_library, 0);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace embedding_test
}  // namespace ordo::api
