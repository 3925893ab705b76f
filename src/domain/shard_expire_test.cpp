#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_expire_test {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::plain;

std::vector<std::string> texts(const std::vector<DeadPayload>& dead) {
  std::vector<std::string> texts;
  for (const auto& row : dead)
    texts.push_back(row.id + " " + row.payload + (row.error_kind == FailureKind::expired ? " expired" : ""));
  return texts;
}

TEST(ShardExpire, what_was_not_started_in_time_dies_with_all_of_its_payloads) {
  Harness shard(plain());
  shard.push({.id = "1", .payload = "a", .expires = shard.now() + seconds{10}});
  shard.push({.id = "1", .payload = "b", .expires = shard.now() + seconds{5}});
  shard.push({.id = "2", .payload = "c"});
  EXPECT_EQ(shard.shard().next_due(shard.now()), shard.now() + seconds{10}) << "of two the later counts";
  shard.advance(seconds{10} - Duration{1});
  shard.expire();
  EXPECT_EQ(shard.counts().due, 2U);
  shard.advance(Duration{1});
  shard.expire();
  shard.commit();
  EXPECT_THAT(texts(shard.take_dead()), ElementsAre("1 a expired", "1 b expired"));
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("2"));
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_EQ(shard.counts().failed, 0U);
}

TEST(ShardExpire, one_payload_that_never_expires_keeps_the_job) {
  Harness shard(plain());
  shard.push({.id = "1", .payload = "a", .expires = shard.now() + seconds{10}});
  shard.push({.id = "1", .payload = "b"});
  EXPECT_EQ(shard.shard().next_due(shard.now()), std::nullopt);
  shard.rebuild();
  EXPECT_EQ(shard.shard().next_due(shard.now()), std::nullopt);
}

TEST(ShardExpire, a_queue_may_say_how_long_after_run_at) {
  auto options = plain();
  options.expires = minutes{1};
  options.on_expire = OnExpire::drop;
  Harness shard(options);
  shard.push({.id = "1", .run_at = shard.now() + minutes{5}});
  shard.push({.id = "2"});
  shard.push({.id = "3", .expires = Time::max()});
  shard.advance(minutes{1});
  shard.expire();
  shard.commit();
  EXPECT_THAT(shard.take_dead(), IsEmpty()) << "they are dropped";
  shard.advance(minutes{5} - seconds{1});
  EXPECT_THAT(shard.run_all_ids(), ElementsAre("3", "1"));
}

TEST(ShardExpire, what_has_started_does_not_expire) {
  auto options = plain();
  options.expires = minutes{1};
  options.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = hours{1}};
  Harness shard(options);
  shard.push({.id = "failed"});
  shard.push({.id = "put-back"});
  shard.end(*shard.take(), Outcome::fail("no"));
  shard.end(*shard.take(), Outcome::put_back());
  shard.push({.id = "running"});
  shard.commit();
  shard.advance(seconds{1});
  EXPECT_EQ(shard.take()->jobs[0].id, "put-back");
  EXPECT_EQ(shard.take()->jobs[0].id, "running");
  shard.advance(hours{1} - seconds{2});
  shard.expire();
  shard.commit();
  EXPECT_EQ(shard.shard().running(), 2U);
  EXPECT_EQ(shard.shard().jobs(), 3U);
  shard.rebuild();
  shard.expire();
  shard.commit();
  EXPECT_EQ(shard.job("failed").options.expires, std::nullopt);
  EXPECT_EQ(shard.job("put-back").options.expires, std::nullopt);
  EXPECT_THAT(texts(shard.take_dead()), ElementsAre("running  expired"))
      << "nobody knows any more that it ran";
}

TEST(ShardExpire, what_was_recalled_before_its_start_expires) {
  Harness shard(plain());
  shard.push({.id = "1", .expires = shard.now() + seconds{10}});
  const auto run = shard.take();
  shard.advance(seconds{20});
  shard.expire();
  EXPECT_EQ(shard.shard().running(), 1U) << "it runs";
  shard.shard().recall(run->no, shard.now());
  shard.expire();
  shard.commit();
  EXPECT_EQ(shard.take_dead().size(), 1U);
}

TEST(ShardExpire, the_next_of_its_key_goes_on) {
  Harness shard(plain());
  shard.push({.id = "1", .key = "k", .expires = shard.now() + seconds{10}});
  shard.push({.id = "2", .key = "k"});
  shard.advance(seconds{10});
  shard.expire();
  EXPECT_EQ(shard.take()->jobs[0].id, "2");
  shard.push({.id = "3", .key = "k", .expires = shard.now() + seconds{1}});
  shard.advance(seconds{10});
  shard.expire();
  shard.commit();
  EXPECT_EQ(shard.take_dead().size(), 2U) << "also from behind a running one";
}

TEST(ShardExpire, its_payloads_are_read_again_first) {
  Harness shard(plain(), Time{hours{24 * 20000}}, 0);
  shard.push({.id = "1", .payload = "a", .expires = shard.now() + seconds{10}});
  shard.push({.id = "2", .payload = "b", .expires = shard.now() + seconds{10}});
  shard.push({.id = "3", .payload = "c", .expires = shard.now() + seconds{10}});
  shard.advance(seconds{10});
  shard.shard().expire(shard.now());
  EXPECT_FALSE(shard.has_due()) << "they start no more";
  EXPECT_THAT(shard.shard().wanted(), ElementsAre(1, 2, 3));
  EXPECT_THAT(shard.shard().wanted(), IsEmpty()) << "they are on their way";
  // Meanwhile one is wanted longer, and one is cancelled.
  shard.push({.id = "1", .payload = "d"});
  shard.control(EntryType::cancel, "2");
  const std::vector<std::pair<Seq, std::string_view>> payloads = {{1, "a"}, {3, "c"}};
  shard.shard().provide_expired(payloads, false, shard.now());
  shard.commit();
  EXPECT_THAT(texts(shard.take_dead()), ElementsAre("3 c expired"));
  EXPECT_EQ(shard.take()->jobs[0].payloads.size(), 2U);
}

