#include "store/shard_states.h"

#include <gtest/gtest.h>

#include "domain/fields.h"

namespace ordo::store {
namespace shard_states_test {

TEST(ShardStates, tells_rates_from_jobs_and_what_cannot_be_read) {
  domain::JobState job, newer;
  job.retry_count = 3;
  newer.fields = domain::number_field(domain::kNeeds, std::uint16_t(domain::format_level() + 1));
  const domain::RateRecord rate{"queue", Time{Duration{1}}, Time{Duration{2}}, {}};
  const auto rates = domain::rate_row({1, 0}, 0);
  const std::vector<StateRow> rows{
      {7, encode(job)}, {8, "no state"}, {rates, encode(rate)}, {rates + 1, "no rate"}};
  const auto read = read_states(rows);
  ASSERT_EQ(read.jobs.size(), 1U);
  EXPECT_EQ(read.jobs[0].first, 7U);
  EXPECT_EQ(read.jobs[0].second.retry_count, 3);
  ASSERT_EQ(read.lost.size(), 1U);
  EXPECT_EQ(read.lost[0].seq, 8U);
  EXPECT_EQ(read.lost[0].bytes, "no state");
  EXPECT_NE(read.lost[0].why, "");
  EXPECT_EQ(read.rates, (domain::RateRows{{rates, rate}}));
  EXPECT_EQ(read.lost_rates, std::vector<Seq>{rates + 1});
  EXPECT_EQ(read.needs, 0);
  const std::vector<StateRow> of_newer{{7, encode(newer)}};
  EXPECT_EQ(read_states(of_newer).needs, domain::format_level() + 1);
  EXPECT_NE(read_states(of_newer).why_newer, "");
}

}  // namespace shard_states_test
}  // namespace ordo::store
