#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/schedule.h"
#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_ticks_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;

const PeriodicOptions kNightly{.name = "nightly", .queue = "q", .every = minutes{1}};

struct ShardTicks : ::testing::Test {
  void tick(Time at) {
    const auto bytes = encode_tick(kNightly, at, 1);
    harness.append(*decode_entry(bytes));
  }
  void control(EntryType type) {
    Entry entry;
    entry.type = type;
    entry.id = entry.key = "nightly";
    harness.append(entry);
  }
  static std::string id(Time at) { return job_id_of("nightly", at); }
  const ScheduleRecord& record() { return *harness.shard().schedules().find("nightly"); }

  Harness harness{{.name = "q"}};
  const Time now = harness.now();
};

TEST_F(ShardTicks, a_tick_brings_one_job_however_often_it_was_appended) {
  tick(now);
  tick(now);
  EXPECT_EQ(harness.shard().jobs(), 1U);
  harness.commit();
  EXPECT_EQ(harness.log_size(), 1U);
  tick(now - minutes{1});  // of an owner of before
  tick(now);
  EXPECT_THAT(harness.run_all_ids(), ElementsAre(id(now)));
  harness.commit();
  EXPECT_EQ(harness.log_size(), 0U);
  tick(now);  // after it has ended
  EXPECT_THAT(harness.run_all_ids(), IsEmpty());
}

TEST_F(ShardTicks, the_job_of_a_tick_is_there_until_it_is_over) {
  EXPECT_EQ(harness.shard().job_of_tick("nightly"), nullptr);
  tick(now);
  const auto there = [&] {
    const auto* job = harness.shard().job_of_tick("nightly");
    return job == nullptr ? std::string() : std::string(job->id());
  };
  EXPECT_EQ(there(), id(now));
  const auto run = *harness.take();
  EXPECT_EQ(there(), id(now));
  harness.end(run, Outcome::done());
  EXPECT_EQ(there(), "") << "what has ended holds back nothing";
  harness.push({.id = "nightly@01ARZ3NDEKTSV4RRFFQ69G5FAV", .key = "nightly"});
  EXPECT_EQ(there(), "") << "it was run by hand";
}

TEST_F(ShardTicks, a_tick_that_is_skipped_brings_the_retry_of_the_job_before_it_forward) {
  tick(now);
  harness.end(*harness.take(), Outcome::fail("no"));
  harness.commit();
  harness.advance(seconds{5});
  harness.shard().skip_ticks("nightly", now + seconds{5}, 1, harness.now());
  EXPECT_EQ(harness.job(id(now)).run_at, now + seconds{5});
  EXPECT_EQ(harness.job(id(now)).retry_count, 0) << "attempts count on";
  harness.commit();
  harness.rebuild();
  EXPECT_EQ(harness.job(id(now)).run_at, now + seconds{5});
  EXPECT_EQ(record().skipped, 1U);
  EXPECT_EQ(record().ticks, 2U);
  EXPECT_EQ(record().held_by, id(now));
  EXPECT_EQ(record().last, now + seconds{5});
  const auto told = harness.counts().schedules.at("nightly");
  EXPECT_EQ(told.failing, id(now));
  EXPECT_EQ(told.failures, 1U);
  EXPECT_THAT(harness.run_all_ids(), ElementsAre(id(now)));
  EXPECT_EQ(harness.counts().schedules.at("nightly").held_by, "") << "it is over";
}

TEST_F(ShardTicks, a_time_that_the_code_has_named_is_left_alone) {
  tick(now);
  harness.end(*harness.take(), Outcome::snoozed_for(hours{1}));
  harness.commit();
  harness.shard().skip_ticks("nightly", now + seconds{5}, 1, harness.now());
  EXPECT_EQ(harness.job(id(now)).run_at, now + hours{1});
  harness.commit();
  harness.rebuild();
  harness.shard().skip_ticks("nightly", now + seconds{6}, 1, harness.now());
  EXPECT_EQ(harness.job(id(now)).run_at, now + hours{1});
}

TEST_F(ShardTicks, the_next_owner_judges_what_this_one_had_not_written) {
  tick(now);
  harness.commit();
  tick(now + minutes{1});
  tick(now + minutes{1});
  tick(now);
  harness.crash();
  harness.advance(minutes{2});
  harness.commit();
  EXPECT_EQ(harness.shard().jobs(), 2U);
  EXPECT_EQ(harness.log_size(), 2U);
  harness.crash();
  EXPECT_EQ(harness.shard().jobs(), 2U);
  EXPECT_THAT(harness.run_all_ids(), ElementsAre(id(now), id(now + minutes{1})));
  EXPECT_EQ(harness.stored_counts().schedules.at("nightly").pushed, 2U);
}

TEST_F(ShardTicks, what_is_stated_and_passed_is_written_though_nothing_else_is) {
  harness.commit();
  harness.shard().state_schedule("nightly", "nightly", 7, now);
  EXPECT_TRUE(harness.shard().has_changes());
  harness.commit();
  harness.shard().state_schedule("nightly", "nightly", 7, now + hours{1});
  EXPECT_FALSE(harness.shard().has_changes());
  harness.shard().pass_ticks("nightly", now + minutes{5}, 3);
  EXPECT_TRUE(harness.shard().has_changes());
  harness.commit();
  harness.rebuild();
  EXPECT_EQ(record().last, now + minutes{5});
  EXPECT_EQ(record().ticks, 3U);
  harness.shard().forget_schedule("nightly");
  harness.commit();
  EXPECT_THAT(harness.stored_counts().schedules, IsEmpty());
}

TEST_F(ShardTicks, pause_and_resume_are_durable_in_the_order_of_the_log) {
  harness.shard().state_schedule("nightly", "nightly", 7, now);
  tick(now + minutes{1});
  control(EntryType::pause_ticks);
  tick(now + minutes{2});
  EXPECT_EQ(harness.shard().jobs(), 1U);
  harness.crash();
  EXPECT_EQ(harness.shard().jobs(), 1U);
  EXPECT_TRUE(record().paused);
  harness.commit();
  EXPECT_EQ(harness.log_size(), 1U);
  harness.rebuild();
  EXPECT_TRUE(record().paused);
  harness.advance(hours{1});
  control(EntryType::resume_ticks);
  tick(now + hours{1});
  tick(now + hours{1} + minutes{1});
  harness.commit();
  EXPECT_EQ(harness.shard().jobs(), 2U);
}

TEST_F(ShardTicks, a_dead_tick_comes_back_like_any_job) {
  Harness strict({.name = "q", .max_retries = 0});
  const auto bytes = encode_tick(kNightly, strict.now(), 0);
  strict.append(*decode_entry(bytes));
  strict.fail_all();
  const auto dead = strict.take_dead();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].id, id(strict.now()));
  EXPECT_TRUE(dead[0].entry_fields.empty());
  strict.append(revival(dead[0]));
  EXPECT_THAT(strict.run_all_ids(), ElementsAre(id(strict.now())));
}

}  // namespace shard_ticks_test
}  // namespace ordo::domain
