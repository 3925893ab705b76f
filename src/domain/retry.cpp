// Retry or die. Counting the failure and moving payloads to the dead set is the shard's; crashes of nodes are
// no failures and do not come here.
#include "domain/retry.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include "base/assert.h"
#include "base/saturate.h"
#include "base/time_text.h"

namespace ordo::domain {
namespace {

constexpr double kSecond = 1e6;

/// In doubles, so that nothing overflows; exact below 2^53 µs, which are 285 years.
double delay_us(const RetryPolicy& policy, std::int32_t count, double jitter) {
  using Strategy = RetryPolicy::Strategy;
  const auto c = static_cast<double>(std::max(count, 0));
  const auto delay = static_cast<double>(policy.delay.count());
  switch (policy.strategy) {
    case Strategy::standard:
      return (c * c * c * c + 15 + std::floor(jitter * 30) * (c + 1)) * kSecond;
    case Strategy::none:
      return 0;
    case Strategy::fixed:
      return delay;
    case Strategy::linear:
      return delay * (c + 1);
    case Strategy::exponential:
      return delay * std::pow(policy.factor, c);
    case Strategy::list: {
      if (policy.delays.empty()) return 0;
      const auto last = policy.delays.size() - 1;
      return static_cast<double>(policy.delays[std::min(static_cast<std::size_t>(c), last)].count());
    }
  }
  return 0;
}

/// Asks the policy's function. Nothing: it gave up, or threw and `error` says so.
std::optional<RetryAnswer> ask(const RetryPolicy& policy, const RetryQuestion& question, std::string& error) {
  std::string thrown;
  try {
    auto answer = policy.function(question);
    if (!answer.retry_at) return std::nullopt;
    return answer;
  } catch (const std::exception& exception) {
    thrown = exception.what();
  } catch (...) {
    thrown = "an unknown exception";
  }
  error += error.empty() ? "" : "; ";
  error += "the retry function threw: " + thrown;
  return std::nullopt;
}

}  // namespace

Duration retry_in(const RetryPolicy& policy, std::int32_t count, double jitter) {
  const double us = delay_us(policy, count, jitter) * (1 + policy.jitter * jitter);
  const auto cap = std::max(policy.cap, Duration::zero());
  if (!(us > 0)) return Duration::zero();  // also when it is not a number: 0 times infinity
  if (us >= static_cast<double>(cap.count())) return cap;
  return Duration{static_cast<std::int64_t>(us)};
}

RetryVerdict decide_retry(const QueueOptions& rules, const RetryQuestion& question, double jitter,
                          std::optional<std::int32_t> max_retries) {
  const auto& policy = rules.retry;
  RetryVerdict verdict{.dies = true, .retry_at = question.now, .error = question.error};
  RetryAnswer answer;
  if (policy.function) {
    auto given = ask(policy, question, verdict.error);
    if (!given) return verdict;
    answer = *given;
  } else {
    if (policy.strategy == RetryPolicy::Strategy::none) return verdict;
    answer.retry_at = saturating_add(question.now, retry_in(policy, question.attempt, jitter));
  }
  if (question.attempt >= max_retries.value_or(rules.max_retries)) return verdict;

  verdict.dies = false;
  verdict.retry_at = written_time(std::max(*answer.retry_at, question.now));
  verdict.priority = answer.priority;
  if (answer.timeout && *answer.timeout > Duration{0})
    verdict.timeout = std::min(*answer.timeout, kLongestDuration);
  return verdict;
}

std::size_t dying_payload(std::size_t count, PayloadChoice choice) {
  ORDO_ASSERT(count > 0);
  switch (choice) {
    case PayloadChoice::all:  // the lowest score
    case PayloadChoice::first:
      return 0;
    case PayloadChoice::last:
      return count - 1;
  }
  return 0;
}

}  // namespace ordo::domain
