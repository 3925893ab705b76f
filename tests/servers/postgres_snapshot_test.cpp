// While a transaction elsewhere holds an old snapshot, nothing that has been deleted or replaced can be
// removed. What a statement costs must not grow with it (stores.md §7.5): counted in blocks that it touches.

#include <thread>

#include "contract/postgres_fixture.h"

namespace ordo::store {
namespace postgres_snapshot_test {

using namespace std::chrono_literals;

class PostgresOldSnapshot : public PostgresFixture {
 protected:
  void SetUp() override {
    old_.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    old_.run("SELECT count(*) FROM ordo_meta");
  }

  std::string id() const { return std::to_string((std::int64_t{queue_} << 16)) + "::bigint"; }

  /// Of a statement that is run the second time in its session, and rolled back.
  int blocks(const std::string& sql) const {
    auto session = this->session();
    std::string plan;
    for (int i = 0; i < 2; ++i) {
      session.run("BEGIN");
      plan = session.run("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + sql);
      session.run("ROLLBACK");
    }
    int found = 0;
    for (const std::string kind : {"\"Shared Hit Blocks\": ", "\"Shared Read Blocks\": "})
      found += std::stoi(plan.substr(plan.find(kind) + kind.size()));
    return found;
  }

  std::string commit_sql(const Grant& grant, std::uint64_t batch, const std::string& counts,
                         Seq erase) const {
    const auto one = [](std::uint64_t number) { return "ARRAY[" + std::to_string(number) + "::bigint]"; };
    const auto shard = "ARRAY[" + id() + "]";
    std::string sql = "SELECT (ordo_commit(" + shard + ", " + one(grant.lease.token) + ", " +
                      one(grant.lease.holder) + ", " + one(batch) + ", " + one(0) + ", ARRAY['" + counts +
                      "'::bytea], " + one(erase) + ", ARRAY['{}'], " + shard + ", " + one(erase) + ", " +
                      one(erase);
    for (int i = 0; i < 11; ++i) sql += ", '{}'";
    return sql + "))[1]";
  }

  /// Each statement and what it touches; one entry, `last`, is there.
  std::vector<std::pair<std::string, int>> costs(const Grant& grant, std::uint64_t batch, Seq last) const {
    const auto shard = "ARRAY[" + id() + "]";
    const std::string renewals = session().run("SELECT max(renewals) FROM ordo_living_node");
    std::vector<std::pair<std::string, int>> costs;
    for (const std::string& sql :
         {"SELECT ordo_append(1, NULL, " + shard + ", " + shard + ", ARRAY[0::bigint], ARRAY['x'::bytea])",
          "SELECT * FROM ordo_read_page(" + shard + ", ARRAY[" + std::to_string(last - 1) +
              "], ARRAY[true], '{}', '{}', '{}', '{}', '{}', 10, 1000)",
          commit_sql(grant, batch, "", last), "SELECT * FROM ordo_newest_head WHERE shard = " + id(),
          "SELECT * FROM ordo_acquire('n1', 7, NULL, " + shard + ", ARRAY['n1'], ARRAY[" +
              std::to_string(grant.lease.token) + "], ARRAY[" + renewals + "])",
          std::string("SELECT ordo_renew('n1', NULL)"), std::string("SELECT * FROM ordo_living_node"),
          std::string("SELECT ordo_sleep(1, 2, 1000, 0)"), std::string("SELECT ordo_wake()")}) {
      costs.emplace_back(sql, blocks(sql));
    }
    return costs;
  }

  Session old_ = session();
};

TEST_F(PostgresOldSnapshot, costs_no_statement_more_blocks_however_much_was_committed_since) {
  constexpr std::uint64_t kRounds = 1500;
  const auto grant = own();
  const auto log = owners_reader(grant);
  std::uint64_t batch = 0;
  const auto push = [&] {
    append("a");
    ASSERT_EQ(rest(*log).size(), 1u);
  };
  const auto erase = [&] { ASSERT_EQ(commit(grant, ++batch, {seqs_.back()}), CommitResult::applied); };
  auto other = session();
  const auto pass = [&](std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      push();
      erase();
      store_->renew("n1");
      store_->wake();
      other.run("SELECT ordo_wake_up(1, ordo_sleep(1, 2, 0, 0))");
    }
  };
  pass(kRounds / 3);  // an index has as many levels as later, then
  push();
  const auto before = costs(grant, batch + 1, seqs_.back());
  erase();
  pass(kRounds);
  session().run("ANALYZE");  // counts the living, of whom there are few in many pages
  push();
  const auto after = costs(grant, batch + 1, seqs_.back());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_LE(after[i].second, before[i].second + 8) << before[i].second << " before: " << before[i].first;
  }
  EXPECT_EQ(store_->shards().at(0).batch, batch);
}

// What was erased lies before what is left, and is not walked to find that.
TEST_F(PostgresOldSnapshot, costs_a_take_over_nothing_of_what_was_erased) {
  session().run("ALTER TABLE ordo_entry SET (autovacuum_enabled = off)");  // it touches what it likes
  constexpr int kErased = 200'000, kTogether = 10'000;
  const auto first = own();
  auto log = owners_reader(first);
  std::uint64_t batch = 0;
  const std::vector<NewEntry> entries(kTogether, {.shard = shard(), .bytes = "a"});
  for (int i = 0; i < kErased; i += kTogether) {
    append_and_wait(*store_, entries);
    seqs_.clear();
    ASSERT_EQ(rest(*log).size(), entries.size());
    ASSERT_EQ(commit(first, ++batch, seqs_), CommitResult::applied);
  }
  append("left");
  log.reset();
  const auto end_store = [&] {  // with it, what its sessions have counted becomes known
    store_.reset();
    while (session().run("SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query <> ''"
                         " AND application_name = 'ordo'") != "0") {
      std::this_thread::yield();
    }
    return std::stol(
        session().run("SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit"
                      " FROM pg_statio_user_tables WHERE relid = 'ordo_entry'::regclass"));
  };
  const auto before = end_store();
  store_ = open();
  const auto second = own(0, "n2");
  log = owners_reader(second);
  EXPECT_EQ(rest(*log), Texts{"left"});
  EXPECT_EQ(second.head, seqs_.back());
  EXPECT_EQ(whole(), Texts{"left"}) << "who only looks begins there, too";
  log.reset();
  EXPECT_LT(end_store() - before, 500) << "200,000 would be touched one by one";
}

// The attempt waits for the lease with the snapshot of before; meanwhile another one of the same delta, and
// more, are done.
TEST_F(PostgresOldSnapshot, of_a_held_up_attempt_changes_nothing_that_was_committed_meanwhile) {
  const auto grant = own();
  for (const std::uint64_t further : {0, 1, 2}) {
    const auto batch = store_->shards().at(0).batch + 1;
    auto quick = session();
    quick.run("BEGIN");
    for (std::uint64_t i = 0; i <= further; ++i)
      EXPECT_EQ(quick.run(commit_sql(grant, batch + i, std::to_string(batch + i), 0)), "1");
    std::string answer;
    std::jthread held_up([&] { answer = session().run(commit_sql(grant, batch, "late", 0)); });
    while (session().run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE"
                         " '%late%'") == "0") {
      std::this_thread::yield();
    }
    quick.run("COMMIT");
    held_up.join();
    EXPECT_EQ(answer, further == 0 ? "2" : "0");
    EXPECT_EQ(session().run(commit_sql(grant, batch, "later still", 0)), answer)
        << "its own row is gone by now";
    EXPECT_EQ(store_->shards().at(0).batch, batch + further);
    EXPECT_EQ(store_->shards().at(0).counts, std::to_string(batch + further));
  }
  EXPECT_EQ(session().run("SELECT count(*) FROM ordo_head"), "1");
}

