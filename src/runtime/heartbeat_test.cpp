#include "runtime/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace heartbeat_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A store in which something happens while it renews.
class RenewingStore final : public store::memory::MemoryStore {
 public:
  explicit RenewingStore(StandingClock& clock) : MemoryStore(clock), clock_(clock) {}

  bool renew(const std::string& node, Duration patience) override {
    ++renewals;
    clock_.now += time;
    if (const auto call = std::exchange(meanwhile, {})) call();
    waits_for = patience;
    if (fails) throw Error(ErrorKind::unavailable, "down");
    return MemoryStore::renew(node, patience);
  }

  int renewals = 0;
  Duration time{};
  Duration waits_for{};
  bool fails = false;
  std::function<void()> meanwhile;

 private:
  StandingClock& clock_;
};

class HeartbeatTest : public testing::Test {
 protected:
  HeartbeatTest() {
    options_.lease = 3s;
    heartbeat_.join({});
  }
  static NodeFacts facts(const std::string& host) {
    NodeFacts facts;
    facts.host = host;
    return facts;
  }
  NodeFacts row() {
    const auto rows = store_.nodes();
    return rows.empty() ? facts("none") : *decode_node_facts(rows.front().facts);
  }

  NodeOptions options_;
  StandingClock clock_;
  RenewingStore store_{clock_};
  LeaseClock lease_{clock_, 3s};
  std::vector<std::string> log_;
  int lapses_ = 0;
  Heartbeat heartbeat_{options_,
                       "n1",
                       store_,
                       clock_,
                       Random(1),
                       lease_,
                       {.late = [this](const LateRenewal& late) { log_.push_back(text_of(late, 3s)); },
                        .lapsed = [this] { ++lapses_; }}};
};

TEST_F(HeartbeatTest, renews_when_a_third_of_the_lease_has_passed) {
  EXPECT_EQ(heartbeat_.tick(), 1s);
  clock_.now += 999ms;
  EXPECT_EQ(heartbeat_.tick(), 1ms);
  EXPECT_EQ(store_.renewals, 0);
  clock_.now += 1ms;
  EXPECT_EQ(heartbeat_.tick(), 1s);
  EXPECT_EQ(store_.renewals, 1);
  EXPECT_TRUE(lease_.valid());
}

// Or a connection that has died in silence would cost the runs: they are stopped when a fifth is left.
TEST_F(HeartbeatTest, a_renewal_is_given_up_early_enough_for_another) {
  clock_.now += 1s;
  heartbeat_.tick();
  const auto left_for_another = options_.lease * 4 / 5 - heartbeat_.interval() - store_.waits_for;
  EXPECT_GT(left_for_another, options_.lease / 10) << "the pause behind a failed one";
  EXPECT_GE(store_.waits_for, options_.lease / 5) << "what a store under load may need";
}

// From before it was sent: the others count from when they see it.
TEST_F(HeartbeatTest, a_lease_counts_from_before_its_renewal_was_sent) {
  clock_.now += 1s;
  store_.time = 500ms;
  EXPECT_EQ(heartbeat_.tick(), 500ms);
  clock_.now += 2499ms;
  EXPECT_TRUE(lease_.valid());
  clock_.now += 1ms;
  EXPECT_FALSE(lease_.valid());
}

TEST_F(HeartbeatTest, what_is_news_is_said_at_once_and_only_once) {
  heartbeat_.say(facts("a"));
  EXPECT_EQ(row().host, "a");
  EXPECT_EQ(row().lease, 3s);
  EXPECT_EQ(store_.renewals, 1);
  EXPECT_EQ(heartbeat_.tick(), 1s);
}

// The others lend to the session that they read there.
TEST_F(HeartbeatTest, what_a_store_that_went_back_may_have_forgotten_is_said_again) {
  heartbeat_.say(facts("a"));
  store_.join(store_.nodes().front().id, encode(facts("of before")));
  store_.forget_lease({store_.define("orders", 1).number, 0});
  clock_.now += 1s;
  heartbeat_.tick();
  EXPECT_EQ(row().host, "a");
}

TEST_F(HeartbeatTest, what_is_renewed_behind_a_setback_does_not_count_before_what_is_held_was_compared) {
  const domain::ShardId shard{store_.define("orders", 1).number, 0};
  clock_.now += 1s;
  store_.forget_lease(shard);
  heartbeat_.tick();
  clock_.now += 2s;
  EXPECT_FALSE(lease_.valid());
}

TEST_F(HeartbeatTest, what_was_renewed_behind_a_setback_counts_once_what_is_held_was_compared) {
  store_.forget_lease({store_.define("orders", 1).number, 0});
  clock_.now += 1s;
  heartbeat_.tick();
  heartbeat_.compared(1);
  clock_.now += 2s;
  EXPECT_TRUE(lease_.valid());
  heartbeat_.tick();
  clock_.now += 2999ms;
  EXPECT_TRUE(lease_.valid());
}

TEST_F(HeartbeatTest, all_that_is_said_can_be_read) {
  auto told = facts("a");
  told.throttled = {"calls", "letters"};
  told.answers = 1;
  told.stuck = {{"orders", "ship", std::string("k\0", 2), "42", Time{5s}},
                {"orders", "ship", "", "43", Time{6s}}};
  heartbeat_.say(told);
  EXPECT_EQ(row().throttled, told.throttled);
  EXPECT_EQ(row().answers, 1);
  EXPECT_EQ(row().stuck, told.stuck);
}

