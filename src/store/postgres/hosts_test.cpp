#include "store/postgres/hosts.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ordo::store::postgres {
namespace hosts_test {

Hosts of(const std::string& url) { return look_up_hosts({{"connect_timeout", "3"}, {"dbname", url}}); }

TEST(Hosts, have_their_addresses_beside_their_names) {
  const auto hosts = of("postgres://u@127.0.0.1:5433,[::1]/db");
  EXPECT_EQ(hosts.names, "127.0.0.1,::1");
  EXPECT_EQ(hosts.addresses, "127.0.0.1,::1");
  EXPECT_EQ(hosts.ports, "5433,");
  EXPECT_EQ(hosts.trouble, "");
}

TEST(Hosts, share_one_port) {
  const auto hosts = of("postgres:///db?host=127.0.0.1,127.0.0.2&port=77");
  EXPECT_EQ(hosts.addresses, "127.0.0.1,127.0.0.2");
  EXPECT_EQ(hosts.ports, "77,77");
}

TEST(Hosts, keep_sockets_and_addresses_that_are_given) {
  const auto hosts = of("postgres:///db?host=/tmp,127.0.0.1,name&hostaddr=,,10.0.0.1");
  EXPECT_EQ(hosts.names, "/tmp,127.0.0.1,name");
  EXPECT_EQ(hosts.addresses, ",127.0.0.1,10.0.0.1");
}

TEST(Hosts, without_a_name_are_left_to_libpq) {
  for (const char* url : {"postgres:///db?host=/tmp", "postgres:///db?hostaddr=127.0.0.1", "postgres:///db",
                          "postgres:///db?host=a,b&port=1,2,3", "postgres:///db?host=a&hostaddr=1,2"}) {
    const auto hosts = of(url);
    EXPECT_EQ(hosts.names + hosts.addresses + hosts.ports + hosts.trouble, "") << url;
  }
}

TEST(Hosts, are_taken_from_the_environment_too) {
  setenv("PGHOST", "127.0.0.9", 1);
  const auto hosts = of("postgres:///db");
  unsetenv("PGHOST");
  EXPECT_EQ(hosts.addresses, "127.0.0.9");
}

}  // namespace hosts_test
}  // namespace ordo::store::postgres
