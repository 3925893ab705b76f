#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_limit_test {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;
using testing::Strings;
using ::testing::UnorderedElementsAre;

QueueOptions limited(Decimal limit) {
  auto options = plain();
  options.limit = limit;
  return options;
}

QueueOptions by_region(Decimal limit) {
  auto options = limited(limit);
  options.partition = "/region";
  return options;
}
Harness::Push from(const std::string& region) { return {.payload = R"({"region":")" + region + "\"}"}; }

QueueOptions with_shares(bool borrow) {
  auto options = by_region(100);
  options.shares = {{"east", 40}, {"north", 30}, {"west", 30}};
  options.borrow = borrow;
  return options;
}

void push_some(Harness& shard, int from, int to, Harness::Push like = {}) {
  for (int i = from; i <= to; ++i) {
    like.id = std::to_string(i);
    shard.push(like);
  }
}

// ------------------------------------------------------------------------------------------------
// concurrency

TEST(ShardLimit, starts_as_many_as_the_limit_and_the_next_when_one_returns) {
  Harness shard(limited(2));
  push_some(shard, 1, 4);
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "2"));
  EXPECT_FALSE(shard.has_due());
  EXPECT_EQ(shard.counts().blocked_by_limit, 2U);
  shard.finish("1", /*commits=*/false);
  EXPECT_THAT(shard.start_all(), ElementsAre("3")) << "a slot frees when the run has returned";
  shard.commit();
  EXPECT_EQ(shard.counts().blocked_by_limit, 1U);
}

TEST(ShardLimit, counts_weights_exactly) {
  for (const auto& [weight, runs] : std::map<double, std::size_t>{{2, 5}, {0.1, 100}, {3, 3}, {10, 1}}) {
    auto options = limited(10);
    options.weight = weight;
    Harness shard(options);
    push_some(shard, 1, 120);
    EXPECT_EQ(shard.start_all().size(), runs) << weight;
  }
}

TEST(ShardLimit, of_a_batch_each_job_is_admitted_singly) {
  auto options = limited(3);
  options.batch_size = 10;
  Harness shard(options);
  push_some(shard, 1, 5);
  const auto run = shard.take();
  ASSERT_TRUE(run);
  EXPECT_EQ(run->jobs.size(), 3U);
  EXPECT_FALSE(shard.take());
}

TEST(ShardLimit, a_failed_job_frees_its_slot_while_it_waits_for_its_retry) {
  auto options = limited(1);
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = minutes{1}};
  Harness shard(options);
  push_some(shard, 1, 2);
  shard.end(*shard.take(), Outcome::fail("no"));
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
}

TEST(ShardLimit, what_is_recalled_gives_its_slot_back) {
  Harness shard(limited(1));
  push_some(shard, 1, 2);
  const auto run = shard.take();
  EXPECT_FALSE(shard.take());
  shard.shard().recall(run->no, shard.now());
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
}

TEST(ShardLimit, a_lent_run_counts_for_the_next_owner_too) {
  Harness shard(limited(2));
  push_some(shard, 1, 3);
  const auto lent = shard.lend(*shard.take(), "other");
  shard.rebuild();
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
  shard.end(lent, Outcome::done());
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
}

TEST(ShardLimit, a_light_job_passes_a_heavy_one_that_has_no_room) {
  Harness shard(limited(4));
  shard.push({.id = "a", .weight = 3});
  shard.push({.id = "heavy", .weight = 2});
  shard.push({.id = "light", .weight = 1});
  EXPECT_THAT(shard.start_all(), ElementsAre("a", "light"));
  EXPECT_EQ(shard.counts().blocked_by_limit, 1U);
}

TEST(ShardLimit, who_was_passed_over_for_a_while_gets_the_room_that_is_freed) {
  auto options = limited(4);
  options.reserve_after = seconds{60};
  Harness shard(options);
  push_some(shard, 1, 4);
  EXPECT_EQ(shard.start_all().size(), 4U);
  shard.push({.id = "heavy", .weight = 3});
  push_some(shard, 5, 9);
  shard.finish("1");
  EXPECT_THAT(shard.start_all(), ElementsAre("5")) << "it passes";
  shard.advance(seconds{1});
  shard.finish("2");
  EXPECT_THAT(shard.start_all(), ElementsAre("6"));
  shard.advance(seconds{60});
  shard.finish("3");
  EXPECT_THAT(shard.start_all(), IsEmpty()) << "the room is kept";
  shard.finish("4");
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.finish("5");
  EXPECT_THAT(shard.start_all(), ElementsAre("heavy"));
  shard.finish("6");
  EXPECT_THAT(shard.start_all(), ElementsAre("7"));
}

