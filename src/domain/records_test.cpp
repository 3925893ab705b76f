#include "domain/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/time_text.h"
#include "domain/fields.h"
#include "domain/plain_push.h"

namespace ordo::domain {
namespace records_test {

using ::testing::IsEmpty;

JobState full_state() {
  return {.through = 9,
          .run_at = Time{Duration{17}},
          .retry_count = 3,
          .crashes = 2,
          .last_crash = Time{Duration{-5}},
          .mark = Mark::alone,
          .alone = true,
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
          .oldest = Time{Duration{8}},
          .blocked_by_throttler = 15,
          .blocked_by_suspect = 19,
          .marked_runs = {true, false, 20, {"1", "2"}, {"1", "2", "3"}},
          .limits = {{.name = "orders", .partition = "east", .used = 2, .limit = 3, .held_by = {"41", "42"}},
                     {.name = "orders", .is_rate = true, .limit = 4, .waiting = 5},
                     {.name = "crm", .used = 1, .limit = 1, .held_by = {"43"}}},
          .blocked = {{"east", 2'500'000, true, "orders", "*", true, Time{Duration{9}}}, {}},
          .throttled = {{16, Time{Duration{17}}}, {18}},
          .schedules = {{"nightly",
                         {.key = "k",
                          .text = 9,
                          .last = Time{Duration{10}},
                          .through = 11,
                          .ticked = Time{Duration{12}},
                          .paused = true,
                          .ticks = 13,
                          .pushed = 14}},
                        {"poll", {}}},
          .unserved = {{"ship", 1, 2}, {"", 0, 3}}};
}

TEST(RecordCodecs, keep_every_field) {
  EXPECT_EQ(*decode_state(encode(full_state())), full_state());
  EXPECT_EQ(*decode_dead(encode(full_dead())), full_dead());
  EXPECT_EQ(*decode_counts(encode(full_counts())), full_counts());
}

TEST(RecordCodecs, counts_of_a_copied_shard_say_how_far) {
  auto counts = full_counts();
  counts.copied = "from there";
  counts.running_now = {3, 5};
  EXPECT_EQ(*decode_counts(encode(counts)), counts);
}

TEST(RecordCodecs, keep_defaults) {
  EXPECT_EQ(*decode_state(encode(JobState{})), JobState{});
  EXPECT_EQ(*decode_dead(encode(DeadPayload{})), DeadPayload{});
  EXPECT_EQ(*decode_counts(encode(Counts{})), Counts{});
  EXPECT_EQ(*decode_counts(""), Counts{});  // never written
}

JobOptions any_options() {
  JobOptions options;
  if (*rc::gen::arbitrary<bool>()) options.priority = *rc::gen::arbitrary<std::int32_t>();
  if (*rc::gen::arbitrary<bool>())
    options.timeout = written_timeout(Duration{*rc::gen::arbitrary<std::int64_t>()});
  if (*rc::gen::arbitrary<bool>())
    options.expires = written_time(Time{Duration{*rc::gen::arbitrary<std::int64_t>()}});
  for (int windows = *rc::gen::inRange(0, 3); windows > 0; --windows) {
    const std::chrono::seconds start{*rc::gen::inRange(0, 43'200)}, end{*rc::gen::inRange(43'200, 86'401)};
    options.windows.push_back(
        {start, end, static_cast<std::uint8_t>(*rc::gen::inRange(1, 128)), "Asia/Tokyo"});
  }
  return options;
}

Time any_time() { return written_time(Time{Duration{*rc::gen::arbitrary<std::int64_t>()}}); }

FailureKind any_kind() {
  return static_cast<FailureKind>(*rc::gen::inRange(0, static_cast<int>(FailureKind::expired) + 1));
}

std::vector<PayloadRank> any_scores() {
  std::vector<PayloadRank> scores;
  for (const auto& [entry, score, newest] :
       *rc::gen::arbitrary<std::vector<std::tuple<Seq, double, Seq>>>()) {
    if (std::isfinite(score)) scores.push_back({entry, score, newest});
  }
  return scores;
}

TEST(RecordCodecs, times_are_read_within_their_bounds) {
  for (const bool is_own : {false, true}) {
    for (const auto hostile : {Time::min(), Time::max()}) {
      auto state = full_state();
      state.own_time = is_own;
      state.run_at = state.last_crash = hostile;
      state.options.timeout = hostile.time_since_epoch();
      const auto read = *decode_state(encode(state));
      EXPECT_EQ(read.run_at, written_time(hostile));
      EXPECT_EQ(read.last_crash, written_time(hostile));
      EXPECT_EQ(read.own_time, is_own);
      EXPECT_EQ(read.options.timeout, written_timeout(hostile.time_since_epoch()));
      EXPECT_EQ(*decode_state(encode(read)), read);
      auto dead = full_dead();
      dead.options.timeout = hostile.time_since_epoch();
      EXPECT_EQ(decode_dead(encode(dead))->options.timeout, read.options.timeout);
    }
  }
}

TEST(RecordCodecs, random_records_come_back) {
  EXPECT_TRUE(rc::check("decode_state(encode(state)) == state", [] {
    const JobState state{.through = *rc::gen::arbitrary<Seq>(),
                         .run_at = any_time(),
                         .own_time = *rc::gen::arbitrary<bool>(),
                         .retry_count = *rc::gen::arbitrary<std::int32_t>(),
                         .crashes = *rc::gen::arbitrary<std::uint32_t>(),
                         .last_crash = any_time(),
                         .mark = static_cast<Mark>(*rc::gen::inRange(0, 3)),
                         .alone = *rc::gen::arbitrary<bool>(),
                         .held = *rc::gen::arbitrary<bool>(),
                         .options = any_options(),
                         .scores = any_scores(),
                         .error_kind = any_kind(),
                         .error = *rc::gen::arbitrary<std::string>()};
    RC_ASSERT(*decode_state(encode(state)) == state);
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
    RC_ASSERT(*decode_dead(encode(dead)) == dead);
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
      EXPECT_FALSE(decode(view)) << size;
    } else {
      EXPECT_EQ(encode(*decode(view)), view) << size;
    }
  }
}

TEST(RecordCodecs, cut_short_they_are_unreadable_or_lack_only_text) {
  cut_short(encode(full_state()), full_state().error.size(), decode_state);
  cut_short(encode(full_dead()), full_dead().payload.size(), decode_dead);
  cut_short(encode(full_counts()), 0, decode_counts);
  EXPECT_FALSE(decode_state(""));
  EXPECT_FALSE(decode_dead(""));
}

TEST(RecordCodecs, an_unknown_version_is_unreadable) {
  auto state = encode(full_state());
  auto dead = encode(full_dead());
  auto counts = encode(full_counts());
  state[0] = dead[0] = counts[0] = 2;
  EXPECT_FALSE(decode_state(state));
  EXPECT_FALSE(decode_dead(dead));
  EXPECT_FALSE(decode_counts(counts));
}

TEST(RecordCodecs, an_unknown_mark_or_error_kind_is_unreadable) {
  auto state = full_state();
  state.mark = static_cast<Mark>(3);
  EXPECT_FALSE(decode_state(encode(state)));
  state = full_state();
  state.error_kind = static_cast<FailureKind>(9);
  EXPECT_FALSE(decode_state(encode(state)));
  auto dead = full_dead();
  dead.error_kind = static_cast<FailureKind>(255);
  EXPECT_FALSE(decode_dead(encode(dead)));
}

TEST(RecordCodecs, a_count_of_scores_that_the_bytes_do_not_hold_is_unreadable) {
  auto state = full_state();
  state.scores.clear();
  auto bytes = encode(state);
  const auto count_at = bytes.size() - state.error.size() - 1 - 4;
  bytes.replace(count_at, 4, "\xff\xff\xff\xff");
  EXPECT_FALSE(decode_state(bytes));
}

TEST(RecordCodecs, fields_of_a_newer_version_are_passed_on) {
  auto state = full_state();
  auto dead = full_dead();
  auto counts = full_counts();
  state.fields = dead.fields = counts.fields = field(200, "later");
  EXPECT_EQ(*decode_state(encode(state)), state);
  EXPECT_EQ(*decode_dead(encode(dead)), dead);
  EXPECT_EQ(*decode_counts(encode(counts)), counts);
  counts.fence = 3;
  counts.lent.resize(1);
  counts.lent[0].jobs = {{.pieces = {{1, 0.5}}}};
  counts.lent[0].fields = field(200, "later");
  EXPECT_EQ(*decode_counts(encode(counts)), counts);
  EXPECT_EQ(lent_runs_of(encode(counts)), counts.lent);
}

TEST(RecordCodecs, what_an_older_version_must_not_guess_says_so) {
  const auto level = static_cast<std::uint16_t>(format_level() + 1);
  auto state = full_state();
  auto dead = full_dead();
  auto counts = full_counts();
  state.fields = dead.fields = counts.fields = number_field(kNeeds, level);
  auto bytes = encode(state);
  bytes[0] = static_cast<char>(99 | kHasFields);
  EXPECT_EQ(decode_state(bytes).needs(), level);
  EXPECT_EQ(decode_dead(encode(dead)).needs(), level);
  EXPECT_EQ(decode_counts(encode(counts)).needs(), level);
  counts.fields.clear();
  counts.lent.resize(1);
  counts.lent[0].jobs = {{.pieces = {{1, 0.5}}}};
  counts.lent[0].fields = number_field(kNeeds, level);
  EXPECT_EQ(decode_counts(encode(counts)).needs(), level);
  EXPECT_THAT(lent_runs_of(encode(counts)), IsEmpty());
}

TEST(RecordCodecs, a_state_says_that_its_expiry_counts_from_run_at) {
  JobState state;
  state.options.expires = Time{std::chrono::seconds{9}};
  state.options.expires_after = std::chrono::seconds{5};
  EXPECT_EQ(*decode_state(encode(state)), state);
  state.options.expires.reset();
  EXPECT_EQ(decode_state(encode(state))->options, JobOptions{}) << "nothing expires";
}

TEST(RecordCodecs, what_could_not_be_read_is_told_and_kept) {
  auto counts = full_counts();
  counts.unreadable = 7;
  counts.blocked_by_window = 8;
  counts.oldest_due = {{-1, Time{Duration{9}}}, {100, Time{Duration{8}}}};
  EXPECT_EQ(*decode_counts(encode(counts)), counts);
  auto dead = dead_entry(9, "x", "it ends too early");
  dead.state = "state";
  dead.entry_fields = "fields";
  EXPECT_EQ(*decode_dead(encode(dead)), dead);
  EXPECT_EQ(dead.payload, "x");
}

TEST(RecordCodecs, a_push_that_is_none_dies_under_the_names_of_its_job) {
  using Field = std::pair<std::string_view, std::string_view>;
  const std::vector<Field> fields{{"id", "42"}, {"key", "k"}, {"colour", "red"}};
  const auto bytes = encode_plain_push(fields, "1-1", "orders");
  const auto dead = dead_entry(9, bytes, "why");
  EXPECT_EQ(dead.error_kind, FailureKind::invalid_push);
  EXPECT_EQ(std::tuple(dead.id, dead.key, dead.payload), std::tuple("42", "k", bytes));
  EXPECT_EQ(*decode_dead(encode(dead)), dead);
  auto job = dead;
  job.is_entry = false;
  job.error_kind = FailureKind::handler;
  EXPECT_EQ(*decode_dead(encode(job)), job) << "whatever its payload looks like";
}

TEST(RecordCodecs, a_lent_run_of_nothing_is_unreadable) {
  auto counts = full_counts();
  counts.lent.resize(1);
  EXPECT_FALSE(decode_counts(encode(counts)));
  counts.lent[0].jobs.resize(1);
  EXPECT_FALSE(decode_counts(encode(counts)));
  counts.lent[0].jobs[0].pieces = {{1, 0.5}};
  EXPECT_TRUE(decode_counts(encode(counts)));
  counts.lent[0].risk = 3;
  EXPECT_FALSE(decode_counts(encode(counts)));
}

TEST(Counts, queued_is_all_that_waits_to_start) { EXPECT_EQ(full_counts().queued(), 6U); }

}  // namespace records_test
}  // namespace ordo::domain
