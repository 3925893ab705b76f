#include "web/news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ordo/json.hpp>

namespace ordo::web {
namespace news_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Event event(EventType type, const std::string& queue, const std::string& id = "") {
  return {.type = type, .queue = queue, .kind = id.empty() ? "" : queue, .id = id, .key = id};
}

std::string read(EventRing& ring, EventRing::Reader& reader) {
  std::string text;
  ring.read(reader, text);
  return text;
}

std::string last_id_of(const std::string& text) {
  const auto at = text.rfind("id: ") + 4;
  return text.substr(at, text.find('\n', at) - at);
}

TEST(EventRing, tells_readers_what_came_after_them) {
  EventRing ring("e");
  ring.add(event(EventType::job_failed, "a", "old"));
  EventRing::Reader reader;
  ring.place(reader, "");
  EXPECT_EQ(read(ring, reader), "");
  ring.add(event(EventType::job_failed, "a", "1"));
  ring.add(event(EventType::queue_paused, "b"));
  const auto text = read(ring, reader);
  EXPECT_THAT(text, HasSubstr("id: e-2\nevent: job_failed\ndata: {\"queue\":\"a\""));
  EXPECT_THAT(text, HasSubstr("id: e-3\nevent: queue_paused\n"));
  EXPECT_EQ(read(ring, reader), "");
  EventRing::Reader again;
  ring.place(again, "e-2");
  EXPECT_THAT(read(ring, again), testing::StartsWith("id: e-3\n"));
  for (const char* id : {"another-2", "e", "e-", "e-x", "e-2x", "e-99"}) {
    EventRing::Reader stranger;
    ring.place(stranger, id);
    EXPECT_THAT(read(ring, stranger), testing::MatchesRegex("event: missed\ndata: [^\n]*\n\nid: e-1\n.*"))
        << id << ": all that there is, and nobody knows what was before";
    EXPECT_EQ(read(ring, stranger), "") << "it is told once";
  }
}

TEST(EventRing, says_how_long_a_run_took_only_where_there_was_one) {
  EventRing ring("e");
  EventRing::Reader reader;
  ring.place(reader, "");
  auto failed = event(EventType::job_failed, "a", "cancelled");
  ring.add(failed);
  EXPECT_THAT(read(ring, reader), Not(HasSubstr("took")));
  failed.took = std::chrono::milliseconds{200};
  ring.add(failed);
  EXPECT_THAT(read(ring, reader), HasSubstr(R"("took":0.2)"));
  auto dead = event(EventType::job_dead, "a", "dead");
  ring.add(dead);
  EXPECT_THAT(read(ring, reader), Not(HasSubstr("took")));
}

TEST(EventRing, what_is_forgotten_is_missed) {
  EventRing ring("e");
  EventRing::Reader reader;
  ring.place(reader, "");
  ring.add(event(EventType::job_dead, "a", "secret"));
  ring.forget();
  ring.add(event(EventType::job_dead, "a", "shown"));
  const auto text = read(ring, reader);
  EXPECT_THAT(text, AllOf(HasSubstr("event: missed"), HasSubstr("shown"), Not(HasSubstr("secret"))));
}

TEST(EventRing, leaves_out_what_is_not_wanted) {
  EventRing ring("e");
  EventRing::Reader of_queue{.queues = {"a"}}, of_name{.names = {"job_dead"}};
  ring.place(of_queue, "");
  ring.place(of_name, "");
  ring.add(event(EventType::job_dead, "b", "1"));
  ring.add(event(EventType::job_failed, "a", "2"));
  ring.add(event(EventType::node_up, "", "n"));
  EXPECT_EQ(last_id_of(read(ring, of_queue)), "e-2");
  EXPECT_EQ(last_id_of(read(ring, of_name)), "e-1");
}

TEST(EventRing, starts_and_ends_drive_out_nothing_else) {
  EventRing ring("e");
  EventRing::Reader reader{.names = {"job_failed", "job_started"}};
  ring.place(reader, "");
  ring.add(event(EventType::job_started, "a", "unseen"));
  ring.add_watcher();
  ring.add(event(EventType::job_failed, "a", "1"));
  for (std::size_t i = 0; i < EventRing::kKept + 1; ++i) ring.add(event(EventType::job_started, "a", "s"));
  const auto text = read(ring, reader);
  EXPECT_THAT(text, HasSubstr("job_failed"));
  EXPECT_THAT(text, HasSubstr("event: missed"));
  EXPECT_THAT(text, Not(HasSubstr("unseen"))) << "nobody wanted it then";
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(EventRing, tells_who_is_far_behind_that_some_are_missed_and_then_all_that_is_left) {
  EventRing ring("e");
  EventRing::Reader behind, back;
  ring.place(behind, "");
  EXPECT_EQ(read(ring, behind), "");
  for (std::size_t i = 0; i < EventRing::kKept + 7; ++i) ring.add(event(EventType::job_dead, "a", "killed"));
  ring.place(back, "e-0");
  for (auto* reader : {&behind, &back}) {
    std::string all;
    for (auto text = read(ring, *reader); !text.empty(); text = read(ring, *reader)) all += text;
    EXPECT_THAT(all, testing::StartsWith("event: missed\n"));
    EXPECT_EQ(count_of(all, "event: missed"), 1U);
    EXPECT_EQ(count_of(all, "event: job_dead"), EventRing::kKept);
    EXPECT_EQ(last_id_of(all), "e-1007");
  }
  ring.add(event(EventType::job_dead, "a", "another"));
  EXPECT_EQ(count_of(read(ring, behind), "event: "), 1U) << "it has caught up";
}

TEST(EventRing, tells_who_comes_back_of_starts_that_nobody_wanted_meanwhile) {
  EventRing ring("e");
  EventRing::Reader first{.names = {"job_started"}}, back = first, quiet{.names = {"job_failed"}};
  ring.add_watcher();
  ring.place(first, "");
  ring.add(event(EventType::job_started, "a", "seen"));
  const auto last = last_id_of(read(ring, first));
  ring.remove_watcher();
  ring.add(event(EventType::job_started, "a", "unseen"));
  ring.add_watcher();
  ring.place(back, last);
  EXPECT_THAT(read(ring, back), HasSubstr("event: missed"));
  ring.place(quiet, last);
  EXPECT_EQ(read(ring, quiet), "") << "it wants no starts";
}

Stats stats_of(std::uint64_t a, std::uint64_t b) {
  Stats stats;
  stats.by_queue = {{"a", {.length = a}}, {"b", {.length = b}}};
  stats.total.length = a + b;
  return stats;
}

Json told(LiveStats& live, std::uint64_t& seen, const std::set<std::string>& queues = {}) {
  std::string text;
  live.tell(seen, queues, text);
  constexpr std::string_view kHead = "event: stats\ndata: ";
  return text.empty() ? Json() : Json::parse(text.substr(kHead.size(), text.size() - kHead.size() - 2));
}

TEST(LiveStats, tells_all_once_and_then_the_changes) {
  LiveStats live;
  std::uint64_t seen = 0, of_b = 0;
  EXPECT_TRUE(told(live, seen).is_null());
  live.take(Time{}, stats_of(1, 2));
  auto first = told(live, seen);
  EXPECT_TRUE(first["whole"].as_bool());
  EXPECT_EQ(first["by_queue"]["b"]["length"].as_int(), 2);
  EXPECT_TRUE(told(live, seen).is_null()) << "it knows them";
  EXPECT_FALSE(told(live, of_b, {"b"})["by_queue"].contains("a"));
  live.take(Time{}, stats_of(5, 2));
  const auto change = told(live, seen);
  EXPECT_FALSE(change["whole"].as_bool());
  EXPECT_EQ(change["by_queue"].dump(), R"({"a":{"length":5}})");
  EXPECT_EQ(change["total"].dump(), R"({"length":7})");
  EXPECT_EQ(told(live, of_b, {"b"})["by_queue"].dump(), "{}");
}

TEST(LiveStats, tells_queues_in_the_order_of_the_stats) {
  LiveStats live;
  std::uint64_t seen = 0;
  auto stats = stats_of(1, 2);
  std::ranges::reverse(stats.by_queue);
  live.take(Time{}, stats);
  std::string text;
  live.tell(seen, {}, text);
  EXPECT_THAT(text, HasSubstr(R"("by_queue":{"b":)"));
}

TEST(LiveStats, tells_all_to_who_missed_some_and_when_queues_come_or_go) {
  LiveStats live;
  std::uint64_t seen = 0, late = 0;
  live.take(Time{}, stats_of(1, 1));
  told(live, seen), told(live, late);
  live.take(Time{}, stats_of(2, 1));
  told(live, seen);
  live.take(Time{}, stats_of(3, 1));
  EXPECT_FALSE(told(live, seen)["whole"].as_bool());
  EXPECT_TRUE(told(live, late)["whole"].as_bool());
  auto fewer = stats_of(3, 1);
  fewer.by_queue.pop_back();
  live.take(Time{}, fewer);
  const auto whole = told(live, seen);
  EXPECT_TRUE(whole["whole"].as_bool());
  EXPECT_FALSE(whole["by_queue"].contains("b"));
}

}  // namespace news_test
}  // namespace ordo::web
