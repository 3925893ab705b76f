#include "runtime/lender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/rooms_harness.h"

namespace ordo::runtime {
namespace lender_test {

using namespace std::chrono_literals;

class LenderTest : public testing::Test {
 protected:
  LenderTest() {
    for (const auto* id : {"1", "2", "3"}) rooms_.push("a", id);
    rooms_.adopt("a");
    rooms_.scope.cluster.members = {{.id = "me", .level = 1}, you()};
    rooms_.dispatch();  // the only thread has "1"
    rooms_.clock.now += 100ms;
  }
  static Member you() {
    Member member{.id = "you", .session = 5, .level = 1};
    member.rooms = {{1, {"a"}}};
    member.kinds["a"] = {"a"};
    return member;
  }
  std::size_t lent() { return rooms_.owned("a").machine.lent(); }

  Rooms rooms_{{queue_with("a")}, node_with(1)};
};

TEST_F(LenderTest, lends_what_has_found_no_thread_for_a_while) {
  rooms_.clock.now -= 1ms;
  rooms_.lender->lend_what_waits();
  EXPECT_EQ(lent(), 0U);
  rooms_.clock.now += 1ms;
  rooms_.lender->lend_what_waits();
  EXPECT_EQ(lent(), 1U);
  EXPECT_EQ(rooms_.owned("a").machine.lent_to("you"), 1U);
  rooms_.lender->lend_what_waits();
  EXPECT_EQ(lent(), 1U) << "there was room for one";
}

TEST_F(LenderTest, lends_to_nobody_who_could_not_take_it) {
  const std::pair<const char*, std::function<void(Member&)>> cases[] = {
      {"dead", [](Member& member) { member.alive = false; }},
      {"older", [](Member& member) { member.level = 0; }},
      {"no thread", [](Member& member) { member.rooms = {}; }},
      {"threads for other queues",
       [](Member& member) {
         member.rooms = {{1, {"b"}}};
       }},
      {"no code", [](Member& member) { member.kinds.clear(); }},
      {"code that cannot be started",
       [](Member& member) {
         member.unable = {{"a", "a"}};
       }},
  };
  for (const auto& [why, set] : cases) {
    auto member = you();
    set(member);
    rooms_.scope.cluster.members.at(1) = member;
    rooms_.lender->lend_what_waits();
    EXPECT_EQ(lent(), 0U) << why;
  }
}

TEST_F(LenderTest, who_declines_is_not_asked_again_at_once) {
  domain::LentEnd declined;
  rooms_.lender->lend_what_waits();
  ASSERT_EQ(lent(), 1U);
  rooms_.scope.cluster.members.at(1).rooms = {{2, {"a"}}};
  auto& shard = rooms_.owned("a");
  const auto no = shard.machine.last_run();
  domain::Entry entry;
  entry.type = domain::EntryType::ended;
  declined.name = {shard.id, shard.lease.token, no};
  declined.declined = true;
  declined.ends.push_back({Outcome::not_started("no room"), 0.5});
  const auto bytes = domain::encode(declined);
  entry.payload = bytes;
  rooms_.store.append({{shard.id, domain::encode(entry)}}, [](const auto&) {});
  rooms_.read("a");
  rooms_.lender->note_declined(rooms_.owned("a"));
  EXPECT_EQ(lent(), 0U);
  rooms_.lender->lend_what_waits();
  EXPECT_EQ(lent(), 0U);
  rooms_.clock.now += 2s;
  rooms_.lender->lend_what_waits();
  EXPECT_EQ(lent(), 1U) << "the other waits for its commit";
}

// The end of the run may stand in the log: all of it is to be read before.
TEST_F(LenderTest, takes_back_what_was_lent_to_who_is_gone_once_the_log_is_read) {
  const std::pair<const char*, std::function<void(Member&)>> cases[] = {
      {"dead", [](Member& member) { member.alive = false; }},
      {"another session", [](Member& member) { member.session = 6; }},
  };
  for (const auto& [why, set] : cases) {
    LenderTest_takes_back_what_was_lent_to_who_is_gone_once_the_log_is_read_Test fresh;
    auto& cluster = fresh.rooms_.scope.cluster;
    auto& lender = *fresh.rooms_.lender;
    lender.lend_what_waits();
    ASSERT_EQ(fresh.lent(), 1U);
    set(cluster.members.at(1));
    cluster.look = 1;
    lender.take_back();
    EXPECT_EQ(fresh.lent(), 1U) << why;
    lender.all_read({1});
    EXPECT_EQ(fresh.lent(), 0U) << why;
  }
}

}  // namespace lender_test
}  // namespace ordo::runtime
