// What pages are told of windows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/admin_impl.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace window_list_test {

using std::chrono::days;
using std::chrono::hours;
using testing::IsEmpty;

/// 2026-03-28, a Saturday, 12:00 UTC: the clocks of Berlin go forward in the night.
class FixedClock final : public Clock {
 public:
  Time wall() override { return std::chrono::sys_days{std::chrono::year{2026} / 3 / 28} + hours{12}; }
  Duration steady() override { return {}; }
};

class WindowList : public testing::Test {
 protected:
  std::vector<WindowView> views(QueueOptions queue, Duration ahead = hours{24}) {
    const auto store = std::make_shared<store::memory::MemoryStore>(clock_);
    store->define("q", 1);
    Config config;
    queue.name = "q";
    config.queues.push_back(std::move(queue));
    return Admin::Impl(std::make_shared<StoreHandle>(std::move(config), clock_, store)).windows("q", ahead);
  }

  Time now() { return clock_.wall(); }

  FixedClock clock_;
};

TEST_F(WindowList, a_queue_without_any_is_open) {
  const auto found = views({});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].open);
  EXPECT_THAT(found[0].windows, IsEmpty());
  EXPECT_EQ(found[0].openings.at(0).first, now());
}

TEST_F(WindowList, what_is_always_open_never_closes) {
  using Windows = std::vector<Window>;
  for (const auto& windows :
       {Windows{{.start = hours{0}, .end = hours{24}}},
        Windows{{.start = hours{0}, .end = hours{13}}, {.start = hours{11}, .end = hours{24}}}}) {
    const auto found = views({.windows = windows}, days{31});
    EXPECT_TRUE(found.at(0).open);
    EXPECT_THAT(found.at(0).openings, testing::ElementsAre(std::pair(now(), Time::max())));
  }
  const auto weekdays = views({.windows = {{.start = hours{0}, .end = hours{24}, .days = 0x1f}}}, days{10});
  EXPECT_EQ(weekdays.at(0).openings.at(0).second - weekdays.at(0).openings.at(0).first, days{5});
}

TEST_F(WindowList, says_when_it_is_open_and_for_how_long) {
  const auto found =
      views({.windows = {{.start = hours{11}, .end = hours{13}}, {.start = hours{20}, .end = hours{21}}}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].open);
  EXPECT_THAT(found[0].openings, testing::ElementsAre(std::pair(now(), now() + hours{1}),
                                                      std::pair(now() + hours{8}, now() + hours{9}),
                                                      std::pair(now() + hours{23}, now() + hours{25})));
}

TEST_F(WindowList, shows_the_next_opening_however_far_it_is_and_kinds_of_their_own) {
  KindOptions kind{.kind = "k"};
  kind.windows =
      std::vector<Window>{{.start = hours{2}, .end = hours{3}, .days = 0x40, .tz = "Europe/Berlin"}};
  const auto found =
      views({.windows = {{.start = hours{1}, .end = hours{2}, .days = 0x10}}, .kinds = {kind}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_FALSE(found[0].open);
  ASSERT_EQ(found[0].openings.size(), 1U);
  EXPECT_EQ(found[0].openings[0].first, now() + days{5} + hours{13}) << "Friday";
  EXPECT_EQ(found[1].kind, "k");
  ASSERT_EQ(found[1].clock_changes.size(), 1U);
  EXPECT_EQ(found[1].clock_changes[0], now() + hours{13});
}

TEST_F(WindowList, says_of_windows_that_are_too_short_that_they_never_open) {
  const auto found =
      views({.windows = {{.start = hours{1}, .end = hours{2}}}, .min_remaining = hours{2}}, days{3});
  EXPECT_FALSE(found[0].open);
  EXPECT_THAT(found[0].openings, IsEmpty());
}

}  // namespace window_list_test
}  // namespace ordo
