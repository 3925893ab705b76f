// Several servers on one store: who runs what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace ordo::api {
namespace nodes_test {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(ApiNodes, a_job_goes_to_the_node_that_has_its_code) {
  const TemporaryStore store;
  // A node that has not seen the other yet takes the kind for unknown.
  const auto config = config_of(
      {{.name = "orders", .shards = 1, .max_retries = 10000, .retry = retry_after(50ms)}}, store.url());
  Told<> shipped, mailed;
  Server ships(config), mails(config);
  ships.add("orders", telling(shipped));
  mails.add("orders", telling(mailed), "mail");
  ships.start();
  mails.start();
  Client client(config);
  client.push("orders", {.id = "1", .kind = "mail"});
  client.push("orders", {.id = "2"});
  EXPECT_THAT(shipped.wait(1), ElementsAre("2"));
  EXPECT_THAT(mailed.wait(1), ElementsAre("1"));
  EXPECT_TRUE(ships.drain());
}

TEST(ApiNodes, one_that_is_idle_runs_what_waits_at_the_other) {
  const TemporaryStore store;
  auto config = config_of({{.name = "orders", .shards = 1}}, store.url());
  config.node.threads = 1;
  Told<> by;
  Gate gate;
  const auto worker = [&](const std::string& name) {
    return make_worker([&, name](Batch&) {
      by.tell(name);
      gate.pass();
    });
  };
  Server first(config), second(config);
  first.add("orders", worker("first"));
  second.add("orders", worker("second"));
  first.start();
  second.start();
  first.client().push_many("orders", {{.id = "1"}, {.id = "2"}});
  EXPECT_THAT(by.wait(2), UnorderedElementsAre("first", "second"));
  gate.open();
  EXPECT_TRUE(first.drain());
}

TEST(ApiNodes, each_tells_that_a_queue_was_paused_and_resumed_elsewhere) {
  const TemporaryStore store;
  const auto config = config_of({{.name = "orders"}}, store.url());
  Told<> ran, first_told, second_told;
  Server first(config), second(config);
  for (auto& [server, told] : {std::pair(&first, &first_told), std::pair(&second, &second_told)}) {
    server->add("orders", telling(ran));
    server->subscribe(
        {.types = {EventType::queue_pausing, EventType::queue_paused, EventType::queue_running}},
        [told = told](const Event& event) { told->tell(std::string(to_string(event.type))); });
    server->start();
  }
  Admin admin(config);
  admin.pause("orders");
  EXPECT_THAT(first_told.wait(2), ElementsAre("queue_pausing", "queue_paused"));
  EXPECT_THAT(second_told.wait(2), ElementsAre("queue_pausing", "queue_paused"));
  admin.resume("orders");
  EXPECT_THAT(first_told.wait(3), ElementsAre("queue_pausing", "queue_paused", "queue_running"));
  EXPECT_THAT(second_told.wait(3), ElementsAre("queue_pausing", "queue_paused", "queue_running"));
}

}  // namespace nodes_test
}  // namespace ordo::api
