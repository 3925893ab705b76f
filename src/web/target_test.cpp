#include "web/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ordo::web {
namespace target_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Target, is_taken_apart_before_it_is_decoded) {
  const auto target = parse_target("/queues/orders/jobs/a%2Fb%00%FF+?key=x%26y&z=1+2&z=%2B3&flag");
  ASSERT_TRUE(target);
  EXPECT_THAT(target->path, ElementsAre("queues", "orders", "jobs", std::string("a/b\0\xFF+", 6)));
  EXPECT_THAT(target->query,
              ElementsAre(Pair("key", "x&y"), Pair("z", "1 2"), Pair("z", "+3"), Pair("flag", "")));
  EXPECT_EQ(target->find("z"), "+3");
  EXPECT_THAT(target->all("z"), ElementsAre("1 2", "+3"));
  EXPECT_EQ(target->find("none"), std::nullopt);
}

TEST(Target, the_root_has_no_segments_and_empty_ones_stay) {
  EXPECT_THAT(parse_target("/")->path, IsEmpty());
  EXPECT_THAT(parse_target("/?")->path, IsEmpty());
  EXPECT_THAT(parse_target("//a/../b")->path, ElementsAre("", "a", "..", "b"));
}

TEST(Target, what_is_none_is_refused) {
  for (const char* text : {"", "x", "http://a/b", "/a#b", "/%", "/%4", "/%zz", "/a?b=%", "/a?%g0=1", "*"})
    EXPECT_FALSE(parse_target(text)) << text;
}

}  // namespace target_test
}  // namespace ordo::web
