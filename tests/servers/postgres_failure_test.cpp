// What goes wrong between a store and its server, and how it comes back.

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <gmock/gmock.h>

#include <fstream>
#include <future>
#include <thread>

#include <ordo/error.hpp>

#include "contract/postgres_fixture.h"
#include "domain/entry.h"

namespace ordo::store {
namespace postgres_failure_test {

using namespace std::chrono_literals;

/// Waits for what must become true.
template <class Condition>
void eventually(Condition condition) {
  const auto deadline = system_clock().steady() + kPatience;
  while (!condition()) {
    ASSERT_LT(system_clock().steady(), deadline) << "never happened";
    std::this_thread::yield();
  }
}

class PostgresFailure : public PostgresFixture {
 protected:
  /// Ends every session but the asking one, as an administrator would.
  void terminate_all() {
    session().run(
        "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
  }
};

TEST_F(PostgresFailure, terminated_sessions_are_opened_again_unnoticed) {
  const auto grant = own();
  const auto log = owners_reader(grant);
  append("a");
  EXPECT_EQ(rest(*log), Texts{"a"});
  terminate_all();
  append("b");
  terminate_all();
  EXPECT_EQ(rest(*log), Texts{"b"});
  terminate_all();
  EXPECT_EQ(commit(grant, 1, seqs_), CommitResult::applied);
  EXPECT_TRUE(store_->renew("n1"));
  EXPECT_EQ(whole(), Texts{});
}

// Who is told not to wait for a standby any more calls it committed, and warns.
TEST_F(PostgresFailure, what_no_standby_has_confirmed_is_not_acknowledged) {
  append("before");
  session().run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  session().run("SELECT pg_reload_conf()");
  std::string failure;
  auto appended = std::async(std::launch::async, [&] {
    while (failure.empty()) {  // the setting takes a moment to come
      try {
        append_and_wait(*store_, {{.shard = shard(), .bytes = "a"}});
      } catch (const Error& error) {
        failure = error.what();
      }
    }
  });
  const std::string waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  eventually([&] { return session().run("SELECT count(pg_cancel_backend(pid)) " + waiting) != "0"; });
  appended.get();
  session().run("ALTER SYSTEM RESET synchronous_standby_names");
  session().run("SELECT pg_reload_conf()");
  EXPECT_THAT(failure, ::testing::HasSubstr("no standby has confirmed it"));
  append("after");
}

TEST_F(PostgresFailure, a_sleeping_reader_survives_the_end_of_its_session) {
  const auto log = owners_reader(own());
  EXPECT_EQ(rest(*log), Texts{});
  auto waited = std::async(std::launch::async, [&] { log->wait(kUnlessWoken); });
  eventually([&] { return session().run("SELECT count(*) FROM ordo_sleeper") == "1"; });
  terminate_all();
  const auto second = open();
  append_and_wait(*second, {{.shard = shard(), .bytes = "a"}});
  EXPECT_EQ(waited.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(rest(*log), Texts{"a"});
}

TEST_F(PostgresFailure, a_session_that_ends_under_way_is_told_and_a_retried_delta_is_exact) {
  const auto grant = own();
  append("a");
  const auto log = owners_reader(grant);
  EXPECT_EQ(rest(*log), Texts{"a"});
  // The commit waits for the row while its session is ended.
  auto blocker = session();
  blocker.run("BEGIN");
  blocker.run("SELECT * FROM ordo_shard FOR UPDATE");
  auto committed = std::async(std::launch::async, [&] { return commit(grant, 1, seqs_); });
  const std::string waiting =
      "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ordo_commit%'";
  eventually([&] { return session().run("SELECT count(*) " + waiting) == "1"; });
  session().run("SELECT pg_terminate_backend(pid, 60000) " + waiting);
  blocker.run("COMMIT");
  EXPECT_THROW(committed.get(), Error);
  EXPECT_EQ(commit(grant, 1, seqs_), CommitResult::applied);
  EXPECT_EQ(commit(grant, 1, seqs_), CommitResult::applied) << "whether or not the first had happened";
  EXPECT_EQ(whole(), Texts{});
}

TEST_F(PostgresFailure, a_deadlock_with_a_stranger_is_tried_again) {
  const auto one = own(0);
  const auto two = own(1);
  auto other = session();
  other.run("BEGIN");
  other.run("SELECT * FROM ordo_shard WHERE id & 65535 = 1 FOR UPDATE");
  auto committed = std::async(std::launch::async, [&] {
    std::vector<Delta> deltas;
    for (const auto& grant : {one, two})
      deltas.push_back({.shard = grant.shard, .lease = grant.lease, .batch = 1});
    return commit_and_wait(*store_, std::move(deltas));
  });
  eventually([&] {
    return session().run(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE"
               " '%ordo_commit%'") == "1";
  });
  try {
    other.run("SELECT * FROM ordo_shard WHERE id & 65535 = 0 FOR UPDATE");
    other.run("COMMIT");
  } catch (const std::runtime_error&) {
    other.run("ROLLBACK");
  }
  EXPECT_EQ(committed.get(), (std::vector{CommitResult::applied, CommitResult::applied}));
}

// It holds the shard's row, and no timeout of the server ends it (stores.md §7.3).
TEST_F(PostgresFailure, a_client_that_stopped_half_way_is_put_out) {
  const auto grant = own();
  auto stopped = session();
  stopped.run("BEGIN");
  stopped.run("UPDATE ordo_shard SET clean = false");
  const auto heir = own(0, "n2");
  EXPECT_GT(heir.lease.token, grant.lease.token);
  EXPECT_THROW(stopped.run("COMMIT"), std::runtime_error);
}

TEST_F(PostgresFailure, an_unreachable_server_is_an_error_without_a_password) {
  const std::string url = "postgres://user:s3cret@127.0.0.1:1/jobs";
  try {
    postgres::PostgresStore store(url, system_clock());
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    const std::string what = error.what();
    EXPECT_NE(what.find("127.0.0.1:1"), std::string::npos) << what;
    EXPECT_EQ(what.find("s3cret"), std::string::npos) << what;
  }
  try {
    postgres::PostgresStore store("postgres://user:s3cret%@@/x?nonsense=1", system_clock());
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_EQ(std::string(error.what()).find("s3cret"), std::string::npos) << error.what();
  }
}

TEST_F(PostgresFailure, many_processes_make_the_schema_once) {
  auto& server = test::PostgresServer::shared();
  server.run("DROP ROLE IF EXISTS strict");
  server.run("CREATE ROLE strict LOGIN SUPERUSER");
  for (const std::string setting :
       {"default_transaction_isolation = serializable", "default_transaction_read_only = on",
        "standard_conforming_strings = off", "statement_timeout = '10min'", "lock_timeout = '1ms'"}) {
    server.run("ALTER ROLE strict SET " + setting);
  }
  auto url = server.new_schema();
  url.replace(url.find("postgres@"), 8, "strict");
  std::vector<std::future<std::unique_ptr<Store>>> stores;
  for (int i = 0; i < 6; ++i) {
    stores.push_back(std::async(std::launch::async, [&]() -> std::unique_ptr<Store> {
      return std::make_unique<postgres::PostgresStore>(url, system_clock());
    }));
  }
  std::vector<std::unique_ptr<Store>> opened;
  for (auto& store : stores) opened.push_back(store.get());
  for (auto& store : opened) EXPECT_TRUE(store->queues().queues.empty());
  postgres::Connection connection(url);
  EXPECT_EQ(connection.run("ask", "SELECT current_setting('statement_timeout')").bytes(0, 0), "4500ms");
  // Everything else works under such settings, too.
  const ShardId shard{opened[0]->define("orders", 1).number, 0};
  append_and_wait(*opened[1], {{.shard = shard, .bytes = "a"}});
  EXPECT_EQ(log_of(*opened[2], shard), Texts{"a"});
  Session psql(url +
               "%20-cdefault_transaction_read_only%3Doff%20-cstatement_timeout%3D0%20-clock_timeout%3D0");
  psql.run("SELECT ordo_push('orders', 'x', id => 'y')");
  const auto pushed = log_of(*opened[2], shard).at(1);
  EXPECT_EQ(*domain::decode_entry(pushed),
            (domain::Entry{.kind = "orders", .key = "y", .id = "y", .payload = "x"}));
}

// A dump that is restored elsewhere brings numbers made of another cluster's transactions.
TEST_F(PostgresFailure, in_another_cluster_numbers_go_on_rising) {
  append("a");
  session().run("UPDATE ordo_meta SET system = 1");
  session().run("UPDATE ordo_entry SET seq = seq + (5000000::bigint << 20)");
  store_ = open();
  const auto grant = own();
  const auto log = owners_reader(grant);
  append("b");
  auto slow = session();
  slow.run("BEGIN");
  put(slow, "slow");
  append("c");
  EXPECT_EQ(rest(*log), (Texts{"a", "b", "c"}));
  slow.run("COMMIT");
  EXPECT_EQ(rest(*log), Texts{"slow"});
  EXPECT_TRUE(std::is_sorted(seqs_.begin(), seqs_.end()));
  EXPECT_EQ(commit(grant, 1, seqs_), CommitResult::applied);
  EXPECT_EQ(whole(), Texts{});
}

TEST_F(PostgresFailure, in_another_cluster_what_was_erased_counts_for_numbers) {
  const auto before = own();
  append("a");
  auto first = owners_reader(before);
  EXPECT_EQ(rest(*first), Texts{"a"});
  EXPECT_EQ(commit(before, 1, seqs_), CommitResult::applied);
  session().run("UPDATE ordo_meta SET system = 1");
  session().run("UPDATE ordo_head SET seen = seen + (5000000::bigint << 20)");
  first.reset();
  store_ = open();
  const auto grant = own();
  const auto log = owners_reader(grant);
  auto slow = session();
  slow.run("BEGIN");
  put(slow, "slow");
  append("b");
  EXPECT_EQ(rest(*log), Texts{"b"});
  slow.run("COMMIT");
  EXPECT_EQ(rest(*log), Texts{"slow"});
  append("c");
  EXPECT_EQ(rest(*log), Texts{"c"}) << "it stands behind what was late";
}

// A transaction that the owner before had not seen the end of: its entry is in the dump, below what was read.
TEST_F(PostgresFailure, in_another_cluster_what_an_owner_had_not_seen_is_moved) {
  const auto before = own();
  auto slow = session();
  slow.run("BEGIN");
  put(slow, "slow");
  append("a");
  auto first = owners_reader(before);
  EXPECT_EQ(rest(*first), Texts{"a"});
  EXPECT_EQ(commit(before, 1), CommitResult::applied);
  slow.run("COMMIT");
  session().run("UPDATE ordo_meta SET system = 1");
  first.reset();
  store_ = open();
  const auto log = owners_reader(own());
  EXPECT_EQ(rest(*log), (Texts{"a", "slow"}));
}

TEST_F(PostgresFailure, examining_finds_a_sound_server) {
  const auto findings = store_->examine();
  ASSERT_GE(findings.size(), 5u);
  for (const auto& finding : findings) EXPECT_NE(finding.level, Finding::Level::bad) << finding.what;
}

TEST(PostgresRestart, is_survived_with_everything_that_was_acknowledged) {
  test::PostgresServer server;
  postgres::PostgresStore store(server.new_schema(), system_clock());
  const ShardId shard{store.define("orders", 1).number, 0};
  append_and_wait(store, {{.shard = shard, .bytes = "a"}});
  const auto log = store.open_log();
  log->add(shard);
  EXPECT_EQ(log->read(10).rows.size(), 1u);
  server.kill();
  try {
    append_and_wait(store, {{.shard = shard, .bytes = "lost"}});
    FAIL() << "appended to nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
  }
  EXPECT_THROW(log->read(10), Error);
  EXPECT_THROW(store.queues(), Error);
  EXPECT_NO_THROW(store.wake()) << "a node that ends wakes the others in its destructor";
  server.start();
  append_and_wait(store, {{.shard = shard, .bytes = "b"}});
  const auto chunk = log->read(10);
  ASSERT_EQ(chunk.rows.size(), 1u);
  EXPECT_EQ(chunk.body(chunk.rows[0]), "b");
  EXPECT_EQ(store.queues().queues.size(), 1u);
}

/// pgbouncer in transaction mode before a server.
class Pooler {
 public:
  explicit Pooler(const test::PostgresServer& server) : directory_(server.directory() / "pooler") {
    test::run_as_postgres("mkdir " + directory_.string());
    const auto settings = "[databases]\n* = user=postgres host=" + server.directory().string() +
                          "\n[pgbouncer]\nlisten_addr=\nunix_socket_dir=" + directory_.string() +
                          "\nlisten_port=6432\nauth_type=any\npool_mode=transaction\ndefault_pool_size=3\n"
                          "logfile=" +
                          (directory_ / "log").string() + "\n";
    std::ofstream(directory_ / "ini") << settings;
    process_ = test::spawn_as_postgres("pgbouncer -q " + (directory_ / "ini").string());
    eventually([&] { return std::filesystem::exists(directory_ / ".s.PGSQL.6432"); });
  }
  ~Pooler() {
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  std::string url() const { return "postgres://postgres@/postgres?port=6432&host=" + directory_.string(); }

 private:
  const std::filesystem::path directory_;
  pid_t process_ = 0;
};

TEST(PostgresPooler, in_transaction_mode_everything_works_by_polling) {
  test::PostgresServer server;
  const Pooler pooler(server);
  postgres::PostgresStore store(pooler.url(), system_clock());
  postgres::PostgresStore second(pooler.url(), system_clock());
  const ShardId shard{store.define("orders", 1).number, 0};
  store.join("n1", "");
  const Claim claim{.shard = shard};
  const auto grant = store.acquire("n1", 1, std::span(&claim, 1)).at(0);
  const auto log = store.open_log();
  log->add(shard, 0, grant.lease);
  std::uint64_t batch = 0;
  for (int i = 0; i < 20; ++i) {
    auto waited = std::async(std::launch::async, [&] { log->wait(kUnlessWoken); });
    append_and_wait(second, {{.shard = shard, .bytes = std::to_string(i)}});
    ASSERT_EQ(waited.wait_for(kPatience), std::future_status::ready);
    waited.get();
    std::vector<Seq> seqs;
    eventually([&] {
      for (const auto& row : log->read(10).rows) seqs.push_back(row.seq);
      return !seqs.empty();
    });
    std::vector<Delta> deltas;
    deltas.push_back({.shard = shard, .lease = grant.lease, .batch = ++batch, .erase = seqs});
    ASSERT_EQ(commit_and_wait(store, std::move(deltas)).at(0), CommitResult::applied);
  }
  EXPECT_TRUE(read_log(second, std::span(&shard, 1)).rows.empty());
}

}  // namespace postgres_failure_test
}  // namespace ordo::store
