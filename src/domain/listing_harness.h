#pragma once

#include <gtest/gtest.h>

#include "base/random.h"
#include "domain/listing.h"

namespace ordo::domain::testing {

/// Pages of the shard's jobs are the same, however they are looked for.
inline void expect_same_pages(Shard& shard, const QueueOptions& queue, Time now, Random& random) {
  const auto near = [&] { return now + std::chrono::seconds{random.below(20)} - std::chrono::seconds{15}; };
  const ShardId id{1, 0};
  shard.bring_up_due(now);
  const auto list = [&](const ListingWish& wish, bool in_order) {
    JobListing listing(wish);
    if (in_order) {
      EXPECT_TRUE(listing.look_in_order(shard, id, 1000));
    } else {
      listing.look(shard, id);
    }
    return listing.take();
  };
  ListingWish wish{{}, ListOrder({}, &queue, near()), now, 1 + random.below(5)};
  for (const auto state : {JobStatus::due, JobStatus::scheduled, JobStatus::retrying, JobStatus::running}) {
    if (random.below(3) == 0) wish.filter.states.push_back(state);
  }
  if (random.below(4) == 0) wish.filter.kind = "other";
  for (int page = 0; page < 4; ++page) {
    const auto looked = list(wish, false), found = list(wish, true);
    ASSERT_EQ(found.size(), looked.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].place, looked[i].place) << i;
    if (found.empty()) return;
    wish.order = wish.order.behind(found.back().place);
  }
}

}  // namespace ordo::domain::testing
