// Limits that are set while their shards live (rules §9.8).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_limit_set_test {

using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;

class ShardLimitSet : public ::testing::Test {
 protected:
  void start(QueueOptions options, const std::vector<NamedLimit>& named = {}) {
    for (const auto& limit : named) gates_.add(limit);
    shard_.emplace(std::move(options), gates_, ShardId{1, 0});
  }
  void push(int from, int to, Harness::Push like = {}) {
    for (int i = from; i <= to; ++i) {
      like.id = std::to_string(i);
      shard_->push(like);
    }
  }
  void set(const std::string& name, std::optional<Decimal> limit, std::optional<RateLimit> rate = {}) {
    gates_.set({{name, {name, limit, rate}}});
    shard_->shard().limits_changed();
  }
  void unset() {
    gates_.set({});
    shard_->shard().limits_changed();
  }

  Gates gates_;
  std::optional<Harness> shard_;
};

TEST_F(ShardLimitSet, a_higher_limit_starts_more_and_a_lower_one_lets_what_runs_go_on) {
  auto options = plain();
  options.limit = 2;
  start(options);
  push(1, 6);
  EXPECT_THAT(shard_->start_all(), ElementsAre("1", "2"));
  set(options.name, Decimal{4});
  EXPECT_THAT(shard_->start_all(), ElementsAre("3", "4"));
  unset();
  EXPECT_THAT(shard_->start_all(), IsEmpty());
  for (const auto* id : {"1", "2"}) shard_->finish(id, /*commits=*/true);
  EXPECT_THAT(shard_->start_all(), IsEmpty()) << "two still run";
  shard_->finish("3", true);
  EXPECT_THAT(shard_->start_all(), ElementsAre("5"));
}

TEST_F(ShardLimitSet, what_had_no_room_at_all_may_have_it_now) {
  auto options = plain();
  options.limit = 2;
  start(options);
  push(1, 1, {.weight = Decimal{3}});
  EXPECT_THAT(shard_->start_all(), IsEmpty());
  set(options.name, Decimal{3});
  EXPECT_THAT(shard_->start_all(), ElementsAre("1"));
}

TEST_F(ShardLimitSet, shares_are_parts_of_the_new_limit) {
  auto options = plain();
  options.limit = 10;
  options.partition = "/region";
  options.shares = {{"east", 40}, {"north", 60}};
  start(options);
  push(1, 12, {.payload = R"({"region":"east"})"});
  EXPECT_EQ(shard_->start_all().size(), 4U);
  set(options.name, Decimal{20});
  EXPECT_EQ(shard_->start_all().size(), 4U) << "eight of twenty in all";
}

TEST_F(ShardLimitSet, a_named_limit_and_a_rate_are_set_likewise) {
  auto options = plain();
  options.limits = {"crm"};
  start(options, {{"crm", Decimal{1}, RateLimit{.limit = 2, .per = seconds{100}}}});
  push(1, 9);
  EXPECT_EQ(shard_->start_all().size(), 1U);
  set("crm", Decimal{9});
  EXPECT_EQ(shard_->start_all().size(), 1U) << "the rate lets two start";
  set("crm", Decimal{9}, RateLimit{.limit = 100, .per = seconds{1}});
  shard_->advance(seconds{101});
  EXPECT_EQ(shard_->start_all().size(), 7U);
}

TEST(LimitChange, is_read_as_it_was_written) {
  const LimitChange change{"crm", Decimal{2.5}, RateLimit{.limit = 7, .per = seconds{3}, .burst = 9}};
  EXPECT_EQ(*decode_limit_change("crm", encode(change)), change);
  EXPECT_EQ(*decode_limit_change("a", encode(LimitChange{"a", {}, {}})), (LimitChange{"a", {}, {}}));
  EXPECT_FALSE(decode_limit_change("a", "what nobody can read"));
}

TEST_F(ShardLimitSet, jobs_of_several_weights_that_had_no_room_at_all_may_have_it_again) {
  auto options = plain();
  options.limit = 10;
  start(options);
  set(options.name, Decimal{1});
  push(1, 1, {.weight = 3});
  push(2, 2, {.weight = 2});
  EXPECT_THAT(shard_->start_all(), IsEmpty());
  unset();
  EXPECT_THAT(shard_->start_all(), ElementsAre("1", "2"));
}

}  // namespace shard_limit_set_test
}  // namespace ordo::domain
