#include "store/redis/location.h"

#include <gtest/gtest.h>

#include <ordo/error.hpp>

namespace ordo::store::redis {
namespace location_test {

TEST(RedisLocation, of_a_host) {
  const auto plain = parse_location("redis://db");
  EXPECT_EQ(plain.host, "db");
  EXPECT_EQ(plain.port, 6379);
  EXPECT_EQ(plain.database, 0u);
  EXPECT_FALSE(plain.tls);
  const auto full = parse_location("rediss://us%3Aer:p%40:%2Fss@db.example:7000/5?wait=2&ca=/etc/a%20b.pem");
  EXPECT_EQ(full.name(), "rediss://db.example:7000/5");
  EXPECT_EQ(full.user, "us:er");
  EXPECT_EQ(full.password, "p@:/ss");
  EXPECT_EQ(full.replicas, 2u);
  EXPECT_EQ(full.ca_file, "/etc/a b.pem");
  EXPECT_TRUE(full.tls);
  const auto v6 = parse_location("redis://:word@[::1]:7000/");
  EXPECT_EQ(v6.host, "::1");
  EXPECT_EQ(v6.password, "word");
  EXPECT_EQ(v6.name(), "redis://[::1]:7000");
}

TEST(RedisLocation, of_a_cluster) {
  const auto some = parse_location("rediss://u:p@a:7001,[::1],c.example:7003?wait=1");
  EXPECT_EQ(some.address(), (Address{"a", 7001}));
  EXPECT_EQ(some.others, (std::vector<Address>{{"::1", 6379}, {"c.example", 7003}}));
  EXPECT_EQ(some.replicas, 1u);
  const auto second = some.at(some.others[1]);
  EXPECT_EQ(second.name(), "rediss://c.example:7003");
  EXPECT_EQ(second.password, "p");
}

TEST(RedisLocation, of_sentinels) {
  const auto some =
      parse_location("redis+sentinel://u:p@a,[::1]:7001,c/my%20jobs/3?wait=1&sentinel_password=q%26");
  EXPECT_EQ(some.sentinels, (std::vector<Address>{{"a", 26379}, {"::1", 7001}, {"c", 26379}}));
  EXPECT_EQ(some.master, "my jobs");
  EXPECT_EQ(some.database, 3u);
  EXPECT_EQ(some.password, "p");
  EXPECT_EQ(some.sentinel_password, "q&");
  EXPECT_TRUE(some.others.empty());
  EXPECT_EQ(some.name(), "redis+sentinel://a:26379,[::1]:7001,c:26379/my jobs/3");
  const auto tls = parse_location("rediss+sentinel://a/jobs");
  EXPECT_TRUE(tls.tls);
  EXPECT_EQ(tls.at({"b", 6379}).name(), "rediss://b:6379");
}

TEST(RedisLocation, of_a_unix_socket) {
  const auto plain = parse_location("redis+unix:///run/redis.sock?db=2");
  EXPECT_EQ(plain.socket, "/run/redis.sock");
  EXPECT_EQ(plain.database, 2u);
  EXPECT_EQ(plain.name(), "redis+unix:///run/redis.sock?db=2");
  EXPECT_EQ(parse_location("redis+unix://ordo:word@/run/x").user, "ordo");
}

TEST(RedisLocation, that_is_wrong_is_refused_without_showing_the_password) {
  for (const auto* url : {"redis:",
                          "redis:/",
                          "redis://",
                          "redis://:secret@",
                          "redis://secret@db",
                          "redis://:secret@db:x",
                          "redis://:secret@db:70000",
                          "redis://:secret@db/x",
                          "redis://:secret@db?x=1",
                          "redis://:secret@db?wait",
                          "redis://:secret%4@db",
                          "redis://[::1",
                          "redis+unix://:secret@run/x",
                          "redish://:secret@db",
                          "redis://user:@db",
                          "redis://:secret@[::1]7000",
                          "redis://:secret@a,",
                          "redis://:secret@,a",
                          "redis://:secret@a,b:x",
                          "redis://u:secret",
                          "redis://u:se/secret@db",
                          "redis://u:1/secret@db",
                          "redis://u:1?secret@db",
                          "redis://u:1?secret=1@db"}) {
    try {
      parse_location(url);
      ADD_FAILURE() << url;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
  }
}

}  // namespace location_test
}  // namespace ordo::store::redis
