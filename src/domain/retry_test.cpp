#include "domain/retry.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>

#include "base/random.h"
#include "base/time_text.h"

namespace ordo::domain {
namespace retry_test {

using std::chrono::days;
using std::chrono::seconds;
using Strategy = RetryPolicy::Strategy;

constexpr Time kNow{seconds{1'700'000'000}};

std::vector<Duration> delays_of(const RetryPolicy& policy, std::int32_t counts, double jitter = 0) {
  std::vector<Duration> delays;
  for (std::int32_t count = 0; count < counts; ++count) delays.push_back(retry_in(policy, count, jitter));
  return delays;
}

std::vector<Duration> in_seconds(const std::vector<int>& values) {
  std::vector<Duration> delays;
  for (const int value : values) delays.push_back(seconds{value});
  return delays;
}

TEST(RetryIn, standard_without_jitter) { EXPECT_EQ(delays_of({}, 5), in_seconds({15, 16, 31, 96, 271})); }

TEST(RetryIn, standard_jitter_is_a_whole_number_up_to_29_times_the_attempt) {
  EXPECT_EQ(delays_of({}, 3, 0.0333), in_seconds({15, 16, 31}));
  EXPECT_EQ(delays_of({}, 3, 0.034), in_seconds({15 + 1, 16 + 2, 31 + 3}));
  EXPECT_EQ(delays_of({}, 3, 0.9999), in_seconds({15 + 29, 16 + 58, 31 + 87}));
}

TEST(RetryIn, standard_gives_the_expected_total_life) {
  const std::vector<std::pair<int, int>> days_of_max_retries = {
      {14, 1}, {16, 2}, {18, 3}, {19, 5}, {20, 6}, {21, 8}, {22, 10}, {23, 13}, {24, 16}, {25, 20}};
  for (const auto& [max_retries, whole_days] : days_of_max_retries) {
    Duration total{};
    for (std::int32_t count = 0; count < max_retries; ++count) {
      // The mean of rand(0..29) is 14.5: halfway between these two.
      total += (retry_in({}, count, 14.5 / 30) + retry_in({}, count, 15.5 / 30)) / 2;
    }
    EXPECT_EQ(total / days{1}, whole_days) << max_retries;
  }
}

TEST(RetryIn, named_strategies) {
  const Duration second = seconds{1};
  EXPECT_EQ(delays_of({.strategy = Strategy::none}, 2), in_seconds({0, 0}));
  EXPECT_EQ(delays_of({.strategy = Strategy::fixed, .delay = second * 7}, 3), in_seconds({7, 7, 7}));
  EXPECT_EQ(delays_of({.strategy = Strategy::linear, .delay = second * 7}, 3), in_seconds({7, 14, 21}));
  EXPECT_EQ(delays_of({.strategy = Strategy::exponential, .delay = second * 5, .factor = 3}, 4),
            in_seconds({5, 15, 45, 135}));
  EXPECT_EQ(delays_of({.strategy = Strategy::list, .delays = in_seconds({1, 5, 2})}, 5),
            in_seconds({1, 5, 2, 2, 2}));
  EXPECT_EQ(delays_of({.strategy = Strategy::list}, 2), in_seconds({0, 0}));
}

TEST(RetryIn, the_cap_bounds_delay_and_jitter) {
  const RetryPolicy policy{
      .strategy = Strategy::fixed, .delay = seconds{10}, .cap = seconds{14}, .jitter = 0.5};
  EXPECT_EQ(retry_in(policy, 0, 0), seconds{10});
  EXPECT_EQ(retry_in(policy, 0, 0.5), Duration{12'500'000});
  EXPECT_EQ(retry_in(policy, 0, 0.9), seconds{14});
  EXPECT_EQ(delays_of({.cap = seconds{100}}, 5), in_seconds({15, 16, 31, 96, 100}));
}

TEST(RetryIn, never_overflows_and_is_never_negative) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(retry_in({}, kMost, 0.999), Duration::max());
  EXPECT_EQ(retry_in({.strategy = Strategy::linear, .delay = Duration::max()}, kMost, 0), Duration::max());
  EXPECT_EQ(retry_in({.strategy = Strategy::exponential, .factor = 10}, kMost, 0), Duration::max());
  EXPECT_EQ(retry_in({.strategy = Strategy::fixed, .delay = Duration::max(), .jitter = 1}, 0, 0.9),
            Duration::max());
  EXPECT_EQ(retry_in({.strategy = Strategy::exponential, .delay = Duration{0}, .factor = infinity}, 9, 0),
            Duration{0});
  EXPECT_EQ(retry_in({.strategy = Strategy::fixed, .delay = seconds{-5}}, 0, 0), Duration{0});
  EXPECT_EQ(retry_in({.cap = seconds{-5}}, 0, 0), Duration{0});
  EXPECT_EQ(retry_in({}, -1, 0), seconds{15});
  EXPECT_EQ(retry_in({.strategy = Strategy::list, .delays = in_seconds({1, 2})}, -1, 0), seconds{1});
}

TEST(RetryIn, stays_within_its_bounds_whatever_the_policy) {
  Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    RetryPolicy policy;
    policy.strategy = static_cast<Strategy>(random.below(6));
    policy.delay = Duration{static_cast<std::int64_t>(random.next() >> random.below(63)) / 2};
    policy.factor = 1 + random.unit() * 20;
    if (random.below(2) == 0)
      policy.cap = Duration{static_cast<std::int64_t>(random.next() >> (1 + random.below(62)))};
    policy.jitter = random.unit();
    policy.delays.resize(random.below(4), policy.delay / 3);
    const auto count = static_cast<std::int32_t>(random.below(200));
    const double jitter = random.unit();
    const auto delay = retry_in(policy, count, jitter);
    ASSERT_GE(delay, Duration{0}) << round;
    ASSERT_LE(delay, policy.cap) << round;
    ASSERT_GE(retry_in(policy, count, jitter), retry_in(policy, count, 0)) << round;
    if (policy.strategy == Strategy::list) continue;
    ASSERT_GE(retry_in(policy, count + 1, jitter), delay) << round;
  }
}

RetryQuestion question_of(std::int32_t attempt) {
  return {.queue = "orders", .kind = "orders", .id = "42", .error = "boom", .attempt = attempt, .now = kNow};
}

/// Plays failing runs of a job with `payloads` payloads; returns the run at which each died.
std::vector<int> deaths(const QueueOptions& rules, int payloads) {
  std::vector<int> died_at;
  std::int32_t retry_count = -1;
  for (int run = 1; payloads > 0; ++run) {
    ++retry_count;
    if (!decide_retry(rules, question_of(retry_count), 0).dies) continue;
    died_at.push_back(run);
    --payloads;
    retry_count = -1;
  }
  return died_at;
}

TEST(DecideRetry, dies_at_max_retries) {
  EXPECT_EQ(deaths({.max_retries = 0}, 2), (std::vector<int>{1, 2}));
  EXPECT_EQ(deaths({.max_retries = 1}, 1), (std::vector<int>{2}));
  EXPECT_EQ(deaths({.max_retries = 2}, 2), (std::vector<int>{3, 6}));
  EXPECT_EQ(deaths({}, 1), (std::vector<int>{26}));
  EXPECT_EQ(deaths({.retry = {.strategy = Strategy::none}}, 2), (std::vector<int>{1, 2}));
}

TEST(DecideRetry, asks_the_function_about_every_failure) {
  std::vector<std::int32_t> asked;
  QueueOptions rules{.max_retries = 2};
  rules.retry.function = [&](const RetryQuestion& question) {
    asked.push_back(question.attempt);
    return RetryAnswer{.retry_at = question.now + seconds{1}};
  };
  EXPECT_EQ(deaths(rules, 2), (std::vector<int>{3, 6}));
  EXPECT_EQ(asked, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
}

TEST(DecideRetry, retries_after_the_delay_of_this_attempt) {
  const auto verdict = decide_retry({}, question_of(3), 0.04);
  EXPECT_FALSE(verdict.dies);
  EXPECT_EQ(verdict.retry_at, kNow + seconds{96 + 4});
  EXPECT_EQ(verdict.error, "boom");
  EXPECT_FALSE(verdict.priority);
  EXPECT_FALSE(verdict.timeout);
}

TEST(DecideRetry, a_delay_without_end_stays_a_time) {
  const QueueOptions rules{.retry = {.strategy = Strategy::fixed, .delay = Duration::max()}};
  EXPECT_EQ(decide_retry(rules, question_of(0), 0).retry_at, kLastTime);
}

TEST(DecideRetry, an_answer_is_a_time_that_can_be_written_and_a_timeout_that_can_be_kept) {
  QueueOptions rules;
  rules.retry.function = [](const RetryQuestion&) {
    return RetryAnswer{.retry_at = Time::max(), .timeout = Duration{-1}};
  };
  auto verdict = decide_retry(rules, question_of(0), 0);
  EXPECT_EQ(verdict.retry_at, kLastTime);
  EXPECT_FALSE(verdict.timeout) << "nothing can end in it";
  rules.retry.function = [](const RetryQuestion&) {
    return RetryAnswer{.retry_at = Time::min(), .timeout = Duration::max()};
  };
  verdict = decide_retry(rules, question_of(0), 0);
  EXPECT_EQ(verdict.retry_at, kNow);
  EXPECT_EQ(verdict.timeout, kLongestDuration);
}

TEST(DecideRetry, takes_what_the_function_answers) {
  QueueOptions rules{.retry = {.strategy = Strategy::none}};  // the function stands instead of it
  rules.retry.function = [](const RetryQuestion& question) {
    return RetryAnswer{.retry_at = question.now + seconds{5}, .priority = 7, .timeout = seconds{9}};
  };
  const auto verdict = decide_retry(rules, question_of(0), 0.5);
  EXPECT_FALSE(verdict.dies);
  EXPECT_EQ(verdict.retry_at, kNow + seconds{5});
  EXPECT_EQ(verdict.priority, 7);
  EXPECT_EQ(verdict.timeout, Duration{seconds{9}});

  const auto last = decide_retry(rules, question_of(25), 0.5);
  EXPECT_TRUE(last.dies);
  EXPECT_EQ(last.retry_at, kNow);  // what is left starts over, as it was pushed
  EXPECT_FALSE(last.priority);
  EXPECT_FALSE(last.timeout);
}

TEST(DecideRetry, a_time_gone_by_means_now) {
  QueueOptions rules;
  rules.retry.function = [](const RetryQuestion&) { return RetryAnswer{.retry_at = Time{}}; };
  EXPECT_EQ(decide_retry(rules, question_of(0), 0).retry_at, kNow);
}

TEST(DecideRetry, dies_when_the_function_gives_up) {
  QueueOptions rules;
  rules.retry.function = [](const RetryQuestion&) { return RetryAnswer{.priority = 1}; };
  const auto verdict = decide_retry(rules, question_of(0), 0);
  EXPECT_TRUE(verdict.dies);
  EXPECT_FALSE(verdict.priority);
  EXPECT_EQ(verdict.error, "boom");
}

TEST(DecideRetry, dies_with_both_errors_when_the_function_throws) {
  QueueOptions rules;
  rules.retry.function = [](const RetryQuestion&) -> RetryAnswer { throw std::runtime_error("no idea"); };
  auto verdict = decide_retry(rules, question_of(0), 0);
  EXPECT_TRUE(verdict.dies);
  EXPECT_EQ(verdict.retry_at, kNow);
  EXPECT_EQ(verdict.error, "boom; the retry function threw: no idea");

  rules.retry.function = [](const RetryQuestion&) -> RetryAnswer { throw 1; };
  auto question = question_of(0);
  question.error.clear();
  verdict = decide_retry(rules, question, 0);
  EXPECT_TRUE(verdict.dies);
  EXPECT_EQ(verdict.error, "the retry function threw: an unknown exception");
}

TEST(DyingPayload, is_the_delivered_one_or_the_lowest_score) {
  EXPECT_EQ(dying_payload(3, PayloadChoice::all), 0U);
  EXPECT_EQ(dying_payload(3, PayloadChoice::first), 0U);
  EXPECT_EQ(dying_payload(3, PayloadChoice::last), 2U);
  EXPECT_EQ(dying_payload(1, PayloadChoice::last), 0U);
  EXPECT_DEATH(dying_payload(0, PayloadChoice::all), "internal error");
}

}  // namespace retry_test
}  // namespace ordo::domain
