#include "client/waits_for.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ordo {
namespace waits_for_test {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time kNow{seconds{1000}};

QueueOptions options() {
  QueueOptions options;
  options.name = "orders";
  return options;
}

LimitView slots(const std::string& name, Decimal used, Decimal limit, std::uint64_t waiting = 0) {
  return {.name = name, .used = used, .limit = limit, .waiting = waiting};
}

/// A due job of a queue of which all gates are open.
class WaitsForTest : public testing::Test {
 protected:
  explicit WaitsForTest() : gates_(options()) {
    gates_.now = kNow;
    runtime::NodeFacts facts;
    facts.kinds = {{"orders", "orders"}};
    gates_.coded.add("n", facts);
    job_.queue = job_.kind = "orders";
    job_.key = job_.id = "42";
    job_.run_at = kNow - seconds{5};
    job_.starts_at = job_.run_at;
  }

  std::vector<WaitsFor> reasons() { return waits_for(job_, asks_, rules_, gates_); }

  QueueOptions rules_ = options();
  QueueGates gates_;
  JobView job_;
  JobGates asks_;
};

TEST_F(WaitsForTest, nothing_holds_up_what_may_start_or_runs) {
  EXPECT_THAT(reasons(), IsEmpty());
  gates_.paused = true;
  job_.state = JobStatus::running;
  EXPECT_THAT(reasons(), IsEmpty());
  job_.state = JobStatus::dead;
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(WaitsForTest, all_that_refuse_are_named_in_the_order_of_the_counts) {
  gates_.paused = true;
  gates_.coded = {};
  gates_.gathers = "mails";
  job_.run_at = kNow + seconds{5};
  job_.starts_at = kNow + seconds{60};
  asks_.behind = "41";
  const std::vector<WaitsFor> all{{Gate::pause, "orders"},
                                  {Gate::code, "orders"},
                                  {Gate::group, "mails"},
                                  {Gate::time, "", {}, job_.run_at},
                                  {Gate::window, "", {}, job_.starts_at},
                                  {Gate::key, "42", {"41"}}};
  EXPECT_EQ(reasons(), all);
}

TEST_F(WaitsForTest, where_no_node_can_start_its_code_each_says_why) {
  runtime::NodeFacts facts;
  facts.kinds = {{"orders", "orders"}};
  facts.unable = {{"orders", "orders", "cannot run the command \"pyhton3\": No such file or directory"}};
  gates_.coded = {};
  gates_.coded.add("n1", facts);
  const auto why = reasons();
  ASSERT_THAT(why, testing::SizeIs(1));
  EXPECT_EQ(why[0].what, Gate::code);
  EXPECT_THAT(why[0].why,
              ElementsAre("node n1 cannot start kind 'orders' of queue 'orders': cannot run the command "
                          "\"pyhton3\": No such file or directory"));
  gates_.coded.add("n2", {.kinds = facts.kinds});
  EXPECT_THAT(reasons(), IsEmpty()) << "another can";
}

TEST_F(WaitsForTest, a_window_that_never_opens_has_no_time) {
  job_.starts_at.reset();
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::window}));
}

TEST_F(WaitsForTest, a_lock_names_its_holders_three_at_most) {
  rules_.lock = "id";
  asks_.keys.lock = "7";
  gates_.locks = {{"orders", "8", {{"orders", "1"}}, 0}, {"mails", "7", {{"mails", "2"}}, 0}};
  EXPECT_THAT(reasons(), IsEmpty());
  gates_.locks.push_back({"orders", "7", {{"orders", "3"}}, 0});
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::lock, "7", {"3"}}));
  rules_.lock_slots = 5;
  EXPECT_THAT(reasons(), IsEmpty());
  gates_.locks.back() = {
      "orders", "7", {{"orders", "3"}, {"orders", "4"}, {"orders", "5"}, {"orders", "6"}}, 1};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::lock, "7", {"3", "4", "5"}}));
}

