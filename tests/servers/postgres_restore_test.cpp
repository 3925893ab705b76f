// A server that goes back under a store that runs: what this store read since is not there any more, and the
// ids of transactions are given out again (stores.md §2.4).

#include <atomic>
#include <thread>
#include <vector>

#include <ordo/error.hpp>

#include "contract/postgres_fixture.h"

namespace ordo::store {
namespace postgres_restore_test {

class PostgresRestore : public testing::Test {
 protected:
  using Texts = std::vector<std::string>;
  using LostLeases = std::vector<std::pair<ShardId, Lease>>;

  Grant own(Store& store, const std::string& node) {
    store.join(node, "");
    Claim claim{.shard = shard_};
    const auto row = store.shards().at(0);
    claim.seen_owner = row.owner;
    claim.seen_token = row.token;
    for (const auto& other : store.nodes()) {
      if (other.id == row.owner) claim.seen_renewals = other.renewals;
    }
    return store.acquire(node, 1, std::span(&claim, 1)).at(0);
  }

  void append(Store& store, const std::string& body) {
    append_and_wait(store, {{.shard = shard_, .bytes = body}});
  }

  CommitResult commit(const Grant& grant, std::uint64_t batch, std::vector<Seq> erase) {
    std::vector<Delta> deltas;
    deltas.push_back({.shard = shard_, .lease = grant.lease, .batch = batch, .erase = std::move(erase)});
    return commit_and_wait(store_, std::move(deltas)).at(0);
  }

  /// As a node that has just started sees it.
  std::optional<Duration> age() const {
    return postgres::PostgresStore(url_, system_clock()).setback_age(false);
  }

  Texts rest(LogReader& log) { return rest_of(log, seqs_); }

  Texts whole() { return log_of(store_, shard_); }

