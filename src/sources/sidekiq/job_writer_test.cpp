#include "sources/sidekiq/job_writer.h"

#include <gtest/gtest.h>

#include <ordo/error.hpp>

namespace ordo::sources::job_writer_test {
namespace {

using sidekiq::Dialect;

constexpr Time kNow{std::chrono::microseconds{1795266824283754}};

TEST(SidekiqJobWriter, seconds_have_a_fraction_as_ruby_prints_them) {
  EXPECT_EQ(float_seconds(kNow), "1795266824.283754");
  EXPECT_EQ(float_seconds(Time{std::chrono::seconds{1795266824}}), "1795266824.0");
  EXPECT_EQ(whole_seconds(kNow), "1795266824");
}

TEST(SidekiqJobWriter, writes_the_fields_in_the_order_of_each_call) {
  const sidekiq::Push push{
      .class_name = "A", .args = Json::parse("[1,\"/ü\"]"), .fields = Json::parse("{\"tags\":[]}")};
  EXPECT_EQ(write_job(Dialect::sidekiq, push, {"j", kNow}),
            R"({"retry":true,"queue":"default","tags":[],"args":[1,"/ü"],"class":"A","jid":"j",)"
            R"("created_at":1795266824.283754,"enqueued_at":1795266824.283754})");
  EXPECT_EQ(write_job(Dialect::sidekiq, push, {"j", kNow, true, true}),
            R"({"retry":true,"queue":"default","tags":[],"class":"A","args":[1,"/ü"],"jid":"j",)"
            R"("created_at":1795266824.283754})");
}

TEST(SidekiqJobWriter, verk_says_how_often_it_retries) {
  const auto written = [](const Json& retry, const JobStamp& stamp) {
    return Json::parse(
               write_job(Dialect::verk, {.class_name = "A", .retry = retry}, stamp))["max_retry_count"]
        .dump();
  };
  EXPECT_EQ(written(true, {"1", kNow}), "25");
  EXPECT_EQ(written(true, {"1", kNow, true}), "null");
  EXPECT_EQ(written(false, {"1", kNow}), "0");
  EXPECT_EQ(written(3, {"1", kNow, true}), "3");
}

TEST(SidekiqJobWriter, refuses_what_a_dialect_has_no_words_for) {
  const JobStamp now{"1", kNow};
  const auto refused = [](Dialect dialect, const sidekiq::Push& push, const JobStamp& stamp) {
    EXPECT_THROW(write_job(dialect, push, stamp), Error) << push.class_name;
  };
  refused(Dialect::sidekiq, {}, now);
  refused(Dialect::sidekiq, {.class_name = "A", .args = Json::object()}, now);
  refused(Dialect::sidekiq, {.class_name = "A", .queue = ""}, now);
  refused(Dialect::sidekiq, {.class_name = "A", .retry = "no"}, now);
  refused(Dialect::sidekiq, {.class_name = "A", .fields = Json::parse("{\"args\":[]}")}, now);
  refused(Dialect::resque, {.class_name = "A"}, {"", kNow, true});
  refused(Dialect::resque, {.class_name = "A", .jid = "1"}, now);
  refused(Dialect::verk, {.class_name = "A", .fields = Json::parse("{\"tags\":[]}")}, now);
}

}  // namespace
}  // namespace ordo::sources::job_writer_test
