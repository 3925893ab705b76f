#include "domain/unique.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "domain/job_options.h"
#include "domain/records.h"

namespace ordo::domain {
namespace unique_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Unique, TheRowOfAKeyIsOfItsKindForEver) {
  std::set<std::string> keys;
  for (const auto& [kind, key] : std::vector<std::pair<std::string, std::string>>{
           {"orders", "42"}, {"orders", "43"}, {"other", "42"}, {"orders4", "2"}, {"orders", ""}}) {
    EXPECT_EQ(unique_row_key(kind, key).size(), 16U);
    EXPECT_TRUE(keys.insert(unique_row_key(kind, key)).second) << kind << " " << key;
  }
  const std::string stored(
      "\xFE\x31\x56\x40\x28\xFC\xD1\x7E"
      "\x1B\xE7\x68\x1C\xB0\xE9\x3E\x7A",
      16);
  EXPECT_EQ(unique_row_key("orders", "42"), stored) << "it is stored";
}

TEST(Unique, ARowSaysWhoseItIs) {
  const UniqueRow row{"token", UniqueScope::period, Time{5s}, "orders", "k", std::string("\0\xFF", 2)};
  EXPECT_EQ(*decode_unique_row(encode(row)), row);
  const UniqueHold hold{"row", "token", UniqueScope::period, Time{5s}};
  EXPECT_EQ(row_of(hold, row.kind, row.key, row.id), encode(row));
  JobOptions options;
  options.unique = {hold};
  JobOptions read;
  read_rules(encode_rules(options), read);
  EXPECT_EQ(read, options);
  EXPECT_FALSE(decode_unique_row("\2"));
  EXPECT_FALSE(decode_unique_row(std::string("\1\3", 2) + encode(row).substr(2))) << "no such scope";
  for (std::size_t cut = 0; cut + 2 < encode(row).size(); ++cut)
    EXPECT_FALSE(decode_unique_row(encode(row).substr(0, cut)));
}

TEST(Unique, TheKeyIsTheOneGivenOrByTheRule) {
  const NewJob job{.id = "42", .payload = R"({"user":{"id":7}})", .key = "k"};
  EXPECT_EQ(unique_key_of({.by = "payload"}, job), job.payload);
  EXPECT_EQ(unique_key_of({.by = "id"}, job), "\"42\"") << "an id is a string";
  EXPECT_EQ(unique_key_of({.by = "key"}, job), "k");
  EXPECT_EQ(unique_key_of({.by = "key"}, {.id = "42"}), "\"42\"");
  EXPECT_EQ(unique_key_of({.by = "/user/id"}, job), "7");
  EXPECT_EQ(unique_key_of({.by = "/nobody"}, job), std::nullopt) << "it is not unique";
  EXPECT_EQ(unique_key_of({.by = "/nobody"}, {.id = "42", .unique = "own"}), "own");
  // Rules §9.13: values are compared, however they are written.
  EXPECT_EQ(unique_key_of({.by = "payload"}, {.payload = R"({"b":1,"a":2.0})"}),
            unique_key_of({.by = "payload"}, {.payload = R"({"a":2,"b":1e0})"}));
  EXPECT_EQ(unique_key_of({.by = "/user"}, {.unique = "7.0"}), "7");
  EXPECT_EQ(unique_key_of({.by = "/user"}, {.payload = R"({"user":7e0})"}), "7");
  EXPECT_NE(unique_key_of({.by = "/user"}, {.payload = R"({"user":"7"})"}), "7");
}

TEST(Unique, RulesThatCannotBeKeptAreNone) {
  const auto why = [](Unique rule) { return why_no_unique(rule); };
  EXPECT_THAT(why({}), IsEmpty());
  EXPECT_THAT(why({.by = ""}), HasSubstr("JSON pointer"));
  EXPECT_THAT(why({.by = "user"}), HasSubstr("JSON pointer"));
  EXPECT_THAT(why({.by = "/user"}), IsEmpty());
  EXPECT_THAT(why({.period = 0s}), HasSubstr("period"));
  EXPECT_THAT(why({.period = 169h}), HasSubstr("168h"));
  for (const auto conflict : {OnConflict::replace, OnConflict::merge, OnConflict::debounce}) {
    EXPECT_THAT(why({.scope = UniqueScope::queued, .on_conflict = conflict}), IsEmpty());
    EXPECT_THAT(why({.scope = UniqueScope::queued_or_running, .on_conflict = conflict}), HasSubstr("queued"));
    EXPECT_THAT(why({.scope = UniqueScope::period, .on_conflict = conflict}), HasSubstr("queued"));
  }
  EXPECT_EQ(scope_of({.on_conflict = OnConflict::throttle}), UniqueScope::period);
  EXPECT_EQ(scope_of({.scope = UniqueScope::queued_or_running}), UniqueScope::queued_or_running);
}

TEST(LeavingRows, ThoseOfEndedJobsAreAskedForOnceThatIsDurableAndListedUntilTheyAreGone) {
  LeavingRows rows;
  const RowToFree a{"a", "1", false}, b{"b", "2", false}, c{"c", "3", true};
  rows.end(a);
  EXPECT_THAT(rows.list(), ElementsAre(a));
  rows.collect();
  rows.end(b);
  EXPECT_THAT(rows.asked(), IsEmpty()) << "it may yet not be durable";
  EXPECT_THAT(rows.list(), ElementsAre(a, b));
  rows.committed();
  EXPECT_THAT(rows.asked(), ElementsAre(a));
  EXPECT_THAT(rows.asked(), IsEmpty());
  EXPECT_THAT(rows.list(), ElementsAre(a, b));
  rows.freed("1");
  rows.freed("1");
  EXPECT_THAT(rows.list(), ElementsAre(b));
  rows.start(c);
  EXPECT_THAT(rows.asked(), ElementsAre(c)) << "at once";
  EXPECT_THAT(rows.list(), ElementsAre(b)) << "its job's entries know of it";
  rows.collect();
  rows.committed();
  rows.freed("2");
  EXPECT_TRUE(rows.empty());
}

TEST(LeavingRows, TheNextOwnerTakesAwayWhatIsListed) {
  const std::vector<RowToFree> left{{"a", "1", false}, {"b", std::string(300, '2'), false}};
  Counts counts;
  counts.rows_to_free = left;
  EXPECT_EQ(*decode_counts(encode(counts)), counts);
  LeavingRows rows;
  rows.load(left);
  EXPECT_EQ(rows.asked(), left);
  EXPECT_EQ(rows.list(), left);
}

}  // namespace unique_test
}  // namespace ordo::domain
