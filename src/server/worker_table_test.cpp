#include "server/worker_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ordo/worker.hpp>

namespace ordo {
namespace worker_table_test {

using testing::ElementsAre;
using testing::Key;

std::unique_ptr<Worker> worker() {
  return make_worker([](Batch&) {});
}

TEST(WorkerTable, kinds_of_a_queue_with_a_library_have_the_code_of_the_queue) {
  Config config;
  QueueOptions queue{.name = "orders"};
  queue.execution.library = "./libshop.so";
  queue.kinds = {{.kind = "gift"}, {.kind = "refund"}, {.kind = "ship"}};
  queue.kinds[2].execution.command = {"ship"};
  config.queues = {queue};
  WorkerTable table;
  table.add(config, "orders", worker(), "refund");
  table.inherit(queue);
  EXPECT_THAT(table.of("orders"), ElementsAre(Key("refund"))) << "the queue has none of its own";
  table.add(config, "orders", worker(), "orders");
  table.inherit(queue);
  const auto workers = table.of("orders");
  EXPECT_THAT(workers, ElementsAre(Key("gift"), Key("orders"), Key("refund")));
  EXPECT_EQ(workers.at("gift"), workers.at("orders"));
  EXPECT_NE(workers.at("refund"), workers.at("orders"));
}

TEST(WorkerTable, without_a_library_a_program_says_which_kinds_it_has_code_for) {
  Config config;
  QueueOptions queue{.name = "orders"};
  queue.kinds = {{.kind = "gift"}};
  config.queues = {queue};
  WorkerTable table;
  table.add(config, "orders", worker(), "orders");
  table.inherit(queue);
  EXPECT_THAT(table.of("orders"), ElementsAre(Key("orders")));
}

}  // namespace worker_table_test
}  // namespace ordo
