#include "runtime/queue_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace queue_table_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class QueueTableTest : public testing::Test {
 protected:
  QueueTableTest() {
    for (const auto* name : {"orders", "mails"}) table.serve(RoomBench::queue_of(name), 0);
    bench.scope.watch = true;
  }
  std::vector<const ServedQueue*> define(bool paused) {
    store::QueueList list;
    list.queues = {{.number = 4, .name = "orders", .shards = 2, .paused = paused},
                   {.number = 5, .name = "others", .shards = 1}};
    return table.define(list);
  }
  void tell(std::size_t runs) {
    table.tell_pauses([&](const ServedQueue&) { return runs; });
  }
  std::vector<EventType> told() {
    std::vector<EventType> types;
    for (const auto& event : std::exchange(bench.events, {})) types.push_back(event.type);
    return types;
  }

  RoomBench bench;
  QueueTable table{bench.scope};
};

TEST_F(QueueTableTest, queues_are_found_by_the_numbers_that_they_have_now) {
  EXPECT_EQ(table.find(4), nullptr);
  define(false);
  ASSERT_NE(table.find(4), nullptr);
  EXPECT_EQ(table.find(4)->options.name, "orders");
  EXPECT_EQ(table.find(4)->options.shards, 2u);
  EXPECT_EQ(table.find(5), nullptr) << "this node does not serve it";
  table.define({});
  EXPECT_EQ(table.find(4), nullptr);
}

TEST_F(QueueTableTest, a_queue_is_paused_once_its_runs_have_ended) {
  EXPECT_THAT(define(false), IsEmpty());
  EXPECT_THAT(define(true), ElementsAre(table.find(4)));
  EXPECT_THAT(define(true), IsEmpty()) << "it was paused before";
  tell(1);
  EXPECT_THAT(told(), ElementsAre(EventType::queue_pausing));
  EXPECT_THAT(table.paused(), IsEmpty());
  tell(0);
  EXPECT_THAT(told(), ElementsAre(EventType::queue_paused));
  EXPECT_THAT(table.paused(), ElementsAre("orders"));
  define(false);
  tell(0);
  EXPECT_THAT(told(), ElementsAre(EventType::queue_running));
  EXPECT_THAT(table.paused(), IsEmpty());
}

}  // namespace queue_table_test
}  // namespace ordo::runtime
