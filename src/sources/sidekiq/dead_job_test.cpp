#include "sources/sidekiq/dead_job.h"

#include <gtest/gtest.h>

#include <array>

#include "domain/plain_push.h"

namespace ordo::sources::dead_job_test {
namespace {

const Time kAt{std::chrono::microseconds{1'795'266'824'250'000}};

std::optional<std::string> written(const std::string& payload, std::int32_t retry_count = 2) {
  domain::DeadPayload dead;
  dead.id = "o1";
  dead.payload = payload;
  dead.retry_count = retry_count;
  dead.error = "boom \xff";
  return write_dead_job({.name = "web", .queues = {"default", "low"}}, dead, kAt);
}

TEST(SidekiqDeadJob, has_its_fields_and_what_the_pages_read) {
  EXPECT_EQ(
      written(
          R"({"retry":2, "queue":"low","args":[9007199254740993,1.50],"class":"A","jid":"j","x":{"y":null}})"),
      R"({"retry":2,"queue":"low","args":[9007199254740993,1.50],"class":"A","jid":"j","x":{"y":null},)"
      "\"retry_count\":2,\"error_class\":\"handler\",\"error_message\":\"boom \xEF\xBF\xBD\","
      R"("failed_at":1795266824.25,"retried_at":1795266824.25})");
}

TEST(SidekiqDeadJob, one_that_died_of_its_first_failure_was_not_retried) {
  for (const int count : {-1, 0}) {
    const auto bytes = *written(R"({"class":"A","args":[],"queue":"low","jid":"j"})", count);
    EXPECT_NE(bytes.find(R"("retry_count":0)"), std::string::npos);
    EXPECT_EQ(bytes.find("retried_at"), std::string::npos);
  }
}

TEST(SidekiqDeadJob, earlier_failures_count_and_what_its_format_lacks_is_added) {
  const auto bytes =
      *written(R"({"class":"A","args":"[1]","retry_count":3,"failed_at":5.5,"max_retry_count":4})", 0);
  for (const auto* text : {R"("args":[1])", R"("queue":"default")", R"("jid":"o1")", R"("retry_count":3)",
                           R"("failed_at":5.5)", R"("retried_at":1795266824.25)"})
    EXPECT_NE(bytes.find(text), std::string::npos) << text << " in " << bytes;
  EXPECT_NE(written(R"({"class":"A","args":[],"jid":"j","retry_count":3})", 0)->find(R"("retry_count":4)"),
            std::string::npos);
}

TEST(SidekiqDeadJob, jobs_of_others_are_none) {
  EXPECT_FALSE(written(R"({"class":"A","args":[],"queue":"mail","jid":"j"})"));
  EXPECT_FALSE(written("garbage"));
  EXPECT_FALSE(written(R"({"total":7})"));
}

TEST(SidekiqDeadJob, what_is_malformed_stays_as_it_is) {
  const auto dead = [](const std::string& id, const std::string& payload) {
    using Field = std::pair<std::string_view, std::string_view>;
    const std::array<Field, 2> fields{Field{domain::kRefused, "why"}, Field{"payload", payload}};
    const auto row = domain::dead_entry(1, domain::encode_plain_push(fields, id, "k"), "why");
    return write_dead_job({.name = "web", .queues = {"default"}}, row, kAt);
  };
  EXPECT_EQ(dead("web-7-0", "garbage"), "garbage");
  EXPECT_EQ(dead("web-7-0", R"({"total":7})"), R"({"total":7})");
  for (const auto* id : {"other-7-0", "web-7", "web-7-", "web--0", "web-7-0-1", "web-7-x", "web-a-7-0"})
    EXPECT_FALSE(dead(id, "garbage")) << id;
  for (const auto* bytes : {"[1,2]", "42", "null", " \"text\""})
    EXPECT_FALSE(dead("web-7-0", bytes)) << bytes;
  EXPECT_NE(dead("j", R"({"class":"A","args":[],"jid":"j"})")->find(R"("error_message":"why")"),
            std::string::npos);
}

}  // namespace
}  // namespace ordo::sources::dead_job_test
