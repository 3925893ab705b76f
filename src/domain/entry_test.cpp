#include "domain/entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/push_option.h"
#include "base/time_text.h"
#include "domain/fields.h"
#include "domain/lent.h"
#include "domain/new_job.h"
#include "domain/plain_push.h"

namespace ordo::domain {
namespace entry_test {

using ::testing::HasSubstr;
using ::testing::Not;

Entry full_entry() {
  return {.type = EntryType::revive,
          .kind = "mail",
          .key = "customer-7",
          .id = "42",
          .score = -1.5,
          .run_at = Time{Duration{1'700'000'000'000'001}},
          .options = {.priority = -3,
                      .timeout = std::chrono::seconds{5},
                      .expires = Time{Duration{1'700'000'000'000'002}},
                      .windows = {{.start = std::chrono::hours{22},
                                   .end = std::chrono::hours{2},
                                   .days = 5,
                                   .tz = "Asia/Tokyo"}},
                      .expires_after = std::chrono::seconds{7}},
          .payload = std::string_view("a\0b", 3)};
}

TEST(Entry, a_time_that_replaces_another_is_said_of_the_entry_alone) {
  Entry entry{.kind = "orders", .key = "42", .id = "42", .run_at = Time{std::chrono::seconds{5}}};
  entry.options.replaces_time = true;
  const auto bytes = encode(entry);
  EXPECT_EQ(*decode_entry(bytes), entry);
  JobOptions job;
  job.merge_later(entry.options);
  EXPECT_EQ(job, JobOptions{});
}

TEST(EntryCodec, keeps_every_field) {
  const auto bytes = encode(full_entry());
  EXPECT_EQ(*decode_entry(bytes), full_entry());
}

TEST(EntryCodec, a_window_that_is_none_cannot_be_read) {
  auto entry = full_entry();
  entry.options.windows[0].days = 0;
  EXPECT_FALSE(decode_entry(encode(entry)));
}

TEST(EntryCodec, keeps_what_is_absent_absent) {
  const Entry entry{.type = EntryType::cancel, .kind = "mail", .key = "42", .id = "42"};
  const auto bytes = encode(entry);
  EXPECT_EQ(*decode_entry(bytes), entry);
  EXPECT_EQ(bytes.size(), 2 + 1 + 4 + 1 + 2 + 1U);  // a key that is the id takes no room; its phase does
}

TEST(EntryCodec, points_into_the_bytes) {
  const auto bytes = encode(full_entry());
  const auto entry = *decode_entry(bytes);
  EXPECT_EQ(entry.payload.data() + entry.payload.size(), bytes.data() + bytes.size());
}

TEST(EntryCodec, a_tick_names_its_schedule) {
  Entry entry{.type = EntryType::tick, .kind = "mail", .key = "k", .id = "42", .payload = "p"};
  entry.tick = {"nightly", Time{std::chrono::seconds{5}}, 7};
  const auto bytes = encode(entry);
  EXPECT_EQ(*decode_entry(bytes), entry);
  entry.tick->schedule = "";
  EXPECT_FALSE(decode_entry(encode(entry)));
}

TEST(EntryCodec, random_entries_come_back) {
  EXPECT_TRUE(rc::check("decode(encode(entry)) == entry", [] {
    const auto text = [](int most) { return *rc::gen::resize(most, rc::gen::arbitrary<std::string>()); };
    const auto kind = "k" + text(40), key = "k" + text(200), id = "i" + text(200), payload = text(500);
    Entry entry{.type = *rc::gen::element(EntryType::push, EntryType::revive, EntryType::cancel,
                                          EntryType::run_now, EntryType::kill),
                .kind = kind,
                .key = *rc::gen::arbitrary<bool>() ? std::string_view(key) : std::string_view(id),
                .id = id,
                .payload = payload};
    if (*rc::gen::arbitrary<bool>()) entry.score = *rc::gen::arbitrary<double>();
    if (*rc::gen::arbitrary<bool>())
      entry.run_at = written_time(Time{Duration{*rc::gen::arbitrary<std::int64_t>()}});
    if (*rc::gen::arbitrary<bool>()) entry.options.priority = *rc::gen::arbitrary<std::int32_t>();
    if (*rc::gen::arbitrary<bool>()) {
      entry.options.timeout = written_timeout(Duration{*rc::gen::arbitrary<std::int64_t>()});
    }
    if (entry.type == EntryType::cancel)
      entry.phase = *rc::gen::element(JobPhase::any, JobPhase::queued, JobPhase::running);
    const auto bytes = encode(entry);
    RC_ASSERT(*decode_entry(bytes) == entry);
  }));
}

TEST(EntryCodec, the_longest_names) {
  const std::string longest(255, 'x'), other(255, 'y');
  const Entry entry{.kind = longest, .key = other, .id = longest, .payload = longest};
  const auto bytes = encode(entry);
  EXPECT_EQ(*decode_entry(bytes), entry);
}

TEST(EntryCodec, cut_short_it_is_unreadable_or_lacks_only_payload) {
  const auto bytes = encode(full_entry());
  const auto names_end = bytes.size() - full_entry().payload.size();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A buffer of exactly that size lets the address sanitizer see a read past it.
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
    const std::string_view view(cut.data(), cut.size());
    if (size < names_end) {
      EXPECT_FALSE(decode_entry(view)) << size;
    } else {
      auto shorter = full_entry();
      shorter.payload = shorter.payload.substr(0, size - names_end);
      EXPECT_EQ(*decode_entry(view), shorter) << size;
    }
  }
}

TEST(EntryCodec, an_unknown_type_or_flag_is_unreadable) {
  auto bytes = encode(full_entry());
  for (const int type : {0, 16, 128, 255}) {
    bytes[0] = static_cast<char>(type);
    const auto entry = decode_entry(bytes);
    ASSERT_FALSE(entry) << type;
    EXPECT_THAT(entry.why(), HasSubstr("stored entry: its type is unknown"));
    EXPECT_EQ(entry.needs(), 0) << "no node is known to read it";
  }
  bytes = encode(full_entry());
  bytes[1] = 64;
  EXPECT_FALSE(decode_entry(bytes));
}

TEST(EntryCodec, fields_of_a_newer_version_are_passed_on) {
  const auto fields = field(200, "later") + field(201, std::string(300, 'x'));
  auto entry = full_entry();
  entry.fields = fields;
  const auto bytes = encode(entry);
  ASSERT_TRUE(decode_entry(bytes));
  EXPECT_EQ(*decode_entry(bytes), entry);
  EXPECT_EQ(encode(*decode_entry(bytes)), bytes);
}

TEST(EntryCodec, what_an_older_version_must_not_guess_says_so) {
  auto entry = full_entry();
  const auto fields = field(200, "x") + number_field<std::uint16_t>(kNeeds, format_level() + 1);
  entry.fields = fields;
  auto bytes = encode(entry);
  EXPECT_EQ(decode_entry(bytes).needs(), format_level() + 1);
  EXPECT_THAT(decode_entry(bytes).why(), HasSubstr("newer version of Ordo"));
  bytes[0] = 77;  // of a type of its own
  EXPECT_EQ(decode_entry(bytes).needs(), format_level() + 1);
  bytes[1] = static_cast<char>(0xFF);  // and made of other things
  EXPECT_EQ(decode_entry(bytes).needs(), format_level() + 1);
  const auto known = number_field(kNeeds, format_level());
  entry.fields = known;
  EXPECT_TRUE(decode_entry(encode(entry)));
}

TEST(EntryCodec, broken_fields_are_unreadable) {
  auto entry = full_entry();
  for (const std::string& fields : {std::string("x"), field(200, "x") + "\7", field(kNeeds, "x")}) {
    entry.fields = fields;
    const auto read = decode_entry(encode(entry));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.needs(), 0);
  }
}

TEST(EntryCodec, what_a_shard_could_not_order_or_name_is_unreadable) {
  for (auto name : {&Entry::kind, &Entry::id}) {
    auto entry = full_entry();
    entry.*name = "";
    EXPECT_FALSE(decode_entry(encode(entry)));
  }
  for (const double score :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto entry = full_entry();
    entry.score = score;
    EXPECT_FALSE(decode_entry(encode(entry)));
  }
}

TEST(EntryCodec, the_end_of_a_lent_run_must_be_one) {
  auto bytes = encode(LentEnd{});
  EXPECT_TRUE(decode_entry(encode({.type = EntryType::ended, .id = "node", .payload = bytes})));
  EXPECT_FALSE(decode_entry(encode({.type = EntryType::ended, .id = "node", .payload = "?"})));
}

TEST(PlainPush, what_does_not_fit_is_kept_as_it_was_pushed) {
  using Field = std::pair<std::string_view, std::string_view>;
  const std::vector<Field> good{{"id", "42"}, {"priority", "-3"}};
  EXPECT_EQ(decode_entry(encode_plain_push(good, "1-1", "orders"))->options.priority, -3);
  const std::vector<Field> bad{{"id", "42"}, {"colour", "red"}};
  const auto bytes = encode_plain_push(bad, "1-1", "orders");
  ASSERT_FALSE(decode_entry(bytes));
  EXPECT_THAT(decode_entry(bytes).why(), HasSubstr("the field 'colour' is unknown"));
  for (const auto* kept : {"id", "42", "colour", "red", "1-1", "orders"}) EXPECT_THAT(bytes, HasSubstr(kept));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto part = decode_entry(bytes.substr(0, size));
    EXPECT_TRUE(part || !part.why().empty()) << size;
  }
}

TEST(PlainPush, so_much_is_kept_of_what_does_not_fit) {
  using Field = std::pair<std::string_view, std::string_view>;
  const std::string huge(9U << 20, 'x');
  const std::vector<std::vector<Field>> pushes{{{"id", "42"}, {"payload", huge}},
                                               {{"id", "42"}, {huge, ""}},
                                               {{"id", "42"}, {"payload", huge}, {"payload", "short"}},
                                               std::vector<Field>(1U << 20, {"", ""}),
                                               std::vector<Field>(1U << 20, {"id", "42"})};
  for (const auto& fields : pushes) {
    const auto bytes = encode_plain_push(fields, "1-1", "orders");
    EXPECT_LT(bytes.size(), kMostKeptOfPush + 1000);
    if (fields.back().second == "42") {
      EXPECT_TRUE(decode_entry(bytes)) << "all of it fits";
      continue;
    }
    ASSERT_FALSE(decode_entry(bytes)) << "what was cut off must not be missing in a job";
    EXPECT_THAT(decode_entry(bytes).why(), HasSubstr("bytes that were pushed only the first are kept"));
    EXPECT_LT(decode_entry(bytes).why().size(), 1000U);
  }
  const auto whole =
      encode_plain_push(std::vector<Field>{{"payload", huge.substr((8U << 20) - 1)}}, "1-1", "orders");
  EXPECT_GT(whole.size(), 1U << 20);
  EXPECT_THAT(decode_entry(whole).why(), Not(HasSubstr("only the first")));
}

TEST(PlainPush, of_which_no_job_can_be_made_names_whose_it_was) {
  using Field = std::pair<std::string_view, std::string_view>;
  const auto names = [](const std::vector<Field>& fields) {
    const auto read = names_of_plain_push(encode_plain_push(fields, "1-1", "orders"));
    return std::pair(read.id, read.key);
  };
  EXPECT_EQ(names({{"colour", "red"}}), std::pair(std::string("1-1"), std::string()));
  EXPECT_EQ(names({{"id", "42"}, {"colour", ""}, {"key", "k"}}),
            std::pair(std::string("42"), std::string("k")));
  EXPECT_EQ(names({{"id", std::string(256, 'n')}, {"key", ""}}),
            std::pair(std::string("1-1"), std::string()));
}

TEST(PlainPush, is_held_to_the_limits_of_every_push) {
  using Field = std::pair<std::string_view, std::string_view>;
  const auto read = [](std::string_view name, std::string_view value) {
    const std::vector<Field> fields{{name, value}};
    return decode_entry(encode_plain_push(fields, "1-1", "orders"));
  };
  const std::string limit(1 << 20, 'x');
  EXPECT_TRUE(read("payload", limit));
  const auto refused = read("payload", limit + 'x');
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.why(),
              HasSubstr("the field 'payload' does not fit: it has 1048577 bytes, at most 1048576 fit"));
  EXPECT_LT(refused.why().size(), 400U) << "it is not quoted whole";
  const auto run_at = [&](std::string_view value) { return read("run_at", value)->run_at; };
  EXPECT_EQ(run_at("5e9"), Time{std::chrono::seconds{5'000'000'000}});
  EXPECT_EQ(run_at("253402300799"), std::chrono::floor<std::chrono::seconds>(kLastTime));
  EXPECT_EQ(run_at("9999-12-31T23:59:59.999999Z"), kLastTime);
  for (const char* text :
       {"253402300800", "-62167219201", "nan", "inf", "1e999", "1 ", "0x10", "", "+1h", "9999-12-31"}) {
    EXPECT_FALSE(read("run_at", text)) << text;
  }
  EXPECT_EQ(read("timeout", "1e300")->options.timeout, kLongestDuration);
  EXPECT_EQ(read("timeout", "1m30s")->options.timeout, std::chrono::seconds{90});
  for (const char* text : {"0", "-1", "1e-9", "nan", "0s", "1x", ""})
    EXPECT_FALSE(read("timeout", text)) << text;
  EXPECT_FALSE(read("lock", ""));
  const Entry without{.kind = "orders", .key = "1-1", .id = "1-1"};
  for (const char* name : {"id", "key", "kind"}) {
    const auto bytes = encode_plain_push(std::vector<Field>{{name, ""}}, "1-1", "orders");
    EXPECT_EQ(*decode_entry(bytes), without) << name;
  }
  for (const char* text : {"nan", "-inf", "1e999", "", "1,5"}) EXPECT_FALSE(read("score", text)) << text;
  for (const char* text : {"2147483648", "1.5", ""}) EXPECT_FALSE(read("priority", text)) << text;
  EXPECT_EQ(read("expires", "5e9")->options.expires, Time{std::chrono::seconds{5'000'000'000}});
  EXPECT_EQ(read("expires", "+1h")->options.expires_after, std::chrono::hours{1});
  for (const char* text : {"253402300800", "+", "+1", "+1x", ""}) EXPECT_FALSE(read("expires", text)) << text;
  EXPECT_EQ(read("window", "22:00-02:00 Asia/Tokyo mon")->options.windows.at(0).tz, "Asia/Tokyo");
  for (const char* text : {"05:00", "05:00-05:00", "05:00-07:00 a b", ""})
    EXPECT_FALSE(read("window", text)) << text;
  std::vector<Field> windows(8, {"window", "05:00-07:00"});
  EXPECT_EQ(decode_entry(encode_plain_push(windows, "1-1", "orders"))->options.windows.size(), 8U);
  windows.push_back(windows.front());
  EXPECT_FALSE(decode_entry(encode_plain_push(windows, "1-1", "orders")));
}

TEST(EntryCodec, its_time_can_be_written_and_its_timeout_kept) {
  auto entry = full_entry();
  entry.run_at = Time::max();
  entry.options.timeout = Duration::max();
  EXPECT_EQ(decode_entry(encode(entry))->run_at, kLastTime);
  EXPECT_EQ(decode_entry(encode(entry))->options.timeout, kLongestDuration);
  entry.options.timeout = Duration::min();
  EXPECT_EQ(decode_entry(encode(entry))->options.timeout, Duration{1});
  entry.run_at = Time::min();
  EXPECT_EQ(decode_entry(encode(entry))->run_at, kFirstTime);
}

TEST(ScoreOf, is_unix_seconds) {
  EXPECT_EQ(score_of(Time{Duration{1'700'000'000'500'000}}), 1'700'000'000.5);
  EXPECT_EQ(score_of(Time{Duration{-1'500'000}}), -1.5);
}

TEST(JobOptions, later_ones_replace_where_they_are_set) {
  JobOptions options{.priority = 1, .timeout = std::chrono::seconds{1}};
  options.merge_later({.timeout = std::chrono::seconds{2}});
  EXPECT_EQ(options, (JobOptions{.priority = 1, .timeout = std::chrono::seconds{2}}));
  options.merge_later({.priority = 0});
  EXPECT_EQ(options, (JobOptions{.priority = 0, .timeout = std::chrono::seconds{2}}));
  options = {.keeps_dead = false};
  options.merge_later({});
  EXPECT_EQ(options.keeps_dead, false);
  options.merge_later({.keeps_dead = true});
  EXPECT_EQ(options.keeps_dead, true);
}

/// Two values of an option that differ.
std::pair<std::string, std::string> two_values_of(const PushOption& option) {
  if (is_of<bool>(option)) return {"true", "false"};
  if (is_of<Duration>(option)) return {"1s", "2s"};
  if (is_of<std::vector<Window>>(option)) return {"05:00-07:00", "06:00-07:00"};
  return {"1", "2"};
}

TEST(JobOptions, merge_as_the_table_of_options_says) {
  int count = 0;
  for (const auto& option : kPushOptions) {
    const bool is_kept = option.merged == Merged::first || option.merged == Merged::last;
    if (!is_kept || is_of<MomentPlace>(option)) continue;  // run_at is no option of an entry
    ++count;
    const auto [one, two] = two_values_of(option);
    NewJob first, last;
    set_option(first, option, one, "it");
    set_option(last, option, two, "it");
    const auto first_options = entry_of("orders", first).options;
    const auto last_options = entry_of("orders", last).options;
    EXPECT_FALSE(first_options == last_options) << option.name;
    auto merged = first_options;
    merged.merge_later({});
    EXPECT_EQ(merged, first_options) << option.name;
    merged.merge_later(last_options);
    EXPECT_EQ(merged, option.merged == Merged::last ? last_options : first_options) << option.name;
    merged = {};
    merged.merge_later(last_options);
    EXPECT_EQ(merged, last_options) << option.name;
  }
  EXPECT_GE(count, 8);
}

}  // namespace entry_test
}  // namespace ordo::domain
