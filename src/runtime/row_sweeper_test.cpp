#include "runtime/row_sweeper.h"

#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace row_sweeper_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class RowSweeperTest : public ::testing::Test {
 protected:
  RowSweeperTest() {
    store_.define("q", 1);
    sweeper_.tick({"q"});
  }

  void put(const std::string& rows, const std::string& key, Time until) {
    store_.step_rows(rows, {{{key, "bytes", true, until}, {}, {}}});
  }

  StandingClock clock_;
  store::memory::MemoryStore store_{clock_};
  RowSweeper sweeper_{store_, clock_};
};

TEST_F(RowSweeperTest, takes_a_page_of_what_is_over_at_a_time) {
  const auto over = store_.now() + seconds{10};
  for (int i = 0; i < 1500; ++i) put(store::Store::unique_rows("q"), std::to_string(i), over);
  EXPECT_FALSE(sweeper_.tick({"q"})) << "nothing is over";
  clock_.now += seconds{10};
  EXPECT_FALSE(sweeper_.tick({"other"}));
  EXPECT_TRUE(sweeper_.tick({"q"}));
  EXPECT_FALSE(sweeper_.tick({"q"}));
  EXPECT_EQ(store_.sweep_rows(store::Store::unique_rows("q"), 1), 0U);
}

TEST_F(RowSweeperTest, a_clock_that_leaps_takes_nothing_away_for_a_minute) {
  const auto rows = store::Store::unique_rows("q");
  put(rows, "key", store_.now() + hours{1});
  clock_.leap = hours{5};
  EXPECT_FALSE(sweeper_.tick({"q"}));
  clock_.now += seconds{40};
  EXPECT_FALSE(sweeper_.tick({"q"}));
  clock_.leap = {};  // it was a mistake
  EXPECT_FALSE(sweeper_.tick({"q"}));
  EXPECT_TRUE(store_.wait_row(rows, "key"));
  clock_.leap = hours{5};
  sweeper_.tick({"q"});
  clock_.now += minutes{1};
  sweeper_.tick({"q"});
  EXPECT_EQ(store_.sweep_rows(rows, 1), 0U) << "it is gone";
}

}  // namespace row_sweeper_test
}  // namespace ordo::runtime
