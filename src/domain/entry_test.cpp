#include "domain/entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include <ordo/error.hpp>

namespace ordo::domain {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Property;
using ::testing::Throws;

const auto kIsCorrupt = Throws<Error>(Property(&Error::kind, ErrorKind::corrupt));

Entry full_entry() {
  return {.type = EntryType::revive,
          .kind = "mail",
          .key = "customer-7",
          .id = "42",
          .score = -1.5,
          .run_at = Time{Duration{1'700'000'000'000'001}},
          .options = {.priority = -3, .timeout = std::chrono::seconds{5}},
          .payload = std::string_view("a\0b", 3)};
}

TEST(EntryCodec, keeps_every_field) {
  const auto bytes = encode(full_entry());
  EXPECT_EQ(decode_entry(bytes), full_entry());
}

TEST(EntryCodec, keeps_what_is_absent_absent) {
  const Entry entry{.type = EntryType::cancel, .kind = "mail", .key = "42", .id = "42"};
  const auto bytes = encode(entry);
  EXPECT_EQ(decode_entry(bytes), entry);
  EXPECT_EQ(bytes.size(), 2 + 1 + 4 + 1 + 2U);  // a key that is the id takes no room
}

TEST(EntryCodec, points_into_the_bytes) {
  const auto bytes = encode(full_entry());
  const auto entry = decode_entry(bytes);
  EXPECT_EQ(entry.payload.data() + entry.payload.size(), bytes.data() + bytes.size());
}

TEST(EntryCodec, random_entries_come_back) {
  EXPECT_TRUE(rc::check("decode(encode(entry)) == entry", [] {
    const auto text = [](int most) { return *rc::gen::resize(most, rc::gen::arbitrary<std::string>()); };
    const auto kind = text(40), key = text(200), id = text(200), payload = text(500);
    Entry entry{
        .type = *rc::gen::element(EntryType::push, EntryType::revive, EntryType::cancel, EntryType::run_now),
        .kind = kind,
        .key = *rc::gen::arbitrary<bool>() ? std::string_view(key) : std::string_view(id),
        .id = id,
        .payload = payload};
    if (*rc::gen::arbitrary<bool>()) entry.score = *rc::gen::arbitrary<double>();
    if (*rc::gen::arbitrary<bool>()) entry.run_at = Time{Duration{*rc::gen::arbitrary<std::int64_t>()}};
    if (*rc::gen::arbitrary<bool>()) entry.options.priority = *rc::gen::arbitrary<std::int32_t>();
    if (*rc::gen::arbitrary<bool>()) entry.options.timeout = Duration{*rc::gen::arbitrary<std::int64_t>()};
    const auto bytes = encode(entry);
    RC_ASSERT(decode_entry(bytes) == entry);
  }));
}

TEST(EntryCodec, the_longest_names) {
  const std::string longest(255, 'x'), other(255, 'y');
  const Entry entry{.kind = longest, .key = other, .id = longest, .payload = longest};
  const auto bytes = encode(entry);
  EXPECT_EQ(decode_entry(bytes), entry);
}

TEST(EntryCodec, cut_short_it_is_corrupt_or_lacks_only_payload) {
  const auto bytes = encode(full_entry());
  const auto names_end = bytes.size() - full_entry().payload.size();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A buffer of exactly that size lets the address sanitizer see a read past it.
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
    const std::string_view view(cut.data(), cut.size());
    if (size < names_end) {
      EXPECT_THAT([&] { decode_entry(view); }, kIsCorrupt) << size;
    } else {
      auto shorter = full_entry();
      shorter.payload = shorter.payload.substr(0, size - names_end);
      EXPECT_EQ(decode_entry(view), shorter) << size;
    }
  }
}

TEST(EntryCodec, an_unknown_type_or_flag_is_corrupt) {
  auto bytes = encode(full_entry());
  for (const int type : {0, 6, 128, 255}) {
    bytes[0] = static_cast<char>(type);
    EXPECT_THAT([&] { decode_entry(bytes); },
                Throws<Error>(AllOf(Property(&Error::kind, ErrorKind::corrupt),
                                    Property(&Error::what, HasSubstr("stored entry: its type is unknown")))))
        << type;
  }
  bytes = encode(full_entry());
  bytes[1] = 32;
  EXPECT_THAT([&] { decode_entry(bytes); }, kIsCorrupt);
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
}

}  // namespace
}  // namespace ordo::domain
