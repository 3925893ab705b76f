#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "contract/backends.h"

namespace ordo::store {
namespace lease_test {

using namespace std::chrono_literals;

class Leases : public StoreContract {
 protected:
  std::vector<Grant> acquire(const std::string& node, const Claim& wish, std::uint64_t holder = 1) {
    return store().acquire(node, holder, std::span(&wish, 1));
  }

  void release(const Release& end) { store().release(std::span(&end, 1)); }
  void release(const Grant& grant) { release(Release{grant.shard, grant.lease}); }

  NodeRow node(const std::string& id) {
    for (auto& row : store().nodes()) {
      if (row.id == id) return row;
    }
    return {};
  }

  ShardId define_shard() { return {define("orders", 1).number, 0}; }
};
INSTANTIATE_TEST_SUITE_P(on, Leases, every_store(), backend_name);

class LocalLeases : public Leases {};
INSTANTIATE_TEST_SUITE_P(on, LocalLeases, local_stores(), backend_name);

TEST_P(Leases, nodes_join_renew_and_leave) {
  store().join("b", "facts of b");
  store().join("a", "facts of a");
  auto nodes = second().nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].id, "a");
  EXPECT_EQ(nodes[1].facts, "facts of b");
  EXPECT_FALSE(nodes[0].gone);
  const auto before = nodes[0].renewals;
  EXPECT_TRUE(store().renew("a"));
  EXPECT_GT(renewals_of("a"), before);
  const auto now = static_cast<std::uint64_t>(store().now().time_since_epoch().count());
  constexpr std::uint64_t kMinute = 60'000'000;
  EXPECT_GT(renewals_of("a") + kMinute, now) << "it tells when that was";
  EXPECT_LT(renewals_of("a"), now + kMinute);
  store().leave("a");
  EXPECT_FALSE(store().renew("a"));
  EXPECT_EQ(store().nodes().size(), 1u);
  store().leave("a");
  EXPECT_FALSE(store().renew("never"));
}

// Of a row that somebody else wrote: it has to go, too.
TEST_P(Leases, a_node_is_forgotten_whatever_its_id_is) {
  const auto shard = define_shard();
  store().join("a", "");
  ASSERT_EQ(acquire("a", {shard, "", 0, 0}).size(), 1u);
  for (const auto* id : {"zz\x1b[31m", "", "../x", "it's"}) {
    EXPECT_NO_THROW(store().leave(id));
    EXPECT_NO_THROW(store().leave(id, 5));
  }
  EXPECT_EQ(store().nodes().size(), 1u);
  EXPECT_EQ(store().shards().at(0).owner, "a");
}

TEST_P(Leases, joining_again_moves_the_counter_and_replaces_the_facts) {
  store().join("a", "old");
  const auto before = renewals_of("a");
  store().join("a", "new");
  EXPECT_NE(renewals_of("a"), before);
  EXPECT_EQ(node("a").facts, "new");
  store().leave("a");
  store().join("a", "back");
  EXPECT_FALSE(second().nodes().at(0).gone);
}

TEST_P(Leases, a_node_can_be_asked_for_something) {
  store().join("a", "");
  EXPECT_EQ(node("a").request, NodeRequest::none);
  const auto log = store().open_log();
  log->read(1);
  EXPECT_TRUE(second().request("a", NodeRequest::quiet));
  EXPECT_TRUE(log->read(1).woken);
  EXPECT_EQ(node("a").request, NodeRequest::quiet);
  store().renew("a");
  EXPECT_TRUE(store().request("a", NodeRequest::stop));
  EXPECT_EQ(node("a").request, NodeRequest::stop);
  EXPECT_FALSE(store().request("b", NodeRequest::stop));
}

// Who last saw it before it was forgotten would think that it stands still.
TEST_P(Leases, a_forgotten_node_comes_back_with_a_count_it_never_had) {
  store().join("a", "");
  for (int i = 0; i < 3; ++i) store().renew("a");
  const auto before = renewals_of("a");
  store().leave("a");
  clock_.move(1s);
  store().join("a", "");
  EXPECT_GT(renewals_of("a"), before);
}

TEST_P(Leases, a_nodes_id_is_a_plain_word) {
  for (const auto& id : std::vector<std::string>{"", "a/b", "../x", "a b", std::string(65, 'x')}) {
    EXPECT_THROW(store().join(id, ""), Error) << id;
  }
}

