#include "domain/renumber.h"

#include <gtest/gtest.h>

namespace ordo::domain {
namespace renumber_test {

constexpr Time kAt{std::chrono::seconds{1'700'000'000}};
constexpr Time kEarlier{std::chrono::seconds{1'600'000'000}};

TEST(Settled, a_payload_keeps_the_time_of_its_first_append) {
  for (const auto type : {EntryType::push, EntryType::revive}) {
    const auto entry = settled({.type = type, .kind = "k", .key = "1", .id = "1"}, kAt);
    EXPECT_EQ(entry.came, kAt);
    EXPECT_EQ(entry.run_at, std::nullopt) << "it is due as it comes, whatever the clock says";
  }
}

TEST(Settled, what_an_entry_says_itself_stays) {
  const Entry entry{.kind = "k", .key = "1", .id = "1", .score = 7, .run_at = kEarlier, .payload = "p"};
  EXPECT_EQ(settled(entry, kAt), entry);
  EXPECT_EQ(settled(settled({.id = "1"}, kAt), kEarlier), settled({.id = "1"}, kAt));
}

TEST(Settled, of_the_controls_only_run_now_has_a_time) {
  EXPECT_EQ(settled({.type = EntryType::run_now}, kAt).came, kAt);
  EXPECT_EQ(settled({.type = EntryType::cancel}, kAt), Entry{.type = EntryType::cancel});
}

/// A log of the entries 10, 20, 30, which get the numbers 5, 6, 9.
Numbering numbering_of(std::vector<Seq> spoken_of) {
  Numbering numbering(std::move(spoken_of));
  numbering.pass(10, 5);
  numbering.pass(20, 6);
  numbering.pass(30, 9);
  return numbering;
}

TEST(Numbering, gives_entries_their_new_number) {
  const auto numbering = numbering_of({30, 10, 15, 10});
  EXPECT_EQ(numbering.of(10), 5U);
  EXPECT_EQ(numbering.of(30), 9U);
  EXPECT_EQ(numbering.of(15), std::nullopt);  // no entry
  EXPECT_EQ(numbering.of(20), std::nullopt);  // nobody asked for it
}

TEST(Numbering, gives_places_between_entries_the_one_before) {
  const auto numbering = numbering_of({0, 9, 10, 15, 29, 30, 31, 99});
  for (const auto& [old, number] : std::vector<std::pair<Seq, Seq>>{
           {0, 0}, {9, 0}, {10, 5}, {15, 5}, {29, 6}, {30, 9}, {31, 9}, {99, 9}}) {
    EXPECT_EQ(numbering.up_to(old), number) << old;
  }
  EXPECT_EQ(Numbering({7}).up_to(7), 0U);
}

TEST(Numbering, a_state_speaks_of_the_new_numbers) {
  JobState state{
      .through = 25, .retry_count = 3, .held = true, .scores = {{20, 0.5}, {25, 1.5}}, .error = "no"};
  std::vector<Seq> spoken_of;
  add_references(spoken_of, 10, state);
  const auto numbering = numbering_of(spoken_of);
  EXPECT_EQ(numbering.of(10), 5U);
  auto expected = state;
  expected.through = 6;
  expected.scores = {{6, 0.5}};  // 25 was erased: nobody can ask for its score
  EXPECT_EQ(renumbered(state, numbering), expected);
}

}  // namespace renumber_test
}  // namespace ordo::domain
