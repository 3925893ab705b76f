#include "runtime/marked_runs.h"

#include <gtest/gtest.h>

namespace ordo::runtime {
namespace marked_runs_test {

using domain::Risk;

TEST(MarkedRuns, a_suspect_waits_for_all_marked_runs_and_they_for_its_end) {
  MarkedRuns marks;
  EXPECT_TRUE(marks.admits_suspects());
  EXPECT_TRUE(marks.admits_witnesses());
  marks.started(Risk::witness);
  EXPECT_FALSE(marks.admits_suspects());
  EXPECT_TRUE(marks.admits_witnesses());
  EXPECT_FALSE(marks.has_room_for(Risk::suspect));
  marks.ended(Risk::witness);
  marks.started(Risk::suspect);
  EXPECT_TRUE(marks.has_suspect());
  EXPECT_FALSE(marks.admits_suspects());
  EXPECT_FALSE(marks.admits_witnesses());
  EXPECT_FALSE(marks.has_room_for(Risk::witness));
  EXPECT_FALSE(marks.may_borrow(Risk::normal)) << "nothing is borrowed beside a suspect";
}

TEST(MarkedRuns, beside_a_suspect_whose_mark_is_shared_others_start_but_no_suspect) {
  MarkedRuns marks;
  marks.started(Risk::suspect);
  marks.shared();
  EXPECT_FALSE(marks.has_suspect());
  EXPECT_TRUE(marks.admits_witnesses());
  EXPECT_TRUE(marks.has_room_for(Risk::witness));
  EXPECT_TRUE(marks.may_borrow(Risk::witness));
  EXPECT_FALSE(marks.admits_suspects());
  EXPECT_FALSE(marks.has_room_for(Risk::suspect));
  EXPECT_FALSE(marks.may_borrow(Risk::suspect));
  marks.started(Risk::witness);
  EXPECT_EQ(marks.turn(), Risk::normal) << "no suspect has its turn until that one has ended";
  marks.ended(Risk::suspect, /*shares=*/true);
  EXPECT_EQ(marks.turn(), Risk::suspect);
  EXPECT_FALSE(marks.admits_witnesses());
  marks.ended(Risk::witness);
  EXPECT_TRUE(marks.admits_suspects());
  EXPECT_FALSE(marks.has_any());
}

TEST(MarkedRuns, a_suspect_that_waits_for_its_turn_holds_up_nobody_beside_a_shared_one) {
  MarkedRuns marks;
  marks.started(Risk::witness);
  EXPECT_EQ(marks.turn(), Risk::suspect);
  marks.ended(Risk::witness);
  marks.started(Risk::suspect);
  marks.shared();
  marks.started(Risk::witness);
  EXPECT_TRUE(marks.admits_witnesses());
}

TEST(MarkedRuns, witnesses_do_not_keep_a_suspect_waiting_for_ever) {
  MarkedRuns marks;
  EXPECT_EQ(marks.turn(), Risk::normal);
  marks.started(Risk::witness);
  EXPECT_EQ(marks.turn(), Risk::suspect) << "once one is due";
  EXPECT_FALSE(marks.admits_witnesses());
  EXPECT_FALSE(marks.may_borrow(Risk::witness));
  EXPECT_TRUE(marks.may_borrow(Risk::normal));
  marks.ended(Risk::witness);
  marks.started(Risk::suspect);
  EXPECT_EQ(marks.turn(), Risk::witness) << "after it a witness comes first";
  marks.ended(Risk::suspect);
  EXPECT_FALSE(marks.admits_suspects());
  EXPECT_FALSE(marks.may_borrow(Risk::suspect));
  marks.end_turn();
  EXPECT_TRUE(marks.admits_suspects());
}

}  // namespace marked_runs_test
}  // namespace ordo::runtime