  test::PostgresServer server_;
  const std::string url_ = server_.new_schema();
  postgres::PostgresStore store_{url_, system_clock()};
  const ShardId shard_{store_.define("orders", 1).number, 0};
  std::vector<Seq> seqs_;
};

TEST_F(PostgresRestore, an_owner_whose_server_went_back_reads_its_shard_anew) {
  const auto grant = own(store_, "n1");
  const auto log = store_.open_log();
  log->add(shard_, 0, grant.lease);
  append(store_, "kept");
  ASSERT_EQ(rest(*log), Texts{"kept"});
  server_.back_up();
  const Texts lost = {"lost 0", "lost 1", "lost 2"};
  for (const auto& body : lost) append(store_, body);
  seqs_.clear();
  ASSERT_EQ(rest(*log), lost);

  server_.restore();
  {
    // More than were lost: the ids that this store has seen are behind before it comes back.
    postgres::PostgresStore other(url_, system_clock());
    for (int i = 0; i < 5; ++i) append(other, "new " + std::to_string(i));
  }
  EXPECT_EQ(commit(grant, 1, seqs_), CommitResult::stale) << "its numbers are those of others now";
  EXPECT_EQ(rest(*log), Texts{});
  EXPECT_EQ(store_.shards().at(0).owner, "n1") << "runs may go on there: only it takes the shard anew";

  const auto heir = own(store_, "n1");
  EXPECT_FALSE(heir.clean);
  log->add(shard_, 0, heir.lease);
  seqs_.clear();
  EXPECT_EQ(rest(*log), (Texts{"kept", "new 0", "new 1", "new 2", "new 3", "new 4"}));
  append(store_, "next");
  EXPECT_EQ(rest(*log), Texts{"next"});
  EXPECT_EQ(commit(heir, heir.batch + 1, seqs_), CommitResult::applied);
  EXPECT_EQ(whole(), Texts{});
}

TEST_F(PostgresRestore, a_reader_that_comes_back_first_ends_the_lease) {
  const auto grant = own(store_, "n1");
  const auto log = store_.open_log();
  log->add(shard_, 0, grant.lease);
  server_.back_up();
  append(store_, "lost");
  ASSERT_EQ(rest(*log), Texts{"lost"});
  server_.restore();
  const auto chunk = [&] {
    for (;;) {
      try {
        return log->read(10);
      } catch (const Error&) {
        // the old connection
      }
    }
  }();
  EXPECT_TRUE(chunk.rows.empty());
  EXPECT_TRUE(chunk.caught_up.empty());
  EXPECT_TRUE(chunk.woken) << "what changed meanwhile is not known";
  EXPECT_EQ(chunk.lost, (LostLeases{{shard_, grant.lease}})) << "nobody else would tell an idle owner";
  EXPECT_EQ(log->read(10).lost, LostLeases{}) << "once";
  EXPECT_GT(store_.shards().at(0).token, grant.lease.token);
}

TEST_F(PostgresRestore, a_restart_that_loses_nothing_ends_no_lease) {
  const auto grant = own(store_, "n1");
  const auto log = store_.open_log();
  log->add(shard_, 0, grant.lease);
  append(store_, "a");
  ASSERT_EQ(rest(*log), Texts{"a"});
  server_.kill();
  server_.start();
  append(store_, "b");
  EXPECT_EQ(rest(*log), Texts{"b"});
  EXPECT_EQ(commit(grant, 1, seqs_), CommitResult::applied);
}

TEST_F(PostgresRestore, a_setback_is_noted_for_who_starts_later) {
  EXPECT_EQ(age(), std::nullopt);
  const auto log = store_.open_log();
  own(store_, "n1");
  server_.back_up();
  append(store_, "lost");
  log->add(shard_);
  ASSERT_EQ(rest(*log), Texts{"lost"});
  server_.restore();
  EXPECT_EQ(age(), std::nullopt) << "nobody has seen it yet";
  while (store_.setbacks() == 0) {
    try {
      store_.queues();
    } catch (const Error&) {
      // the old connection
    }
  }
  EXPECT_EQ(age(), std::nullopt) << "a program that pushes now and then notes nothing";
  EXPECT_TRUE(store_.setback_age(true)) << "its node does";
  const auto first = age();
  ASSERT_TRUE(first);
  EXPECT_GT(age(), first) << "it is noted once";
}

TEST_F(PostgresRestore, who_starts_sees_that_another_server_has_taken_over) {
  EXPECT_EQ(age(), std::nullopt);
  server_.kill();
  server_.start();
  EXPECT_EQ(age(), std::nullopt) << "a start loses nothing";
  test::PostgresSession(url_).run(
      "UPDATE ordo_history SET timeline = timeline - 1");  // what it had noted before it took over
  const auto first = age();
  ASSERT_TRUE(first);
  EXPECT_GT(age(), first) << "it is noted once";
}

TEST_F(PostgresRestore, what_stands_in_the_place_of_the_history_holds_nobody_up) {
  EXPECT_EQ(age(), std::nullopt);
  for (const auto* time : {"'infinity'", "'-infinity'", "now() + interval '1 day'"}) {
    test::PostgresSession(url_).run(std::string("UPDATE ordo_history SET set_back_at = ") + time);
    EXPECT_LT(age().value_or(Duration{}), std::chrono::seconds{10}) << time;
  }
}

// What a reader sees while a new connection asks how far the server is was taken for the future of a server
// that had gone back.
TEST_F(PostgresRestore, connections_that_are_made_while_others_read_end_no_lease) {
  const auto grant = own(store_, "n1");
  const auto log = store_.open_log();
  log->add(shard_, 0, grant.lease);
  std::atomic<int> at_work = 8;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int look = 0; look < 20; ++look) store_.open_log()->read(1);
      --at_work;
    });
  }
  LostLeases lost;
  while (at_work > 0) {
    append(store_, "a");
    const auto chunk = log->read(10);
    lost.insert(lost.end(), chunk.lost.begin(), chunk.lost.end());
  }
  EXPECT_EQ(lost, LostLeases{});
  EXPECT_EQ(commit(grant, 1, {}), CommitResult::applied);
}

}  // namespace postgres_restore_test
}  // namespace ordo::store
