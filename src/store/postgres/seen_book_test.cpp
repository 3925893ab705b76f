#include "store/postgres/seen_book.h"

#include <gtest/gtest.h>

namespace ordo::store::postgres {
namespace seen_book_test {

constexpr ShardId kShard{1, 2};
constexpr Lease kOld{10, 1}, kNew{11, 2};

TEST(SeenBook, gives_what_was_noted_for_the_lease) {
  SeenBook book;
  EXPECT_EQ(book.find(kShard, kOld).seen, 0);
  EXPECT_EQ(book.find(kShard, kOld).unseen, "{}");
  book.note(kShard, kOld, 700, {5, 6});
  book.note(kShard, kOld, 800, {6});
  book.note({1, 3}, kNew, 900, {});
  EXPECT_EQ(book.find(kShard, kOld).seen, 800);
  EXPECT_EQ(book.find(kShard, kOld).unseen, "{6}");
  book.note(kShard, kOld, 900, {6, 7, -8});
  EXPECT_EQ(book.find(kShard, kOld).unseen, "{6,7,-8}");
  EXPECT_EQ(book.leases(), (std::vector<std::pair<ShardId, Lease>>{{kShard, kOld}, {{1, 3}, kNew}}));
}

TEST(SeenBook, knows_nothing_of_another_lease) {
  SeenBook book;
  book.note(kShard, kOld, 700, {5});
  book.note(kShard, kNew, 100, {});
  EXPECT_EQ(book.find(kShard, kOld).seen, 0) << "its delta is refused anyway";
  EXPECT_EQ(book.find(kShard, kNew).seen, 100);
  book.forget(kShard, kOld);
  EXPECT_EQ(book.find(kShard, kNew).seen, 100) << "who lost the lease forgets only what it noted";
  book.forget(kShard, kNew);
  EXPECT_EQ(book.find(kShard, kNew).seen, 0);
  EXPECT_TRUE(book.leases().empty());
}

}  // namespace seen_book_test
}  // namespace ordo::store::postgres
