#include "domain/restored.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ordo::domain {
namespace restored_test {

using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::Pair;

TEST(Restored, EachStateAndScoreIsGivenOutOnce) {
  Restored restored;
  restored.add(4, {.retry_count = 2, .scores = {{6, 0.5, 7}}});
  EXPECT_EQ(restored.find_state(4)->retry_count, 2);
  EXPECT_EQ(restored.take_state(4)->retry_count, 2);
  EXPECT_EQ(restored.take_state(4), std::nullopt);
  EXPECT_THAT(restored.take_rank(6), Optional(PayloadRank{6, 0.5, 7}));
  EXPECT_EQ(restored.take_rank(6), std::nullopt);
}

TEST(Restored, AJobIsLostWithItsState) {
  Restored restored;
  const Entry entry{.kind = "orders", .key = "k", .id = "1"};
  EXPECT_FALSE(restored.has_lost());
  restored.lose(4, "bytes", "why");
  EXPECT_EQ(restored.why_lost(entry), nullptr);
  EXPECT_EQ(restored.take_lost(4)->bytes, "bytes");
  restored.lose_job(entry, "why");
  ASSERT_NE(restored.why_lost(entry), nullptr);
  EXPECT_EQ(*restored.why_lost(entry), "why");
  EXPECT_EQ(restored.why_lost({.kind = "orders", .key = "k", .id = "2"}), nullptr);
}

TEST(Restored, ALentJobIsCompleteWithItsLastEntry) {
  Restored restored;
  LentRun run;
  run.jobs = {{{{9, 0}, {3, 0}}, -1, 0}, {{{5, 0}}, -1, 1}};
  restored.expect(77, run);
  EXPECT_TRUE(restored.is_lent(3));
  EXPECT_EQ(restored.take_lent_job(3), std::nullopt);
  EXPECT_THAT(restored.take_lent_job(9), Optional(Pair(77, 0)));
  EXPECT_THAT(restored.take_lent_job(5), Optional(Pair(77, 1)));
  EXPECT_FALSE(restored.is_lent(4));
}

TEST(Restored, WhoIsForgottenIsNotDoomed) {
  Restored restored;
  Job* first = Job::create(0, "1", "", {1, 0, {}});
  Job* second = Job::create(0, "2", "", {2, 0, {}});
  restored.doom(*first);
  restored.doom(*second);
  restored.add(4, {});
  restored.forget(*first);
  EXPECT_FALSE(restored.is_doomed(first));
  EXPECT_THAT(restored.finish(), ElementsAre(second));
  EXPECT_EQ(restored.find_state(4), nullptr);
  EXPECT_FALSE(restored.is_doomed(second));
  Job::destroy(first);
  Job::destroy(second);
}

}  // namespace restored_test
}  // namespace ordo::domain
