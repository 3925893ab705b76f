#include "web/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "web/problem.h"

namespace ordo::web {
namespace router_test {

using ::testing::ElementsAre;

const std::vector<Route> kRoutes = {
    {"GET", "/", Needs::session, "root", {}},
    {"GET", "/queues", Needs::viewer, "list", {}},
    {"GET", "/queues/{queue}/jobs/{id}", Needs::viewer, "one", {}},
    {"POST", "/queues/{queue}/jobs/cancel", Needs::operator_, "many", {}},
    {"POST", "/queues/{queue}/jobs/{id}/cancel", Needs::operator_, "cancel", {}},
};

std::string found(std::string_view method, std::string_view target) {
  try {
    return std::string(find_route(kRoutes, method, *parse_target(target)).route.what);
  } catch (const Problem& problem) {
    const auto response = problem.response();
    return std::to_string(response.status) + std::string(header_of(response.headers, "Allow"));
  }
}

TEST(Router, finds_the_route_of_a_path) {
  EXPECT_EQ(found("GET", "/"), "root");
  EXPECT_EQ(found("HEAD", "/queues"), "list");
  EXPECT_EQ(found("GET", "/queues/a/jobs/b?x=1"), "one");
  EXPECT_EQ(found("POST", "/queues/a/jobs/cancel"), "many");
  EXPECT_EQ(found("POST", "/queues/a/jobs/x/cancel"), "cancel");
  EXPECT_THAT(find_route(kRoutes, "GET", *parse_target("/queues/a%2Fb/jobs/%25")).values,
              ElementsAre("a/b", "%"));
}

TEST(Router, says_what_is_not_there_or_not_allowed) {
  EXPECT_EQ(found("GET", "/queue"), "404");
  EXPECT_EQ(found("GET", "/queues/a"), "404");
  EXPECT_EQ(found("GET", "/queues//jobs/b"), "404");
  EXPECT_EQ(found("GET", "/queues/a/jobs/b/c"), "404");
  EXPECT_EQ(found("DELETE", "/queues"), "405GET");
  EXPECT_EQ(found("PUT", "/queues/a/jobs/cancel"), "405GET, POST");
}

}  // namespace router_test
}  // namespace ordo::web
