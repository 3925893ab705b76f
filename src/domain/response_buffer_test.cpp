#include "domain/response_buffer.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace ordo::domain {
namespace response_buffer_test {

using namespace std::chrono_literals;

constexpr Duration kTtl = 16min;
const Time kNow{std::chrono::hours{24 * 20000}};

BufferBounds bounds(std::uint64_t most, std::uint64_t bytes = 1000) { return {most, bytes}; }

std::uint64_t total(const BufferCount& count) {
  std::uint64_t all = 0;
  for (const auto& part : count.parts) all += part.count;
  return all;
}

BufferCount of(std::initializer_list<Buffered> responses) {
  BufferCount count;
  for (const auto& each : responses) count = *with(count, each, kTtl, bounds(100), kNow);
  return count;
}

TEST(ResponseBuffer, OutlivesItsCodec) {
  const auto count = of({{kNow + kTtl, 3}, {kNow + 2 * kTtl, 4}});
  EXPECT_EQ(*decode_buffer_count(encode(count)), count);
  EXPECT_EQ(*decode_buffer_count(encode(BufferCount{})), BufferCount{});
  EXPECT_FALSE(decode_buffer_count(""));
  EXPECT_FALSE(decode_buffer_count("\x01x"));
}

TEST(ResponseBuffer, TakesAsManyAsItMay) {
  const auto two = of({{kNow + kTtl, 10}, {kNow + kTtl, 10}});
  EXPECT_TRUE(with(two, {kNow + kTtl, 10}, kTtl, bounds(3), kNow));
  EXPECT_FALSE(with(two, {kNow + kTtl, 10}, kTtl, bounds(2), kNow));
  EXPECT_TRUE(with(two, {kNow + kTtl, 10}, kTtl, bounds(3, 30), kNow));
  EXPECT_FALSE(with(two, {kNow + kTtl, 11}, kTtl, bounds(3, 30), kNow));
}

TEST(ResponseBuffer, WhoseTimeIsOverLeavesByItself) {
  const auto count = of({{kNow + kTtl, 10}, {kNow + kTtl + 1us, 10}});
  EXPECT_EQ(count.parts.size(), 2U);
  const auto next = *with(count, {kNow + 3 * kTtl, 1}, kTtl, bounds(2), kNow + kTtl);
  EXPECT_EQ(total(next), 2U);
  EXPECT_EQ(kept_until(count), kNow + kTtl + 1min) << "a part of the time late";
  EXPECT_EQ(kept_until(BufferCount{}), Time::min());
}

TEST(ResponseBuffer, WhatIsTakenLeavesItsPart) {
  auto count = of({{kNow + kTtl, 10}, {kNow + 2 * kTtl, 20}});
  count = without(count, {kNow + kTtl, 10}, kNow);
  EXPECT_EQ(count, of({{kNow + 2 * kTtl, 20}}));
  count = without(count, {kNow + 2 * kTtl, 20}, kNow);
  EXPECT_EQ(count, BufferCount{});
  EXPECT_EQ(without(count, {kNow + kTtl, 10}, kNow), BufferCount{});
}

TEST(ResponseBuffer, PartsStayFew) {
  BufferCount count;
  for (int i = 1; i <= 1000; ++i) count = *with(count, {kNow + i * 1s, 1}, 1s, bounds(1000), kNow);
  EXPECT_EQ(total(count), 1000U);
  EXPECT_LE(count.parts.size(), 64U);
}

// Whatever comes, is taken and changes its ttl: never fewer are counted than are kept.
TEST(ResponseBuffer, NeverCountsTooFew) {
  std::mt19937 random(7);
  const auto below = [&](int most) { return std::uniform_int_distribution<int>(0, most - 1)(random); };
  for (int round = 0; round < 50; ++round) {
    BufferCount count;
    std::vector<Buffered> kept;
    Time now = kNow;
    for (int step = 0; step < 300; ++step) {
      now += below(60) * 1s;
      std::erase_if(kept, [&](const Buffered& each) { return each.until <= now; });
      if (below(3) > 0) {
        const Duration ttl = (1 + below(3)) * 5min;
        const Buffered next{now + ttl, static_cast<std::uint64_t>(below(5))};
        if (const auto more = with(count, next, ttl, bounds(20), now)) {
          count = *more;
          kept.push_back(next);
        }
        EXPECT_LE(kept.size(), 20U);
      } else if (!kept.empty()) {
        const auto which = kept.begin() + below(static_cast<int>(kept.size()));
        count = without(count, *which, now);
        kept.erase(which);
      }
      std::uint64_t counted = 0;
      for (const auto& part : count.parts) counted += part.until > now ? part.count : 0;
      ASSERT_GE(counted, kept.size()) << round << " " << step;
    }
  }
}

}  // namespace response_buffer_test
}  // namespace ordo::domain
