#include "sources/sidekiq/mapping.h"

#include <gtest/gtest.h>

namespace ordo::sources::mapping_test {
namespace {

Config config_of(std::vector<SourceMap> maps) {
  return {.queues = {{.name = "rails"}, {.name = "orders"}},
          .sources = {{.name = "web",
                       .url = "redis://a",
                       .queues = {"default"},
                       .queue = "rails",
                       .map = std::move(maps)}}};
}

MappedJob mapped(const std::string& bytes, std::vector<SourceMap> maps = {}) {
  const auto config = config_of(std::move(maps));
  return map_job(config.sources[0], config, bytes, "7-0");
}

std::string refusal(const MappedJob& job) { return job.refused ? job.refused->why : ""; }

TEST(SidekiqMapping, a_class_that_no_map_names_goes_to_the_queue_of_the_source) {
  const std::string bytes = R"({ "class":"A","args":[1],"jid":"j1" , "x": 1.50})";
  const auto job = mapped(bytes, {{.class_name = "B", .queue = "orders"}});
  EXPECT_EQ(job.queue, "rails");
  EXPECT_EQ(job.job.id, "j1");
  EXPECT_EQ(job.job.key, "");
  EXPECT_EQ(job.job.kind, "");
  EXPECT_EQ(job.job.payload, bytes);  // unchanged, white space included
  EXPECT_FALSE(job.job.max_retries);
  EXPECT_FALSE(job.refused);
}

// What Ordo has forgotten of it by the time it comes again stands in the job alone.
TEST(SidekiqMapping, a_job_that_sidekiq_retries_has_its_queues_retries_if_it_says_none) {
  auto config = config_of({{.class_name = "B", .queue = "orders"}});
  config.sources[0].retries = SourceRetries::sidekiq;
  config.queues[1].max_retries = 4;
  const auto left = [&](const std::string& bytes) {
    return map_job(config.sources[0], config, bytes, "7-0").job.max_retries;
  };
  EXPECT_EQ(left(R"({"class":"A","args":[]})"), 25);
  EXPECT_EQ(left(R"({"class":"B","args":[],"jid":"j"})"), 4);
  EXPECT_EQ(left(R"({"class":"B","args":[],"jid":"j","retry_count":1})"), 2);
  EXPECT_EQ(left(R"({"class":"B","args":[],"jid":"j","retry_count":9})"), 0);
  EXPECT_EQ(left(R"({"class":"B","args":[],"jid":"j","retry_count":-1})"),
            4);  // `Retry now` of its first failure
  EXPECT_EQ(left(R"({"class":"B","args":"[]","jid":"j","retry_count":-1,"max_retry_count":4})"), 4);
  EXPECT_EQ(left(R"({"class":"B","args":[],"jid":"j","retry":7,"retry_count":1})"), 5);
}

TEST(SidekiqMapping, a_job_says_whether_it_is_kept_when_it_dies) {
  EXPECT_EQ(mapped(R"({"class":"A","args":[],"retry":3,"dead":false})").keeps_dead, false);
  EXPECT_EQ(mapped(R"({"class":"A","args":[],"retry":false})").keeps_dead, false);
  EXPECT_EQ(mapped(R"({"class":"A","args":[],"retry":0})").keeps_dead, true);
  EXPECT_EQ(mapped(R"({"class":"A","args":[],"retry":true})").keeps_dead, true);
}

TEST(SidekiqMapping, pointers_name_job_key_score_and_locks) {
  const auto job =
      mapped(R"({"class":"Ship","args":[42,{"at":1.5,"who":"ü"}],"jid":"j"})", {{.class_name = "Ship",
                                                                                 .queue = "orders",
                                                                                 .kind = "ship",
                                                                                 .id = "/0",
                                                                                 .key = "/1/who",
                                                                                 .score = "/1/at",
                                                                                 .lock = "/0",
                                                                                 .unique = "/1/who"}});
  EXPECT_EQ(job.queue, "orders");
  EXPECT_EQ(job.job.kind, "ship");
  EXPECT_EQ(job.job.id, "42");
  EXPECT_EQ(job.job.key, "ü");
  EXPECT_EQ(job.job.score, 1.5);
  EXPECT_EQ(job.job.lock, "42");
  EXPECT_EQ(job.job.unique, "ü");
}

TEST(SidekiqMapping, verk_has_its_arguments_in_a_string) {
  const auto job =
      mapped(R"({"args":"[42]","class":"Shop.Ship","jid":"12","max_retry_count":3,"retry_count":1})",
             {{.class_name = "Shop.Ship", .key = "/0"}});
  EXPECT_EQ(job.job.key, "42");
  EXPECT_EQ(job.job.id, "12");
  EXPECT_EQ(job.job.max_retries, 2);
}

TEST(SidekiqMapping, of_an_active_job_the_wrapped_class_and_its_arguments_count) {
  const auto job = mapped(
      R"({"class":"ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper","wrapped":"ShipJob","jid":"j",)"
      R"("args":[{"job_class":"ShipJob","job_id":"u","arguments":[42,"b"]}]})",
      {{.class_name = "ShipJob", .queue = "orders", .id = "/0"}});
  EXPECT_EQ(job.queue, "orders");
  EXPECT_EQ(job.job.id, "42");
}

TEST(SidekiqMapping, of_two_maps_for_a_class_the_first_counts) {
  const auto job = mapped(R"({"class":"A","args":[1]})",
                          {{.class_name = "A", .kind = "one"}, {.class_name = "A", .kind = "two"}});
  EXPECT_EQ(job.job.kind, "one");
}

TEST(SidekiqMapping, a_job_without_a_jid_is_named_by_its_place) {
  EXPECT_EQ(mapped(R"({"class":"A","args":[]})").job.id, "web-7-0");
}

TEST(SidekiqMapping, retries_that_were_used_up_do_not_come_back) {
  const auto left = [](const std::string& fields) {
    return mapped(R"({"class":"A","args":[])" + fields + "}").job.max_retries;
  };
  EXPECT_EQ(left(R"(,"retry":true)"), 25);
  EXPECT_EQ(left(R"(,"retry":5)"), 5);
  EXPECT_EQ(left(R"(,"retry":false)"), 0);
  EXPECT_EQ(left(R"(,"retry":5,"retry_count":0)"), 4);
  EXPECT_EQ(left(R"(,"retry":5,"retry_count":9)"), 0);
  EXPECT_FALSE(left(R"(,"retry_count":9)"));
}

TEST(SidekiqMapping, what_cannot_be_run_says_why_and_stays_whole) {
  const auto bad = mapped("garbage");
  EXPECT_EQ(refusal(bad), "malformed");
  EXPECT_EQ(bad.queue, "rails");
  EXPECT_EQ(bad.job.id, "web-7-0");
  EXPECT_EQ(bad.job.payload, "garbage");
  const SourceMap map{.class_name = "A", .queue = "orders", .id = "/0", .score = "/1"};
  EXPECT_EQ(refusal(mapped(R"({"class":"A","args":[]})", {map})), "no_value");
  EXPECT_EQ(refusal(mapped(R"({"class":"A","args":[1,"x"]})", {map})), "no_value");
  EXPECT_EQ(refusal(mapped(R"({"class":"A","args":[1,"7"]})", {map})), "");
  EXPECT_EQ(refusal(mapped(R"({"class":"A","args":[")" + std::string(256, 'x') + "\",1]}", {map})),
            "too_large");
  EXPECT_EQ(refusal(mapped(R"({"class":"A","args":[")" + std::string(1 << 20, 'x') + "\"]}")), "too_large");
  const auto without =
      mapped(R"({"class":"A","args":[]})", {{.class_name = "A", .lock = "/0", .unique = "/0"}});
  EXPECT_FALSE(without.refused);
  EXPECT_FALSE(without.job.lock);
}

}  // namespace
}  // namespace ordo::sources::mapping_test