TEST(ShardLimit, room_that_is_kept_for_one_is_not_lost_to_those_before_it) {
  auto options = limited(1);
  options.reserve_after = seconds{0};
  options.order = DueOrder::priority;
  Harness shard(options);
  shard.push({.id = "x1", .kind = "x", .priority = 1});
  EXPECT_THAT(shard.start_all(), ElementsAre("x1"));
  shard.push({.id = "y1", .kind = "y", .priority = 100});
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.push({.id = "x2", .kind = "x", .priority = 1});
  shard.finish("x1");
  EXPECT_THAT(shard.start_all(), ElementsAre("x2"));
  shard.push({.id = "x3", .kind = "x", .priority = 1});
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.finish("x2");
  EXPECT_THAT(shard.start_all(), ElementsAre("y1"));
  shard.finish("y1");
  EXPECT_THAT(shard.start_all(), ElementsAre("x3"));
}

TEST(ShardLimit, two_do_not_keep_room_from_each_other) {
  Gates gates(
      std::vector<NamedLimit>{{.name = "a", .limit = Decimal(10)}, {.name = "b", .limit = Decimal(10)}});
  auto both = plain();
  both.limits = {"a", "b"};
  both.reserve_after = seconds{0};
  both.order = DueOrder::priority;
  auto light_a = both, light_b = both;
  light_a.name = "light_a";
  light_a.limits = {"a"};
  light_b.name = "light_b";
  light_b.limits = {"b"};
  Harness heavy(both, gates, {1, 0}), of_a(light_a, gates, {2, 0}), of_b(light_b, gates, {3, 0});
  push_some(of_a, 1, 6);
  EXPECT_EQ(of_a.start_all().size(), 6U);
  heavy.push({.id = "A", .priority = 2, .weight = 8});
  EXPECT_THAT(heavy.start_all(), IsEmpty());
  push_some(of_a, 11, 11);
  EXPECT_EQ(of_a.start_all().size(), 1U);
  of_a.finish("1");
  EXPECT_THAT(heavy.start_all(), IsEmpty());
  push_some(of_b, 1, 5);
  EXPECT_EQ(of_b.start_all().size(), 5U);
  heavy.push({.id = "B", .priority = 1, .weight = 7});
  EXPECT_THAT(heavy.start_all(), IsEmpty());
  for (const int id : {2, 3, 4, 5, 6, 11}) {
    of_a.finish(std::to_string(id));
    EXPECT_THAT(heavy.start_all(), IsEmpty());
  }
  for (int id = 1; id <= 5; ++id) {
    of_b.finish(std::to_string(id));
    for (const auto& started : heavy.start_all()) heavy.finish(started);
  }
  while (!heavy.start_all().empty()) heavy.finish("B");
  EXPECT_EQ(heavy.counts().due + heavy.counts().running, 0U) << "both have run";
}

TEST(ShardLimit, after_a_crash_the_rates_of_all_partitions_start_empty) {
  auto options = by_region(100);
  options.rate = RateLimit{.limit = 1, .per = seconds{10}, .each = RateEach::partition};
  Harness shard(options);
  push_some(shard, 1, 1, from("p"));
  EXPECT_EQ(shard.start_all().size(), 1U);
  shard.crash();
  EXPECT_FALSE(shard.take_marked({}));
  shard.advance(seconds{10});
  EXPECT_TRUE(shard.take_marked({}));
}

TEST(ShardLimit, what_can_never_start_does_not_keep_others_from_borrowing) {
  auto options = with_shares(true);
  Harness shard(options);
  shard.push({.id = "never", .payload = R"({"region":"north"})", .weight = 101});
  push_some(shard, 1, 200, from("east"));
  EXPECT_EQ(shard.start_all().size(), 100U);
}

