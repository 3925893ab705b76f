// Responses that no job handles: what becomes of them on every store.
#include "store/dead_letters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "contract/backends.h"
#include "domain/entry.h"
#include "domain/wait_note.h"
#include "domain/wait_record.h"
#include "store/waits.h"

namespace ordo::store {
namespace dead_letters_test {

using namespace std::chrono_literals;
using domain::EntryType;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DeadLetters : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    queue_ = define("calls", 3);
  }

  domain::Waiter waiter(const std::string& wait, const std::string& id = "42") {
    return {wait, "kind", "k", id, 1, store().now() + 1h};
  }
  Responded respond(const std::string& key, const std::string& body, const std::string& message = {}) {
    return store::respond(second(), "calls", key, {message, body}, 1h);
  }

  /// A response that came for a job an hour and more ago, as respond() leaves it.
  void keep_expired(const std::string& key, const std::string& body, Duration ago = 1s) {
    const auto until = store().now() - ago;
    ASSERT_TRUE(store().response_buffer().add(store(), "calls", key, {until, body.size()}, {}));
    auto row = *domain::respond({}, {"m", body}, 1h, until - 1h).row;
    ASSERT_TRUE(store().put_row("calls", {key, encode(row), true, domain::kept_until(row, 1h)}, {}));
  }

  /// "why key=body", by age.
  std::vector<std::string> letters(const std::string& queue = "calls") {
    std::vector<std::string> all;
    each_letter(second(), queue, [&](const DeadLetter& letter) {
      all.push_back(std::string(to_string(letter.why)) + " " + letter.key + "=" + letter.body);
      return true;
    });
    const auto counts = count_letters(second(), [&](const auto& name) { return name == queue; });
    EXPECT_EQ(counts.contains(queue) ? counts.at(queue) : 0, all.size());
    return all;
  }

  QueueDefinition queue_;
};

TEST_P(DeadLetters, WhatComesTooLateIsKeptOnce) {
  EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter("w1")));
  EXPECT_EQ(respond("bank", "yes", "m1"), Responded::accepted);
  EXPECT_THAT(letters(), IsEmpty());
  EXPECT_EQ(respond("bank", "no", "m2"), Responded::late);
  EXPECT_EQ(respond("bank", "no", "m2"), Responded::late);
  EXPECT_THAT(letters(), ElementsAre("late bank=no"));
  EXPECT_TRUE(expect_response(store(), "calls", "tax", waiter("w2")));
  EXPECT_FALSE(close_wait(store(), "calls", "tax", "w2"));
  EXPECT_EQ(store::respond_to(second(), "calls", "tax", "w2", {"", "paid"}), Responded::late) << "a token";
  EXPECT_EQ(respond("bank", "perhaps", "m3"), Responded::late);
  EXPECT_THAT(letters(), ElementsAre("late bank=no", "late tax=paid", "late bank=perhaps"));
  each_letter(second(), "calls", [&](const DeadLetter& letter) {
    EXPECT_EQ(letter.job_kind + letter.job_key + letter.job_id, "kindk42");
    EXPECT_EQ(letter.message_id, "m2");
    EXPECT_LE(letter.at, store().now());
    return false;
  });
}

TEST_P(DeadLetters, OnesThatNobodyWaitedForBecomeSuchByThemselves) {
  EXPECT_EQ(respond("soon", "yes"), Responded::buffered);
  keep_expired("older", "1", 2s);
  keep_expired("old", "2");
  EXPECT_THAT(letters(), ElementsAre("unknown older=1", "unknown old=2"));
  EXPECT_TRUE(expect_response(store(), "calls", "old", waiter("w1"))) << "a job that comes now";
  EXPECT_EQ(respond("old", "new", "m9"), Responded::accepted) << "does not get it";
  EXPECT_THAT(letters(), ElementsAre("unknown older=1", "unknown old=2"));
  EXPECT_EQ(respond("older", "again", "m9"), Responded::buffered) << "another takes its place";
  EXPECT_THAT(letters(), ElementsAre("unknown older=1", "unknown old=2"));
  EXPECT_TRUE(expect_response(store(), "calls", "older", waiter("w2")));
  EXPECT_TRUE(expect_response(store(), "calls", "soon", waiter("w3")));
  EXPECT_THAT(store().wait_rows(Store::unique_rows("calls"), domain::first_expiry(), 10),
              ::testing::Each(::testing::Field(&WaitRow::key, ::testing::Not(SizeIs(25)))))
      << "nothing waits for its time any more";
}

