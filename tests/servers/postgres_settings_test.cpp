// Roles, databases and poolers that set what Ordo relies on otherwise, and answers that mean "once more".

#include <functional>
#include <stdexcept>

#include "contract/postgres_fixture.h"

namespace ordo::store {
namespace postgres_settings_test {

using namespace std::chrono_literals;

const char* const kTables[] = {"ordo_entry", "ordo_state", "ordo_dead", "ordo_queue",
                               "ordo_shard", "ordo_head",  "ordo_wait", "ordo_response"};

class PostgresSettings : public PostgresFixture {
 protected:
  /// `body` runs with each row that Ordo writes to these tables; deferred: as its transaction commits.
  void watch(const std::string& body, bool is_deferred) {
    auto psql = session();
    psql.run("CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body +
             " RETURN NEW; END $$");
    for (const std::string table : kTables) {
      psql.run(std::string("CREATE ") + (is_deferred ? "CONSTRAINT " : "") + "TRIGGER watch_" + table +
               " AFTER INSERT OR UPDATE ON " + table + (is_deferred ? " DEFERRABLE INITIALLY DEFERRED" : "") +
               " FOR EACH ROW EXECUTE FUNCTION watch()");
    }
  }

  /// Each verb that writes; `before` runs before each.
  void write_everything(const std::function<void()>& before = [] {}) {
    before();
    store_->define("letters", 1);
    before();
    store_->set_paused("orders", true);
    before();
    const auto grant = own();
    before();
    append("a");
    const auto log = owners_reader(grant);
    before();
    EXPECT_EQ(rest(*log), Texts{"a"});
    std::vector<Delta> deltas;
    deltas.push_back({.shard = grant.shard, .lease = grant.lease, .batch = 1, .erase = seqs_});
    deltas.back().dead.push_back({.no = 0, .at = {}, .bytes = "d"});
    before();
    EXPECT_EQ(commit_and_wait(*store_, std::move(deltas)).at(0), CommitResult::applied);
    before();
    EXPECT_TRUE(store_->put_row("orders", {.key = "k", .bytes = "w"}, std::nullopt));
    before();
    const Release end{.shard = grant.shard, .lease = grant.lease};
    store_->release(std::span(&end, 1));
  }
};

TEST_F(PostgresSettings, what_is_acknowledged_is_durable_whatever_a_role_says) {
  auto& server = test::PostgresServer::shared();
  server.run("DROP ROLE IF EXISTS hasty");
  server.run("CREATE ROLE hasty LOGIN SUPERUSER");
  server.run("ALTER ROLE hasty SET synchronous_commit = off");
  watch(
      "IF current_setting('synchronous_commit') = 'off' THEN"
      " RAISE EXCEPTION 'a row of % may be lost', TG_TABLE_NAME; END IF;",
      true);
  auto url = url_;
  url.replace(url.find("postgres@"), 8, "hasty");
  {
    test::PostgresSession psql(url);
    EXPECT_EQ(psql.run("SHOW synchronous_commit"), "off");
    EXPECT_THROW(psql.run("UPDATE ordo_queue SET paused = false"), std::runtime_error) << "the test sees it";
  }
  store_ = std::make_unique<postgres::PostgresStore>(url, system_clock());
  // Between two calls it loses all its sessions, as a server does that ends idle ones.
  write_everything([&] {
    session().run("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'hasty'");
  });
}

// As a deadlock, or a serialization failure of a role that insists on it.
TEST_F(PostgresSettings, a_verb_that_is_told_to_try_again_does) {
  session().run("CREATE SEQUENCE tries");
  watch("IF nextval('tries') = 1 THEN RAISE EXCEPTION 'once more' USING ERRCODE = '40001'; END IF;", false);
  int before = 0;
  write_everything([&] {
    if (session().run("SELECT last_value > 1 FROM tries") == "t") ++before;
    session().run("ALTER SEQUENCE tries RESTART");
  });
  EXPECT_GE(before, 6) << "how often a verb wrote after it had failed";
}

}  // namespace postgres_settings_test
}  // namespace ordo::store
