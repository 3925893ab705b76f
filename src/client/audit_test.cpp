// The log of changes: what is noted, in which order, and for how long.
#include "client/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "domain/audit_record.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace audit_test {

using ::testing::ElementsAre;

class Changes : public testing::Test {
 protected:
  std::vector<AuditEntry> all(const AuditFilter& filter = {}) {
    std::vector<AuditEntry> entries;
    admin_.audit(filter, [&](const AuditEntry& entry) {
      entries.push_back(entry);
      return true;
    });
    return entries;
  }
  std::vector<std::string> told() {
    std::vector<std::string> lines;
    for (const auto& each : all()) lines.push_back(each.who + " " + each.action + " " + each.result);
    return lines;
  }

  std::shared_ptr<store::Store> store_ = std::make_shared<store::memory::MemoryStore>(system_clock());
  std::shared_ptr<StoreHandle> handle_ = std::make_shared<StoreHandle>(Config{}, system_clock(), store_);
  Admin admin_{std::make_shared<Admin::Impl>(handle_)};
};

TEST_F(Changes, are_noted_with_who_made_them_the_newest_first) {
  store_->define("orders", 1);
  auto ann = admin_.acting_as("ann");
  EXPECT_TRUE(ann.pause("orders"));
  EXPECT_FALSE(ann.pause("orders"));
  EXPECT_TRUE(admin_.resume("orders"));
  EXPECT_THROW(ann.pause("nosuch"), Error);
  EXPECT_FALSE(ann.stop_node("none"));
  const auto lines = told();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0], "ann stop_node unchanged");
  EXPECT_EQ(lines[1].find("ann pause failed: "), 0U) << lines[1];
  EXPECT_EQ(lines[2], user_of_process() + " resume done");
  EXPECT_EQ(lines[3], "ann pause unchanged");
  EXPECT_EQ(lines[4], "ann pause done");
  EXPECT_EQ(all()[0].filter, R"({"node":"none"})");
  EXPECT_EQ(all()[4].queue, "orders");
}

TEST_F(Changes, are_read_page_by_page_and_by_queue) {
  for (const char* queue : {"a", "b", "a", "c"}) {
    store_->define(queue, 1);
    admin_.remove(queue);
  }
  EXPECT_EQ(all({.queues = {"a"}}).size(), 2U);
  std::vector<std::string> queues;
  std::string cursor;
  for (int page = 0; page < 4; ++page) {
    std::size_t seen = 0;
    cursor = admin_.audit({.after = cursor}, [&](const AuditEntry& entry) {
      if (seen == 1) return false;
      ++seen;
      queues.push_back(entry.queue);
      return true;
    });
  }
  EXPECT_THAT(queues, ElementsAre("c", "a", "b", "a"));
  EXPECT_THROW(admin_.audit({.after = "nonsense"}, [](const AuditEntry&) { return true; }), Error);
}

TEST_F(Changes, are_kept_up_to_a_number) {
  const auto put = [&](std::uint64_t number) {
    const auto bytes = domain::encode(AuditEntry{.at = store_->now(), .who = std::to_string(number)});
    store_->step_rows("!audit", {{{domain::audit_row_key(number), bytes, true, Time::max()}, {}, {}}});
  };
  constexpr auto kMost = domain::kMostAuditRows;
  for (const auto number : {std::uint64_t{7}, std::uint64_t{8}, kMost + 6}) put(number);
  admin_.acting_as("next").note({});
  std::vector<std::string> who;
  for (const auto& each : all()) who.push_back(each.who);
  EXPECT_THAT(who, ElementsAre("next", std::to_string(kMost + 6), "8"));
}

TEST_F(Changes, of_many_at_once_are_all_there) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) admin_.note({.action = "x"});
    });
  }
  threads.clear();
  EXPECT_EQ(all().size(), 200U);
}

TEST(AuditFilterText, has_no_payload_and_is_short) {
  EXPECT_EQ(filter_json(JobName{.id = "1", .kind = "k"}), R"({"id":"1","kind":"k"})");
  EXPECT_EQ(filter_json(JobName{}), "{}");
  const JobFilter jobs{.states = {JobStatus::due, JobStatus::retrying}, .error = "a\"b", .retry_count = 3};
  EXPECT_EQ(filter_json(jobs), R"({"state":"due,retrying","error":"a\"b","retry_count":3})");
  DeadFilter dead{.ids = std::vector<std::string>(30, "x")};
  EXPECT_NE(filter_json(dead).find(R"("ids_in_all":30)"), std::string::npos);
  EXPECT_EQ(limit_filter("crm", Decimal::parse("2.5"), RateLimit{.limit = 5, .burst = 5}),
            R"({"limit":"crm","value":2.5,"rate":{"limit":5,"per":"1s","burst":5}})");
}

}  // namespace audit_test
}  // namespace ordo
