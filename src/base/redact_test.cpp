#include "base/redact.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace ordo {
namespace redact_test {

using Cases = std::vector<std::pair<std::string, std::string>>;

TEST(Redact, hides_the_sign_on_of_a_url) {
  const Cases cases = {
      {"redis://:pw@h", "redis://:***@h"},
      {"redis://u:p%40w@h:6379/3", "redis://u:***@h:6379/3"},
      {"rediss://u:p:w@a:7001,[::1],c:7003?wait=1", "rediss://u:***@a:7001,[::1],c:7003?wait=1"},
      {"redis+unix://:pw@/run/redis.sock?db=2", "redis+unix://:***@/run/redis.sock?db=2"},
      {"redis+sentinel://u:pw@h1,h2:26379/name/0", "redis+sentinel://u:***@h1,h2:26379/name/0"},
      {"redis+sentinel://u:pw@h1/name?sentinel_password=pw",
       "redis+sentinel://u:***@h1/name?sentinel_password=***"},
      {"redis://pw@h", "redis://***@h"},
      {"postgres://u:pw@h/db", "postgres://u:***@h/db"},
      {"postgresql://u@h/db", "postgresql://u@h/db"},
      {"https://u:pw@h/users/@me", "https://u:***@h/users/@me"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(redact(text), want) << text;
}

TEST(Redact, hides_settings_that_are_secrets) {
  const Cases cases = {
      {"postgres://u:pw@h/db?password=pw2&sslmode=on", "postgres://u:***@h/db?password=***&sslmode=on"},
      {"postgres://h/db?sslmode=on&p%61ssword=pw", "postgres://h/db?sslmode=on&p%61ssword=***"},
      {"postgres:///db?sslpassword=pw#x", "postgres:///db?sslpassword=***"},
      {"host=h password=pw dbname=d", "host=h password=*** dbname=d"},
      {"host=h password = 'p w\\' x' dbname=d", "host=h password = *** dbname=d"},
      {"password=p\\ w dbname=d", "password=*** dbname=d"},
      {"PGPASSWORD=pw psql", "PGPASSWORD=*** psql"},
      {"-o store=\"host=h password='pw'\": unknown", "-o store=\"host=h password=***\": unknown"},
      {"ERR unknown command 'AUTH', with args beginning with: 'u' 'pw'",
       "ERR unknown command 'AUTH', with args beginning with: ***"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(redact(text).substr(0, want.size()), want) << text;
  for (const auto& [text, want] : cases)
    EXPECT_EQ(redact(text).find("pw"), std::string::npos) << redact(text);
}

TEST(Redact, hides_passwords_that_are_not_escaped) {
  for (const char* url :
       {"redis://:se@cret@h", "redis://u:se/cret@h/0", "postgres://u:se?cret@h/db", "postgres://u:se#cret@h",
        "redis://u:1/se@cret@h", "postgres://u:se cret@h/db", "redis://:secret", "redis://u:secret/0",
        "postgres://u@h/db?password=se@cret", "postgres://u@h:5432/db?password=x@y@secret",
        "redis://:'secret'@h", "redis://u:se\"cret@h"}) {
    const auto shown = redact(std::string("cannot open '") + url + "' now");
    EXPECT_EQ(shown.find("cret"), std::string::npos) << shown;
    EXPECT_EQ(shown.find("se@"), std::string::npos) << shown;
    EXPECT_TRUE(shown.starts_with("cannot open '")) << shown;
  }
}

TEST(Redact, leaves_other_text_alone) {
  for (const char* text : {"", "plain", "sqlite:/home/a@b/ordo.db",
                           "cannot reach redis://db:6379/0: refused; ask ops@example.org",
                           "'redis://a:7001,[::1]:7002' is gone.", "PostgreSQL at h:5432, database d",
                           "see https://h/x?a=b@c", "wrong password: check the URL", "passwords=2 files"}) {
    EXPECT_EQ(redact(text), text);
  }
}

TEST(Redact, whatever_the_password_is) {
  Random random(8);
  const auto any = [&](std::size_t most) { return random.below(most); };
  constexpr std::string_view kSchemes[] = {"redis", "rediss", "redis+sentinel", "postgres", "postgresql"};
  for (int round = 0; round < 20'000; ++round) {
    std::string password = "pw";
    for (std::size_t i = any(10); i > 0; --i) password += static_cast<char>(0x21 + any(0x5E));
    password += "wp";
    const auto url =
        std::string(kSchemes[any(5)]) + "://" + (any(2) == 0 ? "" : "user") + ":" + password + "@host/0";
    const auto shown = redact("cannot read " + url + ": refused");
    EXPECT_EQ(shown.find("pw"), std::string::npos) << url << " -> " << shown;
    EXPECT_EQ(shown.find("wp"), std::string::npos) << url << " -> " << shown;
    EXPECT_EQ(redact(shown), shown);
  }
}

}  // namespace redact_test
}  // namespace ordo