TEST(ShardLimit, room_is_not_kept_for_what_may_not_start) {
  auto options = limited(2);
  options.reserve_after = seconds{0};
  Gates gates;
  Harness a(options, gates, {1, 0}), b(options, gates, {1, 1});
  push_some(b, 1, 6);
  EXPECT_EQ(b.start_all().size(), 2U);
  a.push({.id = "heavy", .weight = 2});
  EXPECT_THAT(a.start_all(), IsEmpty());
  b.finish("1");
  EXPECT_EQ(b.start_all().size(), 1U);
  EXPECT_THAT(a.start_all(), IsEmpty());
  b.finish("2");
  EXPECT_THAT(a.start_all(), IsEmpty());
  EXPECT_THAT(b.start_all(), IsEmpty()) << "kept for the heavy one";
  a.shard().keep_no_room();  // it is paused
  EXPECT_EQ(b.start_all().size(), 1U);
}

TEST(ShardLimit, what_weighs_more_than_the_limit_waits_or_runs_alone) {
  auto options = limited(3);
  Harness shard(options);
  shard.push({.id = "big", .weight = 4});
  push_some(shard, 1, 3);
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "2", "3"));
  EXPECT_EQ(shard.counts().blocked_by_limit, 1U);
  EXPECT_FALSE(shard.shard().next_due(shard.now()));

  options.oversize = Oversize::alone;
  Harness other(options);
  push_some(other, 1, 1);
  other.push({.id = "big", .weight = 4});
  push_some(other, 2, 2);
  EXPECT_THAT(other.start_all(), ElementsAre("1", "2"));
  other.finish("1");
  EXPECT_THAT(other.start_all(), IsEmpty());
  other.finish("2");
  EXPECT_THAT(other.start_all(), ElementsAre("big"));
  push_some(other, 3, 3);
  EXPECT_THAT(other.start_all(), IsEmpty());
}

TEST(ShardLimit, critical_jobs_are_neither_blocked_nor_counted) {
  auto options = limited(1);
  options.critical_limit = Decimal(2);
  Harness shard(options);
  push_some(shard, 1, 2);
  push_some(shard, 11, 13, {.critical = true});
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "11", "12"));
  shard.finish("11");
  EXPECT_THAT(shard.start_all(), ElementsAre("13"));
}

TEST(ShardLimit, the_front_of_a_key_keeps_its_line_while_it_is_blocked) {
  Harness shard(limited(1));
  shard.push({.id = "1"});
  shard.push({.id = "2", .key = "k"});
  shard.push({.id = "3", .key = "k", .critical = true});
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
  shard.finish("1");
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
  shard.finish("2");
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
}

TEST(ShardLimit, a_push_may_change_the_weight_of_a_waiting_job) {
  Harness shard(limited(2));
  shard.push({.id = "1", .payload = "a", .weight = 3});
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.push({.id = "1", .payload = "b", .weight = 2});
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
}

// --------------------------------------------------------------------------------------------------
// partitions

TEST(ShardLimit, a_blocked_partition_never_hides_the_jobs_behind_it) {
  auto options = by_region(100);
  options.partition_limit = Decimal(2);
  Harness shard(options);
  push_some(shard, 1, 50, from("east"));
  push_some(shard, 51, 53, from("north"));
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "2", "51", "52"));
  EXPECT_EQ(shard.counts().blocked_by_limit, 49U);
  shard.finish("52");
  EXPECT_THAT(shard.start_all(), ElementsAre("53"));
}

TEST(ShardLimit, partitions_come_from_the_first_payload_that_has_one) {
  auto options = by_region(100);
  options.partition_limit = Decimal(1);
  Harness shard(options);
  shard.push({.id = "1", .payload = R"({"region":"a"})"});
  shard.push({.id = "2", .payload = "none"});
  shard.push({.id = "2", .payload = R"({"region":"a"})"});
  shard.push({.id = "2", .payload = R"({"region":"b"})"});
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
  shard.push({.id = "3", .payload = R"({"region":7})"});
  shard.push({.id = "4", .partition = "7"});
  shard.push({.id = "5", .payload = R"({"region":null})"});
  shard.push({.id = "6"});
  EXPECT_THAT(shard.start_all(), ElementsAre("3", "5")) << "4 is of 7, and 6 has none, as 5";
  shard.rebuild();
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "3", "5"));
}