TEST_F(HeartbeatTest, what_could_not_be_said_goes_with_the_next_renewal) {
  store_.fails = true;
  EXPECT_THROW(heartbeat_.say(facts("a")), Error);
  store_.fails = false;
  EXPECT_EQ(heartbeat_.tick(), 1s);
  EXPECT_EQ(row().host, "a");
}

// The two are called by two threads.
TEST_F(HeartbeatTest, who_finds_a_renewal_under_way_does_not_wait_for_it) {
  clock_.now += 1s;
  store_.meanwhile = [this] {
    heartbeat_.say(facts("a"));
    EXPECT_FALSE(heartbeat_.leave());
    EXPECT_GT(heartbeat_.tick(), Duration{0});
  };
  heartbeat_.tick();
  EXPECT_EQ(store_.renewals, 1);
  EXPECT_EQ(row().host, "a") << "it goes with the one that was under way, or the next";
}

TEST_F(HeartbeatTest, a_lapse_begins_another_session_and_voids_what_was_granted) {
  const struct {
    const char* what;
    std::function<void()> happens;
    bool lapses;
  } cases[] = {
      {"nothing", [] {}, false},
      {"it comes too late", [&] { clock_.now += 10s; }, true},
      {"the store is too slow", [&] { store_.time = 3s; }, true},
      {"the node was forgotten", [&] { store_.leave("n1", {}); }, true},
  };
  for (const auto& [what, happens, lapses] : cases) {
    const auto before = heartbeat_.standing();
    lapses_ = 0;
    clock_.now += 1s;
    happens();
    heartbeat_.tick();
    const auto after = heartbeat_.standing();
    EXPECT_EQ(lapses_, lapses ? 1 : 0) << what;
    EXPECT_EQ(after.losses, before.losses + (lapses ? 1 : 0)) << what;
    EXPECT_EQ(after.losses, lease_.losses()) << what;
    EXPECT_EQ(after.session != before.session, lapses) << what;
    EXPECT_EQ(row().session, after.session) << what;
    EXPECT_EQ(lease_.lost(), lapses) << what;
    store_.time = {};
    lease_.dropped();
    heartbeat_.say(facts(what));
  }
}

TEST_F(HeartbeatTest, a_late_renewal_is_told_with_what_the_store_took) {
  clock_.now += 1s;
  heartbeat_.tick();
  EXPECT_THAT(log_, IsEmpty());
  store_.time = 2500ms;
  clock_.now += 1s;
  heartbeat_.tick();
  EXPECT_THAT(log_, ElementsAre("the leases have ended: they last for 3.0 s and were renewed after 3.5 s, of "
                                "which the store took 2.5 s to answer; the store is too slow for them: raise "
                                "`lease` of [node], or give it a faster disk or server"));
  store_.time = {};
  clock_.now += 10s;
  heartbeat_.tick();
  EXPECT_THAT(log_.back(), HasSubstr("this process did not run for 11.5 s of that: was it"));
}

TEST_F(HeartbeatTest, a_late_renewal_tells_of_a_store_that_could_not_be_reached) {
  store_.fails = true;
  clock_.now += 1s;
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW(heartbeat_.tick(), Error);
    clock_.now += 1s;
    EXPECT_EQ(heartbeat_.lost_for(), (i + 1) * 1s);
  }
  store_.fails = false;
  heartbeat_.tick();
  EXPECT_THAT(log_,
              ElementsAre("the leases have ended: they last for 3.0 s and were renewed after 6.0 s; the "
                          "store could not be reached for 5.0 s of that"));
  EXPECT_EQ(heartbeat_.lost_for(), 0s);
}

TEST_F(HeartbeatTest, a_server_that_was_down_is_no_fault_of_the_process) {
  store_.fails = true;
  clock_.now += 1s;
  EXPECT_THROW(heartbeat_.tick(), Error);
  clock_.now += 1500ms;
  store_.fails = false;
  store_.time = 1500ms;  // it is asked while it comes back
  heartbeat_.tick();
  EXPECT_THAT(log_,
              ElementsAre("the leases have ended: they last for 3.0 s and were renewed after 4.0 s; the "
                          "store could not be reached for 3.0 s of that"))
      << "neither the wait for it nor that for its answer is half of the time";
}

TEST_F(HeartbeatTest, nothing_is_renewed_once_it_has_left) {
  EXPECT_TRUE(heartbeat_.leave());
  clock_.now += 1s;
  heartbeat_.tick();
  heartbeat_.say(facts("a"));
  EXPECT_EQ(store_.renewals, 0);
  EXPECT_THAT(store_.nodes(), IsEmpty());
}

TEST_F(HeartbeatTest, says_for_how_long_it_has_asked) {
  EXPECT_EQ(heartbeat_.asking_for(), 0s);
  clock_.now += 1s;
  store_.time = 200ms;
  Duration asking{};
  store_.meanwhile = [&] { asking = heartbeat_.asking_for(); };
  heartbeat_.tick();
  EXPECT_EQ(asking, 200ms);
  EXPECT_EQ(heartbeat_.asking_for(), 0s);
}

}  // namespace heartbeat_test
}  // namespace ordo::runtime
