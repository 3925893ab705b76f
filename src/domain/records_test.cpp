#include "domain/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include <ordo/error.hpp>

namespace ordo::domain {
namespace {

using ::testing::Property;
using ::testing::Throws;

const auto kIsCorrupt = Throws<Error>(Property(&Error::kind, ErrorKind::corrupt));

JobState full_state() {
  return {.through = 9,
          .run_at = Time{Duration{17}},
          .retry_count = 3,
          .crashes = 2,
          .last_crash = Time{Duration{-5}},
          .mark = Mark::alone,
          .held = true,
          .options = {.priority = 5, .timeout = std::chrono::seconds{6}},
          .scores = {{7, 0.5}, {8, -1}},
          .error_kind = FailureKind::expired,
          .error = "boom"};
}

DeadPayload full_dead() {
  return {.kind = "mail",
          .key = "k",
          .id = "42",
          .payload = std::string("a\0b", 3),
          .score = 2.25,
          .options = {.priority = -5, .timeout = std::chrono::seconds{6}},
          .retry_count = 25,
          .crashes = 1,
          .error_kind = FailureKind::timeout,
          .error = "too slow"};
}

Counts full_counts() {
  return {.due = 1,
          .scheduled = 2,
          .retrying = 3,
          .running = 4,
          .awaiting = 5,
          .processed = 6,
          .failed = 7,
          .oldest = Time{Duration{8}}};
}

TEST(RecordCodecs, keep_every_field) {
  EXPECT_EQ(decode_state(encode(full_state())), full_state());
  EXPECT_EQ(decode_dead(encode(full_dead())), full_dead());
  EXPECT_EQ(decode_counts(encode(full_counts())), full_counts());
}

TEST(RecordCodecs, counts_of_a_copied_shard_say_so) {
  auto counts = full_counts();
  counts.copied = "from there";
  counts.running_now = {3, 5};
  EXPECT_EQ(decode_counts(encode(counts)), counts);
  auto not_copied = counts;
  not_copied.copied.clear();
  EXPECT_EQ(encode(not_copied)[0], 1);  // as earlier versions wrote and read it
}

TEST(RecordCodecs, keep_defaults) {
  EXPECT_EQ(decode_state(encode(JobState{})), JobState{});
  EXPECT_EQ(decode_dead(encode(DeadPayload{})), DeadPayload{});
  EXPECT_EQ(decode_counts(encode(Counts{})), Counts{});
  EXPECT_EQ(decode_counts(""), Counts{});  // never written
}

JobOptions any_options() {
  JobOptions options;
  if (*rc::gen::arbitrary<bool>()) options.priority = *rc::gen::arbitrary<std::int32_t>();
  if (*rc::gen::arbitrary<bool>()) options.timeout = Duration{*rc::gen::arbitrary<std::int64_t>()};
  return options;
}

Time any_time() { return Time{Duration{*rc::gen::arbitrary<std::int64_t>()}}; }

FailureKind any_kind() {
  return static_cast<FailureKind>(*rc::gen::inRange(0, static_cast<int>(FailureKind::expired) + 1));
}

TEST(RecordCodecs, random_records_come_back) {
  EXPECT_TRUE(rc::check("decode_state(encode(state)) == state", [] {
    const JobState state{.through = *rc::gen::arbitrary<Seq>(),
                         .run_at = any_time(),
                         .retry_count = *rc::gen::arbitrary<std::int32_t>(),
                         .crashes = *rc::gen::arbitrary<std::uint32_t>(),
                         .last_crash = any_time(),
                         .mark = static_cast<Mark>(*rc::gen::inRange(0, 3)),
                         .held = *rc::gen::arbitrary<bool>(),
                         .options = any_options(),
                         .scores = *rc::gen::arbitrary<std::vector<std::pair<Seq, double>>>(),
                         .error_kind = any_kind(),
                         .error = *rc::gen::arbitrary<std::string>()};
    RC_ASSERT(decode_state(encode(state)) == state);
  }));
  EXPECT_TRUE(rc::check("decode_dead(encode(dead)) == dead", [] {
    const DeadPayload dead{.kind = *rc::gen::arbitrary<std::string>(),
                           .key = *rc::gen::arbitrary<std::string>(),
                           .id = *rc::gen::arbitrary<std::string>(),
                           .payload = *rc::gen::arbitrary<std::string>(),
                           .score = *rc::gen::arbitrary<double>(),
                           .options = any_options(),
                           .retry_count = *rc::gen::arbitrary<std::int32_t>(),
                           .crashes = *rc::gen::arbitrary<std::uint32_t>(),
                           .error_kind = any_kind(),
                           .error = *rc::gen::arbitrary<std::string>()};
    RC_ASSERT(decode_dead(encode(dead)) == dead);
  }));
}

/// Every proper start of `bytes` is corrupt, or, in the text at its end, decodes to something shorter.
template <class Decode>
void cut_short(const std::string& bytes, std::size_t text_at_end, Decode decode) {
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    // A buffer of exactly that size lets the address sanitizer see a read past it.
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
    const std::string_view view(cut.data(), cut.size());
    if (size < bytes.size() - text_at_end) {
      EXPECT_THAT([&] { decode(view); }, kIsCorrupt) << size;
    } else {
      EXPECT_EQ(encode(decode(view)), view) << size;
    }
  }
}

TEST(RecordCodecs, cut_short_they_are_corrupt_or_lack_only_text) {
  cut_short(encode(full_state()), full_state().error.size(), decode_state);
  cut_short(encode(full_dead()), full_dead().payload.size(), decode_dead);
  cut_short(encode(full_counts()), 0, decode_counts);
  EXPECT_THAT([] { decode_state(""); }, kIsCorrupt);
  EXPECT_THAT([] { decode_dead(""); }, kIsCorrupt);
}

TEST(RecordCodecs, an_unknown_version_is_corrupt) {
  auto state = encode(full_state());
  auto dead = encode(full_dead());
  auto counts = encode(full_counts());
  state[0] = dead[0] = 2;
  counts[0] = 3;
  EXPECT_THAT([&] { decode_state(state); }, kIsCorrupt);
  EXPECT_THAT([&] { decode_dead(dead); }, kIsCorrupt);
  EXPECT_THAT([&] { decode_counts(counts); }, kIsCorrupt);
}

TEST(RecordCodecs, an_unknown_mark_or_error_kind_is_corrupt) {
  auto state = full_state();
  state.mark = static_cast<Mark>(3);
  EXPECT_THAT([&] { decode_state(encode(state)); }, kIsCorrupt);
  state = full_state();
  state.error_kind = static_cast<FailureKind>(7);
  EXPECT_THAT([&] { decode_state(encode(state)); }, kIsCorrupt);
  auto dead = full_dead();
  dead.error_kind = static_cast<FailureKind>(255);
  EXPECT_THAT([&] { decode_dead(encode(dead)); }, kIsCorrupt);
}

TEST(RecordCodecs, a_count_of_scores_that_the_bytes_do_not_hold_is_corrupt) {
  auto state = full_state();
  state.scores.clear();
  state.options = {};
  auto bytes = encode(state);
  const auto count_at = bytes.size() - state.error.size() - 1 - 4;
  bytes.replace(count_at, 4, "\xff\xff\xff\xff");
  EXPECT_THAT([&] { decode_state(bytes); }, kIsCorrupt);
}

TEST(Counts, queued_is_all_that_waits_to_start) { EXPECT_EQ(full_counts().queued(), 6U); }

}  // namespace
}  // namespace ordo::domain
