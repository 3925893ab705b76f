// A store of another version is refused, and left as it is.
#include "store/redis/keys.h"
#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_schema_test {

class RedisSchema : public RedisStoreTest {
 protected:
  void TearDown() override { server().empty(); }  // others open a store before they empty it

  static Reply run(const Texts& words) { return server().run(words); }
  static std::string schema() { return run({"HGET", std::string(kRegistryKey), "schema"}).text; }

  void expect_refused(const Texts& why) {
    const auto before = run({"DBSIZE"}).integer;
    const auto failure = failure_of([] { const RedisStore store(server().location()); });
    for (const auto& part : why) EXPECT_THAT(failure, HasSubstr(part));
    EXPECT_THAT(failure, HasSubstr("nothing was changed"));
    EXPECT_EQ(run({"DBSIZE"}).integer, before);
  }
};

TEST_F(RedisSchema, of_a_development_version_is_refused) {
  run({"HSET", "ordo:{ordo}:queues", "orders", "1:5:0"});
  run({"HSET", "ordo:{ordo}:counters", "queue", "1", "version", "1"});
  expect_refused({"development version", "ordo jobs QUEUE export"});
}

TEST_F(RedisSchema, is_named_by_the_first_that_writes) {
  {
    RedisStore store(server().location());
    EXPECT_EQ(schema(), "") << "who only looks makes nothing";
    store.define("orders", 1);
  }
  EXPECT_EQ(schema(), std::to_string(kSchema));
  run({"HDEL", std::string(kRegistryKey), "schema"});
  RedisStore(server().location()).join("n1", "facts");
  EXPECT_EQ(schema(), std::to_string(kSchema));
}

TEST_F(RedisSchema, of_another_version_is_refused) {
  RedisStore(server().location()).define("orders", 1);
  run({"HSET", std::string(kRegistryKey), "schema", std::to_string(kSchema + 1)});
  expect_refused({"schema has version " + std::to_string(kSchema + 1), "a newer one"});
}

}  // namespace redis_schema_test
}  // namespace ordo::store::redis
