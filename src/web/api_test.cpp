// Every route, with every role and without any: who may.
#include "web/api.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "web/api_shapes.h"
#include "web/problem.h"
#include "web/secret.h"

namespace ordo::web {
namespace api_test {

constexpr std::string_view kEverybody = "nobody viewer operator admin producer worker responder";
constexpr std::string_view kViewers = "viewer operator admin";
constexpr std::string_view kOperators = "operator admin";

// Whom each route lets in, written down a second time: a new route needs a line here.
const std::map<std::string, std::string_view> kWhoMay = {
    {"GET /", kEverybody},  // the dashboard shows nothing by itself
    {"GET /assets/{file}", kEverybody},
    {"GET /login", kEverybody},
    {"POST /login", kEverybody},
    {"POST /api/v1/login", kEverybody},
    {"POST /api/v1/logout", kEverybody},
    {"GET /api/v1/me", kEverybody},  // 401 comes from the route itself
    {"GET /healthz", kEverybody},
    {"POST /callbacks/{token}", kEverybody},
    {"GET /readyz", kViewers},
    {"GET /metrics", kViewers},
    {"GET /openapi.json", kViewers},
    {"GET /api/v1/stats", kViewers},
    {"GET /api/v1/queues", kViewers},
    {"GET /api/v1/queues/{queue}", kViewers},
    {"GET /api/v1/queues/{queue}/jobs", kViewers},
    {"GET /api/v1/queues/{queue}/jobs/{id}", kViewers},
    {"GET /api/v1/queues/{queue}/dead", kViewers},
    {"GET /api/v1/queues/{queue}/dead/groups", kViewers},
    {"GET /api/v1/queues/{queue}/waits", kViewers},
    {"GET /api/v1/responses/{queue}", kViewers},
    {"GET /api/v1/limits", kViewers},
    {"GET /api/v1/locks", kViewers},
    {"GET /api/v1/nodes", kViewers},
    {"GET /api/v1/periodic", kViewers},
    {"GET /api/v1/audit", kViewers},
    {"GET /api/v1/events", kViewers},
    {"GET /api/v1/stats/history", kViewers},
    {"GET /api/v1/problems", kViewers},
    {"GET /api/v1/sources", kViewers},
    {"GET /api/v1/queues/{queue}/keys/{key}", kViewers},
    {"GET /api/v1/queues/{queue}/windows", kViewers},
    {"GET /api/v1/queues/{queue}/jobs/export", kViewers},
    {"GET /api/v1/queues/{queue}/dead/export", kViewers},
    {"POST /api/v1/queues/{queue}/jobs", "producer operator admin"},
    {"POST /api/v1/responses/{queue}/{key}", "responder operator admin"},
    {"POST /api/v1/queues/{queue}/pause", kOperators},
    {"POST /api/v1/queues/{queue}/resume", kOperators},
    {"POST /api/v1/queues/{queue}/jobs/{id}/cancel", kOperators},
    {"POST /api/v1/queues/{queue}/jobs/{id}/run-now", kOperators},
    {"POST /api/v1/queues/{queue}/jobs/{id}/kill", kOperators},
    {"POST /api/v1/queues/{queue}/jobs/{id}/reschedule", kOperators},
    {"PUT /api/v1/queues/{queue}/jobs/{id}/payload", kOperators},
    {"PUT /api/v1/queues/{queue}/dead/{id}/payload", kOperators},
    {"POST /api/v1/queues/{queue}/jobs/cancel", kOperators},
    {"POST /api/v1/queues/{queue}/jobs/run-now", kOperators},
    {"POST /api/v1/queues/{queue}/jobs/kill", kOperators},
    {"POST /api/v1/queues/{queue}/dead/retry", kOperators},
    {"POST /api/v1/queues/{queue}/dead/delete", kOperators},
    {"POST /api/v1/periodic/{name}/run", kOperators},
    {"POST /api/v1/periodic/{name}/pause", kOperators},
    {"POST /api/v1/periodic/{name}/resume", kOperators},
    {"DELETE /api/v1/queues/{queue}", "admin"},
    {"POST /api/v1/queues/{queue}/reshard", "admin"},
    {"PUT /api/v1/limits/{name}", "admin"},
    {"DELETE /api/v1/limits/{name}", "admin"},
    {"POST /api/v1/nodes/{id}/quiet", "admin"},
    {"POST /api/v1/sources/{name}/reset", "admin"},
    {"POST /api/v1/nodes/{id}/stop", "admin"},
};

constexpr Role kRoles[] = {Role::viewer,   Role::operator_, Role::admin,
                           Role::producer, Role::worker,    Role::responder};

Config config_of(WebOptions web) {
  for (const auto role : kRoles) {
    const std::string name(to_string(role));
    web.tokens.push_back({.name = name, .role = role, .sha256 = sha256_hex("secret of " + name)});
    web.tokens.push_back(
        {.name = "one-" + name, .role = role, .queues = {"orders"}, .sha256 = sha256_hex("one " + name)});
  }
  return {.store = "memory:", .web = std::move(web)};
}

class ApiTest : public testing::Test {
 protected:
  explicit ApiTest(WebOptions web = {}) : config_(config_of(std::move(web))) { api_.listens_at(8080); }

