#include "sources/lowkiq/mapping.h"

#include <gmock/gmock.h>

#include "sources/lowkiq/origin.h"

namespace ordo::sources::lowkiq_mapping_test {
namespace {

using Taken = SidekiqOrigin::Taken;

std::vector<MappedJob> mapped(const Taken& taken) {
  const Config config{.queues = {{.name = "orders", .max_retries = 5, .max_payload = 8}}};
  return map_lowkiq_job({.name = "import-1", .queue = "orders"}, config, taken);
}

Taken waiting(std::string retries) {
  return {.position = "7-0",
          .bytes = "42",
          .set = std::string(LowkiqOrigin::kWaiting),
          .score = "1795266824.5",
          .more = {"retries", std::move(retries), "old", "1", "\x04\bnew", "2.5"}};
}

TEST(LowkiqMapping, each_payload_is_a_push_for_its_job) {
  const auto jobs = mapped(waiting("-1"));
  ASSERT_EQ(jobs.size(), 2U);
  for (const auto& job : jobs) {
    EXPECT_EQ(job.queue, "orders");
    EXPECT_EQ(job.job.id, "42");
    EXPECT_EQ(job.job.run_at, Time{std::chrono::milliseconds{1795266824500}});
    EXPECT_FALSE(job.job.max_retries);
    EXPECT_FALSE(job.refused);
  }
  EXPECT_EQ(jobs[0].job.payload, "old");
  EXPECT_EQ(jobs[0].job.score, 1);
  EXPECT_EQ(jobs[1].job.payload, "\x04\bnew");
  EXPECT_EQ(jobs[1].job.score, 2.5);
}

// A job whose count is n has failed n + 1 times, and dies with the failure that makes it max_retries.
TEST(LowkiqMapping, the_retries_that_are_left_are_kept) {
  EXPECT_EQ(mapped(waiting("0"))[0].job.max_retries, 4);
  EXPECT_EQ(mapped(waiting("3"))[0].job.max_retries, 1);
  EXPECT_EQ(mapped(waiting("4"))[0].job.max_retries, 0);
  EXPECT_EQ(mapped(waiting("1e300"))[0].job.max_retries, 0);
  EXPECT_FALSE(mapped(waiting(""))[0].job.max_retries);
}

TEST(LowkiqMapping, the_dead_have_neither_time_nor_retries) {
  auto taken = waiting("3");
  taken.set = LowkiqOrigin::kDead;
  EXPECT_FALSE(mapped(taken)[0].job.run_at);
  EXPECT_FALSE(mapped(taken)[0].job.max_retries);
}

TEST(LowkiqMapping, what_does_not_fit_is_refused_alone) {
  auto taken = waiting("-1");
  taken.more = {"retries", "-1", "fits", "1", "is too long", "2", "x", "inf"};
  const auto jobs = mapped(taken);
  EXPECT_FALSE(jobs[0].refused);
  EXPECT_EQ(jobs[1].refused->text, "it has 11 bytes, and its queue takes 8");
  EXPECT_EQ(jobs[2].refused->text, "its score inf is no finite number");
  taken.bytes.assign(256, 'i');
  const auto named = mapped(taken);
  EXPECT_EQ(named[0].refused->text, "its id has 256 bytes; 1 to 255 fit");
  EXPECT_EQ(named[0].job.id, "import-1-7-0");
}

}  // namespace
}  // namespace ordo::sources::lowkiq_mapping_test
