#include "web/door.h"

#include <gtest/gtest.h>

namespace ordo::web {
namespace door_test {

unsigned status_of(Headers headers, std::uint16_t port = 8080) {
  const auto refused = refused_at_door({.method = "GET", .target = "/", .headers = std::move(headers)}, port);
  return refused ? refused->status() : 200;
}

TEST(Door, programs_on_this_machine_and_its_own_pages_come_in) {
  for (const char* host : {"127.0.0.1:8080", "localhost:8080", "[::1]:8080"}) {
    EXPECT_EQ(status_of({{"host", host}}), 200U);
    EXPECT_EQ(
        status_of(
            {{"host", host}, {"origin", std::string("http://") + host}, {"sec-fetch-site", "same-origin"}}),
        200U);
  }
  EXPECT_EQ(status_of({{"host", "localhost:8080"}, {"sec-fetch-site", "none"}}), 200U);
  EXPECT_EQ(status_of({{"host", "localhost"}}, 80), 200U);
}

TEST(Door, names_that_others_gave_this_machine_do_not) {
  for (const char* host : {"", "evil.example:8080", "127.0.0.1", "127.0.0.1:80",
                           "127.0.0.1:8080.evil.example", "localhost:8080@evil.example", "0.0.0.0:8080"})
    EXPECT_EQ(status_of({{"host", host}}), 403U) << host;
  EXPECT_EQ(status_of({}), 403U);
  EXPECT_EQ(status_of({{"host", "127.0.0.1:8080"}, {"host", "127.0.0.1:8080"}}), 403U);
}

TEST(Door, pages_of_other_sites_do_not) {
  for (const char* origin : {"http://evil.example", "null", "", "https://127.0.0.1:8080",
                             "http://localhost:8080", "http://127.0.0.1:8081"})
    EXPECT_EQ(status_of({{"host", "127.0.0.1:8080"}, {"origin", origin}}), 403U) << origin;
  for (const char* site : {"cross-site", "same-site", "", "other"})
    EXPECT_EQ(status_of({{"host", "127.0.0.1:8080"}, {"sec-fetch-site", site}}), 403U) << site;
}

TEST(Door, nor_does_what_a_proxy_brings) {
  for (const char* header : {"forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"})
    EXPECT_EQ(status_of({{"host", "127.0.0.1:8080"}, {header, ""}}), 403U) << header;
}

}  // namespace door_test
}  // namespace ordo::web
