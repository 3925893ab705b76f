// Schemas that older versions of Ordo made are brought up to date, with all that stands in them.

#include <gmock/gmock.h>

#include <ordo/error.hpp>

#include "contract/postgres_fixture.h"
#include "store/open.h"

namespace ordo::store {
namespace postgres_schema_test {

class PostgresSchema : public testing::TestWithParam<std::size_t> {};

TEST_P(PostgresSchema, of_an_older_version_keeps_its_jobs_and_goes_on) {
  const auto url = schema_of_version(GetParam());
  test::PostgresSession old(url);
  old.run("SELECT ordo_define('orders', 2)");
  for (const auto* const body : {"a", "b"})
    old.run("SELECT ordo_put('orders', 0, '" + std::string(body) + "')");
  old.run("SELECT ordo_join('n1', 'facts', 100)");
  old.run(
      "SELECT ordo_acquire('n1', 7, 50, ARRAY[65536::bigint], ARRAY[''], ARRAY[0::bigint], "
      "ARRAY[0::bigint])");
  const std::string none = "'{}', '{}', '{}', ";
  old.run(
      "SELECT ordo_commit(ARRAY[65536::bigint], ARRAY[50::bigint], ARRAY[7::bigint], ARRAY[1::bigint], "
      "ARRAY[3::bigint],"
      " ARRAY['counts'::bytea], ARRAY[(SELECT max(seq) FROM ordo_entry)], ARRAY['{}'], ARRAY[65536::bigint],"
      " ARRAY[(SELECT min(seq) FROM ordo_entry)], ARRAY[(SELECT min(seq) FROM ordo_entry)], " +
      none + "'{}', '{}', ARRAY[65536::bigint], ARRAY[5::bigint], ARRAY['died'::bytea], '{}', '{}', '{}')");

  postgres::PostgresStore store(url, system_clock());
  const ShardId shard{1, 0};
  EXPECT_EQ(log_of(store, shard), std::vector<std::string>{"b"});
  const auto row = store.shards().at(0);
  EXPECT_EQ(row.owner, "n1");
  EXPECT_EQ(row.token, 50u);
  EXPECT_EQ(row.batch, 1u);
  EXPECT_EQ(row.position, 3u);
  EXPECT_EQ(row.counts, "counts");
  EXPECT_EQ(row.dead, 1u);
  EXPECT_EQ(store.nodes(), (std::vector<NodeRow>{{.id = "n1", .renewals = 100, .facts = "facts"}}));
  EXPECT_TRUE(store.renew("n1", std::chrono::seconds{5}));
  EXPECT_EQ(store.load(std::span(&shard, 1)).at(0).counts, "counts");
  std::vector<Delta> deltas;
  deltas.push_back({.shard = shard, .lease = {.token = 50, .holder = 7}, .batch = 2, .counts = "more"});
  EXPECT_EQ(commit_and_wait(store, std::move(deltas)).at(0), CommitResult::applied);
  EXPECT_EQ(store.shards().at(0).counts, "more");
  EXPECT_EQ(store.shards().at(1).batch, 0u);
  EXPECT_TRUE(store.close("orders"));
  EXPECT_THROW(append_and_wait(store, {{.shard = shard, .bytes = "late"}}), Error);
}

TEST(PostgresSchemaMissing, is_refused_and_not_made_by_who_only_looks) {
  const auto url = test::PostgresServer::shared().new_schema();
  test::PostgresSession session(url);
  const auto relations = [&] {
    return session.run("SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace");
  };
  ASSERT_EQ(relations(), "0");
  const auto secret = url + (url.find('?') == std::string::npos ? "?" : "&") + "password=hush";
  try {
    store::open(secret, system_clock(), Missing::refused);
    ADD_FAILURE() << "it was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(error.what(), testing::StartsWith("no store at 'postgres"));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("hush")));
  }
  EXPECT_EQ(relations(), "0");
  EXPECT_TRUE(store::open(url, system_clock())->queues().queues.empty());
  EXPECT_TRUE(store::open(url, system_clock(), Missing::refused)->queues().queues.empty());
}

INSTANTIATE_TEST_SUITE_P(Versions, PostgresSchema, testing::Values(1, 2, 3, 4));

}  // namespace postgres_schema_test
}  // namespace ordo::store
