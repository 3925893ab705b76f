#include "domain/kept.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace ordo::domain {
namespace kept_test {

using std::chrono::seconds;

KeptRecord record_of(const std::string& id, std::int64_t ended) {
  return {.ending = JobStatus::done,
          .kind = "ship",
          .key = "k",
          .id = id,
          .arrival = 7,
          .pushed = Time{seconds{1}},
          .started = Time{seconds{2}},
          .ended = Time{seconds{ended}},
          .node = "elsewhere",
          .retry_count = 3,
          .error_kind = FailureKind::timeout,
          .error = "too slow",
          .payloads = {{"a", 1}, {"", -2}},
          .is_cut = true};
}

std::vector<KeptRecord> records_of(const KeptBlock& block, const std::string& node) {
  std::vector<KeptRecord> records;
  EXPECT_TRUE(each_record(block.body(node), [&](std::size_t place, const KeptRecord& record) {
    EXPECT_EQ(place, records.size());
    records.push_back(record);
  }));
  return records;
}

TEST(Kept, a_block_gives_back_what_was_put_into_it) {
  KeptBlock block;
  EXPECT_TRUE(block.empty());
  std::vector<KeptRecord> records;
  for (const auto ending : {JobStatus::done, JobStatus::discarded, JobStatus::cancelled, JobStatus::expired,
                            JobStatus::dead, JobStatus::failed}) {
    records.push_back(record_of(std::to_string(records.size()), 10));
    records.back().ending = ending;
    block.add(records.back());
  }
  EXPECT_EQ(records_of(block, "me"), records);
}

TEST(Kept, what_the_owner_ran_itself_has_its_name_once) {
  KeptBlock block;
  auto record = record_of("1", 3);
  record.node.clear();
  block.add(record);
  EXPECT_EQ(records_of(block, "me").at(0).node, "me");
}

TEST(Kept, the_key_of_an_id_without_one_is_the_id) {
  KeptBlock block;
  auto record = record_of("1", 3);
  record.key = "1";
  block.add(record);
  EXPECT_EQ(records_of(block, "me").at(0).key, "1");
}

TEST(Kept, the_head_says_when_and_whose) {
  KeptBlock block;
  block.add(record_of("1", 30));
  block.add(record_of("2", 10));
  block.add(record_of("1", 20));
  const auto body = block.body("me");
  const auto head = *decode_kept_head(encode(block.head(body)));
  EXPECT_EQ(head.oldest, Time{seconds{10}});
  EXPECT_EQ(head.newest, Time{seconds{30}});
  EXPECT_EQ(head.bytes, body.size());
  EXPECT_EQ(head.names, (std::vector{name_hash("1"), name_hash("2"), name_hash("1")}));
  EXPECT_EQ(name_hash("42"), 0x87E38583U) << "it is stored, and must stay what it is";
}

TEST(Kept, what_is_damaged_is_no_reason_to_lose_the_rest) {
  KeptBlock block;
  block.add(record_of("1", 3));
  block.add(record_of("2", 3));
  const auto body = block.body("");
  std::size_t seen = 0;
  const auto count = [&](std::size_t, const KeptRecord&) { ++seen; };
  EXPECT_FALSE(each_record(body.substr(0, body.size() - 1), count));
  EXPECT_EQ(seen, 1U);
  EXPECT_FALSE(each_record("", count));
  auto bad = body;
  bad[2 + 4] = 99;  // the version of the first
  seen = 0;
  EXPECT_TRUE(each_record(bad, count));
  EXPECT_EQ(seen, 1U);
  KeptBlock odd;
  auto record = record_of("1", 3);
  record.payloads[0].score = std::numeric_limits<double>::quiet_NaN();
  odd.add(record);
  EXPECT_TRUE(records_of(odd, "").empty()) << "a score is no number";
  EXPECT_FALSE(decode_kept_head("x"));
  EXPECT_FALSE(decode_kept_head(""));
}

}  // namespace kept_test
}  // namespace ordo::domain
