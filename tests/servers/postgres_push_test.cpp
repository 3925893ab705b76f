// ordo_push: any language pushes inside its own transaction.

#include <algorithm>

#include <ordo/error.hpp>
#include <ordo/postgres.hpp>

#include "base/json.h"
#include "contract/postgres_fixture.h"
#include "domain/entry.h"

namespace ordo::store {
namespace postgres_push_test {

class PostgresPush : public PostgresFixture {
 protected:
  struct Pushed {
    ShardId shard;
    std::string bytes;
  };

  /// One who may look into the schema and no more; gone with the test.
  Session stranger() {
    auto& server = test::PostgresServer::shared();
    server.run("DROP ROLE IF EXISTS shop");
    server.run("CREATE ROLE shop LOGIN");
    server.run("GRANT USAGE ON SCHEMA " + session().run("SELECT current_schema()") + " TO shop");
    auto url = url_;
    return Session(url.replace(url.find("postgres@"), 8, "shop"));
  }
  void forget_stranger() {
    session().run("DROP OWNED BY shop");
    session().run("DROP ROLE shop");
  }

  /// As a client would have written them.
  std::vector<Pushed> pushed() {
    std::vector<ShardId> shards;
    for (std::uint32_t i = 0; i < 4; ++i) shards.push_back(shard(i));
    const auto chunk = read_log(*store_, shards);
    std::vector<Pushed> all;
    for (const auto& row : chunk.rows)
      all.push_back({row.shard, domain::encode(*domain::decode_entry(chunk.body(row)))});
    return all;
  }
};

TEST_F(PostgresPush, writes_what_a_client_would) {
  auto psql = session();
  EXPECT_EQ(psql.run("SELECT ordo_push('orders', '{\"total\":7}', id => '42')"), "42");
  psql.run(
      "SELECT ordo_push('orders', '\\x00ff'::bytea, id => 'заказ', key => 'k', kind => 'mail', score => -1.5,"
      " run_at => '2030-01-02 03:04:05.678901+00', priority => -3, timeout => '1.5 s')");
  const auto all = pushed();
  ASSERT_EQ(all.size(), 2u);
  const domain::Entry plain{.kind = "orders", .key = "42", .id = "42", .payload = "{\"total\":7}"};
  const domain::Entry full{.kind = "mail",
                           .key = "k",
                           .id = "заказ",
                           .score = -1.5,
                           .run_at = Time{Duration{1'893'553'445'678'901}},
                           .options = {.priority = -3, .timeout = Duration{1'500'000}},
                           .payload = std::string_view("\0\xff", 2)};
  for (const auto& entry : {plain, full}) {
    const auto want = domain::encode(entry);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.bytes == want; });
    ASSERT_NE(found, all.end()) << entry.id;
    EXPECT_EQ(found->shard.index, domain::shard_of(entry.key, 4));
  }
}

TEST_F(PostgresPush, equal_json_is_equal_bytes_whoever_writes_it) {
  auto psql = session();
  const std::vector<std::pair<std::string, std::string>> payloads = {
      {R"(' {"a" : [1, "x  \" y"]} ')", R"( {"a" : [1, "x  \" y"]} )"},
      {R"('{"a": 1.0}'::json)", R"({"a": 1.0})"},
      {R"('{"a": [1, 2]}'::jsonb)", R"({"a":[1,2]})"},
      {R"('""')", R"("")"},
      {R"('{"$base64": "AP8K"}')", R"({"$base64":"AP8K"})"}};
  std::vector<std::string> want;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const auto id = std::to_string(i);
    EXPECT_EQ(psql.run("SELECT ordo_push('orders', " + payloads[i].first + ", id => " + id + ")"), id);
    const auto bytes = payload_from_json(payloads[i].second);
    want.push_back(domain::encode(domain::Entry{.kind = "orders", .key = id, .id = id, .payload = bytes}));
  }
  EXPECT_EQ(psql.run("SELECT ordo_push('orders', ' no json', id => 'a', key => 7)"), "a");
  want.push_back(
      domain::encode(domain::Entry{.kind = "orders", .key = "7", .id = "a", .payload = " no json"}));
  EXPECT_EQ(psql.run("SELECT ordo_push('orders', '\\x2020'::bytea, id => 42, key => 7::smallint)"), "42");
  want.push_back(domain::encode(domain::Entry{.kind = "orders", .key = "7", .id = "42", .payload = "  "}));
  std::vector<std::string> got;
  for (auto& entry : pushed()) got.push_back(entry.bytes);
  std::ranges::sort(got);
  std::ranges::sort(want);
  EXPECT_EQ(got, want);
}

