#include "runtime/code_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "execute/command_worker.h"
#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace code_table_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CodeTableTest : public testing::Test {
 protected:
  CodeTableTest() {
    queue.options.name = "orders";
    codes.add(queue, "refund", nullptr, 5);
  }
  void fail() { codes.could_not_start(code(), {Outcome::not_started("no such file\nand more")}); }
  Code& code() { return *codes.find("orders", "refund"); }

  RoomBench bench;
  ServedQueue queue;
  CodeTable codes{bench.scope};
};

TEST_F(CodeTableTest, a_kind_that_cannot_be_started_is_full_until_time_has_passed) {
  EXPECT_TRUE(codes.can_start(queue, "refund"));
  fail();
  EXPECT_THAT(bench.log, ElementsAre(HasSubstr("cannot be started on this node: no such file;")));
  EXPECT_FALSE(codes.can_start(queue, "refund"));
  EXPECT_THAT(codes.unable(), ElementsAre(CannotStart{"orders", "refund", "no such file"}));
  bench.clock.now = codes.next_look();
  codes.look();
  EXPECT_TRUE(codes.can_start(queue, "refund")) << "one more is tried";
  EXPECT_THAT(codes.unable(), ElementsAre(CannotStart{"orders", "refund", "no such file"}))
      << "nobody knows whether it starts";
  codes.started(code());
  EXPECT_FALSE(codes.can_start(queue, "refund")) << "and no other beside it";
  EXPECT_THAT(codes.unable(), ElementsAre(CannotStart{"orders", "refund", "no such file"}));
  codes.ended(code());
  EXPECT_TRUE(codes.can_start(queue, "refund"));
  bench.clock.now = codes.next_look();
  codes.look();
  EXPECT_THAT(codes.unable(), IsEmpty()) << "it has started";
}

TEST_F(CodeTableTest, a_command_without_a_program_is_unable_from_the_start) {
  execute::CommandWorker missing({.command = {"no-such-program"}, .queue = "orders", .kind = "charge"});
  execute::CommandWorker there({.command = {"/bin/true"}, .queue = "orders", .kind = "ship"});
  codes.add(queue, "charge", &missing, 5);
  codes.add(queue, "ship", &there, 5);
  const auto unable = codes.unable();
  ASSERT_EQ(unable.size(), 1U);
  EXPECT_EQ(unable[0].kind, "charge");
  EXPECT_THAT(unable[0].why, HasSubstr("cannot run the command \"no-such-program\": No such file"));
  EXPECT_FALSE(codes.can_start(queue, "charge"));
  EXPECT_TRUE(codes.can_start(queue, "ship"));
  bench.clock.now = codes.next_look();
  codes.look();
  EXPECT_TRUE(codes.can_start(queue, "charge")) << "it may be there by now";
}

}  // namespace code_table_test
}  // namespace ordo::runtime