  /// Of the answer to the header of a request.
  unsigned status_of(const Route& route, const std::string& secret, const std::string& queue = "orders") {
    std::string target(route.path);
    for (auto at = target.find('{'); at != std::string::npos; at = target.find('{')) {
      const auto end = target.find('}', at);
      const bool is_queue = target.substr(at, end - at) == "{queue";
      target.replace(at, end - at + 1, is_queue ? queue : "x");
    }
    Headers headers = {{"host", "localhost:8080"}};
    if (!secret.empty()) headers.emplace_back("authorization", "Bearer " + secret);
    try {
      api_.open({.method = std::string(route.method), .target = target, .headers = headers});
      return 200;
    } catch (const Problem& problem) {
      return problem.status();
    }
  }
  static std::string name_of(const Route& route) { return fmt::format("{} {}", route.method, route.path); }

  Config config_;
  Api api_{
      {.ip = "127.0.0.1"},
      {Admin(config_), Client(config_), std::make_shared<LiveConfig>(config_), {}, std::make_shared<News>()},
      [] { return std::string(); }};
};

TEST_F(ApiTest, every_route_lets_in_whom_it_is_for) {
  std::set<std::string> seen;
  for (const Route& route : api_.routes()) {
    const auto name = name_of(route);
    seen.insert(name);
    const auto found = kWhoMay.find(name);
    if (found == kWhoMay.end()) {
      ADD_FAILURE() << name << " needs a line in this test: whom does it let in?";
      continue;
    }
    const auto may = [&](std::string_view who) {
      return fmt::format(" {} ", found->second).find(fmt::format(" {} ", who)) != std::string::npos;
    };
    EXPECT_EQ(status_of(route, ""), may("nobody") ? 200U : 401U) << name;
    for (const auto role : kRoles) {
      const std::string who(to_string(role));
      EXPECT_EQ(status_of(route, "secret of " + who), may(who) ? 200U : 403U) << name << " " << who;
    }
  }
  for (const auto& [name, who] : kWhoMay) EXPECT_TRUE(seen.contains(name)) << name << " is no route";
}

TEST_F(ApiTest, a_token_for_some_queues_reaches_no_other) {
  for (const Route& route : api_.routes()) {
    if (route.path.find("{queue}") == std::string_view::npos) continue;
    for (const auto role : kRoles) {
      const auto who = fmt::format("one {}", to_string(role));
      const bool may_here = may(role, route.needs);
      EXPECT_EQ(status_of(route, who, "orders"), may_here ? 200U : 403U) << name_of(route) << who;
      EXPECT_EQ(status_of(route, who, "mails"), 403U) << name_of(route) << who;
    }
  }
}

class ReadOnlyTest : public ApiTest {
 protected:
  ReadOnlyTest() : ApiTest({.read_only = true}) {}
};

TEST_F(ReadOnlyTest, nothing_is_changed) {
  for (const Route& route : api_.routes()) {
    const bool is_look = route.method == "GET" || route.needs == Needs::session;
    EXPECT_EQ(status_of(route, "secret of admin"), is_look ? 200U : 403U) << name_of(route);
  }
}

TEST(Parameters, name_each_event) {
  const auto all = parameters();
  const auto event = std::ranges::find(all, "event", &Parameter::token);
  ASSERT_NE(event, all.end());
  for (auto type = EventType::job_started; type <= EventType::throttler_failed;
       type = static_cast<EventType>(static_cast<int>(type) + 1))
    EXPECT_NE(event->schema.find(fmt::format(R"("{}")", to_string(type))), std::string_view::npos)
        << to_string(type);
}

}  // namespace api_test
}  // namespace ordo::web