TEST_F(WaitsForTest, marked_runs_hold_up_suspects_and_what_was_there_when_a_node_died) {
  asks_.place = {{1, 0}, 7};
  gates_.marked_runs[{1, 1}] = {true, true, 9, {"40"}, {"40", "41"}};
  EXPECT_THAT(reasons(), IsEmpty()) << "those of another shard";
  gates_.marked_runs[{1, 0}] = {true, true, 7, {"40"}, {"40", "41"}};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::suspect, "", {"40"}}));
  asks_.place.second = 8;
  EXPECT_THAT(reasons(), IsEmpty()) << "it came later";
  job_.crashes = 1;
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::suspect, "", {"40", "41"}}));
  gates_.marked_runs[{1, 0}].refuses_suspects = false;
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(WaitsForTest, a_lock_that_its_queue_does_not_know_is_held_by_nobody) {
  asks_.keys.lock = "7";
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::lock, "7"}));
}

TEST_F(WaitsForTest, a_limit_counts_the_weight_of_the_job) {
  rules_.limits = {"crm"};
  gates_.limits = {slots("orders", 3, 4), slots("crm", 1, 1), slots("mails", 1, 1)};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "crm"}));
  job_.weight = Decimal{2};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "orders"}, WaitsFor{Gate::limit, "crm"}));
  job_.critical = true;
  EXPECT_THAT(reasons(), IsEmpty());
  gates_.limits.push_back(slots("orders critical", 1, 1));
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "orders critical"}));
}

TEST_F(WaitsForTest, a_limit_names_jobs_that_count_in_it_those_of_the_queue_first) {
  rules_.limits = {"crm"};
  gates_.limits = {slots("orders", 2, 2), slots("crm", 4, 4)};
  gates_.limits[0].held_by = {{"orders", "1"}, {"orders", "2"}};
  gates_.limits[1].held_by = {{"mails", "7"}, {"mails", "8"}, {"orders", "1"}, {"orders", "2"}};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "orders", {"1", "2"}},
                                     WaitsFor{Gate::limit, "crm", {"1", "2", "7"}}));
}

TEST_F(WaitsForTest, room_that_is_kept_is_told_with_those_that_have_the_rest) {
  gates_.limits = {slots("orders", 1, 4)};
  gates_.limits[0].held_by = {{"orders", "1"}};
  const domain::BlockedJobs jobs{.weight = Decimal(1).millionths(), .by = "orders"};
  gates_.blocked = {{{"", jobs.weight, false}, jobs}};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "orders", {"1"}}));
}

TEST_F(WaitsForTest, a_partition_has_limits_of_its_own) {
  asks_.keys.partition = "east";
  rules_.shares = {{"north", 10}};
  auto east = slots("orders", 1, 1), west = east, others = east;
  east.partition = "east";
  west.partition = "west";
  others.partition = "*";
  gates_.limits = {east, west, others};
  EXPECT_THAT(reasons(),
              ElementsAre(WaitsFor{Gate::limit, "orders: east"}, WaitsFor{Gate::limit, "orders: *"}));
  asks_.keys.partition = "north";
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(WaitsForTest, a_share_that_may_be_passed_refuses_only_if_its_owner_says_so) {
  rules_.shares = {{"east", 10}};
  rules_.borrow = true;
  asks_.keys.partition = "east";
  auto east = slots("orders", 1, 1);
  east.partition = "east";
  gates_.limits = {east};
  EXPECT_THAT(reasons(), IsEmpty());
  gates_.limits[0].waiting = 1;
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "orders: east"}));
}