TEST(ShardLimit, a_payload_that_dies_leaves_its_partition_to_the_job) {
  auto options = by_region(100);
  options.partition_limit = Decimal(1);
  options.max_retries = 0;
  Harness shard(options);
  shard.push({.id = "2", .payload = R"({"region":"a"})", .score = 1});
  shard.push({.id = "2", .payload = R"({"region":"b"})", .score = 2});
  shard.end(*shard.take(), Outcome::fail("no"));
  shard.commit();
  shard.push({.id = "3", .payload = R"({"region":"a"})"});
  for (int owner = 0; owner < 2; ++owner) {
    EXPECT_EQ(shard.start_all().size(), 1U) << "both are of a";
    shard.rebuild();
  }
}

TEST(ShardLimit, shares_are_hard_unless_they_borrow) {
  Harness hard(with_shares(false));
  push_some(hard, 1, 200, from("east"));
  EXPECT_EQ(hard.start_all().size(), 40U);
  push_some(hard, 201, 300, from("south"));
  EXPECT_THAT(hard.start_all(), IsEmpty()) << "nothing is left for those that are not listed";

  Harness borrows(with_shares(true));
  push_some(borrows, 1, 200, from("east"));
  EXPECT_EQ(borrows.start_all().size(), 100U);
  push_some(borrows, 301, 330, from("north"));
  EXPECT_THAT(borrows.start_all(), IsEmpty());
  for (int i = 1; i <= 3; ++i) {
    borrows.finish(std::to_string(i));
    EXPECT_THAT(borrows.start_all(), ElementsAre(std::to_string(300 + i))) << "north gets what is freed";
  }
}

TEST(ShardLimit, those_that_are_not_listed_have_the_rest_together) {
  auto options = by_region(10);
  options.shares = {{"east", 70}};
  Harness shard(options);
  push_some(shard, 1, 3, from("a"));
  push_some(shard, 11, 13, from("b"));
  EXPECT_EQ(shard.start_all().size(), 3U);
}

TEST(ShardLimit, values_take_turns_where_the_limit_is_short) {
  Harness shard(by_region(2));
  push_some(shard, 1, 10, from("a"));
  push_some(shard, 11, 20, from("b"));
  push_some(shard, 21, 30, from("c"));
  Strings order = shard.start_all();
  for (std::size_t i = 0; i < 7; ++i) {
    shard.finish(order[i]);
    for (const auto& id : shard.start_all()) order.push_back(id);
  }
  const Strings turns(order.begin() + 2, order.end());
  EXPECT_THAT(turns, ElementsAre("11", "21", "3", "12", "22", "4", "13"));
}

// --------------------------------------------------------------------------------------------------------
// rates

TEST(ShardLimit, a_rate_lets_through_a_burst_and_then_so_many_a_second) {
  auto options = plain();
  options.rate = RateLimit{.limit = 10, .per = seconds{1}, .burst = 3};
  Harness shard(options);
  push_some(shard, 1, 100);
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "2", "3"));
  EXPECT_EQ(shard.counts().blocked_by_rate, 97U);
  EXPECT_EQ(shard.shard().next_due(shard.now()), shard.now() + milliseconds{100});
  shard.advance(milliseconds{99});
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.advance(milliseconds{1});
  EXPECT_THAT(shard.start_all(), ElementsAre("4"));
  shard.advance(seconds{10});
  EXPECT_EQ(shard.start_all().size(), 3U) << "never more than a burst at once";
}

TEST(ShardLimit, no_span_of_a_rate_has_more_starts_than_its_limit) {
  auto options = plain();
  options.rate = RateLimit{.limit = 10, .per = seconds{10}};
  Harness shard(options);
  push_some(shard, 1, 200);
  std::vector<Time> starts;
  std::uint64_t steps = 12345;
  while (starts.size() < 150) {
    for (std::size_t i = shard.start_all().size(); i > 0; --i) starts.push_back(shard.now());
    steps = steps * 6364136223846793005ULL + 1442695040888963407ULL;
    shard.advance(milliseconds{static_cast<std::int64_t>(steps >> 33) % 3000});
  }
  for (std::size_t i = 10; i < starts.size(); ++i) EXPECT_GE(starts[i] - starts[i - 10], seconds{10});
}

