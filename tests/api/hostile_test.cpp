// Hostile values at every entrance of Client, Admin and postgres::push: kept exactly, brought within
// documented bounds, or refused with Error{invalid_argument} in one short line; nothing that was acknowledged
// is lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <future>
#include <limits>
#include <map>

#include <ordo/postgres.hpp>
#include <ordo/testing.hpp>

#include "support.h"
#include "support/postgres_server.h"

namespace ordo::api {
namespace hostile_test {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kMiB = std::size_t{1} << 20;
constexpr double kMost = std::numeric_limits<double>::max();

const std::vector<std::string> kNames = {"42",
                                         "a\nb",
                                         "a\0b"s,
                                         "\0"s,
                                         "\xff\xfe",
                                         "\x1b[31m\x07",
                                         "'\"\\`$(",
                                         "  ",
                                         R"({"$base64":"AA=="})",
                                         "\u202e\u009b",
                                         std::string(255, 'n'),
                                         std::string(255, '\0'),
                                         std::string(255, '\xff')};
const std::vector<std::string> kLongNames = {std::string(256, 'n'), std::string(kMiB, '\n')};

std::vector<NewJob> kept_jobs() {
  std::vector<NewJob> jobs;
  const auto add = [&](NewJob job) {
    if (job.id.empty()) job.id = "job-" + std::to_string(jobs.size());
    jobs.push_back(std::move(job));
  };
  for (const auto& name : kNames) {
    add({.id = name});
    add({.key = name});
    add({.kind = name});
    add({.payload = name});
  }
  add({.payload = std::string(kMiB, '\0')});
  for (const double score : {0.0, -0.0, kMost, -kMost, std::numeric_limits<double>::denorm_min()})
    add({.score = score});
  const Time far = std::chrono::sys_days{std::chrono::year{9000} / 1 / 1} + Duration{1};
  for (const auto time : {Time::min(), Time::max(), Time{}, Time{Duration{-1}}, far}) add({.run_at = time});
  for (const auto delay : {Duration::min(), Duration::max(), Duration{0}, Duration{-1}})
    add({.delay = delay});
  add({.priority = std::numeric_limits<std::int32_t>::min()});
  add({.priority = std::numeric_limits<std::int32_t>::max()});
  add({.timeout = Duration{1}});
  add({.timeout = Duration::max()});
  for (const auto& name : kNames) {
    add({.partition = name});
    add({.lock = name});
  }
  add({.partition = ""});
  for (const auto weight : {Decimal::of_millionths(1), Decimal::of_millionths(Decimal::kMost)})
    add({.weight = weight});
  for (const auto expires : {Time::max(), far}) add({.expires = expires});
  add({.windows = std::vector<Window>(8, Window{.end = 24h})});
  return jobs;
}

std::vector<NewJob> refused_jobs() {
  std::vector<NewJob> jobs;
  for (const auto& name : kLongNames) {
    jobs.push_back({.id = name});
    jobs.push_back({.key = name});
    jobs.push_back({.kind = name});
  }
  for (const auto& id : kNames) {  // named by what refuses them
    jobs.push_back({.id = id, .payload = std::string(kMiB + 1, 'x')});
    jobs.push_back({.id = id, .score = std::nan("")});
    jobs.push_back({.id = id, .score = std::numeric_limits<double>::infinity()});
    jobs.push_back({.id = id, .score = -std::numeric_limits<double>::infinity()});
    jobs.push_back({.id = id, .run_at = Time{}, .delay = Duration{0}});
    for (const auto timeout : {Duration{0}, Duration{-1}, Duration::min()})
      jobs.push_back({.id = id, .timeout = timeout});
    for (const auto weight :
         {Decimal(), Decimal::of_millionths(-1), Decimal::of_millionths(Decimal::kMost + 1)})
      jobs.push_back({.id = id, .weight = weight});
    jobs.push_back({.id = id, .lock = ""});
    jobs.push_back({.id = id, .unique = ""});
    jobs.push_back({.id = id, .windows = std::vector<Window>(1000, Window{.end = 24h})});
    for (const Window& window : {Window{.start = -1s, .end = 1h}, Window{.end = 25h}, Window{.end = 0s},
                                 Window{.end = 1h, .days = 0}, Window{.end = 1h, .days = 255}})
      jobs.push_back({.id = id, .windows = {window}});
    if (id != "42") jobs.push_back({.windows = {{.end = 1h, .tz = id}}});
  }
  for (const auto& name : kLongNames) {
    jobs.push_back({.partition = name});
    jobs.push_back({.lock = name});
    jobs.push_back({.unique = name});
    jobs.push_back({.windows = {{.end = 1h, .tz = name}}});
  }
  return jobs;
}

const std::vector<std::string> kBadQueues = {"",
                                             "Bad Name",
                                             "a\nb",
                                             "orders\0"s,
                                             "\xff",
                                             "orders>",
                                             std::string(65, 'q'),
                                             std::string(kMiB, '\n'),
                                             "no-such-queue"};

template <class Call>
bool is_refused(const Call& call, std::size_t most = 1000) {
  try {
    call();
    return false;
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_TRUE(error.kind() == ErrorKind::invalid_argument || error.kind() == ErrorKind::conflict)
        << what.substr(0, 1000);
    EXPECT_LT(what.size(), most) << what.substr(0, 1000);
    EXPECT_TRUE(std::ranges::all_of(what, [](unsigned char c) { return c >= ' ' && c != 0x7f; }))
        << what.substr(0, 1000);
    return true;
  }
}

/// In one line that quotes at most 200 bytes of each thing that was given.
template <class Call>
void expect_refused(const Call& call, std::size_t most = 1000) {
  EXPECT_TRUE(is_refused(call, most)) << "it was taken";
}

void expect_kept(const NewJob& job, const JobView& view) {
  EXPECT_EQ(view.id, job.id);
  EXPECT_EQ(view.key, job.key.empty() ? job.id : job.key);
  EXPECT_EQ(view.kind, job.kind.empty() ? "orders" : job.kind);
  ASSERT_EQ(view.payloads.size(), 1U);
  EXPECT_EQ(view.payloads[0].bytes, job.payload);
  if (job.score) {
    EXPECT_EQ(view.payloads[0].score, *job.score);
  }
  const Time first = std::chrono::sys_days{std::chrono::year{0} / 1 / 1};
  const Time last = std::chrono::sys_days{std::chrono::year{10000} / 1 / 1} - Duration{1};
  if (job.run_at) {
    EXPECT_EQ(view.run_at, std::clamp(*job.run_at, first, last));
  }
  if (job.delay == Duration::max()) {
    EXPECT_EQ(view.run_at, last);
  }
  if (job.delay == Duration::min()) {
    EXPECT_EQ(view.run_at, first);
  }
}

class Hostile : public ::testing::TestWithParam<bool> {
 protected:
  std::map<std::string, JobView> jobs() {
    std::map<std::string, JobView> found;
    for (auto& job : admin_.jobs("orders")) found.emplace(job.id, std::move(job));
    return found;
  }