TEST_P(Leases, a_free_shard_is_granted) {
  const auto shard = define_shard();
  append(shard, {"a", "b"});
  const auto grant = own(shard, "n1", 42);
  EXPECT_EQ(grant.shard, shard);
  EXPECT_EQ(grant.lease.holder, 42u);
  EXPECT_EQ(grant.batch, 0u);
  EXPECT_GE(grant.head, seqs_of(shard).back());
  EXPECT_TRUE(grant.clean) << "never owned";
  EXPECT_FALSE(grant.crashed);
  EXPECT_EQ(row_of(shard).owner, "n1");
  EXPECT_EQ(row_of(shard).token, grant.lease.token);
}

TEST_P(LocalLeases, a_token_is_the_time_and_always_rises) {
  const auto shard = define_shard();
  const auto now = [&] { return static_cast<std::uint64_t>(clock_.wall().time_since_epoch().count()); };
  const auto first = own(shard);
  EXPECT_EQ(first.lease.token, now());
  EXPECT_EQ(own(shard).lease.token, first.lease.token + 1);
  clock_.move(-1h);
  EXPECT_EQ(own(shard).lease.token, first.lease.token + 2);
  clock_.move(2h);
  EXPECT_EQ(own(shard).lease.token, now());
}

TEST_P(Leases, only_members_acquire) {
  const auto shard = define_shard();
  EXPECT_TRUE(acquire("stranger", claim(shard)).empty());
}

TEST_P(Leases, only_what_is_still_so_is_granted) {
  const auto shard = define_shard();
  store().join("n2", "");
  const auto seen_free = claim(shard);
  own(shard, "n1");
  EXPECT_TRUE(acquire("n2", seen_free).empty()) << "somebody was faster";

  const auto seen_alive = claim(shard);
  EXPECT_TRUE(store().renew("n1"));
  EXPECT_TRUE(acquire("n2", seen_alive).empty()) << "its owner renewed";

  auto wrong_token = claim(shard);
  ++wrong_token.seen_token;
  EXPECT_TRUE(acquire("n2", wrong_token).empty());
  auto wrong_owner = claim(shard);
  wrong_owner.seen_owner = "n3";
  EXPECT_TRUE(acquire("n2", wrong_owner).empty());
  EXPECT_EQ(row_of(shard).owner, "n1");
}

TEST_P(Leases, a_silent_owner_is_replaced) {
  const auto shard = define_shard();
  const auto old = own(shard, "n1");
  store().join("n2", "");
  const auto grants = acquire("n2", claim(shard), 2);
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_GT(grants[0].lease.token, old.lease.token);
  EXPECT_FALSE(grants[0].clean);
  EXPECT_EQ(grants[0].crashed, !GetParam().local) << "silent is dead only where death is not seen";
}

TEST_P(Leases, unknown_shards_are_not_granted) {
  const auto queue = define("orders", 1).number;
  store().join("n1", "");
  std::vector<Claim> claims;
  for (const ShardId shard :
       {ShardId{queue, 1}, ShardId{queue + 1, 0}, ShardId{queue, 0}, ShardId{queue, 1u << 17}}) {
    claims.push_back({.shard = shard});
  }
  const auto grants = store().acquire("n1", 1, claims);
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].shard, (ShardId{queue, 0}));
}

TEST_P(Leases, release_is_a_clean_end) {
  const auto shard = define_shard();
  const auto grant = own(shard, "n1");
  release(grant);
  EXPECT_EQ(row_of(shard).owner, "");
  EXPECT_EQ(row_of(shard).token, grant.lease.token);
  const auto next = own(shard, "n2");
  EXPECT_TRUE(next.clean);
  EXPECT_GT(next.lease.token, grant.lease.token);
}

TEST_P(Leases, a_stale_release_is_ignored) {
  const auto shard = define_shard();
  const auto old = own(shard, "n1", 1);
  own(shard, "n2", 2);
  release(old);
  EXPECT_EQ(row_of(shard).owner, "n2");
  release(Release{.shard = {77, 0}, .lease = old.lease});
}

