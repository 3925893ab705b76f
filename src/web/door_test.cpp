#include "web/door.h"

#include <gtest/gtest.h>

#include "base/digest.h"
#include "web/problem.h"
#include "web/secret.h"
#include "web/session.h"

namespace ordo::web {
namespace door_test {

using namespace std::chrono_literals;

class HandClock final : public Clock {
 public:
  Time wall() override { return Time{std::chrono::hours{24 * 20000}} + now_; }
  Duration steady() override { return now_; }
  void go_on(Duration by) { now_ += by; }

 private:
  Duration now_{0};
};

template <class Work>
unsigned status_of(const Work& work) {
  try {
    work();
    return 200;
  } catch (const Problem& problem) {
    return problem.status();
  }
}

WebOptions with_tokens() {
  return {
      .tokens = {{.name = "ann", .role = Role::operator_, .sha256 = sha256_hex("secret of ann")},
                 {.name = "shop", .role = Role::viewer, .queues = {"orders"}, .sha256 = sha256_hex("s")}}};
}

class DoorTest : public testing::Test {
 protected:
  void open(const std::string& ip, WebOptions web = {}) {
    config_ = std::make_shared<LiveConfig>(Config{.web = std::move(web)});
    door_.emplace(ListenAddress{.ip = ip}, config_, clock_);
    door_->listens_at(8080);
  }
  unsigned strangers(Headers headers, const std::string& method = "GET") {
    const Request request{.method = method, .target = "/", .headers = std::move(headers)};
    return status_of([&] { door_->refuse_strangers(request); });
  }
  Request with(Headers headers, const std::string& peer = "10.0.0.1") {
    return {.method = "POST", .target = "/", .headers = std::move(headers), .peer = peer};
  }
  Request bearer(const std::string& secret, const std::string& peer = "10.0.0.1") {
    return with({{"authorization", "Bearer " + secret}}, peer);
  }
  unsigned shown(const Request& request) {
    return status_of([&] { door_->caller_of(request); });
  }
  /// "ordo_session=…" of a fresh log-in.
  std::string session_of_ann() {
    const auto cookie = door_->log_in(with({}), "secret of ann");
    return cookie.substr(0, cookie.find(';'));
  }

  HandClock clock_;
  std::shared_ptr<LiveConfig> config_;
  std::optional<Door> door_;
};

TEST_F(DoorTest, programs_on_this_machine_and_its_own_pages_come_in) {
  open("127.0.0.1");
  for (const char* host : {"127.0.0.1:8080", "localhost:8080", "[::1]:8080"}) {
    EXPECT_EQ(strangers({{"host", host}}), 200U);
    EXPECT_EQ(strangers({{"host", host}, {"origin", std::string("http://") + host}}), 200U);
  }
  EXPECT_EQ(strangers({{"host", "localhost:8080"}, {"sec-fetch-site", "same-origin"}}), 200U);
  EXPECT_EQ(strangers({{"host", "localhost:8080"}, {"sec-fetch-site", "none"}}), 200U);
  door_->listens_at(80);
  EXPECT_EQ(strangers({{"host", "LOCALHOST"}}), 200U);
  EXPECT_EQ(door_->caller_of(with({}))->role, Role::admin);
}

TEST_F(DoorTest, a_token_counts_as_long_as_the_config_has_it) {
  auto web = with_tokens();
  open("10.0.0.1", web);
  const auto cookie = session_of_ann();
  EXPECT_EQ(shown(bearer("secret of ann")), 200U);
  EXPECT_TRUE(door_->caller_of(with({{"cookie", cookie}})).has_value());
  web.tokens.erase(web.tokens.begin());
  web.tokens.push_back({.name = "new", .role = Role::viewer, .sha256 = sha256_hex("secret of new")});
  web.read_only = true;
  config_->change(Config{.web = web});
  EXPECT_EQ(shown(bearer("secret of ann")), 401U);
  EXPECT_FALSE(door_->caller_of(with({{"cookie", cookie}})).has_value());
  EXPECT_EQ(shown(bearer("secret of new")), 200U);
  EXPECT_TRUE(door_->read_only());
}

TEST_F(DoorTest, other_names_pages_of_others_and_proxies_are_refused) {
  open("127.0.0.1");
  const std::pair<std::string, std::string> here{"host", "localhost:8080"};
  const Headers refused[] = {{},
                             {{"host", "localhost"}},
                             {{"host", "localhost:8081"}},
                             {{"host", "evil.example:8080"}},
                             {here, here},
                             {here, {"origin", "null"}},
                             {here, {"origin", "https://localhost:8080"}},
                             {here, {"origin", "http://evil.example"}},
                             {here, {"origin", "http://localhost:8080"}, {"origin", "http://localhost:8080"}},
                             {here, {"sec-fetch-site", "cross-site"}},
                             {here, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}},
                             {here, {"sec-fetch-site", "same-site"}},
                             {here, {"x-forwarded-for", "1.2.3.4"}},
                             {here, {"forwarded", "for=1.2.3.4"}},
                             {here, {"via", "1.1 proxy"}}};
  for (const auto& headers : refused) EXPECT_EQ(strangers(headers), 403U) << headers.size();
  open("127.0.0.1", with_tokens());
  for (const auto& headers : refused) EXPECT_EQ(strangers(headers), 403U) << "tokens or not";
}

TEST_F(DoorTest, an_open_address_is_reached_by_any_name_and_by_own_pages_only) {
  auto web = with_tokens();
  web.tls_cert = web.tls_key = "x";
  web.public_url = "https://Jobs.example.com/ordo/";
  open("0.0.0.0", web);
  const std::pair<std::string, std::string> here{"host", "a.example"};
  EXPECT_EQ(strangers({here}), 200U);
  EXPECT_EQ(strangers({here, {"origin", "https://a.example"}}), 200U);
  EXPECT_EQ(strangers({here, {"origin", "https://jobs.example.com"}}), 200U);
  EXPECT_EQ(strangers({here, {"origin", "http://a.example"}}), 403U);
  EXPECT_EQ(strangers({here, {"origin", "https://evil.example"}}), 403U);
  EXPECT_EQ(strangers({here, {"sec-fetch-site", "cross-site"}}), 403U);
  const Headers link = {here, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}};
  EXPECT_EQ(strangers(link), 200U) << "a link in a mail";
  EXPECT_EQ(strangers(link, "POST"), 403U);
}

