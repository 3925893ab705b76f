// A server as administrators like it: TLS only, a password, a user without special rights.

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <ordo/error.hpp>

#include "contract/postgres_fixture.h"

namespace ordo::store {
namespace postgres_tls_test {

/// A certificate that signs itself, FILE.pem beside FILE.key, which only the server may read.
void make_certificate(const std::filesystem::path& file, const std::string& address) {
  test::run_as_postgres(
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ordo -addext subjectAltName=IP:" +
      address + " -keyout " + file.string() + ".key -out " + file.string() + ".pem 2>/dev/null");
}

std::string failure_of(const std::string& url) {
  try {
    postgres::PostgresStore store(url, system_clock());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    return error.what();
  }
  return "it opened";
}

TEST(PostgresTls, checks_certificates_and_takes_a_password) {
  test::PostgresServer server;
  const auto folder = server.directory();
  // Every process has an address of loopback to itself, with all of its ports.
  const auto process = static_cast<unsigned>(getpid());
  const auto address = "127.77." + std::to_string(process / 256 % 256) + "." + std::to_string(process % 256);
  make_certificate(folder / "server", address);
  make_certificate(folder / "stranger", address);
  server.run(
      "CREATE ROLE ordo LOGIN PASSWORD 's@cret'; CREATE SCHEMA jobs AUTHORIZATION ordo;"
      " ALTER ROLE ordo SET search_path = jobs");
  server.kill();
  std::ofstream(folder / "data" / "pg_hba.conf")
      << "local all postgres trust\nhostssl all ordo 127.0.0.0/8 scram-sha-256\n";
  server.start("-c listen_addresses=" + address + " -c ssl=on -c ssl_cert_file=" +
               (folder / "server.pem").string() + " -c ssl_key_file=" + (folder / "server.key").string());

  const auto url = [&](const std::string& password, const std::string& settings) {
    return "postgres://ordo:" + password + "@" + address + "/postgres?" + settings;
  };
  const auto trusting = "sslmode=verify-full&sslrootcert=" + folder.string() + "/";
  {
    postgres::PostgresStore store(url("s%40cret", trusting + "server.pem"), system_clock());
    const ShardId shard{store.define("orders", 1).number, 0};
    store.join("n1", "");
    const Claim claim{.shard = shard};
    const auto grant = store.acquire("n1", 1, std::span(&claim, 1)).at(0);
    const std::string large(100'000, 'x');
    append_and_wait(store, {{.shard = shard, .bytes = large}});
    const auto chunk = read_log(store, std::span(&shard, 1));
    ASSERT_EQ(chunk.rows.size(), 1u);
    EXPECT_EQ(chunk.body(chunk.rows[0]), large);
    std::vector<Delta> deltas;
    deltas.push_back({.shard = shard, .lease = grant.lease, .batch = 1, .erase = {chunk.rows[0].seq}});
    EXPECT_EQ(commit_and_wait(store, std::move(deltas)).at(0), CommitResult::applied);
    EXPECT_EQ(
        server.run("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = "
                   "'ordo'"),
        "t");
  }
  const auto stranger = failure_of(url("s%40cret", trusting + "stranger.pem"));
  EXPECT_NE(stranger.find("certificate verify failed"), std::string::npos) << stranger;
  const auto name = failure_of("postgres://ordo:s%40cret@jobs.example/postgres?hostaddr=" + address + "&" +
                               trusting + "server.pem");
  EXPECT_NE(name.find("does not match host name \"jobs.example\""), std::string::npos) << name;
  const auto wrong = failure_of(url("wr%40ng", trusting + "server.pem"));
  EXPECT_NE(wrong.find("password authentication failed"), std::string::npos) << wrong;
  const auto plain = failure_of(url("s%40cret", "sslmode=disable"));
  EXPECT_NE(plain.find("no encryption"), std::string::npos) << plain;
  for (const auto& said : {stranger, name, wrong, plain}) {
    EXPECT_EQ(said.find("cret"), std::string::npos) << said;
    EXPECT_EQ(said.find("wr@ng"), std::string::npos) << said;
  }
}

}  // namespace postgres_tls_test
}  // namespace ordo::store
