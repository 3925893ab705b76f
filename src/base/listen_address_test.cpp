#include "base/listen_address.h"

#include <gtest/gtest.h>

namespace ordo {
namespace listen_address_test {

TEST(ListenAddress, is_one_of_this_machine) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:8080")->port, 8080);
  EXPECT_EQ(parse_listen_address("localhost:1")->ip, "127.0.0.1");
  EXPECT_EQ(parse_listen_address("[::1]:65535")->ip, "::1");
  EXPECT_EQ(parse_listen_address("auto")->port, 0);
}

TEST(ListenAddress, others_are_refused) {
  for (const char* text : {"", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                           "127.0.0.1:80 ", "0.0.0.0:8080", "::1:8080", "example.com:80", "[::]:80"})
    EXPECT_FALSE(parse_listen_address(text)) << text;
}

}  // namespace listen_address_test
}  // namespace ordo
