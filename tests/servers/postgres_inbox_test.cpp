// Responses that transactions of users leave (ordo_respond), and how a node brings them to the jobs.

#include <algorithm>
#include <optional>

#include "contract/postgres_fixture.h"
#include "domain/entry.h"
#include "domain/fields.h"
#include "domain/wait_note.h"
#include "domain/wait_record.h"
#include "runtime/response_inbox.h"
#include "store/waits.h"

namespace ordo::store {
namespace postgres_inbox_test {

using namespace std::chrono_literals;

class PostgresInbox : public PostgresFixture {
 protected:
  /// A job waits for this key.
  void expect(const std::string& key, const std::string& wait = "w") {
    EXPECT_TRUE(expect_response(*store_, "orders", key, {wait, "orders", "42", "42", 1, store_->now() + 1h}));
  }
  /// One round of a node, and what it says: the rest of its lines behind what they begin with.
  Texts round(const std::string& node = "n1") {
    Texts lines;
    runtime::ResponseInbox inbox(*store_, node,
                                 [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
    inbox.serve({.name = "orders"});
    inbox.tick();
    return lines;
  }
  /// The bodies that jobs are given, in the order of their shard's log.
  Texts given() {
    Texts bodies;
    for (std::uint32_t i = 0; i < 4; ++i) {
      for (const auto& bytes : log_of(*store_, shard(i))) {
        const auto entry = *domain::decode_entry(bytes);
        if (entry.type == domain::EntryType::response)
          bodies.push_back(domain::decode_wait_note(entry.payload)->body);
      }
    }
    return bodies;
  }
  Texts left() {
    Texts bodies;
    for (const auto& row : store_->inbox("n1", 100)) bodies.push_back(row.body);
    return bodies;
  }
};

TEST_F(PostgresInbox, a_response_is_a_part_of_its_transaction) {
  own();
  expect("bank");
  auto psql = session();
  psql.run("BEGIN");
  EXPECT_EQ(psql.run("SELECT ordo_respond('orders', 'bank', 'never')").size(), 26u);
  EXPECT_EQ(round(), Texts{});
  psql.run("ROLLBACK");
  EXPECT_EQ(round(), Texts{});
  psql.run("BEGIN");
  EXPECT_EQ(psql.run("SELECT ordo_respond('orders', 'bank', '\\x00ff'::bytea, 'm')"), "m");
  psql.run("COMMIT");
  EXPECT_EQ(round(), Texts{"responses that transactions have left: 1 accepted"});
  EXPECT_EQ(given(), (Texts{std::string("\0\xff", 2)}));
  EXPECT_EQ(psql.run("SELECT count(*) FROM ordo_response"), "0");
  EXPECT_EQ(round(), Texts{});
}

TEST_F(PostgresInbox, they_are_given_in_their_order_and_one_of_a_key_wins) {
  own();
  for (const std::string key : {"a", "b", "c"}) expect(key, key);
  auto psql = session();
  psql.run(
      "SELECT ordo_respond('orders', key, key || n) FROM generate_series(1, 2) n, unnest('{a,b,c}'::text[]) "
      "key"
      " ORDER BY n, key");
  psql.run("SELECT ordo_respond('orders', 'early', 'kept')");
  const std::string late = "of queue 'orders' that a transaction has left is late, and dropped";
  EXPECT_EQ(round(), (Texts{"the response to 'a' " + late, "the response to 'b' " + late,
                            "the response to 'c' " + late,
                            "responses that transactions have left: 3 accepted, 1 buffered, 3 late"}));
  EXPECT_EQ(given(), (Texts{"a1", "b1", "c1"}));
  expect("early", "e");
  EXPECT_EQ(given(), (Texts{"a1", "b1", "c1", "kept"}));
}

// The node was killed between the two steps: the next one finds the response again.
TEST_F(PostgresInbox, one_that_was_given_and_not_taken_out_is_given_once) {
  own();
  expect("bank");
  session().run("SELECT ordo_respond('orders', 'bank', 'yes')");
  const auto row = store_->inbox("n1", 100).at(0);
  EXPECT_EQ(respond(*store_, row.queue, row.key, {row.message_id, row.body}, 1h), Responded::accepted);
  EXPECT_EQ(left(), Texts{"yes"});
  EXPECT_EQ(round(), Texts{"responses that transactions have left: 1 duplicate"});
  EXPECT_EQ(left(), Texts{});
  EXPECT_EQ(given(), Texts{"yes"});
  // The same message from its source, again.
  auto psql = session();
  psql.run("SELECT ordo_respond('orders', 'bank', 'yes', '" + row.message_id + "')");
  EXPECT_EQ(round(), Texts{"responses that transactions have left: 1 duplicate"});
}

TEST_F(PostgresInbox, who_owns_the_first_shard_of_a_queue_gives_its_responses) {
  session().run("SELECT ordo_respond('orders', 'bank', 'yes')");
  EXPECT_EQ(left(), Texts{}) << "nobody owns it";
  own(1);
  EXPECT_EQ(left(), Texts{});
  own(0, "n2");
  EXPECT_EQ(left(), Texts{});
  EXPECT_EQ(round("n2"), Texts{"responses that transactions have left: 1 buffered"});
}

TEST_F(PostgresInbox, while_a_queue_is_resharded_they_wait) {
  own();
  expect("bank");
  session().run("SELECT ordo_respond('orders', 'bank', 'yes')");
  session().run("UPDATE ordo_queue SET closed = true");
  EXPECT_EQ(round(), Texts{});
  session().run("UPDATE ordo_queue SET closed = false");
  EXPECT_EQ(left(), Texts{"yes"});
  EXPECT_EQ(round(), Texts{"responses that transactions have left: 1 accepted"});
}

TEST_F(PostgresInbox, responses_for_one_queue_do_not_hold_up_those_for_another) {
  own();
  const ShardId mails{store_->define("mails", 1).number, 0};
  const Claim claim{.shard = mails};
  store_->acquire("n1", 1, std::span(&claim, 1));
  auto psql = session();
  psql.run("SELECT ordo_respond('orders', 'k' || n, 'orders') FROM generate_series(1, 150) n");
  psql.run("SELECT ordo_respond('mails', 'k' || n, 'mails') FROM generate_series(1, 2) n");
  const auto rows = store_->inbox("n1", 100);
  ASSERT_EQ(rows.size(), 100u);
  EXPECT_EQ(std::ranges::count(rows, "mails", &InboxRow::queue), 2);
  const auto is_behind = [](const InboxRow& a, const InboxRow& b) {
    return a.queue == b.queue && a.number > b.number;
  };
  EXPECT_EQ(std::ranges::adjacent_find(rows, is_behind), rows.end());
  EXPECT_EQ(rows.back().key, "k98");
}

TEST_F(PostgresInbox, a_wait_that_a_newer_version_wrote_holds_up_no_other) {
  own();
  expect("old");
  domain::WaitRecord record;
  record.fields =
      domain::number_field(domain::kNeeds, static_cast<std::uint16_t>(domain::format_level() + 1));
  ASSERT_TRUE(store_->put_row("orders", {.key = "new", .bytes = domain::encode(record)}, std::nullopt));
  auto psql = session();
  psql.run("SELECT ordo_respond('orders', 'new', 'later')");
  psql.run("SELECT ordo_respond('orders', 'old', 'now')");
  const auto lines = round();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].find("the response to 'new' of queue 'orders' that a transaction has left waits for a"),
            0u)
      << lines[0];
  EXPECT_EQ(lines[1], "responses that transactions have left: 1 accepted");
  EXPECT_EQ(given(), Texts{"now"});
  EXPECT_EQ(left(), Texts{"later"});
}

TEST_F(PostgresInbox, a_reshard_keeps_them_and_a_removal_does_not) {
  auto psql = session();
  psql.run("SELECT ordo_respond('orders', 'k', 'yes')");
  const auto next = store_->define("orders!", 2).number;
  EXPECT_TRUE(store_->close("orders"));
  EXPECT_TRUE(store_->replace("orders", next));
  queue_ = next;
  own();
  EXPECT_EQ(left(), Texts{"yes"});
  // A transaction that ended behind the removal of its queue left this.
  psql.run("INSERT INTO ordo_response(queue, key, message_id, body) VALUES ('gone', 'k', 'm', 'b')");
  EXPECT_EQ(left(), Texts{"yes"});
  EXPECT_EQ(psql.run("SELECT count(*) FROM ordo_response"), "2") << "a look takes nothing away";
  EXPECT_TRUE(store_->remove("orders"));
  EXPECT_EQ(psql.run("SELECT count(*) FROM ordo_response"), "0");
}

// A look goes through the index, queue by queue, however many rows there are for others.
TEST_F(PostgresInbox, a_look_costs_what_it_finds) {
  own();
  auto psql = session();
  psql.run(
      "INSERT INTO ordo_response(queue, key, message_id, body)"
      " SELECT 'gone', 'k', 'm', 'b' FROM generate_series(1, 20000)");
  psql.run("SELECT ordo_respond('orders', 'k', 'yes')");
  psql.run("ANALYZE ordo_response");
  const auto reads = [&] {
    return std::stoll(
        psql.run("SELECT pg_stat_get_xact_tuples_returned(c.oid) + coalesce(sum("
                 "pg_stat_get_xact_tuples_returned(i.indexrelid)), 0) FROM pg_class c"
                 " JOIN pg_index i ON i.indrelid = c.oid"
                 " WHERE c.oid = 'ordo_response'::regclass GROUP BY c.oid"));
  };
  psql.run("BEGIN");
  const auto before = reads();
  EXPECT_EQ(psql.run("SELECT count(*) FROM ordo_inbox('n1', 100)"), "1");
  EXPECT_LT(reads() - before, 100);
  psql.run("COMMIT");
}

TEST_F(PostgresInbox, what_can_never_be_given_is_refused_or_dropped) {
  own();
  auto psql = session();
  const auto refused = [&](const std::string& arguments) {
    EXPECT_THROW(psql.run("SELECT ordo_respond(" + arguments + ")"), std::runtime_error) << arguments;
  };
  refused("'nowhere', 'k', ''");
  refused("'orders', '', ''");
  refused("'orders', repeat('x', 256), ''");
  refused("'orders', 'k', '', repeat('x', 256)");
  refused("'orders', 'k', repeat('x', 1048577)");
  refused("'orders', 'k', NULL::text");
  EXPECT_EQ(left(), Texts{});
  psql.run("SELECT ordo_respond('orders', 'k', 'of a queue that goes')");
  EXPECT_TRUE(store_->remove("orders"));
  EXPECT_EQ(left(), Texts{});
  EXPECT_EQ(psql.run("SELECT count(*) FROM ordo_response"), "0");
}

TEST_F(PostgresInbox, it_takes_a_right_of_its_own) {
  auto& server = test::PostgresServer::shared();
  server.run("DROP ROLE IF EXISTS answers");
  server.run("CREATE ROLE answers LOGIN");
  server.run("GRANT USAGE ON SCHEMA " + session().run("SELECT current_schema()") + " TO answers");
  auto url = url_;
  Session role(url.replace(url.find("postgres@"), 8, "answers"));
  EXPECT_THROW(role.run("SELECT ordo_respond('orders', 'k', 'x')"), std::runtime_error);
  session().run("GRANT EXECUTE ON FUNCTION ordo_respond(text, text, text, text) TO answers");
  EXPECT_EQ(role.run("SELECT ordo_respond('orders', 'k', 'x', 'm')"), "m");
  EXPECT_THROW(role.run("SELECT * FROM ordo_response"), std::runtime_error);
  session().run("DROP OWNED BY answers");
  session().run("DROP ROLE answers");
}

}  // namespace postgres_inbox_test
}  // namespace ordo::store
