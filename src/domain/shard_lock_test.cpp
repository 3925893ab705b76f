#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_lock_test {

using std::chrono::minutes;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;
using ::testing::UnorderedElementsAre;

QueueOptions with_lock(const std::string& rule) {
  auto options = plain();
  options.lock = rule;
  return options;
}

TEST(ShardLock, jobs_of_equal_lock_run_one_after_the_other_and_others_pass) {
  Harness shard(with_lock("payload"));
  shard.push({.id = "1", .payload = "a"});
  shard.push({.id = "2", .payload = "a"});
  shard.push({.id = "3", .payload = "b"});
  shard.push({.id = "4", .payload = "a"});
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "3"));
  EXPECT_EQ(shard.counts().blocked_by_lock, 2U);
  EXPECT_EQ(shard.counts().due, 2U);
  EXPECT_FALSE(shard.has_due());
  shard.finish("1", /*commits=*/false);
  EXPECT_THAT(shard.start_all(), IsEmpty()) << "until its end is durable";
  shard.commit();
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
  shard.finish("2");
  EXPECT_THAT(shard.start_all(), ElementsAre("4"));
  EXPECT_EQ(shard.counts().blocked_by_lock, 0U);
}

TEST(ShardLock, each_rule_makes_its_keys) {
  for (const auto& [rule, waits] : std::map<std::string, bool>{
           {"id", false}, {"key", false}, {"payload", true}, {"/user", true}, {"/none", false}}) {
    Harness shard(with_lock(rule));
    shard.push({.id = "1", .payload = R"({"user":7})"});
    shard.push({.id = "2", .payload = R"({"user":7})"});
    EXPECT_EQ(shard.start_all().size(), waits ? 1U : 2U) << rule;
  }
}

// Rules §9.13.
TEST(ShardLock, locks_are_compared_as_values_however_they_are_written) {
  Harness shard(with_lock("/user"));
  shard.push({.id = "1", .payload = R"({"user":7})"});
  shard.push({.id = "2", .payload = R"({"user":7.0})"});
  shard.push({.id = "3", .lock = "70e-1"});
  shard.push({.id = "4", .payload = R"({"user":"7"})"});
  shard.push({.id = "5", .payload = R"({"user":{"a":1,"b":2}})"});
  shard.push({.id = "6", .payload = R"({"user":{"b":2,"a":1.0}})"});
  shard.push({.id = "7", .payload = R"({"user":9007199254740993})"});
  shard.push({.id = "8", .payload = R"({"user":9007199254740992})"});
  shard.push({.id = "9", .payload = R"({"user":"acme"})"});
  shard.push({.id = "10", .lock = "acme"});
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "4", "5", "7", "8", "9"));
}

TEST(ShardLock, a_lock_may_have_slots) {
  auto options = with_lock("payload");
  options.lock_slots = 2;
  Harness shard(options);
  for (const char* id : {"1", "2", "3", "4"}) shard.push({.id = id, .payload = "a"});
  EXPECT_THAT(shard.start_all(), ElementsAre("1", "2"));
  shard.finish("1");
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
}

TEST(ShardLock, a_push_may_say_its_lock) {
  Harness shard(with_lock("id"));
  shard.push({.id = "1", .lock = "x"});
  shard.push({.id = "2", .lock = "x"});
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
}

TEST(ShardLock, a_lock_of_a_queue_without_locks_waits_for_other_rules) {
  Harness shard(plain());
  shard.push({.id = "1", .lock = "x"});
  shard.push({.id = "2"});
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
  EXPECT_FALSE(shard.has_due());
}

TEST(ShardLock, a_failure_frees_the_lock_while_the_job_waits) {
  auto options = with_lock("payload");
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = minutes{1}};
  Harness shard(options);
  shard.push({.id = "1", .payload = "a"});
  shard.push({.id = "2", .payload = "a"});
  shard.end(*shard.take(), Outcome::fail("no"));
  EXPECT_FALSE(shard.take());
  shard.commit();
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
  shard.advance(minutes{1});
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.finish("2");
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
}