  TemporaryStore file_;
  Server server_{
      config_of({{.name = "orders", .shards = 2, .lock = "id"}}, GetParam() ? file_.url() : "memory:")};
  Client client_ = server_.client();
  Admin admin_ = server_.admin();
};

/// Each way to push; returns when the job is stored.
const std::vector<std::function<std::string(Client&, std::string_view, NewJob)>> kPushes = {
    [](Client& client, std::string_view queue, NewJob job) { return client.push(queue, std::move(job)); },
    [](Client& client, std::string_view queue, NewJob job) {
      return client.push_many(queue, {std::move(job)}).at(0);
    },
    [](Client& client, std::string_view queue, NewJob job) {
      std::promise<void> stored;
      const auto done = [&](std::exception_ptr error) {
        if (error) {
          stored.set_exception(error);
        } else {
          stored.set_value();
        }
      };
      const auto ids = client.push_async(queue, {std::move(job)}, done);
      stored.get_future().get();
      return ids.at(0);
    }};

TEST_P(Hostile, values_are_kept_at_each_way_to_push) {
  for (const auto& push : kPushes) {
    for (const auto& job : kept_jobs()) {
      EXPECT_EQ(push(client_, "orders", job), job.id);
      const auto found = admin_.jobs("orders", {.id = job.id});
      ASSERT_EQ(found.size(), 1U);
      expect_kept(job, found[0]);
      EXPECT_TRUE(admin_.cancel("orders", {.id = job.id, .kind = found[0].kind, .key = found[0].key}));
      EXPECT_THAT(admin_.jobs("orders"), IsEmpty());
    }
  }
}

TEST_P(Hostile, values_are_refused_at_each_way_to_push_and_so_is_all_beside_them) {
  for (const auto& job : refused_jobs()) {
    for (const auto& push : kPushes) expect_refused([&] { push(client_, "orders", job); });
    expect_refused([&] { client_.push_many("orders", {{.id = "first"}, job, {.id = "last"}}); });
    expect_refused([&] {
      client_.push_async("orders", {{.id = "first"}, job}, [](std::exception_ptr) { ADD_FAILURE(); });
    });
  }
  for (const auto& queue : kBadQueues) {
    for (const auto& push : kPushes) {
      expect_refused([&] { push(client_, queue, {.id = "1"}); });
      expect_refused([&] { push(client_, queue, {.id = "1", .score = std::nan("")}); });
    }
  }
  expect_refused([&] { client_.push_many("orders", std::vector<NewJob>(10'001)); });
  expect_refused(
      [&] { client_.push_many("orders", std::vector<NewJob>(65, {.payload = std::string(kMiB, 'x')})); });
  EXPECT_THAT(client_.push_many("orders", {}), IsEmpty());
  EXPECT_THAT(admin_.jobs("orders"), IsEmpty());
}

TEST_P(Hostile, values_come_back_together_and_in_batches) {
  std::map<std::string, NewJob> pushed;
  for (const auto& job : kept_jobs()) pushed.emplace(job.id, job);
  std::vector<NewJob> all;
  for (const auto& [id, job] : pushed) all.push_back(job);
  client_.push_many("orders", all);
  const auto found = jobs();
  ASSERT_EQ(found.size(), pushed.size());
  for (const auto& [id, job] : pushed) expect_kept(job, found.at(id));
}

TEST_P(Hostile, names_of_queues_are_refused_by_each_call_of_admin) {
  client_.push("orders", {.id = "1"});
  for (const auto& queue : kBadQueues) {
    expect_refused([&] { static_cast<void>(admin_.jobs(queue)); });
    expect_refused([&] { admin_.cancel(queue, {.id = "1"}); });
    expect_refused([&] { admin_.run_now(queue, {.id = "1"}); });
    expect_refused([&] { admin_.dead(queue, {}, [](const DeadView&) { return true; }); });
    expect_refused([&] { admin_.retry_dead(queue, {}); });
    expect_refused([&] { admin_.delete_dead(queue, {}); });
    expect_refused([&] { admin_.pause(queue); });
    expect_refused([&] { admin_.resume(queue); });
    expect_refused([&] { admin_.remove(queue); });
    expect_refused([&] { admin_.reshard(queue, 3); });
    expect_refused([&] { static_cast<void>(admin_.stats({queue})); });
    expect_refused([&] { static_cast<void>(admin_.shard_stats({queue})); });
    expect_refused([&] { admin_.jobs(queue, {}, [](const JobView&) { return true; }); });
    expect_refused([&] { admin_.export_jobs(queue, {}, [](const JobView&) { return true; }); });
    expect_refused([&] { static_cast<void>(admin_.count_jobs(queue, {})); });
    expect_refused([&] { admin_.change_jobs(queue, {}, JobChange::cancel); });
    expect_refused([&] { admin_.dead_jobs(queue, {}, {}, [](const JobView&) { return true; }); });
    expect_refused([&] { admin_.count_dead(queue, {}); });
    expect_refused([&] { admin_.waits(queue); });
    expect_refused([&] { static_cast<void>(admin_.locks(queue)); });
    expect_refused([&] { admin_.run_periodic(queue); });
    expect_refused([&] { admin_.pause_periodic(queue); });
    expect_refused([&] { admin_.resume_periodic(queue); });
    expect_refused([&] { static_cast<void>(client_.push_each(queue, {{.id = "1"}})); });
    expect_refused([&] { client_.push_value(queue, std::string("1")); });
    expect_refused([&] { client_.respond(queue, "key", "body"); });
    expect_refused([&] { client_.respond(queue, "", "body"); });
    expect_refused([&] { client_.respond(queue, "key", std::string(kMiB + 1, 'x')); });
    if (queue == "no-such-queue") continue;
    expect_refused([&] { admin_.set_limit(queue, Decimal(5), {}); });
    EXPECT_FALSE(admin_.unset_limit(queue));
  }
  EXPECT_FALSE(admin_.set_limit("no-such-limit", Decimal(5), {}));
  for (const auto limit : {Decimal(), Decimal(-1), Decimal::of_millionths(Decimal::kMost + 1)})
    expect_refused([&] { admin_.set_limit("orders", limit, {}); });
  for (const auto per : {Duration{0}, Duration::min(), Duration::max()})
    expect_refused([&] { admin_.set_limit("orders", {}, RateLimit{.per = per}); });
  expect_refused([&] { admin_.set_limit("orders", {}, {}); });
  EXPECT_EQ(admin_.queues().size(), 1U);
  EXPECT_EQ(jobs().size(), 1U);
}

TEST_P(Hostile, names_that_nothing_has_change_nothing) {
  client_.push("orders", {.id = "there"});
  auto names = kNames;
  names.insert(names.end(), kLongNames.begin(), kLongNames.end());
  for (const auto& name : names) {
    for (const auto& job :
         {JobName{.id = name}, JobName{.id = "there", .kind = name}, JobName{.id = "there", .key = name}}) {
      EXPECT_FALSE(admin_.cancel("orders", job));
      EXPECT_FALSE(admin_.run_now("orders", job));
    }
    EXPECT_THAT(admin_.jobs("orders", {.id = name}), IsEmpty());
    EXPECT_THAT(admin_.jobs("orders", {.kind = name}), IsEmpty());
    EXPECT_THAT(admin_.jobs("orders", {.key = name}), IsEmpty());
    EXPECT_EQ(admin_.retry_dead("orders", {.ids = {{name}}}), 0U);
    EXPECT_EQ(admin_.delete_dead("orders", {.ids = {{name}}}), 0U);
    admin_.dead("orders", {.ids = {{name}}}, [](const DeadView&) { return ADD_FAILURE(), true; });
    EXPECT_FALSE(admin_.quiet_node(name));
    EXPECT_FALSE(admin_.stop_node(name));
  }
  expect_refused([&] { admin_.cancel("orders", {}); });
  expect_refused([&] { admin_.run_now("orders", {.key = "there"}); });
  EXPECT_FALSE(admin_.quiet_node(""));
  EXPECT_THAT(admin_.jobs("orders", {.limit = 0}), IsEmpty());
  EXPECT_EQ(admin_.jobs("orders", {.limit = std::numeric_limits<std::size_t>::max()}).size(), 1U);
  EXPECT_THAT(admin_.jobs("orders", {.states = {static_cast<JobStatus>(200)}}), IsEmpty());
  for (const std::uint32_t shards : {0U, 65'537U, std::numeric_limits<std::uint32_t>::max()})
    expect_refused([&] { admin_.reshard("orders", shards); });
  EXPECT_EQ(jobs().size(), 1U);
}

TEST_P(Hostile, responses_are_kept_for_any_key_or_refused) {
  client_.push("orders", {.id = "makes the queue"});
  for (const auto& name : kNames) {
    EXPECT_EQ(client_.respond("orders", name, name, name), Responded::buffered);
    EXPECT_EQ(client_.respond("orders", name, name, name), Responded::duplicate);
    EXPECT_EQ(client_.respond(ResponseToken{name}, "body"), Responded::refused);
    expect_refused([&] { client_.respond("orders", name, std::string(kMiB + 1, 'x')); });
  }
  for (const auto& name : kLongNames) {
    expect_refused([&] { client_.respond("orders", name, "body"); });
    expect_refused([&] { client_.respond("orders", "key", "body", name); });
    expect_refused([&] { client_.respond(ResponseToken{"token"}, "body", name); });
    EXPECT_EQ(client_.respond(ResponseToken{name}, "body"), Responded::refused);
  }
  std::vector<std::string> keys;
  for (const auto& wait : admin_.waits("orders")) keys.push_back(wait.key);
  EXPECT_THAT(keys, ::testing::UnorderedElementsAreArray(kNames));
}

TEST_P(Hostile, cursors_go_on_somewhere_or_are_refused) {
  client_.push("orders", {.id = "1"});
  auto cursors = kNames;
  cursors.insert(cursors.end(), kLongNames.begin(), kLongNames.end());
  for (const std::size_t size : {1U, 4U, 16U, 100U, 1000U}) cursors.emplace_back(size, 'A');
  for (const auto& cursor : cursors) {
    for (const auto sort : {JobSort::start, JobSort::run_at, JobSort::id, JobSort::retry_count}) {
      const Listing listing{.sort = sort, .after = cursor};
      is_refused([&] { EXPECT_LE(admin_.jobs("orders", {.listing = listing}).size(), 1U); });
      is_refused([&] { admin_.dead_jobs("orders", {}, listing, [](const JobView&) { return true; }); });
    }
  }
}

TEST_P(Hostile, jobs_that_differ_in_hostile_names_are_told_apart_in_one_line) {
  for (const auto& name : kNames)
    client_.push("orders", {.id = "same", .key = name, .kind = "k" + name.substr(1)});
  expect_refused([&] { admin_.cancel("orders", {.id = "same"}); }, 5000);  // ten names of kinds and of keys
  EXPECT_EQ(admin_.jobs("orders", {.id = "same"}).size(), kNames.size());
}

INSTANTIATE_TEST_SUITE_P(Stores, Hostile, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "sqlite" : "memory"; });

// Whatever of a Config is named so.
TEST(HostileConfig, names_are_taken_by_all_or_refused_by_all) {
  auto names = kNames;
  names.insert(names.end(), kLongNames.begin(), kLongNames.end());
  names.insert(names.end(), kBadQueues.begin(), kBadQueues.end());
  using Change = void (*)(Config&, const std::string&);
  const std::map<std::string, Change> changes = {
      {"store", [](Config& config, const std::string& name) { config.store = "x" + name; }},
      {"file", [](Config& config, const std::string& name) { config.store = "sqlite:/no/" + name + "/x"; }},
      {"mode", [](Config& config, const std::string& name) { config.store = "sqlite:/no/x?" + name; }},
      {"queue", [](Config& config, const std::string& name) { config.queues[0].name = name; }},
      {"queues twice",
       [](Config& config, const std::string& name) {
         config.queues = {{.name = name}, {.name = name}};
       }},
      {"kind", [](Config& config, const std::string& name) { config.queues[0].kinds = {{.kind = name}}; }},
      {"kinds twice",
       [](Config& config, const std::string& name) {
         config.queues[0].kinds = {{.kind = name}, {.kind = name}};
       }},
      {"batch of a kind",
       [](Config& config, const std::string& name) {
         config.queues[0].kinds = {{.kind = name, .batch_size = 0}};
       }},
      {"group", [](Config& config, const std::string& name) { config.queues[0].group = name; }},
      {"lock", [](Config& config, const std::string& name) { config.queues[0].lock = name; }},
      {"lock_name",
       [](Config& config, const std::string& name) {
         config.queues[0].lock = "id";
         config.queues[0].lock_name = name;
       }},
      {"partition", [](Config& config, const std::string& name) { config.queues[0].partition = name; }},
      {"shares",
       [](Config& config, const std::string& name) {
         config.queues[0].limit = Decimal(5);
         config.queues[0].partition = "/region";
         config.queues[0].shares = {{name, 101}};
       }},
      {"limits", [](Config& config, const std::string& name) { config.queues[0].limits = {name}; }},
      {"unique",
       [](Config& config, const std::string& name) { config.queues[0].unique = Unique{.by = name}; }},
      {"zone",
       [](Config& config, const std::string& name) { config.queues[0].windows = {{.end = 1h, .tz = name}}; }},
      {"limit", [](Config& config, const std::string& name) { config.limits = {{.name = name}}; }},
      {"schedule",
       [](Config& config, const std::string& name) {
         config.periodic = {{.name = name, .queue = "orders", .every = 1h}};
       }},
      {"queue of a schedule",
       [](Config& config, const std::string& name) {
         config.periodic = {{.name = "often", .queue = name, .every = 1h}};
       }},
      {"cron",
       [](Config& config, const std::string& name) {
         config.periodic = {{.name = "often", .queue = "orders", .cron = name}};
       }},
      {"zone of a schedule",
       [](Config& config, const std::string& name) {
         config.periodic = {{.name = "often", .queue = "orders", .cron = "* * * * *", .tz = name}};
       }},
      {"key of a schedule",
       [](Config& config, const std::string& name) {
         config.periodic = {{.name = "often", .queue = "orders", .every = 1h, .kind = name, .key = name}};
       }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    std::size_t refused = 0;
    for (const auto& name : names) {
      auto config = config_of({{.name = "orders"}});
      change(config, name);
      const bool by_client = is_refused([&] { Client client(config); });
      EXPECT_EQ(is_refused([&] {
                  Server server(config);
                  server.client();
                }),
                by_client);
      refused += by_client ? 1 : 0;
    }
    EXPECT_GE(refused, 1U);
  }
}

TEST(HostileConfig, names_are_refused_by_each_call_of_a_server) {
  const auto idle = [] { return make_worker([](Batch&) {}); };
  auto names = kNames;
  names.insert(names.end(), kLongNames.begin(), kLongNames.end());
  names.insert(names.end(), kBadQueues.begin(), kBadQueues.end());
  Server running(config_of({{.name = "orders"}}));
  running.add("orders", idle());
  running.start();
  for (const auto& name : names) {
    const bool is_bad = name != "42" && name != "no-such-queue";
    Server server(config_of({{.name = "orders"}}));
    EXPECT_EQ(is_refused([&] { server.add(name, idle()); }), is_bad);
    expect_refused([&] { server.add(name, nullptr); });
    is_refused([&] { server.add("orders", idle(), name); });
    expect_refused([&] {
      server.add("orders", idle(), name);
      server.add("orders", idle(), name);
    });
    expect_refused([&] { running.add(name, idle()); });
    expect_refused([&] { running.add_queue({.name = name}, KindWorkers()); });
    expect_refused([&] { running.add_queue({.name = name}, std::unique_ptr<Worker>()); });
    expect_refused([&] { running.change_queues({.remove = {name}}); });
    expect_refused([&] { load_library(server, "/no/" + name); });
    EXPECT_FALSE(running.remove_queue(name));
    EXPECT_FALSE(running.serves(name));
    if (!is_bad) continue;
    expect_refused([&] { running.add_queue({.name = name}, idle()); });
    if (name.size() > 255) {
      expect_refused([&] {
        KindWorkers workers;
        workers[name] = idle();
        running.add_queue({.name = "new"}, std::move(workers));
      });
    }
  }
  EXPECT_EQ(running.worker_count(), 1U);
}

/// What is text for PostgreSQL.
bool is_text(const NewJob& job) {
  return std::ranges::all_of(std::array{job.id, job.key, job.kind}, [](const std::string& name) {
    return name.find('\0') == std::string::npos && name.find('\xff') == std::string::npos;
  });
}

class HostileTransaction : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { session_.run("SET client_encoding = '" + GetParam() + "'"); }

  std::string push(std::string_view queue, const NewJob& job) {
    return postgres::push(session_.handle(), queue, job);
  }
  void expect_refused_in_transaction(std::string_view queue, const NewJob& job) {
    session_.run("BEGIN");
    push("orders", {.id = "beside"});
    expect_refused([&] { push(queue, job); });
    session_.run("ROLLBACK");
  }

  const std::string url_ = test::PostgresServer::shared().new_schema();
  Server server_{config_of({{.name = "orders", .shards = 2, .lock = "id"}}, url_)};
  Client client_ = server_.client();
  Admin admin_ = server_.admin();
  test::PostgresSession session_{url_};
};

TEST_P(HostileTransaction, values_are_kept_in_it) {
  client_.push("orders", {.id = "makes the queue"});
  std::map<std::string, NewJob> pushed;
  session_.run("BEGIN");
  for (const auto& job : kept_jobs()) {
    if (!is_text(job)) continue;
    EXPECT_EQ(push("orders", job), job.id);
    pushed.emplace(job.id, job);
  }
  session_.run("COMMIT");
  std::size_t found = 0;
  for (const auto& view : admin_.jobs("orders")) {
    if (!pushed.contains(view.id)) continue;
    expect_kept(pushed.at(view.id), view);
    ++found;
  }
  EXPECT_EQ(found, pushed.size());
}

TEST_P(HostileTransaction, values_are_refused_with_all_beside_them) {
  client_.push("orders", {.id = "makes the queue"});
  for (const auto& job : refused_jobs()) expect_refused_in_transaction("orders", job);
  for (const auto& job : kept_jobs()) {
    if (!is_text(job)) expect_refused_in_transaction("orders", job);
  }
  for (const auto& queue : kBadQueues) expect_refused_in_transaction(queue, {.id = "1"});
  EXPECT_EQ(admin_.jobs("orders").size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Encodings, HostileTransaction, ::testing::Values("UTF8", "LATIN1"),
                         [](const auto& param) { return param.param; });

TEST(HostileRun, a_worker_and_the_dead_have_what_was_pushed) {
  auto options = QueueOptions{.name = "orders", .shards = 1, .max_retries = 0, .lock = "id"};
  testing::Bench bench(config_of({options}));
  std::map<std::string, NewJob> pushed;
  std::vector<NewJob> ran;
  bench.add(
      "orders", make_worker([&](Batch& batch) {
        const auto& job = batch.jobs()[0];
        ran.push_back({.id = job.id, .payload = job.payloads[0].bytes, .key = job.key, .kind = batch.kind()});
        batch.fail(0, job.id);  // an error of any bytes
      }));
  for (auto job : kept_jobs()) {
    job.kind.clear();
    pushed.emplace(job.id, job);
    bench.push("orders", job);
  }
  bench.drain();
  EXPECT_EQ(ran.size() + bench.jobs("orders").size(), pushed.size());
  EXPECT_EQ(bench.jobs("orders").size(), 3U);  // those far ahead
  EXPECT_EQ(bench.dead("orders").size(), ran.size());
  for (const auto& dead : bench.dead("orders")) {
    EXPECT_EQ(dead.payload.bytes, pushed.at(dead.id).payload);
    EXPECT_EQ(dead.error, dead.id);
  }
  for (const auto& job : ran) EXPECT_EQ(job.payload, pushed.at(job.id).payload);
}

}  // namespace hostile_test
}  // namespace ordo::api
