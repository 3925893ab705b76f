#include "base/listen_address.h"

#include <gtest/gtest.h>

namespace ordo {
namespace listen_address_test {

TEST(ListenAddress, is_an_ip_address_and_a_port) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:8080")->port, 8080);
  EXPECT_EQ(parse_listen_address("localhost:1")->ip, "127.0.0.1");
  EXPECT_EQ(parse_listen_address("[::1]:65535")->ip, "::1");
  EXPECT_EQ(parse_listen_address("auto")->port, 0);
  EXPECT_EQ(parse_listen_address("0.0.0.0:8080")->ip, "0.0.0.0");
  EXPECT_EQ(parse_listen_address("[2001:db8::7]:443")->ip, "2001:db8::7");
}

TEST(ListenAddress, others_are_refused) {
  for (const char* text :
       {"", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80 ",
        "1.2.3:80", "::1:8080", "example.com:80", "[::", "[::]:", "[1.2.3.4]:80"})
    EXPECT_FALSE(parse_listen_address(text)) << text;
}

TEST(ListenAddress, others_may_reach_it_with_tokens_and_tls_only) {
  const auto why = [](const char* listen, const WebOptions& web) {
    return why_not_served(parse_listen_address(listen).value(), web);
  };
  const WebOptions nothing;
  const WebOptions tokens{.tokens = {{.name = "ci"}}};
  const WebOptions tls{.tokens = tokens.tokens, .tls_cert = "a.crt", .tls_key = "a.key"};
  const WebOptions proxy{.tokens = tokens.tokens, .behind_proxy = true};
  for (const char* loopback : {"127.0.0.1:80", "127.0.0.9:80", "[::1]:80", "auto"}) {
    for (const auto* web : {&nothing, &tokens, &tls, &proxy}) EXPECT_EQ(why(loopback, *web), "");
    EXPECT_NE(why(loopback, {.behind_proxy = true}), "");
  }
  for (const char* open : {"0.0.0.0:80", "[::]:80", "10.1.2.3:80", "[::ffff:127.0.0.1]:80"}) {
    EXPECT_NE(why(open, nothing), "");
    EXPECT_NE(why(open, tokens), "");
    EXPECT_NE(why(open, {.tls_cert = "a.crt", .tls_key = "a.key"}), "");
    EXPECT_EQ(why(open, tls), "");
    EXPECT_EQ(why(open, proxy), "");
  }
}

}  // namespace listen_address_test
}  // namespace ordo
