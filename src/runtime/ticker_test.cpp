#include "runtime/ticker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_view_harness.h"
#include "runtime/rooms_harness.h"
#include "runtime/writer.h"

namespace ordo::runtime {
namespace ticker_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct TickerTest : ::testing::Test, Rooms {
  TickerTest() : Rooms({queue_with("q")}) {
    state("node", {beat});
    adopt("q");
  }

  /// A living node that started at that time states these.
  void state(const std::string& node, const std::vector<PeriodicOptions>& schedules, Time started = {}) {
    auto& members = scope.cluster.members;
    auto member = std::ranges::find(members, node, &Member::id);
    if (member == members.end()) member = members.insert(member, Member{.id = node});
    member->started = started;
    member->schedules = domain::encode(schedules);
    ticker.look();
  }
  /// A tick of the engine so much later, with the log read and the changes durable.
  void after(Duration time) {
    clock.now += time;
    lease.renewed(clock.now);
    scope.now = store.now();
    host.look_at_clock();
    host.expire();
    ticker.tick();
    store.answer();
    settle();
  }
  void settle() {
    for (int i = 0; i < 2; ++i) {
      if (host.find(shard("q")) != nullptr && reads) read("q");
      writer.flush();
      auto news = scope.inbox->take();
      for (const auto& end : news.commits) writer.settle(end);
      for (const auto& call : news.calls) call();
    }
  }
  std::vector<std::string> jobs() const {
    std::vector<std::string> ids;
    const auto* owned = host.find({store_number(), 0});
    for (const auto& job : domain::ShardView::of(owned->machine)) ids.push_back(job.id);
    return ids;
  }
  std::uint32_t store_number() const { return const_cast<LateStore&>(store).queues().find("q")->number; }
  std::string id(Duration after_start) const { return domain::job_id_of("beat", start + after_start); }
  const domain::ScheduleRecord& record() { return *owned("q").machine.schedules().find("beat"); }

  const PeriodicOptions beat{
      .name = "beat", .queue = "q", .every = minutes{1}, .missed = Missed::all, .overlap = Overlap::queue};
  const Time start = scope.now;  // a full hour
  bool reads = true;
  Writer writer{scope, host};
  Ticker ticker{scope, queues, host};
};

TEST_F(TickerTest, pushes_each_tick_once) {
  after({});  // it starts
  EXPECT_THAT(jobs(), IsEmpty());
  after(seconds{59});
  EXPECT_THAT(jobs(), IsEmpty());
  EXPECT_EQ(ticker.next(), seconds{1});
  after(seconds{1});
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{1})));
  for (int i = 0; i < 10; ++i) after(seconds{2});
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{1})));
  after(seconds{40});
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{1}), id(minutes{2})));
  EXPECT_EQ(record().ticks, 2U);
}

TEST_F(TickerTest, what_it_starts_with_is_durable_before_it_ticks) {
  store.failure = "no room";
  after({});
  for (int i = 0; i < 5; ++i) after(minutes{1});
  EXPECT_THAT(jobs(), IsEmpty());
  store.failure.clear();
  after(seconds{1});
  after(seconds{1});
  EXPECT_EQ(jobs().size(), 5U);
}

TEST_F(TickerTest, what_is_not_read_yet_is_not_pushed_again_at_once) {
  after({});
  reads = false;
  after(minutes{1});
  after(seconds{1});
  after(seconds{1});
  reads = true;
  settle();
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{1})));
  EXPECT_EQ(record().through, owned("q").machine.through());
  reads = false;
  after(minutes{1});
  after(seconds{6});  // perhaps it never came
  reads = true;
  settle();
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{1}), id(minutes{2})));
}

TEST_F(TickerTest, ticks_wait_while_the_clock_is_not_trusted) {
  after({});
  clock.leap = hours{5};
  after(seconds{1});
  after(seconds{50});
  EXPECT_THAT(jobs(), IsEmpty());
  clock.leap = {};  // it was a mistake
  after(seconds{5});
  EXPECT_THAT(jobs(), IsEmpty());
  clock.leap = hours{5};
  after(seconds{10});
  after(minutes{1});
  after(seconds{1});
  EXPECT_FALSE(jobs().empty());
}

TEST_F(TickerTest, the_node_that_started_last_says_what_is_in_force) {
  after({});
  auto other = beat;
  other.every = seconds{10};
  state("another", {other}, start);
  after(seconds{1});
  after(seconds{9});
  EXPECT_THAT(jobs(), ElementsAre(id(seconds{10})));
  scope.cluster.members.clear();
  ticker.look();
  after(minutes{10});
  EXPECT_THAT(jobs(), ElementsAre(id(seconds{10})));
  EXPECT_EQ(ticker.next(), Duration::max());
  after(hours{2});
  after(hours{25});
  EXPECT_THAT(host.find(shard("q"))->machine.schedules().records(), IsEmpty());
}

TEST_F(TickerTest, what_was_missed_is_passed_over_aloud) {
  after({});
  auto skipping = beat;
  skipping.missed = Missed::skip;
  state("node", {skipping});
  after(minutes{10} + seconds{61});
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{11})));
  ASSERT_FALSE(log.empty());
  EXPECT_THAT(log.back(), HasSubstr("schedule 'beat' passes over 10 missed ticks"));
  EXPECT_EQ(record().ticks, 11U);
  EXPECT_EQ(record().pushed, 1U);
}

TEST_F(TickerTest, while_the_job_of_a_tick_is_there_others_are_counted_and_not_pushed) {
  auto alone = beat;
  alone.overlap = Overlap::skip;
  alone.missed = Missed::once;
  state("node", {alone});
  after({});
  after(minutes{1});
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{1})));
  for (int i = 0; i < 5; ++i) after(minutes{1});
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{1})));
  EXPECT_EQ(record().skipped, 5U);
  EXPECT_EQ(record().ticks, 6U);
  EXPECT_EQ(record().pushed, 1U);
  after(minutes{10});
  EXPECT_EQ(record().ticks, 16U);
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{1}))) << "also those that were missed";
}

TEST_F(TickerTest, of_several_ticks_that_are_due_the_first_holds_back_the_others) {
  auto alone = beat;
  alone.every = seconds{10};
  alone.overlap = Overlap::skip;
  alone.missed = Missed::once;
  state("node", {alone});
  after({});
  after(seconds{50});
  EXPECT_THAT(jobs(), ElementsAre(id(seconds{10})));
  after(seconds{1});
  EXPECT_THAT(jobs(), ElementsAre(id(seconds{10})));
  EXPECT_EQ(record().skipped, 4U);
}

TEST_F(TickerTest, what_is_caught_up_passes_the_jobs_that_are_there) {
  auto all = beat;
  all.overlap = Overlap::skip;
  state("node", {all});
  after({});
  after(minutes{5} + seconds{30});
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{1}), id(minutes{2}), id(minutes{3}), id(minutes{4})));
  after(seconds{1});
  EXPECT_EQ(jobs().size(), 4U);
  EXPECT_EQ(record().skipped, 1U);
}

TEST_F(TickerTest, what_no_zone_of_this_machine_fits_is_told_and_left) {
  state("node", {{.name = "odd", .queue = "q", .cron = "@daily", .tz = "Mars/Olympus"}, beat});
  ASSERT_FALSE(log.empty());
  EXPECT_THAT(log.back(), HasSubstr("schedule 'odd'"));
  after({});
  after(minutes{1});
  EXPECT_THAT(jobs(), ElementsAre(id(minutes{1})));
}

}  // namespace ticker_test
}  // namespace ordo::runtime
