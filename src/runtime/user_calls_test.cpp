#include "runtime/user_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ordo::runtime {
namespace user_calls_test {

TEST(UserCalls, events_that_come_together_are_bounded_one_by_one) {
  std::size_t told = 0;
  std::vector<std::string> lines;
  NodeThreads threads([](const char*) {}, [] {});
  UserCalls calls(
      {{{}, [&](const Event&) { ++told; }}}, {}, {},
      [&](const LogLine& line) { lines.push_back(line.message); }, threads);
  calls.publish(std::vector<Event>(Notifier::kEvents + 5));
  std::stop_source stop;
  stop.request_stop();
  calls.run(stop.get_token());
  EXPECT_EQ(told, Notifier::kEvents);
  EXPECT_THAT(lines, testing::ElementsAre(testing::StartsWith("5 events or deaths were told to nobody")));
}

}  // namespace user_calls_test
}  // namespace ordo::runtime