TEST_F(WaitsForTest, what_only_the_owner_knows_is_told_for_jobs_that_ask_the_same) {
  asks_.keys.partition = "east";
  gates_.limits = {slots("orders", 1, 4)};
  gates_.limits[0].held_by = {{"orders", "41"}};
  const domain::BlockedJobs jobs{.partition = "east", .weight = Decimal(1).millionths(), .by = "orders"};
  const std::tuple asked{std::string("east"), jobs.weight, false};
  gates_.blocked = {{asked, jobs}};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "orders", {"41"}}));
  job_.weight = Decimal{2};
  EXPECT_THAT(reasons(), IsEmpty());
  job_.weight.reset();
  asks_.keys.partition = "west";
  EXPECT_THAT(reasons(), IsEmpty());
  asks_.keys.partition = "east";
  job_.critical = true;
  EXPECT_THAT(reasons(), IsEmpty());
  job_.critical.reset();
  gates_.limits = {slots("orders", 4, 4)};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "orders"})) << "told once";
  gates_.blocked[asked] = {.partition = "east",
                           .weight = jobs.weight,
                           .by = "orders",
                           .by_partition = "east",
                           .by_rate = true,
                           .until = kNow + seconds{3}};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "orders"},
                                     WaitsFor{Gate::rate, "orders: east", {}, kNow + seconds{3}}));
  job_.run_at = kNow + seconds{1};
  EXPECT_THAT(reasons(),
              ElementsAre(WaitsFor{Gate::time, "", {}, job_.run_at}, WaitsFor{Gate::limit, "orders"}));
}

TEST_F(WaitsForTest, a_rate_says_when_it_lets_the_next_one_start) {
  LimitView rate{.name = "orders", .rate = RateLimit{.limit = 1}};
  gates_.limits = {rate};
  EXPECT_THAT(reasons(), IsEmpty());
  gates_.limits[0].free_at = kNow + seconds{1};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::rate, "orders", {}, kNow + seconds{1}}));
}

TEST_F(WaitsForTest, a_throttler_has_refused_it) {
  asks_.place = {{1, 2}, 7};
  gates_.throttled = {{{{1, 2}, 6}, Time::max()}};
  EXPECT_THAT(reasons(), IsEmpty()) << "it was another job";
  gates_.throttled[asks_.place] = Time::max();
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::throttler, "orders"}));
  gates_.throttled[asks_.place] = kNow + seconds{5};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::throttler, "orders", {}, kNow + seconds{5}}));
}

TEST_F(WaitsForTest, an_awaiting_job_waits_for_its_response_and_then_for_its_turn) {
  job_.state = JobStatus::awaiting;
  asks_.response = "call-42";
  asks_.response_until = kNow + seconds{60};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::response, "call-42", {}, kNow + seconds{60}}));
  asks_.response.clear();
  EXPECT_THAT(reasons(), IsEmpty());
  asks_.response_again = kNow + seconds{3};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::time, "", {}, kNow + seconds{3}}));
}

TEST_F(WaitsForTest, a_run_that_does_not_stop_is_named_by_who_waits_for_what_it_has) {
  gates_.stuck = {{"orders", "orders", "42", "41", kNow - seconds{20}},
                  {"mails", "mails", "7", "7", kNow - seconds{30}},
                  {"orders", "orders", "9", "9", kNow - seconds{40}}};
  asks_.behind = "41";
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::key, "42", {"41"}, {}, {"41"}}));
  asks_.behind = "40";
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::key, "42", {"40"}})) << "another run has the key by now";
  asks_.behind.clear();
  rules_.lock = "id";
  rules_.lock_name = "customers";
  asks_.keys.lock = "l";
  gates_.locks = {{"customers", "l", {{"mails", "7"}}, 1}};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::lock, "l", {"7"}, {}, {"7"}}));
  gates_.locks = {{"customers", "l", {{"orders", "7"}}, 1}};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::lock, "l", {"7"}})) << "another queue's job of that id";
  asks_.keys.lock.reset();
  gates_.limits = {slots("orders", Decimal(2), Decimal(2))};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "orders", {}, {}, {"41", "9"}}));
  rules_.limits = {"crm"};
  gates_.limits = {slots("crm", Decimal(1), Decimal(1))};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "crm"}));
  gates_.limits_of = {{"mails", {"crm"}}};
  EXPECT_THAT(reasons(), ElementsAre(WaitsFor{Gate::limit, "crm", {}, {}, {"7"}}));
}

}  // namespace waits_for_test
}  // namespace ordo