TEST(ShardLimit, a_rate_starts_as_many_as_it_may) {
  auto options = plain();
  options.rate = RateLimit{.limit = 10, .per = seconds{10}};
  Harness shard(options);
  push_some(shard, 1, 100);
  EXPECT_EQ(shard.start_all().size(), 10U);
  shard.advance(seconds{9});
  EXPECT_THAT(shard.start_all(), IsEmpty()) << "they would be twenty within ten seconds";
  EXPECT_EQ(shard.shard().next_due(shard.now()), shard.now() + seconds{1});
  shard.advance(seconds{1});
  EXPECT_EQ(shard.start_all().size(), 10U);
}

TEST(ShardLimit, what_thousands_of_values_have_used_goes_to_the_next_owner) {
  constexpr int kValues = 10'000;
  auto options = by_region(1'000'000);
  options.rate = RateLimit{.limit = 1, .per = hours{1}, .each = RateEach::partition};
  Harness shard(options);
  const auto push_all = [&](int from) {
    for (int i = 0; i < kValues; ++i) {
      const auto value = R"({"region":"v)" + std::to_string(i) + "\"}";
      shard.push({.id = std::to_string(from + i), .payload = value});
    }
  };
  push_all(0);
  domain::Run run;
  while (shard.shard().take(shard.now(), {}, run) == Shard::Taken::pending) continue;
  shard.commit();
  const auto released = shard.shard().released();
  ASSERT_EQ(released.size(), std::size_t{kValues});
  for (const auto& each : released) shard.end(each, Outcome::done());
  shard.commit();
  EXPECT_EQ(shard.rates().size(), std::size_t{kValues});
  shard.rebuild();
  push_all(kValues);
  EXPECT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::none);
  shard.advance(hours{1} - seconds{1});
  EXPECT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::none);
  shard.advance(seconds{2});
  EXPECT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::pending);
}

TEST(ShardLimit, what_a_hundred_thousand_values_have_used_is_known_behind_a_restart) {
  auto options = plain();
  options.rate = RateLimit{.limit = 1, .per = hours{1}, .each = RateEach::partition};
  const Time at{hours{24 * 20000}};
  RateRows rows;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    RateRecord record{std::string(kRateOfPartition) + std::to_string(i), at, at + hours{1}, {{at, 1}}};
    rows.emplace_back(rate_row({1, 0}, i), std::move(record));
  }
  Gates gates;
  PayloadBudget budget;
  Shard shard(options, budget, &gates);
  shard.load({.now = at + seconds{1}, .shard = {1, 0}}, {}, {});
  shard.load_rates(rows);
  auto& group = gates.group_of(options);
  for (const auto& [no, record] : rows) ASSERT_EQ(gates.record(group, record.name), record);
}

TEST(ShardLimit, a_rate_of_each_partition) {
  auto options = by_region(100);
  options.rate = RateLimit{.limit = 1, .per = seconds{1}, .each = RateEach::partition};
  Harness shard(options);
  push_some(shard, 1, 2, from("a"));
  push_some(shard, 11, 12, from("b"));
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "11"));
  shard.advance(seconds{1});
  EXPECT_THAT(shard.start_all(), ElementsAre("2", "12"));
}

TEST(ShardLimit, equal_numbers_are_one_value_of_a_partition) {
  auto options = by_region(100);
  options.partition_limit = Decimal(1);
  Harness shard(options);
  for (const auto* value : {"7", "7.0", "7e0", "\"7\""}) {
    const auto payload = R"({"region":)" + std::string(value) + "}";
    shard.push({.id = value, .payload = payload});
  }
  EXPECT_THAT(shard.start_all(), ElementsAre("7"));
}

TEST(ShardLimit, a_rate_goes_to_the_next_owner) {
  auto options = plain();
  options.rate = RateLimit{.limit = 2, .per = seconds{10}};
  Harness shard(options);
  push_some(shard, 1, 4);
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "2"));
  shard.finish("1");
  shard.rebuild();
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.advance(seconds{9});
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.advance(seconds{1});
  EXPECT_EQ(shard.start_all().size(), 2U);
}

