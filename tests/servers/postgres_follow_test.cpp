// Rows become visible out of the order of their numbers when transactions overlap (stores.md §7.1): nothing
// may be missed or delayed, and the order of the numbers must always be the order in which the owner read.

#include <algorithm>
#include <future>

#include "contract/postgres_fixture.h"

namespace ordo::store {
namespace postgres_follow_test {

using namespace std::chrono_literals;

class PostgresFollow : public PostgresFixture {
 protected:
  void expect_rising() const { EXPECT_TRUE(std::is_sorted(seqs_.begin(), seqs_.end())); }
};

TEST_F(PostgresFollow, a_long_transaction_delays_nobody_and_loses_nothing) {
  const auto grant = own();
  const auto log = owners_reader(grant);
  auto slow = session();
  slow.run("BEGIN");
  put(slow, "slow");
  for (int i = 0; i < 20; ++i) {
    append("quick");
    EXPECT_EQ(rest(*log), Texts{"quick"}) << "while the slow one is open";
  }
  slow.run("COMMIT");
  EXPECT_EQ(rest(*log), Texts{"slow"});
  EXPECT_EQ(rest(*log), Texts{});
  EXPECT_EQ(whole().back(), "slow") << "the next owner reads it last, too";
  expect_rising();
}

TEST_F(PostgresFollow, what_is_rolled_back_was_never_there) {
  const auto log = owners_reader(own());
  auto other = session();
  other.run("BEGIN");
  put(other, "never");
  append("a");
  EXPECT_EQ(rest(*log), Texts{"a"});
  other.run("ROLLBACK");
  append("b");
  EXPECT_EQ(rest(*log), Texts{"b"});
}

TEST_F(PostgresFollow, many_overlapping_transactions_in_every_order_of_ends) {
  const auto log = owners_reader(own());
  std::vector<Session> sessions;
  for (int i = 0; i < 6; ++i) {
    sessions.push_back(session());
    sessions.back().run("BEGIN");
    put(sessions.back(), std::to_string(i) + "a");
    put(sessions.back(), std::to_string(i) + "b");
  }
  Texts all;
  for (const auto i : {3u, 0u, 5u, 1u, 4u, 2u}) {
    sessions[i].run(i == 4 ? "ROLLBACK" : "COMMIT");
    const auto found = rest(*log);
    if (i == 4) {
      EXPECT_TRUE(found.empty());
      continue;
    }
    EXPECT_EQ(found, (Texts{std::to_string(i) + "a", std::to_string(i) + "b"})) << "an append stays whole";
    all.insert(all.end(), found.begin(), found.end());
  }
  EXPECT_EQ(whole(), all);
  expect_rising();
}

TEST_F(PostgresFollow, a_prepared_transaction_is_one_in_progress) {
  const auto log = owners_reader(own());
  auto other = session();
  other.run("BEGIN");
  put(other, "prepared");
  other.run("PREPARE TRANSACTION '" + url_.substr(url_.size() - 4) + "'");
  append("a");
  EXPECT_EQ(rest(*log), Texts{"a"});
  other.run("COMMIT PREPARED '" + url_.substr(url_.size() - 4) + "'");
  EXPECT_EQ(rest(*log), Texts{"prepared"});
  expect_rising();
}

// The delta of the first owner may rest on "a", which then must stay before what the first owner never saw.
TEST_F(PostgresFollow, the_next_owner_moves_what_the_last_had_not_seen) {
  const auto first = own();
  auto log = owners_reader(first);
  auto slow = session();
  slow.run("BEGIN");
  put(slow, "slow");
  append("a");
  append("b");
  EXPECT_EQ(rest(*log), (Texts{"a", "b"}));
  ASSERT_EQ(commit(first, 1, {seqs_[1]}), CommitResult::applied);
  log.reset();
  slow.run("COMMIT");

  seqs_.clear();
  const auto second = own(0, "n2");
  log = owners_reader(second);
  EXPECT_EQ(rest(*log), (Texts{"a", "slow"}));
  EXPECT_EQ(whole(), (Texts{"a", "slow"}));
  expect_rising();
}

TEST_F(PostgresFollow, a_transaction_that_outlives_a_take_over_is_moved_when_it_ends) {
  const auto first = own();
  auto log = owners_reader(first);
  auto slow = session();
  slow.run("BEGIN");
  put(slow, "slow");
  append("a");
  EXPECT_EQ(rest(*log), Texts{"a"});
  ASSERT_EQ(commit(first, 1), CommitResult::applied);
  log.reset();

  seqs_.clear();
  const auto second = own(0, "n2");
  log = owners_reader(second);
  EXPECT_EQ(rest(*log), Texts{"a"});
  ASSERT_EQ(commit(second, 2), CommitResult::applied) << "must go on remembering";
  log.reset();
  seqs_.clear();
  const auto third = own(0, "n3");
  log = owners_reader(third);
  slow.run("COMMIT");
  EXPECT_EQ(rest(*log), (Texts{"a", "slow"}));
  EXPECT_EQ(whole(), (Texts{"a", "slow"}));
  expect_rising();
}

TEST_F(PostgresFollow, who_lost_the_lease_moves_nothing) {
  const auto log = owners_reader(own());
  auto slow = session();
  slow.run("BEGIN");
  put(slow, "slow");
  append("a");
  EXPECT_EQ(rest(*log), Texts{"a"});
  own(0, "n2");
  slow.run("COMMIT");
  EXPECT_EQ(rest(*log), Texts{});
  EXPECT_EQ(whole(), (Texts{"slow", "a"})) << "where it was";
}

TEST_F(PostgresFollow, who_only_looks_gets_late_entries_once_and_writes_nothing) {
  auto log = store_->open_log();
  log->add(shard());
  auto slow = session();
  slow.run("BEGIN");
  put(slow, "slow");
  append("a");
  EXPECT_EQ(rest(*log), Texts{"a"});
  slow.run("COMMIT");
  append("b");
  auto found = rest(*log);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (Texts{"b", "slow"}));
  EXPECT_EQ(rest(*log), Texts{});
  EXPECT_EQ(whole(), (Texts{"slow", "a", "b"}));
}

TEST_F(PostgresFollow, a_shard_that_is_added_later_joins_the_others) {
  const auto log = owners_reader(own());
  auto slow = session();
  slow.run("BEGIN");
  put(slow, "slow", 1);
  append("a", 1);
  EXPECT_EQ(rest(*log), Texts{});
  const auto other = own(1);
  log->add(other.shard, 0, other.lease);
  EXPECT_EQ(rest(*log), Texts{"a"});
  slow.run("COMMIT");
  EXPECT_EQ(rest(*log), Texts{"slow"});
}

TEST_F(PostgresFollow, a_wait_ends_with_a_commit_whenever_it_began) {
  const auto log = owners_reader(own());
  auto slow = session();
  slow.run("BEGIN");
  put(slow, "slow");  // sees no flag: nobody sleeps yet
  EXPECT_EQ(rest(*log), Texts{});
  auto waited = std::async(std::launch::async, [&] { log->wait(kUnlessWoken); });
  slow.run("SELECT pg_sleep(0.05)");
  slow.run("COMMIT");
  EXPECT_EQ(waited.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(rest(*log), Texts{"slow"});

  auto again = std::async(std::launch::async, [&] { log->wait(kUnlessWoken); });
  auto quick = session();
  quick.run("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM ordo_queue");
  put(quick, "quick");
  quick.run("COMMIT");
  EXPECT_EQ(again.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(rest(*log), Texts{"quick"});
}

TEST_F(PostgresFollow, of_two_stores_under_load_nothing_is_missed_and_numbers_rise) {
  const auto log = owners_reader(own());
  const auto second = open();
  constexpr int kEach = 150;
  Texts all;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kEach; ++i) {
          const auto body = std::to_string(thread) + " " + std::to_string(1000 + i);
          append_and_wait(thread % 2 == 0 ? *store_ : *second, {{.shard = shard(), .bytes = body}});
        }
      });
    }
    threads.emplace_back([&] {
      auto other = session();
      for (int i = 0; i < kEach; ++i) put(other, "4 " + std::to_string(1000 + i));
    });
    while (all.size() < 5 * kEach) {
      const auto found = rest(*log);
      all.insert(all.end(), found.begin(), found.end());
      if (found.empty()) log->wait(1s);
    }
  }
  expect_rising();
  EXPECT_EQ(whole(), all);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a[0] < b[0]; });
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end())) << "each pusher's entries stay in its order";
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

}  // namespace postgres_follow_test
}  // namespace ordo::store
