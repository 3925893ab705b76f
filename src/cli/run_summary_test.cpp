#include "cli/run_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace ordo::cli {
namespace run_summary_test {

TEST(RunSummary, names_a_few_queues) {
  EXPECT_EQ(summary_text({{"orders", 12}}), "done: 12 of orders");
  EXPECT_EQ(summary_text({{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}, {"f", 6}, {"g", 7}}),
            "done: 1 of a, 2 of b, 3 of c, 4 of d, 5 of e, 13 of other queues");
}

TEST(RunSummary, tells_the_first_at_once_and_all_that_was_done) {
  std::promise<void> told;
  std::vector<std::string> lines;  // of one thread at a time
  {
    RunSummary summary([&](const LogLine& line) {
      lines.push_back(line.message);
      if (lines.size() == 1) told.set_value();
    });
    summary.done("orders");
    told.get_future().wait();
    summary.done("orders");
    summary.done("orders");
  }
  EXPECT_EQ(lines.front(), "done: 1 of orders");
  lines.erase(lines.begin());
  const std::vector<std::string> in_one{"done: 2 of orders"};
  const std::vector<std::string> over_a_second{"done: 1 of orders", "done: 1 of orders"};
  EXPECT_THAT(lines, testing::AnyOf(in_one, over_a_second));
}

}  // namespace run_summary_test
}  // namespace ordo::cli