TEST(ShardLimit, after_a_crash_a_short_rate_counts_as_used_up) {
  auto options = plain();
  options.rate = RateLimit{.limit = 2, .per = seconds{10}};
  Harness shard(options);
  push_some(shard, 1, 4);
  shard.crash();
  EXPECT_FALSE(shard.take_marked({}));
  shard.advance(seconds{10} - milliseconds{1});
  EXPECT_FALSE(shard.take_marked({}));
  shard.advance(milliseconds{1});
  EXPECT_TRUE(shard.take_marked({}));
}

TEST(ShardLimit, a_short_rate_that_counts_as_used_up_does_so_for_the_next_owner) {
  auto options = plain();
  options.rate = RateLimit{.limit = 2, .per = seconds{10}};
  Harness shard(options);
  push_some(shard, 1, 4);
  shard.crash();
  EXPECT_TRUE(shard.shard().has_changes());
  shard.commit();
  EXPECT_FALSE(shard.shard().has_changes());
  shard.advance(seconds{1});
  shard.rebuild();
  EXPECT_FALSE(shard.take_marked({}));
  shard.advance(seconds{9});
  EXPECT_TRUE(shard.take_marked({}));
}

TEST(ShardLimit, a_start_counts_from_when_it_is_handed_to_its_worker) {
  auto options = plain();
  options.rate = RateLimit{.limit = 1, .per = hours{1}};
  Harness shard(options);
  push_some(shard, 1, 2);
  domain::Run run;
  EXPECT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::pending);
  shard.advance(seconds{5});
  shard.commit();
  shard.advance(hours{1} - seconds{1});
  EXPECT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::none);
  shard.advance(seconds{1});
  EXPECT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::pending);
}

TEST(ShardLimit, a_start_that_has_waited_for_its_payload_counts_from_when_it_has_it) {
  auto options = plain();
  options.rate = RateLimit{.limit = 1, .per = seconds{10}};
  Harness shard(options, Time{hours{24 * 20000}}, /*budget=*/0);
  push_some(shard, 1, 2, {.payload = "p"});
  domain::Run run;
  ASSERT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::ready);
  ASSERT_FALSE(run.missing.empty());
  shard.advance(seconds{5});
  ASSERT_TRUE(shard.provide(run));
  shard.shard().fill(run, shard.now());
  EXPECT_TRUE(shard.shard().has_changes()) << "a successor would take it for an earlier one";
  shard.advance(seconds{9});
  EXPECT_FALSE(shard.take());
  shard.advance(seconds{1});
  EXPECT_TRUE(shard.take());
}

TEST(ShardLimit, a_start_that_failed_to_begin_is_given_back) {
  auto options = plain();
  options.rate = RateLimit{.limit = 1, .per = seconds{10}};
  Harness shard(options);
  push_some(shard, 1, 2);
  const auto own = shard.take();
  ASSERT_TRUE(own);
  shard.end(*own, Outcome::not_started("its program is missing"));
  const auto next = shard.take();
  ASSERT_TRUE(next);
  const auto lent = shard.lend(*next, "other");
  EXPECT_FALSE(shard.has_due());
  shard.end(lent, Outcome::not_started("its program is missing"), /*declined=*/true);
  EXPECT_TRUE(shard.take());
  EXPECT_FALSE(shard.take());
}

TEST(ShardLimit, a_start_that_is_given_back_leaves_later_ones_as_far_apart) {
  auto options = plain();
  options.rate = RateLimit{.limit = 100, .per = seconds{1}, .burst = 1};
  Harness shard(options);
  push_some(shard, 1, 5);
  const auto first = shard.take();
  ASSERT_TRUE(first);
  for (int later = 0; later < 2; ++later) {
    shard.advance(milliseconds{10});
    ASSERT_TRUE(shard.take());
  }
  shard.end(*first, Outcome::not_started("its program is missing"));
  shard.advance(milliseconds{1});
  EXPECT_FALSE(shard.take());
  shard.advance(milliseconds{9});
  EXPECT_TRUE(shard.take());
}

