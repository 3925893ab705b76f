#include "domain/run_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace ordo::domain {
namespace run_table_test {

using ::testing::Optional;
using ::testing::SizeIs;

class RunTableTest : public ::testing::Test {
 protected:
  RunTableTest() { kinds_.add("orders"); }
  ~RunTableTest() override { Job::destroy(job_); }

  KindTable kinds_{QueueOptions{}};
  RunTable runs_{kinds_};
  Job* job_ = Job::create(0, "1", "", {5, 1.5, {}});
};

TEST_F(RunTableTest, NumbersRiseAndAJobsRunIsFound) {
  runs_.open(Risk::normal, Time{});
  auto& second = runs_.open(Risk::suspect, Time{});
  second.jobs.push_back(job_);
  EXPECT_EQ(runs_.last(), 2U);
  EXPECT_THAT(runs_.run_of(*job_), Optional(2));
  EXPECT_EQ(runs_.close(2).risk, Risk::suspect);
  EXPECT_EQ(runs_.run_of(*job_), std::nullopt);
  EXPECT_EQ(runs_.find(2), nullptr);
  EXPECT_EQ(runs_.size(), 1U);
}

TEST_F(RunTableTest, ALentRunIsListedAndComesBackAsItWas) {
  auto& run = runs_.open(Risk::witness, Time{std::chrono::seconds{3}});
  run.jobs.push_back(job_);
  const LentName name{{1, 0}, 9, 1};
  runs_.lend(1, {.name = name, .node = "b", .session = 4, .fence = 9, .places = {0}});
  EXPECT_EQ(runs_.lent_to("b", {}), 1U);
  EXPECT_EQ(runs_.lent_to("b", Risk::normal), 0U);
  EXPECT_EQ(runs_.lent_to("c", {}), 0U);
  EXPECT_THAT(runs_.find(name), Optional(1));
  const auto list = runs_.list_lent();
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].kind, "orders");

  RunTable next(kinds_);
  const auto no = next.restore(list[0]);
  EXPECT_EQ(next.at(no).jobs, (std::vector<Job*>{nullptr}));
  next.at(no).jobs[0] = job_;
  EXPECT_EQ(next.list_lent(), list);
  next.open(Risk::normal, Time{});
  EXPECT_EQ(next.last(), 1U);
  next.close(no);
  EXPECT_EQ(next.lent(), 0U);
}

}  // namespace run_table_test
}  // namespace ordo::domain
