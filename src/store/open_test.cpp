#include "store/open.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "store/raw_bench.h"

namespace ordo::store {
namespace open_test {

// Every way to write an address that this build refuses, and passwords where they stand in it.
TEST(Open, no_error_shows_a_password) {
  for (const std::string url : {"host=h user=u password=secret dbname=d",
                                "host=h password='se cret' dbname=d",
                                "password=se\\ cret host=h",
                                "password = 'a://secret' host=h",
                                "host=h password=a secret=b",
                                "db?password=secret",
                                "db?sslmode=on&p%61ssword=s%65cret",
                                "postgres:u:secret@h/d",
                                "postgresql:/u:secret@h/d",
                                "postgre://u:secret@h/d",
                                "Postgres://u:se/cret@h/d",
                                "u:secret@h:5432/d",
                                "secret@h",
                                ":secret@h",
                                "mysql://u:s%65cret@h",
                                "mysql://h/d?password=secret",
                                "redis:secret@h",
                                "redis//:secret@h",
                                "redis:/:secret@h",
                                "redis://secret@h",
                                "redis://u:secret",
                                "redis://:secret@a:x,b:7001",
                                "redis://:se/cret@h",
                                "redis://h?password=secret",
                                "redis+sentinel://u:secret@h1,h2",
                                "redis+sentinel://h1,h2/name?secret",
                                "redis+sentinel://h1/name/x?sentinel_password=s%65cret",
                                "redis+cluster://:secret@a,b",
                                "rediss+unix://:secret@/run/redis.sock",
                                "postgres://u:secret@h:x/d",
                                "postgres://u:se@cret@h/d",
                                "postgres://u:se/cret@h/d",
                                "postgres://h:5432,i:secret/d",
                                "postgres://u:secret@h/d?nothing=x",
                                "postgres://h/d?password=secret&nothing=x",
                                "postgres://h/d?password=%zzsecret",
                                "postgresql://u:secret@[::1/d",
                                "sqlite:ordo.db?password=secret"}) {
    const std::function<void()> calls[] = {[&] { open(url, system_clock()); },
                                           [&] { raw_append_delete_rate(url, 1, 1, 1); },
                                           [&] { raw_commit_latency(url, 1); }};
    for (const auto& call : calls) {
      try {
        call();
        ADD_FAILURE() << url << " was taken";
      } catch (const Error& error) {
        const std::string said = error.what();
        EXPECT_EQ(said.find("cret"), std::string::npos) << url << " -> " << said;
        EXPECT_EQ(said.find("%65"), std::string::npos) << url << " -> " << said;
      }
    }
  }
}

TEST(Open, shows_what_is_no_secret) {
  const auto said = [](const char* url) -> std::string {
    try {
      open(url, system_clock());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(said("ordo.db").find("'ordo.db'"), std::string::npos);
  EXPECT_NE(said("mysql://h/d").find("'mysql:…'"), std::string::npos);
  EXPECT_NE(said("host=h dbname=d").find("'host=…'"), std::string::npos);
}

}  // namespace open_test
}  // namespace ordo::store
