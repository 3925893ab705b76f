#include "base/random.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace ordo {
namespace random_test {

TEST(Random, the_same_seed_gives_the_same_stream) {
  Random a(7), b(7), c(8);
  const auto first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
  EXPECT_EQ(a.next(), b.next());
}

TEST(Random, is_splitmix64) {
  Random random(1234567);  // the published vector of that seed
  const std::vector<std::uint64_t> expected = {6457827717110365317U, 3203168211198807973U,
                                               9817491932198370423U, 4593380528125082431U,
                                               16408922859458223821U};
  for (const auto value : expected) EXPECT_EQ(random.next(), value);
}

TEST(Random, stays_within_its_bounds) {
  Random random(1);
  std::set<std::uint64_t> seen;
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    seen.insert(random.below(7));
    const double unit = random.unit();
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
    sum += unit;
    ASSERT_EQ(random.below(1), 0U);
  }
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(Random, the_system_seeds_differ) {
  EXPECT_NE(Random::from_system().next(), Random::from_system().next());
}

TEST(Ulid, is_the_time_then_chance_in_crockford_base_32) {
  Random random(1);
  const auto ulid = make_ulid(1469918176385, random);  // the time of the specification's example
  EXPECT_EQ(ulid.size(), 26U);
  EXPECT_EQ(ulid.substr(0, 10), "01ARYZ6S41");
  EXPECT_EQ(ulid.find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ"), std::string::npos);
  EXPECT_EQ(make_ulid(0, random).substr(0, 10), "0000000000");
  EXPECT_EQ(make_ulid((std::int64_t{1} << 48) - 1, random).substr(0, 10), "7ZZZZZZZZZ");
}

TEST(Ulid, is_ordered_by_time) {
  Random random(2);
  std::string last = make_ulid(0, random);
  for (const std::int64_t ms :
       {1LL, 31LL, 32LL, 1'000LL, 1'469'918'176'385LL, 1'469'918'176'386LL, 1LL << 47}) {
    const auto next = make_ulid(ms, random);
    EXPECT_LT(last, next) << ms;
    last = next;
  }
}

TEST(Ulid, of_one_moment_differ) {
  Random random(3);
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) seen.insert(make_ulid(5, random));
  EXPECT_EQ(seen.size(), 10'000U);
}

}  // namespace random_test
}  // namespace ordo
