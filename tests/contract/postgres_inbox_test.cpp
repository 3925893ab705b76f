// Responses that transactions of users leave (ordo_respond), and how a node brings them to the jobs.

#include <algorithm>
#include <optional>

#include "contract/postgres_fixture.h"
#include "domain/entry.h"
#include "domain/wait_note.h"
#include "runtime/response_inbox.h"
#include "store/waits.h"

namespace ordo::store {
namespace {

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

}  // namespace
}  // namespace ordo::store
