#include "runtime/placement_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace placement_step_test {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

/// A step of the node "me" on a store with four shards.
class PlacementStepTest : public testing::Test {
 protected:
  PlacementStepTest() {
    queue_ = store_.define("orders", 4).number;
    store_.join("me", "");
  }
  void place(const std::vector<std::string>& nodes) {
    ClusterLook look;
    look.queues = store_.queues();
    look.read(store_);
    look.longest_lease = 10s;
    std::vector<domain::LiveNode> live;
    for (const auto& node : nodes) live.push_back({node, {"orders"}});
    step_.place(look, live, nodes.size() == 1);
  }
  /// How many of the shards the store has as this node's.
  std::size_t owned() {
    return static_cast<std::size_t>(std::ranges::count(store_.shards(), "me", &store::ShardRow::owner));
  }
  store::Lease lease_of(std::uint32_t shard) const {
    const auto is_it = [&](const auto& grant) { return grant.shard.index == shard; };
    return std::ranges::find_if(granted_, is_it)->lease;
  }

  NodeOptions options_;
  StandingClock clock_;
  struct Store : store::memory::MemoryStore {
    using MemoryStore::MemoryStore;
    std::optional<Duration> setback_age(bool /*is_known*/) override {
      if (is_away) throw Error(ErrorKind::unavailable, "away");
      return age;
    }
    std::optional<Duration> age;
    bool is_away = false;
  };
  Store store_{clock_};
  std::uint32_t queue_ = 0;
  bool may_claim_ = true;
  std::vector<store::Grant> granted_;
  std::vector<domain::ShardId> given_, gone_;
  const std::string self_ = "me";
  PlacementStep step_{options_,
                      self_,
                      store_,
                      clock_,
                      Random(1),
                      {.granted = [this](auto grants) { granted_ = std::move(grants); },
                       .give_back = [this](auto shards) { given_ = std::move(shards); },
                       .gone = [this](auto shard, auto) { gone_.push_back(shard); },
                       .may_claim = [this] { return may_claim_; }}};
};

TEST_F(PlacementStepTest, claims_what_belongs_here_and_is_free) {
  place({"me"});
  EXPECT_EQ(granted_.size(), 4U);
  granted_.clear();
  place({"me"});
  EXPECT_THAT(granted_, IsEmpty()) << "it has them";
}

TEST_F(PlacementStepTest, claims_nothing_while_runs_of_before_go_on_or_it_stops) {
  may_claim_ = false;
  place({"me"});
  EXPECT_EQ(owned(), 0U);
  may_claim_ = true;
  step_.stop_claiming();
  place({"me"});
  EXPECT_EQ(owned(), 0U);
}

TEST_F(PlacementStepTest, gives_back_what_belongs_to_another_and_forgets_it_once_it_is_released) {
  place({"me"});
  place({"me", "you"});
  ASSERT_EQ(given_.size(), 2U);
  place({"me"});
  EXPECT_EQ(owned(), 4U) << "the engine has them still";
  for (const auto shard : given_) step_.released({shard, lease_of(shard.index)});
  step_.release();
  EXPECT_EQ(owned(), 2U);
}

// The others were new.
TEST_F(PlacementStepTest, what_was_moved_here_stays_for_ten_seconds) {
  const domain::ShardId moved{queue_, 0};
  store_.join("you", "");
  const store::Claim theirs{moved, {}, 0, 0};
  const store::Release end{moved, store_.acquire("you", 1, std::span(&theirs, 1)).at(0).lease};
  place({"me", "you"});
  store_.release(std::span(&end, 1));
  place({"me"});
  ASSERT_EQ(owned(), 4U);
  place({"you"});
  EXPECT_EQ(given_.size(), 3U);
  EXPECT_THAT(given_, Not(Contains(moved)));
  clock_.now += 10s;
  place({"you"});
  EXPECT_THAT(given_, Contains(moved));
}

TEST_F(PlacementStepTest, a_lease_that_the_store_has_forgotten_is_told_once_and_held_until_it_is_dropped) {
  place({"me"});
  const domain::ShardId shard{queue_, 2};
  const auto before = lease_of(2);
  store_.forget_lease(shard);
  granted_.clear();
  place({"me"});
  place({"me"});
  EXPECT_THAT(gone_, ElementsAre(shard));
  EXPECT_THAT(granted_, IsEmpty()) << "runs of it may still go on";
  EXPECT_TRUE(step_.waits_for_drops());
  step_.lost(shard, before);
  clock_.now += 10s;
  place({"me"});
  EXPECT_EQ(granted_.size(), 1U);
}

