// A schema is made whole, and one of another version is refused.

#include <gmock/gmock.h>

#include <ordo/error.hpp>

#include "contract/postgres_fixture.h"
#include "store/open.h"
#include "store/postgres/schema.h"

namespace ordo::store {
namespace postgres_schema_test {

std::string relations(test::PostgresSession& session) {
  return session.run("SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace");
}

void expect_refused(const std::string& url, const std::string& why, const std::string& what_to_do) {
  for (const auto missing : {Missing::made, Missing::refused}) {
    try {
      store::open(url, system_clock(), missing);
      ADD_FAILURE() << "it was opened";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_THAT(error.what(), testing::HasSubstr(why));
      EXPECT_THAT(error.what(), testing::HasSubstr("nothing was changed"));
      EXPECT_THAT(error.what(), testing::HasSubstr(what_to_do));
    }
  }
}

TEST(PostgresSchema, of_a_development_version_is_refused) {
  const auto url = test::PostgresServer::shared().new_schema();
  test::PostgresSession session(url);
  session.run("CREATE TABLE ordo_meta(one boolean PRIMARY KEY DEFAULT true, version int, system bigint)");
  session.run("INSERT INTO ordo_meta(version, system) VALUES (15, 1)");
  const auto before = relations(session);
  expect_refused(url, "development version", "ordo jobs QUEUE export");
  EXPECT_EQ(relations(session), before);
  EXPECT_EQ(session.run("SELECT version FROM ordo_meta"), "15");
}

TEST(PostgresSchema, of_another_version_is_refused) {
  const auto url = test::PostgresServer::shared().new_schema();
  store::open(url, system_clock());
  test::PostgresSession session(url);
  session.run("UPDATE ordo_meta SET schema = schema + 1");
  expect_refused(url, "schema has version " + std::to_string(postgres::schema_version() + 1), "a newer one");
  session.run("UPDATE ordo_meta SET schema = schema - 1");
  EXPECT_TRUE(store::open(url, system_clock())->queues().queues.empty());
}

TEST(PostgresSchema, is_made_whole_or_not_at_all) {
  const auto url = test::PostgresServer::shared().new_schema();
  test::PostgresSession session(url);
  session.run("CREATE VIEW ordo_wakes AS SELECT 1 AS mine");  // the name of one of the tables is taken
  EXPECT_THROW(store::open(url, system_clock()), Error);
  EXPECT_EQ(relations(session), "1");
  session.run("DROP VIEW ordo_wakes");
  EXPECT_TRUE(store::open(url, system_clock())->queues().queues.empty());
}

TEST(PostgresSchema, that_is_missing_is_refused_and_not_made_by_who_only_looks) {
  const auto url = test::PostgresServer::shared().new_schema();
  test::PostgresSession session(url);
  ASSERT_EQ(relations(session), "0");
  const auto secret = url + (url.find('?') == std::string::npos ? "?" : "&") + "password=hush";
  try {
    store::open(secret, system_clock(), Missing::refused);
    ADD_FAILURE() << "it was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(error.what(), testing::StartsWith("no store at 'postgres"));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("hush")));
  }
  EXPECT_EQ(relations(session), "0");
  EXPECT_TRUE(store::open(url, system_clock())->queues().queues.empty());
  EXPECT_TRUE(store::open(url, system_clock(), Missing::refused)->queues().queues.empty());
}

}  // namespace postgres_schema_test
}  // namespace ordo::store