TEST(ShardExpire, payloads_that_are_gone_do_not_keep_it) {
  Harness shard(plain(), Time{hours{24 * 20000}}, 0);
  shard.push({.id = "1", .payload = "a", .expires = shard.now() + seconds{10}});
  shard.advance(seconds{10});
  shard.shard().expire(shard.now());
  EXPECT_THAT(shard.shard().wanted(), ElementsAre(1));
  shard.shard().provide_expired({}, false, shard.now());
  EXPECT_THAT(shard.shard().wanted(), ElementsAre(1)) << "once more";
  shard.shard().provide_expired({}, true, shard.now());
  EXPECT_THAT(shard.shard().wanted(), IsEmpty());
  shard.commit();
  EXPECT_THAT(texts(shard.take_dead()), ElementsAre("1  expired"));
}

TEST(ShardExpire, who_is_brought_back_does_not_expire_again) {
  auto options = plain();
  options.expires = minutes{1};
  Harness shard(options);
  shard.push({.id = "1"});
  shard.advance(minutes{1});
  shard.expire();
  shard.commit();
  auto dead = shard.take_dead();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].options.expires, std::nullopt);
  shard.append(revival(dead[0]));
  EXPECT_EQ(shard.shard().next_due(shard.now()), std::nullopt);
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(shard.shard().next_due(shard.now()), std::nullopt);
}

TEST(ShardExpire, what_counts_from_run_at_moves_with_it) {
  auto options = plain();
  options.expires = seconds{20};
  Harness shard(options);
  const auto start = shard.now();
  const auto expiry = [&](const char* id) { return shard.job(id).options.expires; };
  shard.push({.id = "queue", .run_at = start + seconds{10}});
  shard.push({.id = "own",
              .run_at = start + seconds{10},
              .expires = start + seconds{15},
              .expires_after = seconds{5}});
  shard.push({.id = "fixed", .run_at = start + seconds{10}, .expires = start + seconds{90}});
  EXPECT_EQ(expiry("queue"), start + seconds{30});
  EXPECT_EQ(expiry("own"), start + seconds{15});
  for (const auto* id : {"queue", "own", "fixed"})
    shard.control_one(EntryType::run_now, {.id = id, .run_at = start + seconds{45}, .replaces_time = true});
  const auto check = [&] {
    EXPECT_EQ(expiry("queue"), start + seconds{65});
    EXPECT_EQ(expiry("own"), start + seconds{50});
    EXPECT_EQ(expiry("fixed"), start + seconds{90}) << "it is no time after another";
  };
  check();
  shard.commit();
  shard.rebuild();
  check();
  for (const auto* id : {"queue", "own"}) shard.control(EntryType::run_now, id);
  EXPECT_EQ(expiry("queue"), start + seconds{65}) << "run-now moves no expiry";
  EXPECT_EQ(expiry("own"), start + seconds{50});
  shard.commit();
  shard.rebuild();
  shard.control_one(EntryType::run_now, {.id = "queue", .run_at = start + seconds{5}, .replaces_time = true});
  EXPECT_EQ(expiry("queue"), start + seconds{25}) << "to an earlier time, too";
  shard.advance(seconds{25});
  shard.expire();
  shard.commit();
  EXPECT_THAT(texts(shard.take_dead()), ElementsAre("queue  expired"));
}

TEST(ShardExpire, a_push_that_replaces_the_time_moves_it) {
  auto options = plain();
  options.expires = seconds{20};
  Harness shard(options);
  const auto start = shard.now();
  const auto expiry = [&](const char* id) { return shard.job(id).options.expires; };
  shard.push({.id = "earlier", .run_at = start + seconds{60}});
  shard.push({.id = "earlier", .run_at = start + seconds{10}, .replaces_time = true});
  EXPECT_EQ(expiry("earlier"), start + seconds{30});
  shard.push({.id = "longer",
              .run_at = start + seconds{60},
              .expires = start + seconds{160},
              .expires_after = seconds{100}});
  shard.push({.id = "longer", .run_at = start + seconds{10}, .replaces_time = true});
  EXPECT_EQ(expiry("longer"), start + seconds{110}) << "the latest of both counts";
  shard.push({.id = "recalled"});
  shard.commit();
  const auto run = shard.take();
  ASSERT_EQ(run->jobs[0].id, "recalled");
  shard.push({.id = "recalled", .run_at = start + seconds{10}, .replaces_time = true});
  shard.shard().recall(run->no, shard.now());
  EXPECT_EQ(expiry("recalled"), start + seconds{30});
  shard.commit();
  shard.rebuild();
  EXPECT_EQ(expiry("earlier"), start + seconds{30});
  EXPECT_EQ(expiry("longer"), start + seconds{110});
  EXPECT_EQ(expiry("recalled"), start + seconds{30});
}

TEST(ShardExpire, a_million_at_once_are_ended_in_pieces) {
  Harness shard(plain());
  for (int i = 0; i < 5000; ++i) shard.push({.id = std::to_string(i), .expires = shard.now()});
  shard.expire();
  const auto first = shard.counts().due;
  EXPECT_GT(first, 2000U);
  EXPECT_LT(first, 4500U);
  while (shard.counts().due > 0) {
    shard.commit();
    shard.expire();
  }
  shard.commit();
  EXPECT_EQ(shard.log_size(), 0U);
}

}  // namespace shard_expire_test
}  // namespace ordo::domain
