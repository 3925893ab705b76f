#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_throttle_test {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Strings;

/// A queue whose throttler answers as `answer` does, and what it was asked.
class ShardThrottle : public ::testing::Test {
 protected:
  QueueOptions options() {
    auto options = testing::plain();
    options.throttler = [this](const ThrottleQuestion& question) {
      asked.push_back(question.candidate.id);
      return answer(question);
    };
    return options;
  }
  static void push(Harness& shard, int from, int to, Harness::Push like = {}) {
    for (int i = from; i <= to; ++i) {
      like.id = std::to_string(i);
      shard.push(like);
    }
  }
  /// What starts in a new round.
  static Strings round(Harness& shard) {
    shard.begin_round();
    return shard.start_all();
  }
  Strings take_asked() { return std::exchange(asked, {}); }

  std::function<ThrottleAnswer(const ThrottleQuestion&)> answer = [](const auto&) {
    return ThrottleAnswer::run();
  };
  Strings asked;
};

TEST_F(ShardThrottle, is_told_of_the_candidate_the_running_jobs_and_the_limits) {
  auto rules = options();
  rules.limit = 10;
  rules.partition = "/region";
  rules.rate = RateLimit{.limit = 100};
  Harness shard(rules);
  Strings seen;
  answer = [&](const ThrottleQuestion& question) {
    const auto& job = question.candidate;
    EXPECT_EQ(question.queue, "orders");
    EXPECT_EQ(question.now, shard.now());
    EXPECT_EQ(question.limits.size(), 2U);
    seen.push_back(job.id + " " + job.partition + " " + job.weight.text() + " beside " +
                   std::to_string(question.running.size()) + ", used " + question.limits[0].used.text() +
                   " of " + question.limits[0].limit.text());
    return ThrottleAnswer::run();
  };
  shard.push({.id = "a", .payload = R"({"region":"east"})", .weight = 2});
  shard.push({.id = "b"});
  EXPECT_THAT(shard.start_all(), ElementsAre("a", "b"));
  EXPECT_THAT(seen, ElementsAre("a east 2 beside 0, used 0 of 10", "b  1 beside 1, used 2 of 10"));
}

TEST_F(ShardThrottle, can_only_restrict) {
  auto rules = options();
  rules.limit = 1;
  Harness shard(rules);
  push(shard, 1, 2);
  EXPECT_THAT(round(shard), ElementsAre("1"));
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_THAT(asked, ElementsAre("1")) << "what a limit refuses is not asked for";
}