TEST_F(DoorTest, a_proxy_of_ours_brings_others_in) {
  auto web = with_tokens();
  web.behind_proxy = true;
  open("127.0.0.1", web);
  EXPECT_EQ(strangers({{"host", "jobs.example.com"}, {"x-forwarded-for", "1.2.3.4"}, {"via", "1.1 proxy"}}),
            200U);
  EXPECT_EQ(strangers({{"host", "jobs.example.com"}, {"origin", "https://jobs.example.com"}}), 200U);
  EXPECT_EQ(strangers({{"host", "jobs.example.com"}, {"origin", "https://evil.example"}}), 403U);
  EXPECT_NE(door_->log_in(with({}), "secret of ann").find("; Secure"), std::string::npos);
}

TEST_F(DoorTest, tokens_are_known_by_their_secret) {
  open("127.0.0.1", with_tokens());
  const auto ann = door_->caller_of(bearer("secret of ann"));
  EXPECT_EQ(ann->name, "ann");
  EXPECT_EQ(ann->role, Role::operator_);
  EXPECT_TRUE(ann->sees("anything"));
  EXPECT_EQ(door_->caller_of(with({{"authorization", "bearer  secret of ann "}}))->name, "ann");
  const auto shop = door_->caller_of(bearer("s"));
  EXPECT_TRUE(shop->sees("orders"));
  EXPECT_FALSE(shop->sees("mails"));
  EXPECT_FALSE(door_->caller_of(with({})));
  for (const char* wrong : {"", "secret of bob", "secret of ann\n"})
    EXPECT_EQ(shown(bearer(wrong)), 401U) << wrong;
  EXPECT_EQ(shown(bearer(sha256_hex("s"))), 401U) << "what the config has is no secret";
  EXPECT_EQ(shown(with({{"authorization", "Basic YTpi"}})), 401U);
}

