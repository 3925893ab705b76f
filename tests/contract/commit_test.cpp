#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "contract/backends.h"

namespace ordo::store {
namespace commit_test {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

class Commit : public StoreContract {
 protected:
  std::vector<StateRow> states_of(ShardId shard) { return store().load(std::span(&shard, 1)).at(0).states; }
};
INSTANTIATE_TEST_SUITE_P(on, Commit, every_store(), backend_name);

TEST_P(Commit, writes_everything_a_delta_holds) {
  const ShardId shard{define().number, 1};
  const auto grant = own(shard);
  append(shard, {"a", "b", "c"});
  auto delta = delta_of(grant, 1);
  const auto seqs = seqs_of(shard);
  delta.erase = {seqs[0], seqs[2]};
  delta.states = {{.seq = seqs[1], .bytes = "failed once"}};
  delta.dead = {{.at = clock_.wall(), .bytes = "payload"}};
  delta.position = seqs[2];
  delta.counts = "counts";
  ASSERT_EQ(commit(delta), CommitResult::applied);
  world().reopen();
  EXPECT_EQ(read_all(shard), (Texts{"b"}));
  const auto facts = store().load(std::span(&shard, 1));
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].shard, shard);
  EXPECT_EQ(facts[0].states, (std::vector<StateRow>{{seqs[1], "failed once"}}));
  EXPECT_EQ(facts[0].counts, "counts");
  const auto row = row_of(shard);
  EXPECT_EQ(row.batch, 1u);
  EXPECT_EQ(row.position, seqs[2]);
  EXPECT_EQ(row.counts, "counts");
  EXPECT_EQ(row.dead, 1u);
  const auto dead = store().dead(shard.queue, 0, 10);
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0], (DeadRow{.shard = shard, .no = dead[0].no, .at = clock_.wall(), .bytes = "payload"}));
}

TEST_P(Commit, replaces_and_erases_states) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  auto delta = delta_of(grant, 1);
  delta.states = {{5, "five"}, {3, "three"}, {9, ""}};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  EXPECT_EQ(states_of(shard), (std::vector<StateRow>{{3, "three"}, {5, "five"}, {9, ""}}));
  delta = delta_of(grant, 2);
  delta.states = {{3, "drei"}};
  delta.erase_states = {5, 77};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  EXPECT_EQ(states_of(shard), (std::vector<StateRow>{{3, "drei"}, {9, ""}}));
}

TEST_P(Commit, counts_and_position_are_replaced_even_by_nothing) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  EXPECT_EQ(store().load(std::span(&shard, 1)).at(0).counts, "") << "never committed";
  auto delta = delta_of(grant, 1);
  delta.counts = "x";
  delta.position = 7;
  ASSERT_EQ(commit(delta), CommitResult::applied);
  ASSERT_EQ(commit(delta_of(grant, 2)), CommitResult::applied);
  EXPECT_EQ(row_of(shard).counts, "");
  EXPECT_EQ(row_of(shard).position, 0u);
}

TEST_P(Commit, refuses_what_does_not_match_the_lease) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a"});
  const auto refuse = [&, seqs = seqs_of(shard)](Lease lease, std::uint64_t batch) {
    Delta delta{.shard = shard, .lease = lease, .batch = batch, .erase = seqs, .counts = "stale"};
    EXPECT_EQ(commit(std::move(delta)), CommitResult::stale);
  };
  refuse({.token = grant.lease.token - 1, .holder = grant.lease.holder}, 1);
  refuse({.token = grant.lease.token + 1, .holder = grant.lease.holder}, 1);
  refuse({.token = grant.lease.token, .holder = grant.lease.holder + 1}, 1);
  refuse({}, 1);
  refuse(grant.lease, 2);
  EXPECT_EQ(read_all(shard), (Texts{"a"}));
  EXPECT_EQ(row_of(shard).counts, "");
  EXPECT_EQ(row_of(shard).batch, 0u);
}

TEST_P(Commit, refuses_every_lease_of_a_shard_that_is_free) {
  const ShardId shard{define().number, 0};
  EXPECT_EQ(commit({.shard = shard, .batch = 1}), CommitResult::stale) << "never owned";
  const auto grant = own(shard);
  const Release end{shard, grant.lease};
  store().release(std::span(&end, 1));
  EXPECT_EQ(commit(delta_of(grant, 1)), CommitResult::stale) << "released";
  const auto again = own(shard);
  store().leave("n1");
  EXPECT_EQ(commit(delta_of(again, 1)), CommitResult::stale) << "left";
}

TEST_P(Commit, a_successor_shuts_the_owner_out) {
  const ShardId shard{define().number, 0};
  const auto old = own(shard, "n1", 1);
  append(shard, {"a", "b"});
  const auto heir = own(shard, "n2", 2);
  const auto seqs = seqs_of(shard);
  auto delta = delta_of(old, 1);
  delta.erase = {seqs[0]};
  EXPECT_EQ(commit(delta), CommitResult::stale);
  delta = delta_of(heir, 1);
  delta.erase = {seqs[1]};
  EXPECT_EQ(commit(delta), CommitResult::applied);
  EXPECT_EQ(read_all(shard), (Texts{"a"}));
}

TEST_P(Commit, an_equal_retry_answers_applied_and_changes_nothing) {  // stores.md §2.2
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a"});
  auto delta = delta_of(grant, 1);
  delta.erase = seqs_of(shard);
  delta.dead = {{.at = clock_.wall(), .bytes = "dead"}};
  delta.states = {{1, "state"}};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  ASSERT_EQ(commit(delta), CommitResult::applied);
  EXPECT_EQ(store().dead(shard.queue, 0, 10).size(), 1u);
  EXPECT_EQ(row_of(shard).batch, 1u);

  auto next = delta_of(grant, 2);
  next.erase_states = {1};
  ASSERT_EQ(commit(next), CommitResult::applied);
  EXPECT_EQ(commit(delta), CommitResult::stale) << "an old batch";
  EXPECT_TRUE(states_of(shard).empty());
}