// By who could not use it: what its next owner must know of the one before is not lost.
TEST_P(Leases, an_unused_grant_is_given_back_as_it_was) {
  const auto queue = define("orders", 3).number;
  const ShardId crashed{queue, 0}, left{queue, 1}, clean{queue, 2};
  if (GetParam().local) {
    world().join_elsewhere("n1", "");
    ASSERT_EQ(acquire("n1", claim(crashed)).size(), 1u);
    world().kill("n1");
  } else {
    own(crashed, "n1");
  }
  own(left, "n2");
  store().leave("n2");
  for (int i = 0; i < 2; ++i) {
    const std::vector unused{own(crashed, "n3").unused(), own(left, "n3").unused(),
                             own(clean, "n3").unused()};
    EXPECT_FALSE(unused[0].clean);
    EXPECT_TRUE(unused[0].crashed) << i;
    EXPECT_FALSE(unused[1].clean) << i;
    EXPECT_FALSE(unused[1].crashed);
    EXPECT_TRUE(unused[2].clean) << i;
    second().release(unused);
    for (const auto& end : unused) EXPECT_EQ(row_of(end.shard).owner, "");
  }
  own(crashed, "n4");
  store().leave("n4");
  const auto grant = own(crashed, "n5");
  EXPECT_FALSE(grant.crashed) << "that was the one before";
  release(grant);
  EXPECT_TRUE(own(crashed, "n5").clean);
}

TEST_P(Leases, leaving_frees_what_was_not_released_as_unclean) {
  const auto queue = define("orders", 2).number;
  release(own({queue, 0}, "n1"));
  own({queue, 1}, "n1");
  store().leave("n1");
  EXPECT_EQ(row_of({queue, 1}).owner, "");
  const auto released = own({queue, 0}, "n2");
  EXPECT_TRUE(released.clean);
  const auto left = own({queue, 1}, "n2");
  EXPECT_FALSE(left.clean);
  EXPECT_FALSE(left.crashed) << "it lived when it left";
}

// Who thought it dead was late.
TEST_P(Leases, a_node_that_has_renewed_since_it_was_seen_is_not_forgotten) {
  const auto shard = define_shard();
  own(shard, "n1");
  const auto seen = renewals_of("n1");
  store().renew("n1");
  store().leave("n1", seen);
  EXPECT_EQ(row_of(shard).owner, "n1");
  EXPECT_TRUE(store().renew("n1"));
  store().leave("n1", renewals_of("n1"));
  EXPECT_FALSE(store().renew("n1"));
  EXPECT_EQ(row_of(shard).owner, "");
}

TEST_P(LocalLeases, a_dead_process_is_known_at_once) {
  const auto shard = define_shard();
  world().join_elsewhere("n1", "");
  EXPECT_FALSE(node("n1").gone);
  ASSERT_EQ(acquire("n1", claim(shard)).size(), 1u);
  const auto seen = claim(shard);
  EXPECT_TRUE(store().renew("n1"));
  world().kill("n1");
  EXPECT_TRUE(node("n1").gone);
  store().join("n2", "");
  const auto grants = acquire("n2", seen, 2);
  ASSERT_EQ(grants.size(), 1u) << "its renewals do not matter any more";
  EXPECT_FALSE(grants[0].clean);
  EXPECT_TRUE(grants[0].crashed);
}

TEST_P(LocalLeases, a_dead_node_that_is_removed_first_still_counts_as_crashed) {
  const auto shard = define_shard();
  world().join_elsewhere("n1", "");
  ASSERT_EQ(acquire("n1", claim(shard)).size(), 1u);
  world().kill("n1");
  store().leave("n1");
  EXPECT_EQ(row_of(shard).owner, "");
  auto grant = own(shard, "n2");
  EXPECT_FALSE(grant.clean);
  EXPECT_TRUE(grant.crashed);
  release(grant);
  grant = own(shard, "n3");
  EXPECT_TRUE(grant.clean);
  EXPECT_FALSE(grant.crashed) << "that was the one before";
}

TEST_P(Leases, a_process_does_not_take_its_own_node_for_dead) {
  store().join("n1", "");
  EXPECT_FALSE(node("n1").gone);
  EXPECT_FALSE(second().nodes().at(0).gone);
}

TEST_P(Leases, of_two_that_race_one_wins) {
  const auto shard = define_shard();
  second();
  store().join("n1", "");
  store().join("n2", "");
  for (int round = 0; round < 20; ++round) {
    const auto wish = claim(shard);
    auto other =
        std::async(std::launch::async, [&] { return second().acquire("n2", 2, std::span(&wish, 1)); });
    const auto mine = store().acquire("n1", 1, std::span(&wish, 1));
    const auto theirs = other.get();
    EXPECT_EQ(mine.size() + theirs.size(), 1u);
    EXPECT_EQ(row_of(shard).owner, mine.empty() ? "n2" : "n1");
  }
}

TEST_P(Leases, survive_a_reopening) {
  const auto shard = define_shard();
  const auto grant = own(shard, "n1");
  world().reopen();
  EXPECT_EQ(row_of(shard).owner, "n1");
  EXPECT_EQ(commit(delta_of(grant, 1)), CommitResult::applied);
}

}  // namespace lease_test
}  // namespace ordo::store