TEST_P(DeadLetters, WhoBringsAnotherMovesSomeOfThemToTheList) {
  for (int i = 0; i < 10; ++i) keep_expired("k" + std::to_string(i), std::to_string(i), 20s - i * 1s);
  ASSERT_THAT(letters(), SizeIs(10));
  for (int i = 0; i < 3; ++i) respond("new" + std::to_string(i), "x");
  EXPECT_THAT(letters(), SizeIs(10)) << "each is one still";
  EXPECT_EQ(letters().front(), "unknown k0=0");
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(store().wait_row("calls", "k" + std::to_string(i)), std::nullopt) << i;
}

TEST_P(DeadLetters, TheListIsBounded) {
  const domain::LetterBounds bounds{.most = 3};
  for (int i = 0; i < 5; ++i) {
    keep_letter(store(), "calls",
                {DeadLetter::Why::late, "k", {}, {}, {}, {}, std::to_string(i), store().now()}, bounds);
  }
  EXPECT_THAT(letters(), ElementsAre("late k=2", "late k=3", "late k=4"));
  EXPECT_THAT(store().wait_rows(Store::unique_rows("calls"), "l", 100), SizeIs(3)) << "the others are gone";
}

TEST_P(DeadLetters, ManyAtOnceAreAllKept) {
  constexpr int kThreads = 4, kEach = 5;
  expect_response(store(), "calls", "bank", waiter("w1"));
  close_wait(store(), "calls", "bank", "w1");
  Store* const stores[] = {&store(), &second()};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < kEach; ++j) {
        const auto body = std::to_string(i) + "/" + std::to_string(j);
        EXPECT_EQ(store::respond(*stores[i % 2], "calls", "bank", {"", body}, 1h), Responded::late);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(letters(), SizeIs(kThreads * kEach));
}

TEST_P(DeadLetters, WhatAJobHasNotUsedIsTakenFromItsLog) {
  expect_response(store(), "calls", "bank", waiter("w1"));
  respond("bank", "yes", "m");
  const ShardId shard{queue_.number, domain::shard_of("k", queue_.shards)};
  const auto reader = second().open_log();
  reader->add(shard);
  Seq response = 0;
  for (bool at_end = false; !at_end;) {
    const auto chunk = reader->read(100);
    at_end = chunk.at_end;
    for (const auto& row : chunk.rows) response = row.seq;
  }
  keep_unused_response(store(), "calls", shard, response - 1);
  EXPECT_THAT(letters(), IsEmpty()) << "that is none";
  keep_unused_response(store(), "calls", shard, response);
  keep_unused_response(second(), "calls", shard, response);
  EXPECT_THAT(letters(), ElementsAre("unused bank=yes"));
  keep_unused_response(store(), "calls", shard, response + 1);
  EXPECT_THAT(letters(), SizeIs(1)) << "nor is that";
}

TEST_P(DeadLetters, QueuesHaveTheirOwnAndTakeThemAlong) {
  define("other");
  keep_expired("k", "1");
  expect_response(store(), "calls", "bank", waiter("w1"));
  close_wait(store(), "calls", "bank", "w1");
  respond("bank", "yes");
  EXPECT_THAT(letters(), SizeIs(2));
  EXPECT_THAT(letters("other"), IsEmpty());
  EXPECT_THAT(letters("nobody"), IsEmpty());
  ASSERT_TRUE(store().remove("calls"));
  define("calls");
  EXPECT_THAT(letters(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(on, DeadLetters, every_store(), backend_name);

}  // namespace dead_letters_test
}  // namespace ordo::store