TEST_F(ShardThrottle, lets_others_pass_a_skipped_job_and_asks_for_it_after_a_run_has_ended) {
  Harness shard(options());
  answer = [](const ThrottleQuestion& question) {
    const bool alone = question.running.empty() || question.candidate.id != "1";
    return alone ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  shard.push({.id = "0"});
  push(shard, 1, 2);
  EXPECT_THAT(round(shard), ElementsAre("0", "2"));
  EXPECT_EQ(shard.counts().blocked_by_throttler, 1U);
  EXPECT_EQ(shard.counts().throttled.at(0).until, Time::max());
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_THAT(take_asked(), ElementsAre("0", "1", "2")) << "not again, as nothing has ended";
  shard.finish("0");
  EXPECT_TRUE(shard.has_due());
  EXPECT_THAT(round(shard), IsEmpty());
  shard.finish("2");
  EXPECT_THAT(round(shard), ElementsAre("1"));
  EXPECT_EQ(shard.counts().blocked_by_throttler, 0U);
}

TEST_F(ShardThrottle, asks_for_a_skipped_job_after_a_second) {
  Harness shard(options());
  answer = [](const auto&) { return ThrottleAnswer::skip(); };
  shard.push({.id = "1"});
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_EQ(shard.shard().next_due(shard.now()), shard.now() + seconds{1});
  shard.advance(milliseconds{999});
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_EQ(take_asked().size(), 1U);
  shard.advance(milliseconds{1});
  answer = [](const auto&) { return ThrottleAnswer::run(); };
  EXPECT_THAT(round(shard), ElementsAre("1"));
}

TEST_F(ShardThrottle, a_skipped_job_keeps_its_key_and_a_deferred_one_leaves_it) {
  Harness shard(options());
  bool defers = false;
  answer = [&](const ThrottleQuestion& question) {
    if (question.candidate.id != "first") return ThrottleAnswer::run();
    return defers ? ThrottleAnswer::defer(question.now + minutes{5}) : ThrottleAnswer::skip();
  };
  shard.push({.id = "first", .key = "k"});
  shard.push({.id = "second", .key = "k"});
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_EQ(shard.counts().blocked_by_key, 1U);
  defers = true;
  shard.advance(seconds{1});
  EXPECT_THAT(round(shard), ElementsAre("second"));
  ASSERT_EQ(shard.counts().throttled.size(), 1U);
  EXPECT_EQ(shard.counts().throttled[0].until, shard.now() + minutes{5});
  shard.finish("second");
  EXPECT_THAT(round(shard), IsEmpty()) << "an end does not shorten it";
  answer = [](const auto&) { return ThrottleAnswer::run(); };
  shard.advance(minutes{5});
  EXPECT_THAT(round(shard), ElementsAre("first"));
}

TEST_F(ShardThrottle, a_new_owner_asks_for_a_deferred_job_anew) {
  Harness shard(options());
  answer = [](const ThrottleQuestion& question) { return ThrottleAnswer::defer(question.now + minutes{5}); };
  shard.push({.id = "1"});
  EXPECT_THAT(round(shard), IsEmpty());
  answer = [](const auto&) { return ThrottleAnswer::run(); };
  shard.rebuild();
  EXPECT_THAT(round(shard), ElementsAre("1"));
}

TEST_F(ShardThrottle, is_asked_anew_for_whom_it_has_refused_when_the_clock_is_set_back) {
  Harness shard(options());
  answer = [](const ThrottleQuestion& question) {
    return question.candidate.id == "1" ? ThrottleAnswer::defer(question.now + minutes{5})
                                        : ThrottleAnswer::skip();
  };
  push(shard, 1, 2);
  shard.advance(std::chrono::hours{50});
  EXPECT_THAT(round(shard), IsEmpty());
  answer = [](const auto&) { return ThrottleAnswer::run(); };
  shard.advance(-std::chrono::hours{50});
  shard.shard().clock_leapt(shard.now());
  EXPECT_THAT(round(shard), ElementsAre("1", "2"));
}

TEST_F(ShardThrottle, a_refused_job_that_is_not_due_any_more_leaves_its_key_to_the_next) {
  Harness shard(options());
  answer = [](const auto&) { return ThrottleAnswer::skip(); };
  const auto set_ahead = shard.now() + std::chrono::hours{50};
  shard.push({.id = "late", .key = "k", .run_at = set_ahead - seconds{1}});
  shard.advance(std::chrono::hours{50});
  EXPECT_THAT(round(shard), IsEmpty());
  shard.push({.id = "due", .key = "k"});
  answer = [](const auto&) { return ThrottleAnswer::run(); };
  shard.advance(-std::chrono::hours{50});
  shard.shard().clock_leapt(shard.now());
  EXPECT_THAT(round(shard), ElementsAre("due"));
}

TEST_F(ShardThrottle, a_refused_job_whose_window_a_leap_has_closed_leaves_its_key_to_the_next) {
  Harness shard(options(), Time{std::chrono::hours{24 * 20'000}});
  answer = [](const auto&) { return ThrottleAnswer::skip(); };
  shard.push({.id = "night", .key = "k", .windows = {"00:00-01:00"}});
  EXPECT_THAT(round(shard), IsEmpty());
  shard.push({.id = "due", .key = "k"});
  shard.advance(std::chrono::hours{2});
  shard.shard().clock_leapt(shard.now());
  answer = [](const auto&) { return ThrottleAnswer::run(); };
  EXPECT_THAT(round(shard), ElementsAre("due"));
}

TEST_F(ShardThrottle, a_cancelled_job_keeps_its_key_until_that_is_durable) {
  Harness shard(options());
  answer = [](const ThrottleQuestion& question) {
    return question.candidate.id == "1" ? ThrottleAnswer::cancel("sanctioned") : ThrottleAnswer::run();
  };
  shard.push({.id = "1", .key = "k"});
  shard.push({.id = "2", .key = "k"});
  EXPECT_THAT(round(shard), IsEmpty());
  const auto events = shard.shard().events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].type, EventType::job_failed);
  EXPECT_EQ(events[0].error, "cancelled by the throttler: sanctioned");
  EXPECT_FALSE(events[0].retry_at);
  shard.rebuild();  // a crash before it was durable
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_THAT(asked, ElementsAre("1", "1"));
  shard.commit();
  EXPECT_THAT(round(shard), ElementsAre("2"));
  shard.finish("2");
  EXPECT_EQ(shard.log_size(), 0U);
  EXPECT_EQ(shard.counts().running, 0U);
  EXPECT_EQ(shard.counts().queued(), 0U);
}

TEST_F(ShardThrottle, starts_nothing_in_a_round_in_which_it_throws) {
  Harness shard(options());
  push(shard, 1, 3);
  answer = [](const ThrottleQuestion&) -> ThrottleAnswer { throw std::runtime_error("no map"); };
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_EQ(take_asked().size(), 1U);
  const auto events = shard.shard().events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].type, EventType::throttler_failed);
  EXPECT_THAT(events[0].error, HasSubstr("no map"));
  answer = [](const ThrottleQuestion&) -> ThrottleAnswer { throw 1; };
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_THAT(shard.shard().events().at(0).error, HasSubstr("unknown"));
  answer = [](const auto&) { return ThrottleAnswer::run(); };
  shard.advance(seconds{1});
  EXPECT_THAT(round(shard), ElementsAre("3", "1", "2")) << "for those it was asked, though in vain";
}