// Like a report that fills tables of its own for hours.
TEST_F(PostgresOldSnapshot, of_who_writes_no_entries_keeps_no_sleeper_awake) {
  const auto url = url_ + "%20-ctrack_functions%3Dall";
  auto store = std::make_unique<postgres::PostgresStore>(url, system_clock());
  auto report = session();
  report.run("BEGIN");
  report.run("SELECT pg_current_xact_id()");
  auto log = store->open_log();
  log->add(shard());
  EXPECT_EQ(rest(*log), Texts{});
  log->wait(600ms);
  log.reset();
  store.reset();
  const auto calls = [&] {
    return session().run(
        "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions"
        " WHERE funcname = 'ordo_read_page' AND schemaname = current_schema()");
  };
  while (calls() == "0") std::this_thread::yield();
  EXPECT_LE(std::stoi(calls()), 4) << "one read, and two looks at falling asleep";
}

TEST_F(PostgresOldSnapshot, of_a_prepared_transaction_that_pushed_wakes_when_it_ends) {
  auto other = session();
  other.run("BEGIN");
  put(other, "prepared");
  other.run("PREPARE TRANSACTION 'sleeper " + url_.substr(url_.size() - 4) + "'");
  auto log = owners_reader(own());
  EXPECT_EQ(rest(*log), Texts{});
  std::jthread waiting([&] { log->wait(kUnlessWoken); });
  while (session().run("SELECT count(*) FROM ordo_sleeper") == "0") std::this_thread::yield();
  other.run("COMMIT PREPARED 'sleeper " + url_.substr(url_.size() - 4) + "'");
  waiting.join();
  EXPECT_EQ(rest(*log), Texts{"prepared"});
}

}  // namespace postgres_snapshot_test
}  // namespace ordo::store
