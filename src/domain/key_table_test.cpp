#include "domain/key_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ordo::domain {
namespace key_table_test {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class KeyTableTest : public ::testing::Test {
 protected:
  Job& add(const std::string& id, const std::string& key) {
    Job& job = *Job::create(0, id, key, {++seq_, 0, {}});
    table_.insert(job);
    return job;
  }
  void forget(Job& job) {
    table_.erase(job);
    Job::destroy(&job);
  }

  KeyTable table_{DueBefore{}};
  Seq seq_ = 0;
};

TEST_F(KeyTableTest, JobsOfAnyKeyAreFoundByTheirIdWhateverComesAndGoes) {
  Job& plain = add("1", "1");
  Job& a = add("1", "a");
  Job& other = add("2", "a");
  EXPECT_THAT(table_.find_all(0, "1"), UnorderedElementsAre(&plain, &a));
  Job& b = add("1", "b");
  EXPECT_THAT(table_.find_all(0, "1"), UnorderedElementsAre(&plain, &a, &b));
  EXPECT_THAT(table_.find_all(1, "1"), IsEmpty());
  forget(a);
  forget(plain);
  EXPECT_THAT(table_.find_all(0, "1"), UnorderedElementsAre(&b));
  EXPECT_THAT(table_.find_all(0, "2"), UnorderedElementsAre(&other));
  forget(b);
  EXPECT_THAT(table_.find_all(0, "1"), IsEmpty());
}

TEST_F(KeyTableTest, WhatHasEndedIsNotFound) {
  Job& job = add("1", "a");
  job.place = Place::running;
  table_.activate(job);
  EXPECT_THAT(table_.find_all(0, "1"), UnorderedElementsAre(&job));
  job.place = Place::ending;
  EXPECT_THAT(table_.find_all(0, "1"), IsEmpty());
  EXPECT_EQ(table_.active(), 1U);
  forget(job);
  EXPECT_EQ(table_.active(), 0U);
  EXPECT_EQ(table_.size(), 0U);
}

}  // namespace key_table_test
}  // namespace ordo::domain