// "you" does not know yet that the store went back, and may go on until its lease ends.
TEST_F(PlacementStepTest, nothing_is_claimed_while_who_holds_a_forgotten_lease_may_go_on) {
  const domain::ShardId shard{queue_, 0};
  place({"me"});
  store_.join("you", "");
  const store::Release end{shard, lease_of(0)};
  store_.release(std::span(&end, 1));
  step_.lost(shard, end.lease);
  const store::Claim theirs{shard, {}, end.lease.token, 0};
  ASSERT_EQ(store_.acquire("you", 1, std::span(&theirs, 1)).size(), 1U);
  place({"me", "you"});
  store_.forget_grant(shard);
  granted_.clear();
  place({"me"});
  clock_.now += 10s - 1us;
  place({"me"});
  EXPECT_THAT(granted_, IsEmpty());
  clock_.now += 1us;
  place({"me"});
  EXPECT_EQ(granted_.size(), 1U);
}

TEST_F(PlacementStepTest, who_starts_behind_a_setback_claims_nothing_for_the_rest_of_a_lease) {
  store_.join("you", "");
  store_.age = 4s;
  place({"me", "you"});
  clock_.now += 6s - 1us;
  store_.age.reset();
  place({"me"});
  EXPECT_THAT(granted_, IsEmpty());
  clock_.now += 1us;
  place({"me"});
  EXPECT_EQ(granted_.size(), 4U);
}

TEST_F(PlacementStepTest, who_starts_alone_behind_a_setback_need_not_wait) {
  store_.age = 0s;
  place({"me"});
  EXPECT_EQ(granted_.size(), 4U);
}

TEST_F(PlacementStepTest, who_starts_behind_a_setback_waits_for_owners_that_have_no_row_any_more) {
  const store::Claim claim{.shard = {queue_, 0}, .seen_owner = "", .seen_token = 0, .seen_renewals = 0};
  store_.join("you", "");
  store_.acquire("you", 1, {&claim, 1});
  store_.forget_node("you");
  store_.age = 0s;
  place({"me"});
  EXPECT_THAT(granted_, IsEmpty());
}

TEST_F(PlacementStepTest, who_starts_a_lease_after_a_setback_need_not_wait) {
  store_.join("you", "");
  store_.age = 10s;
  place({"me"});
  EXPECT_EQ(granted_.size(), 4U);
}

TEST_F(PlacementStepTest, a_store_that_cannot_say_whether_it_went_back_is_asked_again) {
  store_.join("you", "");
  store_.age = 0s;
  store_.is_away = true;
  EXPECT_THROW(place({"me"}), Error);
  store_.is_away = false;
  place({"me"});
  EXPECT_THAT(granted_, IsEmpty());
}

TEST_F(PlacementStepTest, who_has_looked_before_counts_setbacks_of_its_own) {
  place({"me"});
  ASSERT_EQ(granted_.size(), 4U);
  step_.drop_all();
  granted_.clear();
  store_.join("you", "");
  store_.age = 0s;
  place({"me"});
  EXPECT_EQ(granted_.size(), 4U);
}

// The news of its loss came late.
TEST_F(PlacementStepTest, a_newer_lease_of_a_shard_outlives_the_news_of_an_older) {
  place({"me"});
  const domain::ShardId shard{queue_, 1};
  const auto older = lease_of(1);
  step_.lost(shard, older);
  place({"me"});
  ASSERT_EQ(granted_.size(), 1U) << "what is this node's in the store is taken anew";
  granted_.clear();
  step_.lost(shard, older);
  place({"me"});
  EXPECT_THAT(granted_, IsEmpty());
}

// Its row may be damaged, and refuse whatever is written.
TEST_F(PlacementStepTest, what_is_lost_as_soon_as_it_is_held_is_claimed_less_and_less_often) {
  const domain::ShardId shard{queue_, 1};
  std::vector<int> claims;  // of each minute
  for (int minute = 0; minute < 5; ++minute) {
    claims.push_back(0);
    for (int i = 0; i < 600; ++i, clock_.now += 100ms) {
      granted_.clear();
      place({"me"});
      if (granted_.empty()) continue;
      ++claims.back();
      step_.lost(shard, lease_of(1));
    }
  }
  EXPECT_LE(claims.front(), 10);
  EXPECT_LE(claims.back(), 2);
  EXPECT_GE(claims.back(), 1) << "it is never given up";
}

TEST_F(PlacementStepTest, takes_everything_anew_after_a_lapse) {
  place({"me"});
  step_.drop_all();
  place({"me"});
  EXPECT_EQ(granted_.size(), 4U);
}

}  // namespace placement_step_test
}  // namespace ordo::runtime
