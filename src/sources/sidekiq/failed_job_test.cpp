#include "sources/sidekiq/failed_job.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/base64.h"
#include "base/number_text.h"
#include "sources/sidekiq/job_reader.h"

namespace ordo::sources::failed_job_test {
namespace {

const Time kAt{std::chrono::microseconds{1'795'266'824'250'000}};

domain::JobState failed(const std::string& error = "boom", std::int32_t retry_count = 0) {
  domain::JobState state;
  state.hand_over = {"web", "1-2-3"};
  state.set_at = kAt;
  state.retry_count = retry_count;
  state.error = error;
  return state;
}

std::optional<Retry> written(const std::string& payload, const domain::JobState& state = failed(),
                             sidekiq::Dialect dialect = sidekiq::Dialect::sidekiq) {
  return write_retry({.name = "web", .dialect = dialect, .queues = {"default", "low"}}, "o1", payload, state,
                     3);
}

double delay(const Retry& retry) { return *read_number<double>(retry.score) - 1'795'266'824; }

TEST(SidekiqFailedJob, has_the_fields_of_the_middleware_and_all_of_its_own) {
  const auto first = *written(
      R"({"retry":3, "queue":"low","args":[9007199254740993,1.50,"\u0041\/"],"class":"A","jid":"j","x":{"y":null}})");
  EXPECT_EQ(
      first.bytes,
      R"({"retry":3,"queue":"low","args":[9007199254740993,1.50,"\u0041\/"],"class":"A","jid":"j","x":{"y":null},)"
      R"("retry_count":0,"error_class":"handler","error_message":"boom","failed_at":1795266824.25})");
  const auto second = *written(first.bytes);
  EXPECT_NE(second.bytes.find(R"("retry_count":1,)"), std::string::npos);
  EXPECT_NE(second.bytes.find(R"("failed_at":1795266824.25,"retried_at":1795266824.25)"), std::string::npos);
}

TEST(SidekiqFailedJob, retry_now_counts_back) {
  const auto again = *written(R"({"class":"A","args":[],"jid":"j","retry_count":-1,"failed_at":5.5})");
  EXPECT_NE(again.bytes.find(R"("retry_count":0,"failed_at":5.5)"), std::string::npos) << again.bytes;
}

// The mapping and this must agree, or a job is retried for ever.
TEST(SidekiqFailedJob, each_failure_counts_in_both_dialects) {
  for (std::string bytes :
       {R"({"class":"A","args":[],"jid":"j","retry":3})",
        R"({"class":"A","args":"[1.50]","jid":"j","retry_count":0,"max_retry_count":3})"}) {
    const bool is_verk = bytes.find("max_retry_count") != std::string::npos;
    for (int failures = 1; failures <= 3; ++failures) {
      const auto dialect = is_verk ? sidekiq::Dialect::verk : sidekiq::Dialect::sidekiq;
      bytes = written(bytes, failed(), dialect)->bytes;
      std::string why;
      EXPECT_EQ(read_job(bytes, {}, why)->retry_count, is_verk ? failures : failures - 1) << bytes;
    }
    EXPECT_EQ(bytes.find(R"("args":"[1.50]")") != std::string::npos, is_verk) << bytes;
  }
}

// Sidekiq's poller would give it 25.
TEST(SidekiqFailedJob, without_retries_of_its_own_it_gets_those_of_its_queue) {
  const std::string ruby = R"({"class":"A","args":[],"jid":"j")",
                    verk = R"({"class":"A","args":"[]","jid":"j")";
  EXPECT_NE(written(ruby + "}")->bytes.find(R"("retry":3,)"), std::string::npos);
  EXPECT_NE(written(ruby + R"(,"retry_count":1})")->bytes.find(R"("retry":5,)"), std::string::npos);
  EXPECT_NE(written(ruby + R"(,"retry":true})")->bytes.find(R"("retry":true,)"), std::string::npos);
  EXPECT_NE(written(verk + "}", failed(), sidekiq::Dialect::verk)->bytes.find(R"("max_retry_count":3,)"),
            std::string::npos);
}

TEST(SidekiqFailedJob, failures_that_ordo_has_retried_itself_count) {
  EXPECT_NE(
      written(R"({"class":"A","args":[],"jid":"j"})", failed("boom", 2))->bytes.find(R"("retry_count":2)"),
      std::string::npos);
}

TEST(SidekiqFailedJob, it_is_due_by_the_formula_of_its_dialect) {
  const auto due = [](const std::string& more, const std::string& name) {
    auto state = failed();
    state.hand_over.name = name;
    return delay(*written(R"({"class":"A","args":[],"jid":"j")" + more + "}", state));
  };
  double least = 1e9, most = 0;
  for (int i = 0; i < 200; ++i) {
    const auto at =
        due(R"(,"retry_count":2)", std::to_string(i));  // the fourth failure: 3^4 + 15 + rand(10) * 4
    least = std::min(least, at);
    most = std::max(most, at);
  }
  EXPECT_GE(least, 96);
  EXPECT_LT(least, 97);
  EXPECT_GE(most, 132);
  EXPECT_LT(most, 133);
  EXPECT_LT(due(R"(,"retry_count":2147483647)", "1"), 1.1e12);
}

TEST(SidekiqFailedJob, its_queue_is_a_list_of_the_source_or_the_one_that_it_asks_for) {
  EXPECT_NE(written(R"({"class":"A","args":[],"jid":"j"})")->bytes.find(R"("queue":"default")"),
            std::string::npos);
  EXPECT_NE(
      written(R"({"class":"A","args":[],"queue":"theirs"})")->bytes.find(R"("queue":"default","jid":"o1")"),
      std::string::npos);
  EXPECT_NE(written(R"({"class":"A","args":[],"queue":"low","retry_queue":"slow"})")
                ->bytes.find(R"("queue":"slow")"),
            std::string::npos);
}

std::string unpacked(const std::string& bytes) {
  const auto job = Json::parse(bytes);
  if (!job.contains("error_backtrace")) return {};
  const auto packed = *decode_base64(job["error_backtrace"].as_string());
  std::string text(10'000, '\0');
  auto size = static_cast<uLongf>(text.size());
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  text.resize(size);
  return text;
}

TEST(SidekiqFailedJob, lines_behind_the_first_are_its_backtrace_if_it_asks_for_one) {
  const auto of = [](const std::string& asked, const std::string& error) {
    return unpacked(written(R"({"class":"A","args":[],"backtrace":)" + asked + "}", failed(error))->bytes);
  };
  EXPECT_EQ(of("true", "boom\n a.py:1\n b.py:2\n"), R"([" a.py:1"," b.py:2"])");
  EXPECT_EQ(of("1", "boom\n a.py:1\n b.py:2\n"), R"([" a.py:1"])");
  EXPECT_EQ(of("false", "boom\n a.py:1"), "");
  EXPECT_EQ(of("true", "boom"), "");
  for (const auto* asked : {"-1", "1e300", "1e999", "-1e999", "\"2\"", "null"})
    EXPECT_EQ(of(asked, "boom\nx"), "") << asked;
}

TEST(SidekiqFailedJob, what_is_no_job_of_sidekiq_has_none) {
  EXPECT_FALSE(written("42"));
  EXPECT_FALSE(written(R"({"total":7})"));
  const std::string verk = R"({"class":"A","args":"[]","jid":"j","max_retry_count":3})";
  EXPECT_FALSE(written(verk));
  EXPECT_TRUE(written(verk, failed(), sidekiq::Dialect::verk));
  EXPECT_FALSE(written(R"({"class":"A","args":[],"jid":"j"})", failed(), sidekiq::Dialect::verk));
}

}  // namespace
}  // namespace ordo::sources::failed_job_test
