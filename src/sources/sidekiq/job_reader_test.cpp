#include "sources/sidekiq/job_reader.h"

#include <gtest/gtest.h>

#include <ordo/error.hpp>

namespace ordo::sources::job_reader_test {
namespace {

using sidekiq::Dialect;
using sidekiq::Job;

TEST(SidekiqJobReader, reads_a_job_of_sidekiq) {
  const auto job =
      Job::parse(R"({"retry":true,"queue":"default","args":[1,{"a":2}],"class":"OkJob","jid":"0eae",)"
                 R"("created_at":1795266824.25,"enqueued_at":1795266825.0,"bid":"b","tags":["x"]})");
  EXPECT_EQ(job.class_name, "OkJob");
  EXPECT_EQ(job.args.dump(), R"([1,{"a":2}])");
  EXPECT_EQ(job.queue, "default");
  EXPECT_EQ(job.jid, "0eae");
  EXPECT_EQ(job.retries, 25);
  EXPECT_TRUE(job.keeps_dead);
  EXPECT_EQ(job.created_at, Time{std::chrono::milliseconds{1795266824250}});
  EXPECT_EQ(job.enqueued_at, Time{std::chrono::seconds{1795266825}});
  EXPECT_EQ(job.dialect, Dialect::sidekiq);
  EXPECT_EQ(job.json["bid"].as_string(), "b");
  EXPECT_EQ(job.json["tags"].dump(), R"(["x"])");
}

TEST(SidekiqJobReader, reads_a_job_of_verk) {
  const auto job =
      Job::parse(R"({"args":"[42,\"a\"]","class":"Shop.Ship","created_at":null,"enqueued_at":1795266824,)"
                 R"("error_backtrace":null,"error_message":"boom","failed_at":1795266820,"finished_at":null,)"
                 R"("jid":"123","max_retry_count":7,"queue":"default","retried_at":null,"retry_count":1})");
  EXPECT_EQ(job.args.dump(), R"([42,"a"])");
  EXPECT_EQ(job.dialect, Dialect::verk);
  EXPECT_EQ(job.retries, 7);
  EXPECT_EQ(job.retry_count, 1);
  EXPECT_EQ(job.error_message, "boom");
  EXPECT_EQ(job.failed_at, Time{std::chrono::seconds{1795266820}});
  EXPECT_FALSE(job.created_at);
}

TEST(SidekiqJobReader, reads_a_job_of_resque) {
  const auto job = Job::parse(R"({"class":"Archive","args":[1]})");
  EXPECT_EQ(job.dialect, Dialect::resque);
  EXPECT_EQ(job.jid, "");
  EXPECT_FALSE(job.retries);
}

TEST(SidekiqJobReader, reads_times_of_every_version) {
  const auto read = [](const char* text) { return read_job_time(Json::parse(text)); };
  const auto seconds = [](std::int64_t count) { return Time{std::chrono::seconds{count}}; };
  EXPECT_EQ(read("1795266824.0"), seconds(1795266824));
  EXPECT_EQ(read("1795266824"), seconds(1795266824));
  EXPECT_EQ(read("1795266824000"), seconds(1795266824));
  EXPECT_EQ(read("100000000000"), seconds(100000000000));
  EXPECT_FALSE(read("null"));
  EXPECT_FALSE(read("\"1795266824\""));
  EXPECT_FALSE(read("1e300"));
  EXPECT_FALSE(read("1e999"));
}

TEST(SidekiqJobReader, says_what_retries_are_left) {
  const auto read = [](const std::string& fields) {
    const auto job = Job::parse(R"({"class":"A","args":[])" + fields + "}");
    return std::pair(job.retries, job.keeps_dead);
  };
  using Said = std::pair<std::optional<std::int32_t>, bool>;
  EXPECT_EQ(read(""), Said(std::nullopt, true));
  EXPECT_EQ(read(R"(,"retry":true)"), Said(25, true));
  EXPECT_EQ(read(R"(,"retry":false)"), Said(0, false));
  EXPECT_EQ(read(R"(,"retry":0)"), Said(0, true));
  EXPECT_EQ(read(R"(,"retry":3,"dead":false)"), Said(3, false));
  EXPECT_EQ(read(R"(,"retry":99999999999)"), Said(2147483647, true));
  EXPECT_EQ(read(R"(,"retry":"x","max_retry_count":4)"), Said(4, true));
}

TEST(SidekiqJobReader, an_empty_object_of_args_is_what_lua_makes_of_an_empty_array) {
  EXPECT_EQ(Job::parse(R"({"class":"A","args":{}})").args.dump(), "[]");
  EXPECT_EQ(Job::parse(R"({"class":"A","args":"{}"})").args.dump(), "[]");
}

TEST(SidekiqJobReader, refuses_keys_of_args_that_the_worker_does_not_know) {
  const char* const job = R"({"class":"A","args":[1,[{"id":7,"more":{"total":1}}]]})";
  EXPECT_NO_THROW(static_cast<void>(Job::parse(job, {{"id", "more", "total"}})));
  try {
    static_cast<void>(Job::parse(job, {{"id", "more"}}));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("unknown key 'total'"), std::string::npos) << error.what();
  }
}

TEST(SidekiqJobReader, says_what_is_malformed) {
  const auto why_not = [](std::string_view text) {
    std::string why;
    EXPECT_FALSE(read_job(text, {}, why)) << text;
    return why;
  };
  EXPECT_EQ(why_not("garbage"), "it is no JSON");
  EXPECT_EQ(why_not(""), "it is no JSON");
  EXPECT_EQ(why_not("[1]"), "it is JSON, but not an object");
  EXPECT_EQ(why_not(R"({"args":[]})"), "it names no class");
  EXPECT_EQ(why_not(R"({"class":null,"args":[]})"), "it names no class");
  EXPECT_EQ(why_not(R"({"class":"A"})"), "it has no args");
  EXPECT_EQ(why_not(R"({"class":"A","args":7})"), "its args are not an array");
  EXPECT_EQ(why_not(R"({"class":"A","args":"[1"})"), "its args are a string that holds no JSON");
  EXPECT_EQ(why_not(R"({"class":"A","args":"{\"a\":1}"})"), "its args are not an array");
}

}  // namespace
}  // namespace ordo::sources::job_reader_test
