#include "faces/job_text.h"

#include <gtest/gtest.h>

#include <string>

#include <ordo/error.hpp>

namespace ordo {
namespace job_text_test {

std::string refusal_of(std::string_view json) {
  try {
    parse_job(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(JobText, reads_every_key) {
  const NewJob job = parse_job(
      R"( {"id":"42", "key":"k", "kind":"charge", "payload": {"v": 1.0, "t":"\u00e9 x"}, "score":7.5,
          "run_at":"2025-03-09T07:05:00Z", "priority":-3, "timeout":"90s"} )");
  EXPECT_EQ(job.id, "42");
  EXPECT_EQ(job.key, "k");
  EXPECT_EQ(job.kind, "charge");
  EXPECT_EQ(job.payload, R"({"v":1.0,"t":"\u00e9 x"})");  // white space removed and nothing else changed
  EXPECT_EQ(job.score, 7.5);
  EXPECT_EQ(job.run_at, Time{std::chrono::seconds{1741503900}});
  EXPECT_EQ(job.priority, -3);
  EXPECT_EQ(job.timeout, std::chrono::seconds{90});
}

TEST(JobText, sets_only_what_is_there) {
  const NewJob job = parse_job("{}");
  EXPECT_EQ(job.id + job.key + job.kind + job.payload, "");
  EXPECT_FALSE(job.score || job.run_at || job.delay || job.priority || job.timeout);
}

TEST(JobText, reads_payloads_that_are_bytes) {
  EXPECT_EQ(parse_job(R"({"payload":""})").payload, "");
  EXPECT_EQ(parse_job(R"({"payload":{"$base64":"AP8="}})").payload, std::string("\0\xff", 2));
  EXPECT_EQ(parse_job(R"({"payload":null})").payload, "null");
  EXPECT_NE(refusal_of(R"({"payload":{"$base64":"?"}})"), "");
}

TEST(JobText, reads_times_in_three_ways) {
  EXPECT_EQ(parse_job(R"({"run_at":1741503900.5})").run_at, Time{std::chrono::milliseconds{1741503900500}});
  EXPECT_EQ(parse_job(R"({"run_at":"1741503900"})").run_at, Time{std::chrono::seconds{1741503900}});
  EXPECT_EQ(parse_job(R"({"run_at":"+10s"})").delay, std::chrono::seconds{10});
  EXPECT_NE(refusal_of(R"({"run_at":"tomorrow"})"), "");
  EXPECT_NE(refusal_of(R"({"run_at":"+10"})"), "");
  EXPECT_NE(refusal_of(R"({"run_at":true})"), "");
  EXPECT_NE(refusal_of(R"({"run_at":1e300})"), "");
}

TEST(JobText, names_the_limit_or_the_byte_that_is_wrong) {
  EXPECT_EQ(refusal_of(R"({"priority":2147483648})"),
            "\"priority\" needs a whole number from -2147483648 to 2147483647, not 2147483648");
  EXPECT_EQ(refusal_of(R"({"score":1e400})"),
            "\"score\" needs a number between -1.8e308 and 1.8e308, not 1e400");
  EXPECT_EQ(refusal_of(R"({"id":"é",})"), "this is no JSON: byte 12 of 12 is wrong");
  EXPECT_EQ(refusal_of(R"({"key":{"$base64":"?"}})"),
            R"("key" needs a text in quotes, or {"$base64":"…"} with padded base64, not {"$base64":"?"})");
}

TEST(JobText, reads_moments_that_are_over) {
  EXPECT_EQ(moment_of("1741503900"), Time{std::chrono::seconds{1741503900}});
  EXPECT_EQ(moment_of("-5"), Time{std::chrono::seconds{-5}});
  EXPECT_EQ(moment_of("2025-03-09T07:05:00Z"), Time{std::chrono::seconds{1741503900}});
  const auto two_hours = moment_of("+1h") - moment_of("-1h");
  EXPECT_GT(two_hours, std::chrono::minutes{110});
  EXPECT_THROW(moment_of("-1x"), Error);
}

TEST(JobText, refuses_what_is_no_job) {
  EXPECT_EQ(refusal_of(R"({"id":"1","pay":1})"), "unknown key \"pay\"; did you mean 'payload'?");
  EXPECT_EQ(refusal_of(R"({"id":42})"),
            R"("id" needs a text in quotes, or {"$base64":"…"} with padded base64, not 42)");
  EXPECT_EQ(refusal_of(R"({"id":"1","id":"2"})"), "duplicate key \"id\"");
  EXPECT_EQ(refusal_of("[]").find("a job is a JSON object"), 0U);
  EXPECT_EQ(refusal_of("{\"id\":").find("this is no JSON"), 0U);
  EXPECT_NE(refusal_of(R"({"id":""})"), "");
  EXPECT_NE(refusal_of(R"({"score":"1"})"), "");
  EXPECT_NE(refusal_of(R"({"score":1e400})"), "");
  EXPECT_NE(refusal_of(R"({"priority":2147483648})"), "");
  EXPECT_NE(refusal_of(R"({"priority":1.5})"), "");
  EXPECT_NE(refusal_of(R"({"timeout":30})"), "");
  EXPECT_NE(refusal_of(R"({"timeout":"0s"})"), "");
  EXPECT_NE(refusal_of(""), "");
  EXPECT_NE(refusal_of("{} {}"), "");
}

}  // namespace job_text_test
}  // namespace ordo
