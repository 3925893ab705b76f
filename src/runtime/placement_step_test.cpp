#include "runtime/placement_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace {

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
  store::memory::MemoryStore store_{clock_};
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
  step_.lost(shard, before);
  place({"me"});
  EXPECT_EQ(granted_.size(), 1U);
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

TEST_F(PlacementStepTest, takes_everything_anew_after_a_lapse) {
  place({"me"});
  step_.drop_all();
  place({"me"});
  EXPECT_EQ(granted_.size(), 4U);
}

}  // namespace
}  // namespace ordo::runtime