TEST_F(PostgresPush, finds_the_shard_of_every_key) {
  auto psql = session();
  for (const std::string key :
       {"0", "1", "2", "3", "42", "order-42", "заказ", "\x7f", "a longer key, with spaces"}) {
    EXPECT_EQ(psql.run("SELECT ordo_crc32(convert_to('" + key + "', 'UTF8')) % 24"),
              std::to_string(domain::shard_of(key, 24)));
  }
  EXPECT_EQ(psql.run("SELECT ordo_crc32('')"), "0");
}

TEST_F(PostgresPush, is_a_part_of_its_transaction) {
  auto psql = session();
  psql.run("BEGIN");
  psql.run("SELECT ordo_push('orders', 'a')");
  EXPECT_TRUE(pushed().empty()) << "not committed yet";
  psql.run("ROLLBACK");
  EXPECT_TRUE(pushed().empty());
  psql.run("BEGIN");
  psql.run("SELECT ordo_push('orders', 'b', id => '1')");
  psql.run("SAVEPOINT here");
  psql.run("SELECT ordo_push('orders', 'c', id => '1')");
  psql.run("ROLLBACK TO here");
  psql.run("SELECT ordo_push('orders', 'd', id => '1')");
  psql.run("COMMIT");
  const auto all = pushed();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(domain::decode_entry(all[0].bytes)->payload, "b");
  EXPECT_EQ(domain::decode_entry(all[1].bytes)->payload, "d");
}

TEST_F(PostgresPush, many_of_one_statement_keep_their_order) {
  auto psql = session();
  psql.run("SELECT ordo_push('orders', i::text, id => 'x') FROM generate_series(1, 500) i");
  const auto all = pushed();
  ASSERT_EQ(all.size(), 500u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(domain::decode_entry(all[i].bytes)->payload, std::to_string(i + 1));
  }
}

