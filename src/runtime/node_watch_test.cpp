#include "runtime/node_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace node_watch_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class NodeWatchTest : public testing::Test {
 protected:
  static std::string saying(Duration lease) {
    NodeFacts facts;
    facts.lease = lease;
    return encode(facts);
  }
  /// Who has died, as the nodes' rows are now.
  std::vector<std::string> look() {
    seen_ = {};
    seen_.nodes = rows_;
    seen_.in_use = in_use_;
    return watch_.look(seen_, clock_.now, "me", {});
  }

  StandingClock clock_;
  NodeWatch watch_{clock_};
  std::vector<store::NodeRow> rows_{{.id = "me"}};
  std::set<std::string, std::less<>> in_use_;
  ClusterLook seen_;
};

TEST_F(NodeWatchTest, a_node_is_dead_when_its_count_stands_still_for_its_own_lease) {
  const struct {
    std::string facts;
    Duration lease;
  } cases[] = {{saying(2s), 2s}, {saying(40s), 40s}, {saying({}), 60s}, {"what nobody can read", 60s}};
  for (const auto& [facts, lease] : cases) {
    rows_.push_back({.id = "you", .renewals = 5, .facts = facts});
    EXPECT_THAT(look(), IsEmpty());
    clock_.now += lease / 2;
    ++rows_.back().renewals;
    EXPECT_THAT(look(), IsEmpty());
    clock_.now += lease - 1ms;
    EXPECT_THAT(look(), IsEmpty());
    EXPECT_TRUE(watch_.has_others());
    clock_.now += 1ms;
    EXPECT_THAT(look(), ElementsAre("you"));
    EXPECT_THAT(look(), IsEmpty()) << "told once";
    EXPECT_FALSE(watch_.has_others());
    EXPECT_THAT(seen_.dead, ElementsAre("you"));
    ++rows_.back().renewals;
    look();
    EXPECT_THAT(seen_.dead, IsEmpty()) << "it has come back";
    rows_.pop_back();
    look();
  }
}

// What no config may state is damaged: it keeps nobody's shards from the others, and no claims waiting.
TEST_F(NodeWatchTest, a_lease_that_cannot_be_is_none) {
  std::uint64_t renewals = 0;
  for (const auto lease : {Duration::max(), Duration{24h * 366}, Duration{-1s}}) {
    rows_.push_back({.id = "you", .renewals = ++renewals, .facts = saying(lease)});
    look();
    EXPECT_LE(seen_.longest_lease, 1min);
    clock_.now += 1min;
    EXPECT_THAT(look(), ElementsAre("you"));
    rows_.pop_back();
    look();
  }
}

TEST_F(NodeWatchTest, a_row_that_cannot_be_read_any_more_leaves_the_lease_as_it_was) {
  rows_.push_back({.id = "you", .renewals = 5, .facts = saying(5min)});
  look();
  rows_.back().facts = "what nobody can read";
  ++rows_.back().renewals;
  look();
  clock_.now += 5min - 1s;
  EXPECT_THAT(look(), IsEmpty());
  clock_.now += 1s;
  EXPECT_THAT(look(), ElementsAre("you"));
}

TEST_F(NodeWatchTest, the_store_may_know_better) {
  rows_.push_back({.id = "you", .renewals = 5, .facts = saying(40s), .gone = true});
  EXPECT_THAT(look(), ElementsAre("you"));
}

TEST_F(NodeWatchTest, an_owner_without_a_row_is_given_the_time_of_a_lease_and_nothing_is_meant_for_it) {
  in_use_ = {"me", "ghost"};
  EXPECT_THAT(look(), IsEmpty());
  ASSERT_EQ(seen_.members.size(), 2U);
  EXPECT_TRUE(seen_.members.front().is_unknown);
  EXPECT_TRUE(seen_.members.front().stopping);
  clock_.now += 60s;
  EXPECT_THAT(look(), ElementsAre("ghost"));
}

// A run that was lent to a node which then left shows in its shard's record a moment after the node's row is
// gone.
TEST_F(NodeWatchTest, an_owner_whose_row_is_gone_is_given_the_lease_that_it_had) {
  rows_.push_back({.id = "you", .renewals = 5, .facts = saying(10s)});
  look();
  rows_.pop_back();
  clock_.now += 1s;
  look();
  in_use_ = {"you"};
  clock_.now += 8s;
  EXPECT_THAT(look(), IsEmpty());
  clock_.now += 1s;
  EXPECT_THAT(look(), ElementsAre("you"));
  in_use_ = {};
  look();
  EXPECT_THAT(seen_.dead, IsEmpty());
}

TEST_F(NodeWatchTest, this_node_lives) {
  look();
  clock_.now += 1h;
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_TRUE(seen_.members.front().alive);
}

TEST_F(NodeWatchTest, a_new_start_gives_all_of_them_time) {
  rows_.push_back({.id = "you", .renewals = 5, .facts = saying(2s)});
  look();
  clock_.now += 1min;
  watch_.start_over();
  EXPECT_THAT(look(), IsEmpty());
  clock_.now += 2s;
  EXPECT_THAT(look(), ElementsAre("you"));
}

TEST_F(NodeWatchTest, what_the_living_say_is_put_together) {
  NodeFacts facts;
  facts.groups = {{"orders", "g"}, {"mails", "g"}};
  facts.newer = {{{1, 0}, 3}};
  rows_.push_back({.id = "you", .renewals = 1, .facts = encode(facts)});
  look();
  EXPECT_EQ(seen_.groups.at("orders"), seen_.groups.at("mails"));
  EXPECT_EQ(seen_.needs.at({1, 0}), 3);
}

}  // namespace node_watch_test
}  // namespace ordo::runtime