TEST(ShardLimit, a_start_under_an_owner_before_this_one_is_not_given_back) {
  auto options = plain();
  options.rate = RateLimit{.limit = 1, .per = seconds{10}};
  Harness shard(options);
  push_some(shard, 1, 2);
  const auto run = shard.take();
  ASSERT_TRUE(run);
  const auto lent = shard.lend(*run, "other");
  shard.rebuild();
  shard.end(lent, Outcome::not_started("its program is missing"), /*declined=*/true);
  EXPECT_FALSE(shard.take());
}

/// Whose payloads are never in memory.
class PostponedStarts : public ::testing::Test {
 protected:
  static QueueOptions at_most(std::uint32_t limit, Duration per, std::uint32_t burst = 0) {
    auto options = plain();
    options.rate = RateLimit{.limit = limit, .per = per, .burst = burst};
    return options;
  }
  explicit PostponedStarts(const QueueOptions& options = at_most(1, seconds{10}))
      : shard_(options, Time{hours{24 * 20000}}, /*budget=*/0) {
    push_some(shard_, 1, 9, {.payload = "p"});
  }

  /// It waits for its payload. Nothing: none may start.
  std::optional<domain::Run> choose() {
    domain::Run run;
    if (shard_.shard().take(shard_.now(), {}, run) == Shard::Taken::none) return std::nullopt;
    EXPECT_FALSE(run.missing.empty());
    return run;
  }
  void start(domain::Run run) {
    ASSERT_TRUE(shard_.provide(run));
    shard_.shard().fill(run, shard_.now());
  }

  Harness shard_;
};

TEST_F(PostponedStarts, count_until_they_happen_however_long_that_takes) {
  const auto first = choose();
  ASSERT_TRUE(first);
  shard_.advance(seconds{15});
  EXPECT_FALSE(choose()) << "both could start now";
  EXPECT_FALSE(shard_.has_due());
  start(*first);
  shard_.advance(seconds{10} - milliseconds{1});
  EXPECT_FALSE(choose());
  shard_.advance(milliseconds{1});
  EXPECT_TRUE(choose());
}

TEST_F(PostponedStarts, that_never_happen_do_not_count) {
  const auto recalled = choose();
  ASSERT_TRUE(recalled);
  shard_.shard().recall(recalled->no, shard_.now());
  const auto unreadable = choose();
  ASSERT_TRUE(unreadable);
  shard_.shard().ended(unreadable->no, {JobEnd{Outcome::snoozed_for(seconds{1}), 0}}, shard_.now());
  const auto lost = choose();
  ASSERT_TRUE(lost);
  shard_.shard().lose_missing(lost->no, shard_.now());
  EXPECT_TRUE(choose());
  EXPECT_FALSE(choose());
}

TEST_F(PostponedStarts, that_began_and_are_taken_back_do_not_count) {
  const auto first = choose();
  ASSERT_TRUE(first);
  shard_.advance(seconds{15});
  start(*first);
  shard_.shard().recall(first->no, shard_.now());
  EXPECT_TRUE(choose());
}

TEST_F(PostponedStarts, go_to_the_next_owner_as_starts) {
  const auto first = choose();
  ASSERT_TRUE(first);
  shard_.advance(seconds{4});
  shard_.commit();
  shard_.rebuild();
  shard_.advance(seconds{6} - milliseconds{1});
  EXPECT_FALSE(choose());
  shard_.advance(milliseconds{1});
  EXPECT_TRUE(choose());
}

class PostponedBursts : public PostponedStarts {
 protected:
  PostponedBursts() : PostponedStarts(at_most(4, seconds{8}, /*burst=*/2)) {}
};

TEST_F(PostponedBursts, are_spaced_once_they_happen) {
  const auto first = choose(), second = choose();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(choose());
  shard_.advance(seconds{20});
  EXPECT_FALSE(choose()) << "three would start at once";
  start(*first);
  start(*second);
  shard_.advance(seconds{2} - milliseconds{1});
  EXPECT_FALSE(choose());
  shard_.advance(milliseconds{1});
  EXPECT_TRUE(choose());
  EXPECT_FALSE(choose());
}