TEST_F(ShardThrottle, is_asked_a_hundred_times_a_round_and_goes_on_there) {
  Gates gates;
  Harness shard(options(), gates, {1, 0});
  answer = [](const ThrottleQuestion& question) {
    return question.candidate.id == "201" || question.candidate.id == "0" ? ThrottleAnswer::run()
                                                                          : ThrottleAnswer::skip();
  };
  push(shard, 0, 201);
  EXPECT_THAT(round(shard), ElementsAre("0"));
  EXPECT_EQ(take_asked().size(), 100U);
  EXPECT_THAT(gates.take_woken(), IsEmpty()) << "nobody is asked again in this round";
  EXPECT_TRUE(gates.has_next_round()) << "the next one may begin at once";
  shard.finish("0");
  gates.take_woken();
  gates.begin_round();
  EXPECT_THAT(gates.take_woken(), ElementsAre(ShardId{1, 0}));
  EXPECT_THAT(shard.start_all(), IsEmpty());
  EXPECT_EQ(take_asked().front(), "100") << "not from the first on, although a run has ended";
  EXPECT_THAT(round(shard), ElementsAre("201"));
  EXPECT_EQ(take_asked().front(), "200");
}

TEST_F(ShardThrottle, asks_for_those_it_was_never_asked_for_before_those_whose_second_is_over) {
  Harness shard(options());
  answer = [](const ThrottleQuestion& question) {
    return question.candidate.id == "150" ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  push(shard, 1, 150);
  EXPECT_THAT(round(shard), IsEmpty());
  shard.advance(seconds{1});
  EXPECT_THAT(round(shard), ElementsAre("150"));
}

TEST_F(ShardThrottle, those_of_another_shard_that_it_was_not_asked_for_come_before_skipped_ones) {
  Gates gates;
  Harness first(options(), gates, {1, 0}), second(options(), gates, {1, 1});
  answer = [](const ThrottleQuestion& question) {
    const auto& id = question.candidate.id;
    return id == "0" || id == "300" ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  push(first, 0, 120);
  push(second, 201, 300);
  round(first);
  first.start_all();
  EXPECT_THAT(second.start_all(), IsEmpty()) << "no question is left";
  first.finish("0");  // all that were skipped may come back
  Strings started;
  for (int i = 0; i < 3 && started.empty(); ++i) {
    gates.begin_round();
    first.start_all();
    started = second.start_all();
  }
  EXPECT_THAT(started, ElementsAre("300"));
}

TEST_F(ShardThrottle, a_shard_that_waits_for_late_ones_is_woken_when_these_were_asked_for) {
  Gates gates;
  Harness first(options(), gates, {1, 0}), second(options(), gates, {1, 1});
  answer = [](const ThrottleQuestion& question) {
    const bool is_alone = question.running.empty() && question.candidate.id.size() == 1;
    return is_alone ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  push(first, 1, 2);
  push(second, 1001, 1150);
  EXPECT_THAT(round(first), ElementsAre("1"));
  EXPECT_THAT(second.start_all(), IsEmpty());
  first.finish("1");
  std::vector<std::set<ShardId>> woken;
  Strings started;
  for (int i = 0; i < 4 && started.empty(); ++i) {
    gates.begin_round();
    woken.push_back(gates.take_woken());
    if (woken.back().contains({1, 0})) started = first.start_all();
    if (woken.back().contains({1, 1})) second.start_all();
  }
  EXPECT_THAT(started, ElementsAre("2"));
}

TEST_F(ShardThrottle, cancels_no_more_than_one_commit_has_room_for) {
  Gates gates;
  Harness shard(options(), gates, {1, 0});
  shard.shard().hold_deltas_to(5);
  answer = [](const auto&) { return ThrottleAnswer::cancel("sanctioned"); };
  push(shard, 1, 20);
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_EQ(take_asked().size(), 5U);
  EXPECT_EQ(shard.shard().changed_rows(), 5U);
  gates.take_woken();
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_THAT(take_asked(), IsEmpty());
  shard.commit();
  EXPECT_THAT(gates.take_woken(), ElementsAre(ShardId{1, 0}));
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_EQ(take_asked().size(), 5U);
}

TEST_F(ShardThrottle, a_run_that_was_never_started_has_not_ended) {
  Harness shard(options());
  answer = [](const ThrottleQuestion& question) {
    return question.candidate.id == "1" ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  push(shard, 1, 3);
  shard.begin_round();
  const auto run = shard.take();
  ASSERT_TRUE(run);
  EXPECT_FALSE(shard.take());
  EXPECT_THAT(take_asked(), ElementsAre("1", "2", "3"));
  shard.shard().recall(run->no, shard.now());
  EXPECT_THAT(round(shard), ElementsAre("1"));
  EXPECT_THAT(take_asked(), ElementsAre("1"));
}

TEST_F(ShardThrottle, who_asks_for_some_jobs_only_brings_back_no_others) {
  Harness shard(options());
  answer = [](const ThrottleQuestion& question) {
    return question.candidate.id == "1" ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  push(shard, 1, 150);
  EXPECT_THAT(round(shard), ElementsAre("1"));
  shard.finish("1");
  for (int i = 0; i < 3; ++i) shard.begin_round();
  const std::set<std::string, std::less<>> other{"other"};
  EXPECT_FALSE(shard.due_since({.normal = false}));
  EXPECT_FALSE(shard.due_since({.kinds = &other}));
  take_asked();
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_EQ(take_asked().front(), "101");
}

TEST_F(ShardThrottle, who_lends_a_kind_brings_back_those_of_it) {
  Harness shard(options());
  answer = [](const auto&) { return ThrottleAnswer::skip(); };
  shard.push({.id = "1", .kind = "lent"});
  shard.push({.id = "2"});
  EXPECT_THAT(round(shard), IsEmpty());
  shard.advance(seconds{1});
  take_asked();
  shard.begin_round();
  const std::set<std::string, std::less<>> lent{"lent"};
  EXPECT_FALSE(shard.take_marked({.kinds = &lent}));
  EXPECT_THAT(take_asked(), ElementsAre("1"));
}

TEST_F(ShardThrottle, an_end_brings_back_nobody_outside_the_windows) {
  auto rules = options();
  rules.windows = {parse_window("00:00-01:00")};
  Harness shard(rules);
  answer = [](const ThrottleQuestion& question) {
    return question.running.empty() ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  shard.advance(minutes{60} - milliseconds{500});
  push(shard, 1, 2);
  EXPECT_THAT(round(shard), ElementsAre("1"));
  shard.advance(milliseconds{700});
  shard.finish("1");
  EXPECT_THAT(round(shard), IsEmpty());
  shard.advance(minutes{60 * 23});
  EXPECT_THAT(round(shard), ElementsAre("2"));
}

TEST_F(ShardThrottle, one_put_off_for_ever_is_shown_as_that) {
  Harness shard(options());
  answer = [](const auto&) { return ThrottleAnswer::defer(Time::max()); };
  shard.push({.id = "1"});
  EXPECT_THAT(round(shard), IsEmpty());
  EXPECT_EQ(shard.counts().throttled.at(0).until, kLastTime);
}

TEST_F(ShardThrottle, asks_for_each_job_of_a_batch) {
  auto rules = options();
  rules.batch_size = 3;
  Harness shard(rules);
  answer = [](const ThrottleQuestion& question) {
    return question.running.size() < 2 && question.candidate.id != "2" ? ThrottleAnswer::run()
                                                                       : ThrottleAnswer::skip();
  };
  push(shard, 1, 5);
  shard.begin_round();
  const auto run = shard.take();
  ASSERT_TRUE(run);
  ASSERT_EQ(run->jobs.size(), 2U);
  EXPECT_EQ(run->jobs[0].id, "1");
  EXPECT_EQ(run->jobs[1].id, "3");
  EXPECT_THAT(asked, ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_EQ(shard.counts().blocked_by_throttler, 3U);
}

TEST_F(ShardThrottle, sees_the_runs_of_other_shards_and_hears_of_their_ends) {
  Gates gates;
  Harness first(options(), gates, {1, 0}), second(options(), gates, {1, 1});
  answer = [](const ThrottleQuestion& question) {
    return question.running.empty() ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  first.push({.id = "a"});
  second.push({.id = "b"});
  EXPECT_THAT(round(first), ElementsAre("a"));
  EXPECT_THAT(round(second), IsEmpty());
  gates.take_woken();
  first.finish("a", /*commits=*/false);
  EXPECT_THAT(gates.take_woken(), ElementsAre(ShardId{1, 1}));
  EXPECT_THAT(round(second), ElementsAre("b"));
}

TEST_F(ShardThrottle, a_control_or_a_later_push_finds_a_refused_job) {
  Harness shard(options());
  answer = [](const ThrottleQuestion& question) { return ThrottleAnswer::defer(question.now + minutes{5}); };
  push(shard, 1, 3);
  EXPECT_THAT(round(shard), IsEmpty());
  shard.control(EntryType::cancel, "1");
  shard.push({.id = "2", .payload = "more"});
  answer = [](const auto&) { return ThrottleAnswer::run(); };
  shard.control(EntryType::run_now, "3");
  EXPECT_THAT(round(shard), ElementsAre("3"));
  shard.advance(minutes{5});
  EXPECT_THAT(round(shard), ElementsAre("2"));
}

TEST_F(ShardThrottle, a_clock_that_goes_back_does_not_hold_a_skipped_job_up) {
  Harness shard(options());
  answer = [](const auto&) { return ThrottleAnswer::skip(); };
  shard.push({.id = "1", .run_at = shard.now() - minutes{60}});
  EXPECT_THAT(round(shard), IsEmpty());
  answer = [](const auto&) { return ThrottleAnswer::run(); };
  shard.advance(-minutes{30});
  EXPECT_THAT(round(shard), ElementsAre("1"));
}

TEST_F(ShardThrottle, a_clock_that_goes_back_holds_up_none_of_many) {
  Harness shard(options());
  answer = [](const auto&) { return ThrottleAnswer::skip(); };
  push(shard, 1, 3, {.run_at = shard.now() - minutes{60}});
  EXPECT_THAT(round(shard), IsEmpty());
  answer = [](const ThrottleQuestion& question) {
    return question.candidate.id == "2" ? ThrottleAnswer::run() : ThrottleAnswer::skip();
  };
  shard.advance(-minutes{30});
  EXPECT_THAT(round(shard), ElementsAre("2"));
}

TEST_F(ShardThrottle, shards_share_the_questions_about_those_that_were_skipped) {
  Gates gates;
  Harness first(options(), gates, {1, 0}), second(options(), gates, {1, 1});
  answer = [](const auto&) { return ThrottleAnswer::skip(); };
  for (int i = 0; i < 300; ++i) {
    first.push({.id = "a" + std::to_string(i)});
    second.push({.id = "b" + std::to_string(i)});
  }
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      first.begin_round();
      second.due_since({});
      EXPECT_THAT(first.start_all(), IsEmpty());
      EXPECT_THAT(second.start_all(), IsEmpty());
    }
    return std::ranges::count_if(take_asked(), [](const auto& id) { return id.starts_with("b"); });
  };
  rounds(10);
  first.advance(seconds{2});
  second.advance(seconds{2});
  EXPECT_THAT(rounds(4), ::testing::AllOf(::testing::Ge(100), ::testing::Le(300)));
}

TEST_F(ShardThrottle, a_skipped_job_whose_time_or_window_is_over_leaves_its_key) {
  Harness shard(options());
  answer = [](const auto&) { return ThrottleAnswer::skip(); };
  shard.push({.id = "1", .key = "k", .run_at = shard.now() - minutes{10}});
  shard.push({.id = "behind 1", .key = "k", .run_at = shard.now() - minutes{9}});
  shard.push({.id = "3", .key = "l", .run_at = shard.now() - minutes{50}, .windows = {"00:00-01:00"}});
  shard.push({.id = "4", .key = "l", .run_at = shard.now() - minutes{40}});
  EXPECT_THAT(round(shard), IsEmpty());
  shard.advance(-minutes{30});
  answer = [](const auto&) { return ThrottleAnswer::run(); };
  EXPECT_THAT(round(shard), ElementsAre("4"));
  shard.push({.id = "2", .key = "k", .run_at = shard.now()});
  EXPECT_THAT(round(shard), ElementsAre("2"));
}

// Else the one that was admitted would be recalled for the other, refused, and so on without end.
TEST_F(ShardThrottle, a_job_that_may_be_refused_overtakes_nobody) {
  Harness shard(options());
  push(shard, 1, 1);
  const auto run = *shard.take();
  push(shard, 2, 2, {.priority = 1});
  EXPECT_FALSE(shard.shard().is_overtaken(run.no, shard.now(), {}));
}

}  // namespace shard_throttle_test
}  // namespace ordo::domain
