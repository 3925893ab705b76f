#include <gtest/gtest.h>

#include <set>
#include <string>

#include <ordo/admin.hpp>
#include <ordo/events.hpp>
#include <ordo/job.hpp>

namespace ordo {
namespace names_test {

template <class Enum>
void expect_distinct_names(int count) {
  std::set<std::string_view> names;
  for (int i = 0; i < count; ++i) names.insert(to_string(static_cast<Enum>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(count));
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(static_cast<Enum>(count)), "unknown");
}

TEST(Names, every_value_has_its_own) {
  expect_distinct_names<FailureKind>(9);
  expect_distinct_names<JobStatus>(11);
  expect_distinct_names<EventType>(12);
  expect_distinct_names<QueueState>(4);
}

TEST(EventFilter, empty_lists_admit_all) {
  const Event event{.type = EventType::job_dead, .queue = "orders"};
  EXPECT_TRUE(EventFilter{}.admits(event));
  EXPECT_TRUE((EventFilter{.types = {EventType::job_failed, EventType::job_dead}}.admits(event)));
  EXPECT_FALSE((EventFilter{.types = {EventType::job_failed}}.admits(event)));
  EXPECT_TRUE((EventFilter{.queues = {"orders"}}.admits(event)));
  EXPECT_FALSE((EventFilter{.types = {EventType::job_dead}, .queues = {"mail"}}.admits(event)));
}

}  // namespace names_test
}  // namespace ordo
