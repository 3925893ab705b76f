#include "runtime/row_sweeper.h"

#include <gtest/gtest.h>

#include "domain/unique.h"
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
    look_at_each();
    clock_.now += minutes{1};
    look_at_each();  // once
  }

  void look_at_each() {
    for (const auto* queue : {"q", "other"}) sweeper_.tick({queue});
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

TEST_F(RowSweeperTest, cuts_periods_that_began_while_the_clock_was_ahead) {
  const auto rows = store::Store::unique_rows("q");
  const std::string key(16, 'k'), other(16, 'o');
  const auto take = [&](const std::string& name, UniqueScope scope, Time until) {
    const domain::UniqueHold hold{name, "t", scope, store_.now()};
    store_.step_rows(rows, {{{name, domain::row_of(hold, "q", "k", "1"), true, until}, {}, {}}});
  };
  clock_.leap = hours{24 * 8};
  sweeper_.tick({"q"});
  take(key, UniqueScope::period, store_.now() + hours{2});
  take(other, UniqueScope::queued, Time::max());
  clock_.now += seconds{40};
  clock_.leap = {};
  sweeper_.tick({"q"});
  clock_.now += minutes{1};
  sweeper_.tick({"q"});
  const auto all = store_.wait_rows(rows, "", 10);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].until, store_.now() + hours{2});
  EXPECT_EQ(domain::decode_unique_row(all[0].bytes)->first, store_.now());
  EXPECT_EQ(all[1].until, Time::max());
  clock_.now += hours{1};
  sweeper_.tick({"q"});
  EXPECT_EQ(store_.wait_rows(rows, "", 10)[0].until, store_.now() + hours{1}) << "once";
}

TEST_F(RowSweeperTest, a_clock_that_is_set_back_for_a_moment_ends_no_period) {
  const auto rows = store::Store::unique_rows("q");
  const std::string key(16, 'k');
  const auto until = store_.now() + hours{2};
  const domain::UniqueHold hold{key, "t", UniqueScope::period, store_.now()};
  store_.step_rows(rows, {{{key, domain::row_of(hold, "q", "k", "1"), true, until}, {}, {}}});
  clock_.leap = -hours{8};
  sweeper_.tick({"q"});
  clock_.now += seconds{20};
  sweeper_.tick({"q"});
  clock_.leap = {};
  for (int i = 0; i < 3; ++i) {
    sweeper_.tick({"q"});
    clock_.now += minutes{1};
  }
  const auto all = store_.wait_rows(rows, "", 10);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].until, until);
}

// A push of SQL said so once.
TEST_F(RowSweeperTest, a_period_that_ends_before_its_job_is_due_is_none_of_a_leap) {
  const auto rows = store::Store::unique_rows("q");
  const std::string key(16, 'k');
  const auto until = store_.now() + hours{2};
  const domain::UniqueHold hold{key, "t", UniqueScope::period, store_.now() + hours{72}};
  store_.step_rows(rows, {{{key, domain::row_of(hold, "q", "k", "1"), true, until}, {}, {}}});
  RowSweeper next(store_, clock_);
  next.tick({"q"});
  clock_.now += minutes{1};
  next.tick({"q"});
  EXPECT_EQ(store_.wait_rows(rows, "", 10).at(0).until, until);
}

TEST_F(RowSweeperTest, cuts_them_too_where_it_has_not_seen_the_clock_set_back) {
  const auto rows = store::Store::unique_rows("q");
  for (int i = 0; i < 1500; ++i) {
    auto name = std::to_string(10000 + i) + "           ";
    const domain::UniqueHold hold{name, "t", UniqueScope::period, store_.now() + hours{50}};
    store_.step_rows(rows,
                     {{{name, domain::row_of(hold, "q", "k", "1"), true, store_.now() + hours{51}}, {}, {}}});
  }
  RowSweeper next(store_, clock_);
  EXPECT_FALSE(next.tick({"q"})) << "the clock may be wrong as it starts";
  clock_.now += minutes{1};
  EXPECT_TRUE(next.tick({"q"})) << "a page at a time";
  EXPECT_FALSE(next.tick({"q"}));
  for (const auto& row : store_.wait_rows(rows, "", 2000)) EXPECT_EQ(row.until, store_.now() + hours{1});
}

}  // namespace row_sweeper_test
}  // namespace ordo::runtime
