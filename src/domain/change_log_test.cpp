#include "domain/change_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace ordo::domain {
namespace change_log_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Destroy {
  void operator()(Job* job) const { Job::destroy(job); }
};

std::unique_ptr<Job, Destroy> job_of(Seq seq) {
  return std::unique_ptr<Job, Destroy>(Job::create(0, std::to_string(seq), "", {seq, 0, {}}));
}

TEST(ChangeLog, AStateIsWrittenOnceAndAsItIsThen) {
  ChangeLog log;
  const auto job = job_of(1);
  log.write_state(*job);
  job->more().retry_count = 3;
  log.write_state(*job);
  const auto changes = log.collect(0);
  ASSERT_THAT(changes.states, SizeIs(1));
  EXPECT_EQ(changes.states[0].first, 1U);
  EXPECT_EQ(changes.states[0].second.retry_count, 3);
  EXPECT_TRUE(log.empty());
}

TEST(ChangeLog, AStateThatMovesTakesItsOldRowAlong) {
  ChangeLog log;
  const auto job = job_of(5);
  log.write_state(*job);
  log.collect(0);
  log.take_durable();
  job->payloads.add({3, 0, {}});
  log.write_state(*job);
  const auto changes = log.collect(0);
  EXPECT_THAT(changes.erase_states, ElementsAre(5));
  EXPECT_EQ(changes.states.at(0).first, 3U);
}

TEST(ChangeLog, AStateThatIsDroppedIsNotWritten) {
  ChangeLog log;
  const auto first = job_of(1), second = job_of(2), third = job_of(3);
  for (const auto& job : {&first, &second, &third}) log.write_state(**job);
  log.drop_state(*first);
  log.drop_state(*first);
  const auto changes = log.collect(0);
  ASSERT_THAT(changes.states, SizeIs(2));
  EXPECT_EQ(changes.states[0].first + changes.states[1].first, 5U);
}

TEST(ChangeLog, WhatWaitsIsHandedOutOnceItsDeltaIsDurable) {
  ChangeLog log;
  const auto ended = job_of(1), settled = job_of(2), next = job_of(3);
  log.end(*ended);
  log.settle(*settled);
  log.mark(7);
  log.tell_deaths({JobView{}});
  EXPECT_FALSE(log.empty());
  log.collect(0);
  log.end(*next);
  EXPECT_EQ(log.ending(), 2U);
  const auto durable = log.take_durable();
  EXPECT_THAT(durable.ended, ElementsAre(ended.get()));
  EXPECT_THAT(durable.settled, ElementsAre(settled.get()));
  EXPECT_THAT(durable.marked, ElementsAre(7));
  EXPECT_THAT(durable.deaths, SizeIs(1));
  EXPECT_EQ(log.ending(), 1U);
}

TEST(ChangeLog, AJobThatIsTakenOutDoesNotCome) {
  ChangeLog log;
  const auto first = job_of(1), second = job_of(2), third = job_of(3);
  log.settle(*first);
  log.settle(*second);
  log.collect(0);
  log.settle(*third);
  log.unsettle(*first);  // on its way
  log.unsettle(*third);  // not yet
  EXPECT_EQ(first->place, Place::nowhere);
  EXPECT_THAT(log.take_durable().settled, ElementsAre(second.get()));
  log.collect(0);
  EXPECT_THAT(log.take_durable().settled, IsEmpty());
}

TEST(ChangeLog, WhatIsToBeSetAsideHasTimeAndComesInParts) {
  ChangeLog log;
  for (Seq seq = 1; seq <= 5; ++seq) log.set_aside(seq);
  EXPECT_TRUE(log.empty());
  EXPECT_THAT(log.collect(3).set_aside, SizeIs(3));
  EXPECT_EQ(log.to_set_aside(), 2U);
  EXPECT_THAT(log.collect(3).set_aside, SizeIs(2));
}

}  // namespace change_log_test
}  // namespace ordo::domain
