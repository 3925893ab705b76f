#include "store/response_inbox.h"

#include <algorithm>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "domain/entry.h"
#include "domain/fields.h"
#include "domain/wait_note.h"
#include "domain/wait_record.h"
#include "store/memory/memory_store.h"
#include "store/test_log.h"
#include "store/waits.h"

namespace ordo::store {
namespace response_inbox_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class InboxClock final : public Clock {
 public:
  Time wall() override { return now; }
  Duration steady() override { return now.time_since_epoch(); }
  Time now{24h * 20000};
};

/// With an inbox, and waits that cannot be reached.
class InboxStore : public memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  std::vector<InboxRow> inbox(std::string_view /*node*/, std::size_t max_rows) override {
    return {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(std::min(max_rows, rows.size()))};
  }
  void take_out(std::span<const std::int64_t> numbers) override {
    std::erase_if(rows,
                  [&](const auto& row) { return std::ranges::find(numbers, row.number) != numbers.end(); });
  }
  std::optional<std::string> wait_row(std::string_view queue, std::string_view key) override {
    ++asked;
    if (key == away) throw Error(ErrorKind::unavailable, "away");
    return MemoryStore::wait_row(queue, key);
  }

  std::vector<InboxRow> rows;
  std::string away;
  int asked = 0;
};

class ResponseInboxTest : public ::testing::Test {
 protected:
  ResponseInboxTest() { store_.define("orders", 1); }

  void leave(const std::string& key, const std::string& body = "yes") {
    const auto number = ++last_;
    store_.rows.push_back({number, "orders", key, std::to_string(number), body});
  }
  /// The row of the wait for it is as a newer version writes it, or as this one does.
  void write(const std::string& key, bool newer) {
    domain::WaitRecord record;
    record.wait = "w";
    record.kind = record.key = record.id = "orders";
    record.since = clock_.now;
    record.deadline = clock_.now + 1h;
    if (newer)
      record.fields = domain::number_field(domain::kNeeds, std::uint16_t(domain::format_level() + 1));
    ASSERT_TRUE(store_.put_row("orders", {.key = key, .bytes = domain::encode(record)},
                               store_.MemoryStore::wait_row("orders", key)));
  }
  /// One round: for each the key, and what became of it.
  std::vector<std::string> drain() {
    std::vector<std::string> told;
    for (const auto& answer : drain_inbox(
             store_, "n1", [](const auto&) { return 1h; }, held_)) {
      const bool is_taken = answer.error.empty() && answer.what == Responded::accepted;
      told.push_back(answer.key + (answer.waits ? " waits" : is_taken ? " accepted" : " " + answer.error));
    }
    return told;
  }

  InboxClock clock_;
  InboxStore store_{clock_};
  HeldResponses held_;
  std::int64_t last_ = 0;
};

TEST_F(ResponseInboxTest, WhatOnlyANewerVersionCanGiveHoldsUpNothingElse) {
  write("new", true);
  write("old", false);
  leave("new", "first");
  leave("old");
  leave("new", "second");
  EXPECT_THAT(drain(), ElementsAre("new waits", "old accepted")) << "told once for its key";
  ASSERT_EQ(store_.rows.size(), 2U);
  store_.asked = 0;
  EXPECT_THAT(drain(), IsEmpty());
  EXPECT_EQ(store_.asked, 0) << "not so soon again";
  clock_.now += 10s;
  EXPECT_THAT(drain(), IsEmpty()) << "it was told";
  EXPECT_GT(store_.asked, 0);
}

TEST_F(ResponseInboxTest, WhatWaitedIsGivenInItsOrderOnceItCanBe) {
  write("new", true);
  leave("new", "first");
  EXPECT_THAT(drain(), ElementsAre("new waits"));
  write("new", false);  // as a newer node leaves it
  leave("new", "second");
  EXPECT_THAT(drain(), IsEmpty()) << "the second one does not overtake the first";
  clock_.now += 10s;
  const auto told = drain();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0], "new accepted");
  EXPECT_THAT(store_.rows, IsEmpty());
  const std::vector shards{ShardId{store_.queues().find("orders")->number, 0}};
  const auto log = read_log(store_, shards);
  ASSERT_EQ(log.rows.size(), 1U);
  const auto entry = *domain::decode_entry(log.body(log.rows[0]));
  EXPECT_EQ(domain::decode_wait_note(entry.payload)->body, "first");
}

TEST_F(ResponseInboxTest, MoreOfThemThanARoundTakesLetOthersPass) {
  write("new", true);
  write("old", false);
  for (int i = 0; i < 150; ++i) leave("new");
  leave("old");
  EXPECT_THAT(drain(), ElementsAre("new waits"));
  EXPECT_THAT(drain(), ElementsAre("old accepted"));
}

TEST_F(ResponseInboxTest, AStoreThatIsAwayIsWaitedFor) {
  write("old", false);
  store_.away = "far";
  leave("old");
  leave("far");
  EXPECT_THAT(drain(), ElementsAre("old accepted"));
  try {
    drain();
    ADD_FAILURE() << "it was answered";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("away"));
  }
  EXPECT_EQ(store_.rows.size(), 1U);
}

}  // namespace response_inbox_test
}  // namespace ordo::store
