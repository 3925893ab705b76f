// Throttlers: a program's own say before each start (docs/limits.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "support.h"

namespace ordo::api {
namespace throttler_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

bool runs_of_partition(const ThrottleQuestion& question) {
  return std::ranges::any_of(question.running, [&](const ThrottledJob& job) {
    return job.partition == question.candidate.partition;
  });
}

TEST(Throttler, sees_what_runs_and_the_listings_name_it) {
  QueueOptions calls{.name = "calls", .shards = 1, .partition = "/region"};
  calls.throttler = [](const ThrottleQuestion& question) {
    return runs_of_partition(question) ? ThrottleAnswer::skip() : ThrottleAnswer::run();
  };
  Told<> told;
  Gate gate;
  Server server(config_of({calls}));
  server.add("calls", make_worker([&](Batch& batch) {
               told.tell(batch.jobs().front().id);
               gate.pass();
             }));
  server.start();
  const std::string east = R"({"region":"east"})", west = R"({"region":"west"})";
  server.client().push_many(
      "calls", {{.id = "1", .payload = east}, {.id = "2", .payload = east}, {.id = "3", .payload = west}});
  EXPECT_THAT(told.wait(2), UnorderedElementsAre("1", "3"));
  auto admin = server.admin();
  std::vector<WaitsFor> reasons;
  until([&] {
    const auto jobs = admin.jobs("calls", {.id = "2"});
    if (jobs.size() == 1) reasons = jobs[0].waits_for;
    return !reasons.empty();
  });
  EXPECT_THAT(reasons, ElementsAre(WaitsFor{ordo::Gate::throttler, "calls"}));
  until([&] { return admin.stats().total.blocked_by_throttler == 1; });
  EXPECT_EQ(admin.stats().total.ready, 0U);
  gate.open();
  EXPECT_TRUE(server.drain());
  EXPECT_EQ(told.now().size(), 3U);
}

TEST(Throttler, defers_and_cancels_with_the_reason) {
  QueueOptions calls{.name = "calls"};
  std::atomic<bool> is_open = false;
  calls.throttler = [&](const ThrottleQuestion& question) {
    if (question.candidate.id == "bad") return ThrottleAnswer::cancel("sanctioned");
    if (!is_open) return ThrottleAnswer::defer(question.now + 50ms);
    return ThrottleAnswer::run();
  };
  Told<> told, cancelled;
  Server server(config_of({calls}));
  server.add("calls", telling(told));
  server.subscribe({.types = {EventType::job_failed}, .queues = {}},
                   [&](const Event& event) { cancelled.tell(event.id + ": " + event.error); });
  server.start();
  server.client().push_many("calls", {{.id = "bad"}, {.id = "good"}});
  EXPECT_THAT(cancelled.wait(1), ElementsAre("bad: cancelled by the throttler: sanctioned"));
  EXPECT_THAT(told.now(), IsEmpty());
  is_open = true;
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(told.now(), ElementsAre("good"));
  EXPECT_THAT(server.admin().jobs("calls"), IsEmpty());
}

TEST(Throttler, one_that_throws_starts_nothing_and_is_told) {
  QueueOptions calls{.name = "calls"};
  std::atomic<bool> throws = true;
  calls.throttler = [&](const ThrottleQuestion&) {
    if (throws) throw std::runtime_error("no map");
    return ThrottleAnswer::run();
  };
  Told<> told, alarms;
  Server server(config_of({calls, {.name = "mail"}}));
  server.add("calls", telling(told));
  server.add("mail", telling(told));
  server.subscribe({.types = {EventType::throttler_failed}, .queues = {}},
                   [&](const Event& event) { alarms.tell(event.queue + ": " + event.error); });
  server.start();
  server.client().push("calls", {.id = "1"});
  EXPECT_THAT(alarms.wait(1).front(), HasSubstr("calls: the throttler threw: no map"));
  server.client().push("mail", {.id = "2"});
  EXPECT_THAT(told.wait(1), ElementsAre("2")) << "other queues go on";
  throws = false;
  EXPECT_TRUE(server.drain());
  EXPECT_THAT(told.now(), ElementsAre("2", "1"));
}

TEST(Throttler, nodes_without_it_start_nothing_of_its_queue) {
  const TemporaryStore store;
  Told<> told, asked;
  std::atomic<bool> is_open = false;
  const auto config = config_of({{.name = "calls", .shards = 2}}, store.url());
  auto throttled = config;
  throttled.node.threads = 3;
  throttled.queues[0].throttler = [&](const ThrottleQuestion& question) {
    asked.tell(question.candidate.id);
    return is_open ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  Server without(config), with(throttled);
  without.add("calls", telling(told));
  with.add("calls", telling(told));
  without.start();
  with.start();
  auto admin = without.admin();
  until([&] {
    const auto nodes = admin.nodes();
    return std::ranges::any_of(nodes,
                               [](const NodeView& node) { return node.threads == 3 && node.shards == 2; });
  });
  without.client().push_many("calls", {{.id = "1"}, {.id = "2"}, {.id = "3"}});
  asked.wait(3);
  EXPECT_THAT(told.now(), IsEmpty());
  is_open = true;
  EXPECT_THAT(told.wait(3), UnorderedElementsAre("1", "2", "3"));
  EXPECT_TRUE(with.drain());
}

}  // namespace throttler_test
}  // namespace ordo::api
