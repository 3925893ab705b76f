#include "faces/export_line.h"

#include <gtest/gtest.h>

#include <limits>

#include "faces/job_text.h"

namespace ordo {
namespace export_line_test {

using std::chrono::microseconds;
using std::chrono::seconds;

JobView hostile() {
  JobView job;
  job.id = std::string("\0\xff\n\"", 4);
  job.key = "{\"$base64\":\"AAAA\"}";
  job.kind = "заказ\u2028";
  job.run_at = Time{microseconds{1'741'503'900'000'001}};
  job.expires = Time{seconds{253'402'300'799}};
  job.priority = std::numeric_limits<std::int32_t>::min();
  job.timeout = microseconds{1'000'001};
  job.windows = {{seconds{3661}, seconds{86'400}, 0x41, "Europe/Moscow"}};
  job.weight = Decimal::parse("0.000001");
  job.partition = std::string("\xC3", 1);
  job.critical = false;
  job.lock = "l";
  job.max_retries = std::numeric_limits<std::int32_t>::max();
  return job;
}

TEST(ExportLine, is_read_back_as_it_was) {
  auto job = hostile();
  for (const std::string& bytes :
       {std::string(), std::string("\"\""), std::string("{\"a\": 1}"), std::string("{\"a\":1.0}"),
        std::string("{\"$base64\":\"AP8=\"}"), std::string("\xFF\0x", 3), std::string(" 7"), std::string("7"),
        std::string("\"\\u00e9\""), std::string("no json"), std::string("{\"a\":1}\n")}) {
    job.payloads = {{bytes, 0.1 + 0.2}};
    const auto line = export_lines(job);
    const NewJob read = parse_job(line);
    EXPECT_EQ(read.payload, bytes) << line;
    EXPECT_EQ(read.score, 0.1 + 0.2);
    EXPECT_EQ(read.id, job.id) << line;
    EXPECT_EQ(read.key, job.key);
    EXPECT_EQ(read.kind, job.kind);
    EXPECT_EQ(read.run_at, job.run_at);
    EXPECT_EQ(read.expires, job.expires);
    EXPECT_EQ(read.priority, job.priority);
    EXPECT_EQ(read.timeout, job.timeout);
    EXPECT_EQ(read.windows, job.windows);
    EXPECT_EQ(read.weight, job.weight);
    EXPECT_EQ(read.partition, job.partition);
    EXPECT_EQ(read.critical, job.critical);
    EXPECT_EQ(read.lock, job.lock);
    EXPECT_EQ(read.max_retries, job.max_retries);
  }
}

TEST(ExportLine, an_expiry_that_moves_with_its_job_is_a_span) {
  auto job = hostile();
  job.payloads = {{"1", 1}};
  job.expires = job.run_at + seconds{90};
  job.expiry_moves = true;
  const auto read = parse_job(export_lines(job));
  EXPECT_EQ(read.expires_after, seconds{90});
  EXPECT_FALSE(read.expires);
}

TEST(ExportLine, of_a_job_that_never_expires_says_so) {
  auto job = hostile();
  job.payloads = {{"1", 1}};
  job.expires.reset();
  EXPECT_EQ(parse_job(export_lines(job)).expires, Time::max());
}

TEST(ExportLine, has_a_line_for_each_payload) {
  JobView job;
  job.id = job.key = "1";
  job.kind = "k";
  job.payloads = {{"1", 1}, {"2", 2}};
  EXPECT_EQ(export_lines(job),
            "{\"id\":\"1\",\"key\":\"1\",\"kind\":\"k\",\"payload\":1,\"score\":1,\"run_at\":\"1970-01-01T00:"
            "00:00Z\",\"expires\":\"never\"}\n"
            "{\"id\":\"1\",\"key\":\"1\",\"kind\":\"k\",\"payload\":2,\"score\":2,\"run_at\":\"1970-01-01T00:"
            "00:00Z\",\"expires\":\"never\"}\n");
}

TEST(ExportLine, of_a_dead_payload_has_no_time) {
  const DeadView dead{.kind = "k", .key = "1", .id = "1", .payload = {"{\"a\": 1}", 2}, .priority = 3};
  EXPECT_EQ(
      export_line(dead),
      "{\"id\":\"1\",\"key\":\"1\",\"kind\":\"k\",\"payload\":{\"$base64\":\"eyJhIjogMX0=\"},\"score\":2,"
      "\"priority\":3}\n");
}

}  // namespace export_line_test
}  // namespace ordo