TEST_F(PostgresPush, makes_ids_that_differ) {
  auto psql = session();
  EXPECT_EQ(psql.run("SELECT count(DISTINCT ordo_push('orders')) FROM generate_series(1, 200)"), "200");
  const auto id = psql.run("SELECT ordo_push('orders')");
  EXPECT_EQ(id.size(), 26u);
  EXPECT_EQ(id.find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ"), std::string::npos);
}

TEST_F(PostgresPush, refuses_what_a_client_would) {
  auto psql = session();
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    try {
      psql.run("SELECT ordo_push(" + arguments + ")");
      ADD_FAILURE() << arguments;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused("'nowhere', ''", "there is no queue \"nowhere\"");
  refused("NULL, ''", "are needed");
  refused("'orders', '', id => repeat('x', 256)", "the id has 256 bytes");
  refused("'orders', '', key => repeat('x', 256)", "the key has 256 bytes");
  refused("'orders', repeat('x', 1048577)", "the payload has 1048577 bytes");
  refused("'orders', '', score => 'NaN'", "not a finite number");
  refused("'orders', '', run_at => now(), delay => '1 s'", "not both");
  refused("'orders', '', run_at => 'infinity'", "not a finite time");
  refused("'orders', '', timeout => '0 s'", "not positive");
  refused("'orders', '', timeout => '-1 year 361 days'", "not positive");
  EXPECT_TRUE(pushed().empty());
}

TEST_F(PostgresPush, needs_no_right_but_that) {
  auto shop = stranger();
  EXPECT_THROW(shop.run("SELECT ordo_push('orders', 'x')"), std::runtime_error) << "it is not everybody's";
  for (const std::string type : {"text", "bytea"}) {
    session().run("GRANT EXECUTE ON FUNCTION ordo_push(text, " + type +
                  ", text, text, text, float8, timestamptz, interval, int, interval, jsonb) TO shop");
  }
  // What stands in its own schema is not found instead.
  shop.run("CREATE TEMP TABLE ordo_entry(shard bigint, seq bigint, at bigint, body bytea)");
  shop.run(
      "CREATE TEMP TABLE ordo_queue(number bigint, name text, shards int, paused boolean, closed boolean)");
  shop.run("BEGIN");
  EXPECT_EQ(shop.run("SELECT ordo_push('orders', 'x', id => '1')"), "1");
  EXPECT_EQ(shop.run("SELECT ordo_push('orders', '\\x00'::bytea, id => '2',"
                     " options => '{\"lock\": \"l\", \"unique\": {\"key\": \"7\"}}')"),
            "2");
  shop.run("COMMIT");
  EXPECT_EQ(pushed().size(), 2u);
  EXPECT_THROW(shop.run("SELECT ordo_put('orders', 0, 'x')"), std::runtime_error);
  EXPECT_THROW(shop.run("SELECT * FROM ordo_state"), std::runtime_error);
  // Numbers of other transactions cannot be had.
  shop.run("BEGIN");
  shop.run("SELECT ordo_push('orders', 'x', id => '3')");
  shop.run(
      "SELECT set_config('ordo.count', split_part(current_setting('ordo.count'), ':', 1) || ':-5:0', true)");
  shop.run("SELECT ordo_push('orders', 'x', id => '4', key => 'another')");
  EXPECT_EQ(shop.run("SELECT current_setting('ordo.count') LIKE '%:1:%'"), "t");
  shop.run("ROLLBACK");
  forget_stranger();
}

TEST_F(PostgresPush, of_a_transaction_have_a_size) {
  auto psql = session();
  const std::string push =
      "SELECT count(ordo_push('orders', repeat('x', 1000000), id => i::text)) FROM generate_series(1, ";
  psql.run("BEGIN");
  psql.run(push + "250) AS i");
  EXPECT_THROW(psql.run(push + "30) AS i"), std::runtime_error);
  psql.run("ROLLBACK");
  psql.run("SELECT ordo_push('orders', 'x')");
  EXPECT_EQ(pushed().size(), 1u);
}

TEST_F(PostgresPush, to_a_queue_that_goes_meanwhile_leaves_nothing_to_read) {
  auto psql = session();
  psql.run("BEGIN");
  psql.run("SELECT ordo_push('orders', 'orphan')");
  EXPECT_TRUE(store_->remove("orders")) << "waits for nobody";
  psql.run("COMMIT");
  EXPECT_TRUE(pushed().empty());
  EXPECT_EQ(psql.run("SELECT count(*) FROM ordo_entry"), "1");
  EXPECT_FALSE(store_->remove("orders"));
  EXPECT_EQ(psql.run("SELECT count(*) FROM ordo_entry"), "0") << "swept";
}

TEST_F(PostgresPush, a_queue_that_sql_defines_has_a_name_that_every_client_takes) {
  auto sql = session();
  const std::string longest(64, 'x');
  for (const auto& name : {std::string("mails"), std::string("a-b_0"), longest})
    EXPECT_EQ(sql.run("SELECT shards FROM ordo_define('" + name + "', 3)"), "3");
  const auto before = store_->queues().queues.size();
  for (const auto& name : {std::string(), std::string("Mails"), std::string("a b"), std::string("a\nb"),
                           std::string("a\n"), std::string("orders>"), std::string("é"), longest + "x"}) {
    EXPECT_THROW(sql.run("SELECT ordo_define('" + name + "', 3)"), std::exception) << name;
  }
  EXPECT_THROW(sql.run("SELECT ordo_define(NULL, 3)"), std::exception);
  EXPECT_EQ(store_->queues().queues.size(), before);
}

TEST_F(PostgresPush, in_a_callers_transaction_of_libpq) {
  auto own = session();
  own.run("BEGIN");
  ordo::postgres::push(own.handle(), "orders", {.id = "1", .payload = "gone"});
  own.run("ROLLBACK");
  own.run("BEGIN");
  const Time run_at{Duration{1'893'553'445'678'901}};
  EXPECT_EQ(ordo::postgres::push(own.handle(), "orders",
                                 {.id = "42",
                                  .payload = std::string("\0\xff", 2),
                                  .key = "k",
                                  .kind = "mail",
                                  .score = 0.1,
                                  .run_at = run_at,
                                  .priority = 7,
                                  .timeout = Duration{1}}),
            "42");
  EXPECT_EQ(ordo::postgres::push(own.handle(), "orders", {}).size(), 26u);
  own.run("COMMIT");
  const domain::Entry want{.kind = "mail",
                           .key = "k",
                           .id = "42",
                           .score = 0.1,
                           .run_at = run_at,
                           .options = {.priority = 7, .timeout = Duration{1}},
                           .payload = std::string_view("\0\xff", 2)};
  const auto all = pushed();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].bytes == domain::encode(want) || all[1].bytes == domain::encode(want));
  try {
    ordo::postgres::push(own.handle(), "nowhere", {});
    FAIL() << "pushed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  }
}

}  // namespace postgres_push_test
}  // namespace ordo::store
