#include "domain/tick_book.h"

#include <gtest/gtest.h>

#include <string>

#include "base/time_text.h"
#include "domain/records.h"

namespace ordo::domain {
namespace tick_book_test {

using std::chrono::hours;
using std::chrono::minutes;

const Time kNoon = parse_time("2026-03-02T12:00:00Z");

Entry tick(Time at, std::uint64_t number = 0) {
  Entry entry;
  entry.type = EntryType::tick;
  entry.key = "nightly";
  entry.id = "job";
  entry.tick = {"nightly", at, number};
  return entry;
}

Entry control(EntryType type, std::optional<Time> asked = {}) {
  Entry entry;
  entry.type = type;
  entry.id = entry.key = "nightly";
  entry.run_at = asked;
  return entry;
}

TEST(TickBook, admits_each_tick_once_and_none_before_the_last) {
  TickBook book;
  EXPECT_TRUE(book.admits(tick(kNoon), 1));
  EXPECT_FALSE(book.admits(tick(kNoon), 2));
  EXPECT_FALSE(book.admits(tick(kNoon - minutes{1}), 3));
  EXPECT_TRUE(book.admits(tick(kNoon + minutes{1}, 7), 4));
  EXPECT_FALSE(book.admits(tick(kNoon + minutes{1}, 7), 5));
  const auto* record = book.find("nightly");
  EXPECT_EQ(record->last, kNoon + minutes{1});
  EXPECT_EQ(record->through, 5U);
  EXPECT_EQ(record->pushed, 2U);
  EXPECT_EQ(record->ticks, 7U);
  EXPECT_EQ(record->ticked, record->last);
}

TEST(TickBook, what_was_judged_before_stays_good) {
  TickBook book;
  EXPECT_TRUE(book.admits(tick(kNoon), 1));
  EXPECT_TRUE(book.admits(tick(kNoon + minutes{1}), 3));
  TickBook next;
  Counts counts;
  counts.schedules = book.records();
  next.load(decode_counts(encode(counts))->schedules);
  EXPECT_EQ(next.records(), book.records());
  EXPECT_TRUE(next.admits(tick(kNoon), 1));
  EXPECT_TRUE(next.admits(tick(kNoon + minutes{1}), 3));
  EXPECT_FALSE(next.admits(tick(kNoon + minutes{1}), 4));
  EXPECT_EQ(next.find("nightly")->pushed, 2U);
}

TEST(TickBook, starts_now_when_it_is_new_or_ticks_otherwise) {
  TickBook book;
  EXPECT_TRUE(book.state("nightly", "k", 7, kNoon));
  EXPECT_FALSE(book.state("nightly", "k", 7, kNoon + hours{1}));
  EXPECT_EQ(book.find("nightly")->last, kNoon);
  EXPECT_TRUE(book.state("nightly", "other", 7, kNoon + hours{1}));
  EXPECT_EQ(book.find("nightly")->last, kNoon);
  EXPECT_EQ(book.find("nightly")->key, "other");
  EXPECT_TRUE(book.state("nightly", "other", 8, kNoon + hours{1}));
  EXPECT_EQ(book.find("nightly")->last, kNoon + hours{1});
  EXPECT_FALSE(book.admits(tick(kNoon + minutes{30}), 1));
  // Of one that only its entries have told of.
  TickBook read;
  EXPECT_TRUE(read.admits(tick(kNoon), 1));
  EXPECT_TRUE(read.state("nightly", "nightly", 7, kNoon + hours{1}));
  EXPECT_EQ(read.find("nightly")->last, kNoon);
}

TEST(TickBook, pauses_and_goes_on_from_then) {
  TickBook book;
  book.state("nightly", "nightly", 7, kNoon);
  book.control(control(EntryType::pause_ticks), kNoon);
  EXPECT_FALSE(book.admits(tick(kNoon + minutes{1}), 1));
  book.forget("nightly");
  ASSERT_NE(book.find("nightly"), nullptr);
  EXPECT_TRUE(book.find("nightly")->paused);
  book.control(control(EntryType::resume_ticks, kNoon + hours{1}), kNoon + hours{2});
  EXPECT_FALSE(book.find("nightly")->paused);
  EXPECT_EQ(book.find("nightly")->last, kNoon + hours{1});
  EXPECT_FALSE(book.admits(tick(kNoon + hours{1}), 2));
  EXPECT_TRUE(book.admits(tick(kNoon + hours{1} + minutes{1}), 3));
  // Of one that goes on already it takes no tick, but does away with a time that is yet to come.
  book.control(control(EntryType::resume_ticks), kNoon + hours{3});
  EXPECT_EQ(book.find("nightly")->last, kNoon + hours{1} + minutes{1});
  book.pass("nightly", kNoon + hours{1000}, 4);
  EXPECT_EQ(book.find("nightly")->ticks - book.find("nightly")->pushed, 4U);
  book.control(control(EntryType::resume_ticks), kNoon + hours{3});
  EXPECT_EQ(book.find("nightly")->last, kNoon + hours{3});
  book.forget("nightly");
  EXPECT_EQ(book.find("nightly"), nullptr);
}

// It was never stated where it was paused.
TEST(TickBook, a_pause_holds_before_it_is_stated) {
  TickBook book;
  book.control(control(EntryType::pause_ticks), kNoon);
  EXPECT_TRUE(book.state("nightly", "nightly", 7, kNoon));
  EXPECT_TRUE(book.find("nightly")->paused);
  EXPECT_EQ(book.find("nightly")->last, kNoon);
}

}  // namespace tick_book_test
}  // namespace ordo::domain
