// Which jobs stand on a page, found by a look at all of them and by a look at the first ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/listing_harness.h"
#include "domain/shard_harness.h"

namespace ordo::domain {
namespace listing_test {

using std::chrono::seconds;
using testing::Harness;

TEST(JobListing, pages_are_the_same_behind_locks_limits_and_keys) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    auto queue = testing::plain();
    if (seed % 2 == 0) queue.lock = "/lock";
    if (seed % 3 != 0) queue.partition = "/part", queue.partition_limit = Decimal(1);
    if (seed % 5 == 0) queue.order = DueOrder::priority;
    Harness shard(queue);
    for (int i = 0; i < 60; ++i) {
      Harness::Push push{.id = std::to_string(random.below(40))};
      push.payload = R"({"lock":)" + std::to_string(random.below(5)) + R"(,"part":)" +
                     std::to_string(random.below(4)) + "}";
      if (random.below(3) == 0) push.key = "k" + std::to_string(random.below(3));
      if (random.below(4) == 0) push.run_at = shard.now() + seconds{random.below(30)} - seconds{10};
      if (seed % 4 == 0) push.priority = static_cast<int>(random.below(3));
      shard.push(push);
    }
    shard.start_all();
    for (int look = 0; look < 20; ++look) {
      shard.advance(seconds{random.below(2)});
      testing::expect_same_pages(shard.shard(), queue, shard.now(), random);
    }
  }
}

TEST(JobListing, who_knows_another_order_than_the_shard_is_told_nothing) {
  auto queue = testing::plain();
  queue.order = DueOrder::priority;
  Harness shard(queue);
  shard.push({.id = "a"});
  const auto takes = [&](const QueueOptions* known) {
    const ListingWish wish{{}, ListOrder({}, known, shard.now()), shard.now(), 10};
    return JobListing(wish).look_in_order(shard.shard(), {1, 0}, 10'000).has_value();
  };
  EXPECT_TRUE(takes(nullptr)) << "with equal priorities all orders are one";
  shard.push({.id = "b", .priority = 1});
  EXPECT_FALSE(takes(nullptr));
  EXPECT_TRUE(takes(&queue));
}

TEST(JobListing, the_first_of_many_are_found_by_looks_at_few) {
  const auto queue = testing::plain();
  Harness shard(queue);
  const auto later = shard.now() + seconds{60};
  for (int i = 0; i < 5000; ++i) {
    const auto id = std::to_string(i);
    shard.push({.id = "due" + id});
    shard.push({.id = "parked" + id, .key = "k"});
    shard.push({.id = "later" + id, .run_at = later});
  }
  for (const auto& [states, first] :
       std::vector<std::pair<std::vector<JobStatus>, std::string>>{{{}, "due0"},
                                                                   {{JobStatus::due}, "due0"},
                                                                   {{JobStatus::scheduled}, "later0"},
                                                                   {{JobStatus::running}, ""}}) {
    const ListingWish wish{{.states = states}, ListOrder({}, &queue, shard.now()), shard.now(), 10};
    JobListing listing(wish);
    const auto looks = listing.look_in_order(shard.shard(), {1, 0}, 10'000);
    ASSERT_TRUE(looks);
    EXPECT_LT(*looks, 100U);
    const auto jobs = listing.take();
    EXPECT_EQ(jobs.empty() ? "" : jobs.front().view.id, first);
  }
  const ListingWish none{{.error = "none"}, ListOrder({}, &queue, shard.now()), shard.now(), 10};
  JobListing listing(none);
  EXPECT_FALSE(listing.look_in_order(shard.shard(), {1, 0}, 10'000));
  EXPECT_TRUE(listing.take().empty());
}

}  // namespace listing_test
}  // namespace ordo::domain