TEST(ShardLimit, a_start_that_waits_for_its_commit_counts_in_a_shorter_rate_until_it_happens) {
  Gates gates(std::vector<NamedLimit>{{.name = "crm", .rate = RateLimit{.limit = 100, .per = hours{1}}}});
  auto options = plain();
  options.rate = RateLimit{.limit = 1, .per = seconds{10}};
  options.limits = {"crm"};
  Harness shard(options, gates, {1, 0});
  push_some(shard, 1, 3);
  domain::Run run;
  ASSERT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::pending);
  shard.advance(seconds{15});
  EXPECT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::none);
  shard.commit();
  EXPECT_EQ(shard.shard().released().size(), 1U);
  shard.advance(seconds{10} - milliseconds{1});
  EXPECT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::none);
  shard.advance(milliseconds{1});
  EXPECT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::pending);
}

TEST(ShardLimit, a_start_under_a_long_rate_is_durable_first) {
  auto options = plain();
  options.rate = RateLimit{.limit = 1, .per = hours{1}};
  Harness shard(options);
  push_some(shard, 1, 2);
  domain::Run run;
  EXPECT_EQ(shard.shard().take(shard.now(), {}, run), Shard::Taken::pending);
  shard.commit();
  EXPECT_EQ(shard.shard().released().size(), 1U);
  shard.crash();
  EXPECT_FALSE(shard.take_marked({}));
  shard.advance(hours{1});
  EXPECT_TRUE(shard.take_marked({}));
}

TEST(ShardLimit, a_clock_that_goes_back_delays_no_longer_than_a_span_of_the_rate) {
  auto options = plain();
  options.rate = RateLimit{.limit = 1, .per = seconds{10}};
  Harness shard(options);
  push_some(shard, 1, 2);
  shard.advance(hours{5});
  EXPECT_EQ(shard.start_all().size(), 1U);
  shard.advance(-hours{1});
  EXPECT_FALSE(shard.has_due());
  shard.advance(seconds{10});
  EXPECT_TRUE(shard.has_due());
}

// ------------------------------------------------------------------------------------------- several shards

TEST(ShardLimit, shards_of_a_queue_and_queues_share_limits) {
  Gates gates(std::vector<NamedLimit>{{.name = "crm", .limit = Decimal(3)}});
  auto orders = limited(2);
  orders.limits = {"crm"};
  auto mails = orders;
  mails.name = "mails";
  Harness a(orders, gates, {1, 0}), b(orders, gates, {1, 1}), c(mails, gates, {2, 0});
  for (auto* shard : {&a, &b, &c}) push_some(*shard, 1, 5);
  EXPECT_EQ(a.start_all().size(), 2U);
  EXPECT_EQ(b.start_all().size(), 0U);
  EXPECT_EQ(c.start_all().size(), 1U);
  gates.take_woken();
  a.finish("1");
  EXPECT_THAT(gates.take_woken(), UnorderedElementsAre(ShardId{1, 0}, ShardId{1, 1}, ShardId{2, 0}));
  EXPECT_EQ(b.start_all().size(), 1U);
  EXPECT_EQ(c.start_all().size(), 0U);
}

TEST(ShardLimit, a_shard_that_leaves_takes_what_it_used_and_kept_along) {
  Gates gates;
  Harness a(limited(2), gates, {1, 0});
  {
    Harness b(limited(2), gates, {1, 1});
    push_some(b, 1, 3);
    EXPECT_EQ(b.start_all().size(), 2U);
    push_some(a, 1, 3);
    EXPECT_EQ(a.start_all().size(), 0U);
  }
  EXPECT_EQ(a.start_all().size(), 2U);
}

TEST(ShardLimit, many_jobs_of_a_blocked_partition_cost_the_others_nothing) {
  auto options = by_region(100);
  options.partition_limit = Decimal(1);
  Harness shard(options);
  push_some(shard, 1, 20'000, from("blocked"));
  EXPECT_EQ(shard.start_all().size(), 1U);
  push_some(shard, 100'001, 120'000, from("open"));
  for (int i = 100'001; i <= 120'000; ++i) {
    EXPECT_EQ(shard.start_all().size(), 1U);
    shard.finish(std::to_string(i));
  }
}

}  // namespace shard_limit_test
}  // namespace ordo::domain
