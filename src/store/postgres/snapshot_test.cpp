#include "store/postgres/snapshot.h"

#include <gtest/gtest.h>

#include <ordo/error.hpp>

namespace ordo::store::postgres {
namespace snapshot_test {

using Xids = std::vector<std::int64_t>;

TEST(Snapshot, knows_who_has_ended) {
  const Snapshot snapshot("100:110:100,104,109:0");
  EXPECT_EQ(snapshot.end(), 110);
  EXPECT_EQ(snapshot.in_progress(), (Xids{100, 104, 109}));
  for (const auto xid : {1, 99, 101, 103, 105, 108}) EXPECT_TRUE(snapshot.has_ended(xid)) << xid;
  for (const auto xid : {100, 104, 109, 110, 111, 1000}) EXPECT_FALSE(snapshot.has_ended(xid)) << xid;
}

TEST(Snapshot, may_see_nobody_in_progress) {
  const Snapshot snapshot("110:110::0");
  EXPECT_TRUE(snapshot.in_progress().empty());
  EXPECT_TRUE(snapshot.has_ended(109));
  EXPECT_FALSE(snapshot.has_ended(110));
  EXPECT_FALSE(Snapshot().has_ended(0)) << "none was taken";
}

TEST(Snapshot, adds_the_base_of_numbers_that_came_from_elsewhere) {
  const Snapshot snapshot("4294967296:4294967300:4294967297:5000000");
  EXPECT_EQ(snapshot.end(), 4'299'967'300);
  EXPECT_EQ(snapshot.in_progress(), Xids{4'299'967'297});
}

TEST(Snapshot, refuses_what_it_cannot_read) {
  for (const auto* text : {"", "1", "1:2", "1:2:", "1:2::", "1:x::0", "1:2:3,a:0", "1:2::0 "}) {
    EXPECT_THROW(Snapshot{text}, Error) << text;
  }
}

}  // namespace snapshot_test
}  // namespace ordo::store::postgres