TEST_P(Commit, a_retry_is_known_after_a_reopening) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  auto delta = delta_of(grant, 1);
  delta.dead = {{.at = clock_.wall(), .bytes = "dead"}};
  ASSERT_EQ(commit(delta), CommitResult::applied);
  world().reopen();
  EXPECT_EQ(commit(delta), CommitResult::applied);
  EXPECT_EQ(store().dead(shard.queue, 0, 10).size(), 1u);
}

TEST_P(Commit, the_batch_number_goes_on_under_the_next_owner) {
  const ShardId shard{define().number, 0};
  const auto old = own(shard, "n1");
  ASSERT_EQ(commit(delta_of(old, 1)), CommitResult::applied);
  ASSERT_EQ(commit(delta_of(old, 2)), CommitResult::applied);
  const auto heir = own(shard, "n2");
  EXPECT_EQ(heir.batch, 2u);
  EXPECT_EQ(commit(delta_of(heir, 1)), CommitResult::stale);
  EXPECT_EQ(commit(delta_of(heir, 3)), CommitResult::applied);
}

TEST_P(Commit, a_stale_part_is_refused_and_the_rest_stands) {  // stores.md §2.2
  const auto queue = define("orders", 3).number;
  std::vector<Grant> grants;
  for (std::uint32_t index = 0; index < 3; ++index) {
    grants.push_back(own({queue, index}));
    append({queue, index}, {"a"});
  }
  own({queue, 1}, "n2", 2);
  std::vector<Delta> deltas;
  for (std::uint32_t index = 0; index < 3; ++index) {
    auto& delta = deltas.emplace_back(delta_of(grants[index], 1));
    delta.erase = seqs_of({queue, index});
    delta.states = {{index + 1, "state"}};
    delta.dead = {{.at = clock_.wall(), .bytes = "dead"}};
    delta.counts = "counts";
  }
  const auto results = commit_and_wait(store(), deltas);
  EXPECT_EQ(results, (std::vector{CommitResult::applied, CommitResult::stale, CommitResult::applied}));
  EXPECT_EQ(read_all({queue, 0}), Texts{});
  EXPECT_EQ(read_all({queue, 1}), (Texts{"a"}));
  EXPECT_EQ(read_all({queue, 2}), Texts{});
  EXPECT_TRUE(states_of({queue, 1}).empty());
  EXPECT_EQ(row_of({queue, 1}).counts, "");
  EXPECT_EQ(row_of({queue, 1}).dead, 0u);
  EXPECT_EQ(store().dead(queue, 0, 10).size(), 2u);
}

TEST_P(Commit, unknown_shards_are_stale) {
  const auto queue = define("orders", 1).number;
  const auto grant = own({queue, 0});
  for (const ShardId unknown :
       {ShardId{queue, 1}, ShardId{queue + 1, 0}, ShardId{0, 0}, ShardId{queue, 1u << 20}}) {
    EXPECT_EQ(commit({.shard = unknown, .lease = grant.lease, .batch = 1}), CommitResult::stale);
  }
}

TEST_P(Commit, of_nothing_is_answered) { EXPECT_TRUE(commit_and_wait(store(), {}).empty()); }

TEST_P(Commit, erasing_what_is_gone_is_no_error) {
  const ShardId shard{define().number, 0};
  const auto grant = own(shard);
  append(shard, {"a"});
  auto delta = delta_of(grant, 1);
  const auto seq = seqs_of(shard).at(0);
  delta.erase = {seq, seq, seq + 50};
  EXPECT_EQ(commit(delta), CommitResult::applied);
  EXPECT_EQ(read_all(shard), Texts{});
}

TEST_P(Commit, load_gives_each_shard_its_own) {
  const auto queue = define("orders", 3).number;
  for (std::uint32_t index = 0; index < 3; ++index) {
    auto delta = delta_of(own({queue, index}), 1);
    delta.states = {{index + 1, std::to_string(index)}};
    delta.counts = std::to_string(index);
    ASSERT_EQ(commit(delta), CommitResult::applied);
  }
  const std::vector<ShardId> wanted = {{queue, 2}, {queue, 0}, {queue + 9, 0}};
  const auto facts = store().load(wanted);
  ASSERT_EQ(facts.size(), 3u);
  EXPECT_EQ(facts[0].shard, wanted[0]);
  EXPECT_EQ(facts[0].counts, "2");
  EXPECT_EQ(facts[0].states, (std::vector<StateRow>{{3, "2"}}));
  EXPECT_EQ(facts[1].states, (std::vector<StateRow>{{1, "0"}}));
  EXPECT_EQ(facts[2].counts, "");
  EXPECT_TRUE(facts[2].states.empty());
}

TEST_P(Commit, from_two_processes_at_once) {
  const auto queue = define("orders", 2).number;
  const auto mine = own({queue, 0}, "n1");
  const auto other = own({queue, 1}, "n2");
  for (std::uint64_t batch = 1; batch <= 5; ++batch) {
    EXPECT_EQ(commit_and_wait(store(), {delta_of(mine, batch)}).at(0), CommitResult::applied);
    EXPECT_EQ(commit_and_wait(second(), {delta_of(other, batch)}).at(0), CommitResult::applied);
  }
}

}  // namespace commit_test
}  // namespace ordo::store
