#include "execute/needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace ordo::execute {
namespace needs_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Needs, name_what_falls_short) {
  const Needs needs{.workers = 400, .threads = 400};
  EXPECT_THAT(shortages(needs, {}), IsEmpty());
  EXPECT_THAT(shortages(needs, {needs.descriptors(), needs.processes()}), IsEmpty());
  EXPECT_THAT(shortages(needs, {1024, 512}),
              ElementsAre(HasSubstr("400 worker processes need 2864 open files, and the limit is 1024"),
                          HasSubstr("need 1216 processes and threads, and the limit is 512")));
  EXPECT_THAT(shortages({.workers = 0, .threads = 400}, {16, 16}), IsEmpty()) << "threads say so themselves";
}

TEST(Needs, without_guards_are_less) {
  const Needs guarded{.workers = 10, .threads = 10};
  const Needs bare{.workers = 10, .threads = 10, .guarded = false};
  EXPECT_EQ(guarded.descriptors() - bare.descriptors(), 10u);
  EXPECT_EQ(guarded.processes() - bare.processes(), 10u);
}

TEST(Needs, raise_the_soft_limit) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 200;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const Needs needs{.workers = 40, .threads = 5};
  EXPECT_EQ(limits_for(needs).descriptors, needs.descriptors());
  EXPECT_EQ(limits_for({.workers = 1, .threads = 5}).descriptors, needs.descriptors()) << "never lowered";
  EXPECT_EQ(limits_for({.workers = UINT32_MAX, .threads = 5}).descriptors, before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace needs_test
}  // namespace ordo::execute