TEST(ShardLock, what_is_cancelled_or_recalled_leaves_its_lock) {
  Harness shard(with_lock("payload"));
  for (const char* id : {"1", "2", "3"}) shard.push({.id = id, .payload = "a"});
  auto run = shard.take();
  shard.control(EntryType::cancel, "2");
  shard.shard().recall(run->no, shard.now());
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
  shard.control(EntryType::cancel, "1");
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.finish("1");
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
}

TEST(ShardLock, a_lent_run_holds_its_lock_for_the_next_owner) {
  Harness shard(with_lock("payload"));
  shard.push({.id = "1", .payload = "a"});
  shard.push({.id = "2", .payload = "a"});
  const auto lent = shard.lend(*shard.take(), "other");
  shard.rebuild();
  EXPECT_THAT(shard.start_all(), IsEmpty());
  shard.end(lent, Outcome::done());
  shard.commit();
  EXPECT_THAT(shard.start_all(), ElementsAre("2"));
}

TEST(ShardLock, queues_that_name_it_share_a_lock_and_a_kind_without_code_holds_up_nobody) {
  Gates gates;
  auto orders = with_lock("payload");
  orders.lock_name = "shop";
  orders.lock_slots = 3;
  auto mails = orders;
  mails.name = "mails";
  mails.lock_slots = 1;
  Harness a(orders, gates, {1, 0}), b(mails, gates, {2, 0});
  a.push({.id = "1", .payload = "x"});
  b.push({.id = "2", .payload = "x", .kind = "nobodys"});
  b.push({.id = "3", .payload = "x"});
  b.shard().serve("nobodys", false);
  EXPECT_THAT(a.start_all(), ElementsAre("1"));
  EXPECT_THAT(b.start_all(), IsEmpty()) << "the least of their slots counts";
  gates.take_woken();
  a.finish("1");
  EXPECT_THAT(gates.take_woken(), UnorderedElementsAre(ShardId{2, 0}));
  EXPECT_THAT(b.start_all(), ElementsAre("3"));
}

TEST(ShardLock, who_cannot_start_for_another_reason_passes_a_free_lock_on) {
  auto options = with_lock("/lock");
  options.partition = "/region";
  options.partition_limit = Decimal(1);
  Harness shard(options);
  const auto in = [](const std::string& region) { return R"({"lock":1,"region":")" + region + "\"}"; };
  shard.push({.id = "holder", .payload = in("north")});
  shard.push({.id = "east", .payload = R"({"region":"east"})"});
  EXPECT_THAT(shard.start_all(), ElementsAre("holder", "east"));
  shard.push({.id = "1", .payload = in("east")});
  shard.push({.id = "2", .payload = in("north")});
  shard.finish("holder");
  EXPECT_THAT(shard.start_all(), ElementsAre("2")) << "1 has no room in the east";
  shard.finish("2");
  shard.push({.id = "3", .payload = in("south")});
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
  shard.push({.id = "4", .payload = in("east")});
  shard.finish("3");
  shard.finish("east");
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
}

TEST(ShardLock, who_goes_before_it_has_had_its_lock_passes_it_on) {
  Harness shard(with_lock("payload"));
  for (const char* id : {"1", "2", "3"}) shard.push({.id = id, .payload = "a"});
  EXPECT_THAT(shard.start_all(), ElementsAre("1"));
  shard.finish("1");
  EXPECT_TRUE(shard.has_due());  // 2 is out of the lock's line
  shard.control(EntryType::cancel, "2");
  EXPECT_THAT(shard.start_all(), ElementsAre("3"));
}

TEST(ShardLock, thousands_behind_a_held_lock_cost_a_start_nothing) {
  Harness shard(with_lock("/lock"));
  for (int i = 0; i < 20'000; ++i) shard.push({.id = std::to_string(i), .payload = R"({"lock":"held"})"});
  EXPECT_THAT(shard.start_all(), ElementsAre("0"));
  for (int i = 100'000; i < 110'000; ++i) {
    shard.push({.id = std::to_string(i), .payload = R"({"lock":")" + std::to_string(i) + "\"}"});
    EXPECT_THAT(shard.start_all(), ElementsAre(std::to_string(i)));
    shard.finish(std::to_string(i));
  }
  EXPECT_EQ(shard.counts().blocked_by_lock, 19'999U);
}

}  // namespace shard_lock_test
}  // namespace ordo::domain
