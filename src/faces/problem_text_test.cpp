#include "faces/problem_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ordo/json.hpp>

namespace ordo {
namespace problem_text_test {

TEST(ProblemText, says_who_acts_since_when_and_where) {
  Finding finding{.level = Finding::Level::warning,
                  .what = "12 jobs in queue 'orders' wait: no living node serves it",
                  .advice = "start a node",
                  .about = Finding::About::code,
                  .queue = "orders",
                  .since = Time{},
                  .effect = "12 jobs wait",
                  .jobs = 12,
                  .needs_person = true};
  auto json = Json::parse(problem_json(finding));
  EXPECT_EQ(json["severity"].as_string(), "person");
  EXPECT_EQ(json["since"].as_string(), "1970-01-01T00:00:00Z");
  EXPECT_EQ(json["action"]["href"].as_string(), "/why?queue=orders&gate=code");
  finding.name = "node-2";
  EXPECT_EQ(Json::parse(problem_json(finding))["action"]["href"].as_string(), "/nodes");
  finding.needs_person = false;
  finding.since.reset();
  finding.about = Finding::About::jobs;
  finding.name = "a/b é";
  json = Json::parse(problem_json(finding));
  EXPECT_EQ(json["severity"].as_string(), "watch");
  EXPECT_TRUE(json["since"].is_null());
  EXPECT_EQ(json["action"]["href"].as_string(), "/queues/orders/jobs/a%2Fb%20%C3%A9");
  EXPECT_EQ(Json::parse(problem_json({.level = Finding::Level::bad, .what = "x"}))["severity"].as_string(),
            "person");
}

}  // namespace problem_text_test
}  // namespace ordo