TEST_F(DoorTest, wrong_tokens_of_an_address_have_to_wait) {
  open("127.0.0.1", with_tokens());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(shown(bearer("wrong")), 401U) << i;
  EXPECT_EQ(shown(bearer("wrong")), 429U);
  EXPECT_EQ(shown(bearer("secret of ann")), 429U) << "or it could be guessed";
  EXPECT_EQ(status_of([&] { door_->log_in(with({}), "secret of ann"); }), 429U);
  EXPECT_EQ(shown(bearer("secret of ann", "10.0.0.2")), 200U);
  clock_.go_on(6s);
  EXPECT_EQ(shown(bearer("wrong")), 401U) << "one is forgiven";
  EXPECT_EQ(shown(bearer("secret of ann")), 429U);
  clock_.go_on(60s);
  EXPECT_EQ(shown(bearer("secret of ann")), 200U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(shown(bearer("wrong", "2001:db8::" + std::to_string(i))), 401U);
  EXPECT_EQ(shown(bearer("wrong", "2001:db8::f00")), 429U) << "of the same network";
}

TEST_F(DoorTest, behind_a_proxy_the_address_is_what_the_proxy_saw) {
  auto web = with_tokens();
  web.behind_proxy = true;
  open("127.0.0.1", web);
  const auto from = [&](const std::string& forwarded) {
    return with({{"authorization", "Bearer wrong"}, {"x-forwarded-for", forwarded}});
  };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(shown(from("10.9.9." + std::to_string(i) + ", 1.2.3.4")), 401U);
  EXPECT_EQ(shown(from("1.2.3.4")), 429U);
  EXPECT_EQ(shown(from("1.2.3.4, 5.6.7.8")), 401U);
}

TEST_F(DoorTest, a_session_lasts_twelve_hours_and_ends_with_its_token) {
  open("127.0.0.1", with_tokens());
  const auto cookie = door_->log_in(with({}), "secret of ann");
  EXPECT_NE(cookie.find("; HttpOnly; SameSite=Strict"), std::string::npos);
  EXPECT_EQ(cookie.find("secret"), std::string::npos);
  const auto session = session_of_ann();
  EXPECT_EQ(door_->caller_of(with({{"cookie", "a=b; " + session + "; c=d"}}))->name, "ann");
  auto forged = session;
  forged.back() = forged.back() == 'A' ? 'Q' : 'A';
  EXPECT_FALSE(door_->caller_of(with({{"cookie", forged}})));
  EXPECT_FALSE(door_->caller_of(with({{"cookie", "ordo_session=shop" + session.substr(session.find('.'))}})));
  auto web = with_tokens();
  open("127.0.0.1", web);
  EXPECT_TRUE(door_->caller_of(with({{"cookie", session}}))) << "another process knows it";
  clock_.go_on(12h - 1s);
  EXPECT_TRUE(door_->caller_of(with({{"cookie", session}})));
  clock_.go_on(1s);
  EXPECT_FALSE(door_->caller_of(with({{"cookie", session}})));
  const auto newer = session_of_ann();
  web.tokens[0].sha256 = sha256_hex("another");
  open("127.0.0.1", web);
  EXPECT_FALSE(door_->caller_of(with({{"cookie", newer}})));
}

TEST_F(DoorTest, changes_of_a_session_need_what_only_its_pages_know) {
  open("127.0.0.1", with_tokens());
  const Route change{"POST", "/x", Needs::operator_, "", {}};
  const Route look{"GET", "/x", Needs::viewer, "", {}};
  const auto session = session_of_ann();
  auto request = with({{"cookie", session}});
  const auto caller = door_->caller_of(request);
  const auto admitted = [&](const Route& route) {
    return status_of([&] { door_->admit(request, route, "orders", caller); });
  };
  EXPECT_EQ(admitted(change), 403U);
  request.headers.emplace_back("x-ordo-csrf", "x");
  EXPECT_EQ(admitted(change), 403U);
  request.headers.back().second = door_->csrf_of(*caller);
  EXPECT_EQ(admitted(change), 200U);
  request.headers.pop_back();
  request.method = "GET";
  EXPECT_EQ(admitted(look), 200U);
}

TEST(Secret, is_new_each_time_and_is_hidden_well) {
  EXPECT_GE(new_secret().size(), 40U);
  EXPECT_NE(new_secret(), new_secret());
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const auto key = sha256("key");
  const auto sealed = seal(key, "text");
  EXPECT_EQ(unseal(key, sealed), "text");
  EXPECT_NE(seal(key, "text"), sealed);
  EXPECT_FALSE(unseal(sha256("other"), sealed));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    auto changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(unseal(key, changed)) << i;
  }
  EXPECT_FALSE(unseal(key, sealed.substr(0, 20)));
}

}  // namespace door_test
}  // namespace ordo::web
