#include "domain/dead_letters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace ordo::domain {
namespace dead_letters_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Time kNow{std::chrono::hours{24 * 20000}};

DeadLetter letter(const std::string& key, const std::string& body, Time at = kNow) {
  return {DeadLetter::Why::late, key, "calls", "k", "42", {}, body, at};
}

LetterList of(const std::vector<DeadLetter>& letters, const LetterBounds& bounds = {}) {
  LetterList list;
  for (const auto& each : letters) list = with(list, each, bounds, kNow)->first;
  return list;
}

TEST(DeadLetters, OutliveTheirCodec) {
  for (const auto why : {DeadLetter::Why::late, DeadLetter::Why::unknown, DeadLetter::Why::unused}) {
    DeadLetter each{why, "key", "kind", "job key", "id", "m", std::string("a\0b", 3), kNow};
    EXPECT_EQ(*decode_dead_letter(encode(each)), each);
  }
  EXPECT_FALSE(decode_dead_letter(""));
  EXPECT_FALSE(decode_dead_letter("\x01\x07"));
  const auto list = of({letter("a", "1"), letter("b", "22", kNow + 1s)});
  EXPECT_EQ(list.items.size(), 2U);
  EXPECT_EQ(*decode_letter_list(encode(list)), list);
  EXPECT_EQ(*decode_letter_list(encode(LetterList{})), LetterList{});
  EXPECT_FALSE(decode_letter_list("\x01x"));
}

TEST(DeadLetters, TheSameMessageIsKeptOnce) {
  auto same = letter("a", "1", kNow + 1s);
  same.why = DeadLetter::Why::unused;
  EXPECT_EQ(with(of({letter("a", "1")}), same, {}, kNow), std::nullopt);
  EXPECT_TRUE(with(of({letter("a", "1")}), letter("a", "2"), {}, kNow));
  EXPECT_TRUE(with(of({letter("a", "1")}), letter("b", "1"), {}, kNow));
  auto named = letter("a", "1"), other = letter("a", "2");
  named.message_id = other.message_id = "m";
  EXPECT_EQ(letter_name(named), letter_name(other)) << "its id says which one it is";
  other.message_id = "n";
  EXPECT_NE(letter_name(named), letter_name(other));
  EXPECT_NE(letter_name(letter("ab", "c")), letter_name(letter("a", "bc")));
  auto id = letter("a", "");
  id.message_id = "1";
  EXPECT_NE(letter_name(letter("a", "1")), letter_name(id)) << "a body is no id";
}

TEST(DeadLetters, TheOldestGoFirst) {
  const auto two = of({letter("a", "1"), letter("b", "2")});
  const auto third = with(two, letter("c", "3"), {.most = 2}, kNow);
  EXPECT_EQ(third->first, of({letter("b", "2"), letter("c", "3")}));
  EXPECT_THAT(third->second, ElementsAre(letter_name(letter("a", "1"))));
  const auto large = with(two, letter("c", "333"), {.most = 3, .most_bytes = 3}, kNow);
  EXPECT_EQ(large->first, of({letter("c", "333")}));
  EXPECT_EQ(large->second.size(), 2U);
  EXPECT_THAT(with({}, letter("a", "4444"), {.most = 3, .most_bytes = 3}, kNow)->second, IsEmpty())
      << "the last one stays, whatever its size";
}

TEST(DeadLetters, AreKeptForAWeek) {
  const auto list = of({letter("a", "1"), letter("b", "2", kNow + 1us)});
  EXPECT_EQ(kept_letters(list, kNow + kLetterLife - 1us), list);
  EXPECT_EQ(kept_letters(list, kNow + kLetterLife), of({letter("b", "2", kNow + 1us)}));
  const auto later = kNow + kLetterLife;
  EXPECT_THAT(with(list, letter("c", "3", later), {.most = 3}, later)->second, IsEmpty())
      << "a clock that is ahead takes none away";
  EXPECT_THAT(with(list, letter("c", "3", later), {.most = 2}, later)->second,
              ElementsAre(letter_name(letter("a", "1"))));
  EXPECT_EQ(with(list, letter("b", "2", later), {}, later), std::nullopt);
  EXPECT_EQ(with(list, letter("a", "1", later), {}, later)->first,
            of({letter("b", "2", kNow + 1us), letter("a", "1", later)}))
      << "its first one is over";
}

TEST(DeadLetters, WhatWillBeOneStandsByItsTime) {
  const auto first = expiry_row_key(kNow, "b", 3), second = expiry_row_key(kNow + 1us, "a", 0);
  EXPECT_LT(first_expiry(), first);
  EXPECT_LT(first, second);
  EXPECT_LT(first, end_of_expired(kNow)) << "its time is over now";
  EXPECT_GT(second, end_of_expired(kNow));
  EXPECT_LT(second, end_of_expiries());
  EXPECT_NE(expiry_row_key(kNow, "a", 3), first);
  EXPECT_EQ(expiry_bytes(first), 3U);
  EXPECT_EQ(expiry_bytes(expiry_row_key(kNow, "b", 0x0102030405060708)), 0x0102030405060708U);
  EXPECT_TRUE(is_expiry_row_key(first));
  EXPECT_FALSE(is_expiry_row_key(std::string(16, 'e'))) << "a unique key";
}

}  // namespace dead_letters_test
}  // namespace ordo::domain
