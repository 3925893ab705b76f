// Databases in another encoding than UTF-8: ids and payloads are bytes to them, names of queues are text.
#include <gmock/gmock.h>

#include <functional>

#include <ordo/error.hpp>

#include "contract/postgres_fixture.h"

namespace ordo::store {
namespace postgres_encodings_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class PostgresEncoding : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Store> open() const {
    return std::make_unique<postgres::PostgresStore>(url_, system_clock());
  }

  static std::string failure_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  const std::string url_ = test::PostgresServer::shared().new_database(GetParam());
};

TEST_P(PostgresEncoding, keeps_bytes_as_they_are) {
  const std::string payload = "caf\xc3\xa9 \xe6\x97\xa5 \xff\xfe\x80";
  const auto store = open();
  const ShardId shard{store->define("orders", 2).number, 1};
  append_and_wait(*store, {{.shard = shard, .bytes = payload}});
  EXPECT_EQ(log_of(*store, shard), std::vector{payload});
  const WaitRow row{.key = payload, .bytes = payload, .listed = true};
  EXPECT_TRUE(store->put_row("orders", row, {}));
  const auto again = open();
  EXPECT_EQ(log_of(*again, shard), std::vector{payload});
  EXPECT_EQ(again->wait_row("orders", payload), payload);
}

TEST_P(PostgresEncoding, gives_names_back_or_refuses_them) {
  const auto store = open();
  const auto first = store->define("caf\xc3\xa9", 1);
  EXPECT_EQ(open()->define("caf\xc3\xa9", 1).number, first.number);
  EXPECT_NE(open()->queues().find("caf\xc3\xa9"), nullptr);
  const auto said = failure_of([&] { store->define("\xe6\x97\xa5", 1); });
  if (GetParam() == std::string("LATIN1")) {
    EXPECT_THAT(said, AllOf(HasSubstr("LATIN1"), HasSubstr("ENCODING 'UTF8'")));
  } else {
    EXPECT_EQ(said, "nothing was thrown");
  }
  const ShardId shard{first.number, 0};
  append_and_wait(*store, {{.shard = shard, .bytes = "a"}});
  EXPECT_THAT(log_of(*store, shard), ElementsAre("a"));
}

TEST_P(PostgresEncoding, takes_pushes_in_sql) {
  const auto store = open();
  store->define("orders", 1);
  test::PostgresSession session(url_);
  session.run("SET client_encoding = 'UTF8'");
  EXPECT_EQ(session.run("SELECT ordo_push('orders', '\"caf\xc3\xa9\"', id => 'caf\xc3\xa9')"), "caf\xc3\xa9");
  if (GetParam() == std::string("LATIN1")) {
    EXPECT_ANY_THROW(session.run("SELECT ordo_push('orders', '\"\xe6\x97\xa5\"')"));
  }
  session.run("SELECT ordo_push('orders', '\\xe697a5'::bytea, id => 'bytes')");
}

INSTANTIATE_TEST_SUITE_P(Encodings, PostgresEncoding, testing::Values("UTF8", "LATIN1", "SQL_ASCII"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace postgres_encodings_test
}  // namespace ordo::store
