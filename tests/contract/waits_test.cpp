// Rows of waits, and the three verbs over them.
#include "store/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "contract/backends.h"
#include "domain/entry.h"
#include "domain/wait_note.h"
#include "store/blocking.h"
#include "store/tokens.h"

namespace ordo::store {
namespace waits_test {

using namespace std::chrono_literals;
using domain::EntryType;
using domain::WaitNote;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Waits : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    queue_ = define("calls", 3);
  }

  bool put(const std::string& key, const std::string& bytes, const std::optional<std::string>& seen = {},
           bool listed = true, Time until = Time::max()) {
    return store().put_row("calls", {key, bytes, listed, until}, seen);
  }

  std::vector<std::string> listed(const std::string& after = {}, std::size_t most = 100) {
    std::vector<std::string> keys;
    for (const auto& row : second().wait_rows("calls", after, most))
      keys.push_back(row.key + "=" + row.bytes);
    return keys;
  }

  domain::Waiter waiter(const std::string& wait, const std::string& id = "42", std::uint64_t fence = 1) {
    return {wait, "calls", id, id, fence, store().now() + 1h};
  }

  /// The notes in the logs of the queue.
  std::vector<WaitNote> notes(EntryType type) {
    std::vector<WaitNote> found;
    for (std::uint32_t i = 0; i < queue_.shards; ++i) {
      for (const auto& bytes : read_all({queue_.number, i})) {
        const auto entry = domain::decode_entry(bytes);
        EXPECT_TRUE(entry);
        EXPECT_EQ(domain::shard_of(entry->key, queue_.shards), i);
        if (entry && entry->type == type) found.push_back(*domain::decode_wait_note(entry->payload));
      }
    }
    return found;
  }

  Responded respond(const std::string& key, const std::string& body, const std::string& message = {},
                    Duration ttl = 1h) {
    return store::respond(second(), "calls", key, {message, body}, ttl);
  }

  QueueDefinition queue_;
};

// ------------------------------------------------------------------------------------------- the rows

TEST_P(Waits, ARowIsWrittenIfItIsStillAsItWasSeen) {
  EXPECT_EQ(store().wait_row("calls", "k"), std::nullopt);
  EXPECT_FALSE(put("k", "b", "a")) << "it is not there";
  EXPECT_TRUE(put("k", "a"));
  EXPECT_FALSE(put("k", "b")) << "it is there";
  EXPECT_EQ(second().wait_row("calls", "k"), "a");
  EXPECT_FALSE(put("k", "c", "b"));
  EXPECT_TRUE(put("k", "b", "a"));
  EXPECT_EQ(second().wait_row("calls", "k"), "b");
}

TEST_P(Waits, KeysAndBytesAreAnyBytes) {
  const std::string key("\0\xFF' \n", 5), bytes("\xFE\0{}", 4);
  EXPECT_TRUE(put(key, bytes));
  EXPECT_EQ(store().wait_row("calls", key), bytes);
  EXPECT_TRUE(put(key, "", bytes));
  EXPECT_EQ(store().wait_row("calls", key), "");
  EXPECT_TRUE(put(key, bytes, ""));
  EXPECT_THAT(listed(), ElementsAre(key + "=" + bytes));
  EXPECT_THROW(put("", "a"), Error);
  EXPECT_THROW(put(std::string(256, 'k'), "a"), Error);
  EXPECT_TRUE(put(std::string(255, 'k'), "a"));
}

TEST_P(Waits, TheListedOnesComeByKeyAPageAtATime) {
  for (const auto* key : {"c", "a", "d", "b"}) put(key, "1");
  put("e", "1", {}, false);
  EXPECT_THAT(listed(), ElementsAre("a=1", "b=1", "c=1", "d=1"));
  EXPECT_THAT(listed("", 2), ElementsAre("a=1", "b=1"));
  EXPECT_THAT(listed("b", 2), ElementsAre("c=1", "d=1"));
  EXPECT_TRUE(put("b", "2", "1", false));
  EXPECT_TRUE(put("e", "2", "1", true));
  EXPECT_THAT(listed(), ElementsAre("a=1", "c=1", "d=1", "e=2"));
}

TEST_P(Waits, WhoseTimeIsOverIsNotThere) {
  const auto past = store().now() - 1s, ahead = store().now() + 1h;
  EXPECT_TRUE(put("k", "a", {}, true, past));
  EXPECT_EQ(store().wait_row("calls", "k"), std::nullopt);
  EXPECT_THAT(listed(), IsEmpty());
  EXPECT_FALSE(put("k", "b", "a"));
  EXPECT_TRUE(put("k", "b", {}, true, ahead));
  EXPECT_EQ(store().wait_row("calls", "k"), "b");
  const auto rows = store().wait_rows("calls", "", 10);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].until, ahead);
  EXPECT_TRUE(put("k", "c", "b"));
  EXPECT_EQ(store().wait_rows("calls", "", 10).at(0).until, Time::max());
}

// Nobody writes meanwhile.
TEST_P(Waits, WhoseTimeIsOverIsTakenAwayByWhoeverSweepsAPageAtATime) {
  const auto over = store().now() + 1s;
  for (int i = 0; i < 50; ++i) put("over" + std::to_string(i), "a", {}, i % 2 == 0, over);
  put("ahead", "a", {}, true, over + 1h);
  put("always", "a");
  std::size_t swept = 0;
  clock_.move(1s);
  while (swept < 50) {  // a server has a clock of its own
    const auto page = store().sweep_rows("calls", 20);
    EXPECT_LE(page, 20U);
    if (page > 0) {
      EXPECT_GE(store().now(), over) << "none goes before its time";
    }
    swept += page;
  }
  EXPECT_EQ(swept, 50U);
  EXPECT_EQ(store().sweep_rows("calls", 20), 0U);
  EXPECT_THAT(listed(), ElementsAre("ahead=a", "always=a"));
}

TEST_P(Waits, QueuesHaveTheirOwnAndTakeThemAlong) {
  define("other");
  put("k", "a");
  EXPECT_EQ(store().wait_row("other", "k"), std::nullopt);
  EXPECT_TRUE(store().remove("calls"));
  define("calls");
  EXPECT_EQ(store().wait_row("calls", "k"), std::nullopt);
  EXPECT_THAT(listed(), IsEmpty());
}

TEST_P(Waits, AReshardLeavesThemAlone) {
  put("k", "a");
  const auto next = define(QueueDefinition::hidden_name("calls"), 5);
  ASSERT_TRUE(store().close("calls"));
  ASSERT_TRUE(store().replace("calls", next.number));
  EXPECT_EQ(second().wait_row("calls", "k"), "a");
  EXPECT_THAT(listed(), ElementsAre("k=a"));
}

// ------------------------------------------------------------------------------------------- the verbs

TEST_P(Waits, AResponseGoesToTheLogOfTheJobThatWaits) {
  EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter("w1")));
  EXPECT_THAT(notes(EntryType::expected), ElementsAre(WaitNote{"w1", "bank", "", ""}));
  EXPECT_EQ(respond("bank", "yes", "m"), Responded::accepted);
  EXPECT_THAT(notes(EntryType::response), ElementsAre(WaitNote{"w1", "bank", "m", "yes"}));
  EXPECT_EQ(respond("bank", "yes", "m"), Responded::duplicate);
  EXPECT_EQ(respond("bank", "no", "m2"), Responded::late) << "one response wins";
  EXPECT_THAT(notes(EntryType::response), SizeIs(1));
  EXPECT_TRUE(close_wait(store(), "calls", "bank", "w1")) << "it came first";
  EXPECT_THAT(listed(), IsEmpty());
}

TEST_P(Waits, AnEarlyResponseIsKeptForWhoComes) {
  EXPECT_EQ(respond("bank", "yes"), Responded::buffered);
  EXPECT_EQ(respond("bank", "yes"), Responded::duplicate);
  EXPECT_EQ(respond("bank", "other"), Responded::late) << "one is kept";
  EXPECT_THAT(listed(), SizeIs(1));
  EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter("w1")));
  EXPECT_THAT(notes(EntryType::response), ElementsAre(WaitNote{"w1", "bank", "", "yes"}));
  EXPECT_EQ(respond("bank", "yes"), Responded::duplicate);
  EXPECT_EQ(respond("none", "yes", "m", Duration{0}), Responded::unknown);
  EXPECT_EQ(store().wait_row("calls", "none"), std::nullopt);
}

TEST_P(Waits, WhatIsClosedTakesNoResponse) {
  expect_response(store(), "calls", "bank", waiter("w1"));
  EXPECT_FALSE(close_wait(store(), "calls", "bank", "w1"));
  EXPECT_FALSE(close_wait(second(), "calls", "bank", "w1")) << "asked again";
  EXPECT_EQ(respond("bank", "yes", "m"), Responded::late);
  EXPECT_EQ(respond("bank", "yes", "m"), Responded::late);
  EXPECT_THAT(notes(EntryType::response), IsEmpty());
  EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter("w2"))) << "the next attempt";
  EXPECT_FALSE(close_wait(store(), "calls", "bank", "w1")) << "that is not this wait";
  EXPECT_EQ(respond("bank", "yes", "m"), Responded::accepted);
}

TEST_P(Waits, OneJobWaitsForAKeyAtATime) {
  EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter("w1", "1", 5)));
  EXPECT_FALSE(expect_response(store(), "calls", "bank", waiter("w2", "2")));
  EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter("w3", "1", 6))) << "its own next run";
  EXPECT_FALSE(expect_response(store(), "calls", "bank", waiter("w4", "1", 5))) << "a run that is over";
  EXPECT_FALSE(close_wait(store(), "calls", "bank", "w1")) << "it was replaced";
  EXPECT_EQ(respond("bank", "yes"), Responded::accepted);
  EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter("w5", "2"))) << "free since it was answered";
}

// A crash between two steps: the row says that the response is on its way.
TEST_P(Waits, ManyAreExpectedTogetherAndEachIsAnsweredForItself) {
  const auto expect = [&](const std::vector<Wanted>& wanted) {
    return expect_responses(store(), "calls", wanted);
  };
  for (const auto& answer : expect({{"a", waiter("wa", "1")}, {"b", waiter("wb", "2")}})) {
    EXPECT_EQ(answer.failure, nullptr);
    EXPECT_TRUE(answer.is_ours);
  }
  EXPECT_EQ(respond("a", "first"), Responded::accepted);
  EXPECT_EQ(respond("early", "kept"), Responded::buffered);
  const auto answers = expect({{"a", waiter("wa2", "1", 2)},  // the next attempt of its job
                               {"b", waiter("wx", "3")},      // another's
                               {"", waiter("wy", "4")},
                               {"early", waiter("wz", "5")},
                               {"c", waiter("wc", "6")},
                               {"c", waiter("wd", "7")}});
  std::vector<bool> ours;
  for (const auto& answer : answers) ours.push_back(answer.is_ours);
  EXPECT_THAT(ours, ElementsAre(true, false, false, true, true, false));
  EXPECT_NE(answers[2].failure, nullptr);
  EXPECT_THAT(notes(EntryType::expected), SizeIs(5)) << "of those that were taken";
  EXPECT_THAT(notes(EntryType::response), SizeIs(2));
  EXPECT_EQ(respond("a", "second"), Responded::accepted);
  EXPECT_EQ(respond("c", "yes"), Responded::accepted);
}

TEST_P(Waits, AStepWhoseAnswerWasLostOpensNothingAgain) {
  EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter("w")));
  EXPECT_EQ(respond("bank", "yes"), Responded::accepted);
  EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter("w")));
  const std::vector<Wanted> again{{"bank", waiter("w")}};
  EXPECT_TRUE(expect_responses(store(), "calls", again).at(0).is_ours);
  EXPECT_EQ(respond("bank", "another"), Responded::late);
  EXPECT_THAT(notes(EntryType::response), SizeIs(1));
}

TEST_P(Waits, TheDeadlineOfAnOpenWaitMayComeNearer) {
  const std::string queue = "calls";
  auto alone = waiter("w1", "1"), together = waiter("w2", "2");
  ASSERT_TRUE(expect_response(store(), queue, "a", alone));
  ASSERT_TRUE(expect_response(store(), queue, "b", together));
  alone.deadline -= 30min;
  together.deadline -= 30min;
  EXPECT_TRUE(expect_response(second(), queue, "a", alone));
  const std::vector<Wanted> wanted{{"b", together}};
  const auto answers = expect_responses(second(), queue, wanted);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].is_ours);
  for (const auto& [key, deadline] : {std::pair("a", alone.deadline), std::pair("b", together.deadline)}) {
    const auto record = domain::decode_wait_record(*store().wait_row(queue, key));
    ASSERT_TRUE(record);
    EXPECT_EQ(record->deadline, deadline) << key;
  }
  EXPECT_EQ(notes(EntryType::expected).size(), 2u) << "nothing is registered again";
}

TEST_P(Waits, WhoeverComesNextDeliversWhatIsOnItsWay) {
  const auto leave_undelivered = [&](const std::string& wait) {
    expect_response(store(), "calls", "bank", waiter(wait));
    const auto seen = store().wait_row("calls", "bank");
    const auto row = *domain::decode_wait_record(*seen);
    const auto verdict = domain::respond(row, {"m" + wait, "to " + wait}, 1h, store().now());
    ASSERT_TRUE(store().put_row("calls", {"bank", domain::encode(*verdict.row), true}, seen));
  };
  leave_undelivered("w1");
  EXPECT_EQ(respond("bank", "to w1", "mw1"), Responded::duplicate);
  EXPECT_THAT(notes(EntryType::response), ElementsAre(WaitNote{"w1", "bank", "mw1", "to w1"}));
  leave_undelivered("w2");
  EXPECT_TRUE(close_wait(store(), "calls", "bank", "w2"));
  EXPECT_THAT(notes(EntryType::response), SizeIs(2));
  leave_undelivered("w3");
  EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter("w4")));
  EXPECT_THAT(notes(EntryType::response), SizeIs(3));
}

TEST_P(Waits, ExactlyOneOfResponseAndTimeoutWins) {
  constexpr int kRaces = 20;
  for (int i = 0; i < kRaces; ++i) {
    const auto key = "k" + std::to_string(i), wait = "w" + std::to_string(i);
    ASSERT_TRUE(expect_response(store(), "calls", key, waiter(wait, key)));
    std::optional<Responded> responded, other;
    std::thread first([&] { responded = respond(key, "a", "m1"); });
    std::thread again([&] { other = store::respond(store(), "calls", key, {"m2", "b"}, 1h); });
    const bool is_answered = close_wait(store(), "calls", key, wait);
    first.join();
    again.join();
    const auto wins = (responded == Responded::accepted) + (other == Responded::accepted);
    EXPECT_EQ(wins, is_answered ? 1 : 0) << i;
    std::set<std::string> delivered;  // an entry may come twice, and is taken once
    for (const auto& note : notes(EntryType::response)) {
      if (note.wait == wait) delivered.insert(note.message_id);
    }
    EXPECT_EQ(delivered.size(), is_answered ? 1U : 0U) << i;
  }
}

TEST_P(Waits, WhileTheQueueIsReshardedNothingIsLost) {
  expect_response(store(), "calls", "bank", waiter("w1"));
  const auto next = define(QueueDefinition::hidden_name("calls"), 5);
  ASSERT_TRUE(store().close("calls"));
  EXPECT_THROW(respond("bank", "yes", "m"), Error);
  ASSERT_TRUE(store().replace("calls", next.number));
  queue_ = *store().queues().find("calls");
  EXPECT_EQ(respond("bank", "yes", "m"), Responded::duplicate) << "it was taken, and is brought now";
  EXPECT_THAT(notes(EntryType::response), ElementsAre(WaitNote{"w1", "bank", "m", "yes"}));
}

TEST_P(Waits, AQueueKeepsSoManyResponsesThatNobodyWaitsFor) {
  const BufferBounds bounds{.most = 2, .most_bytes = 10};
  const auto early = [&](const std::string& key, const std::string& body = "yes") {
    return store::respond(second(), "calls", key, {"", body}, 1h, bounds);
  };
  EXPECT_EQ(early("a"), Responded::buffered);
  EXPECT_EQ(early("b", "12345678"), Responded::full) << "bytes";
  EXPECT_EQ(early("b"), Responded::buffered);
  EXPECT_EQ(early("c"), Responded::full);
  EXPECT_EQ(store().wait_row("calls", "c"), std::nullopt);
  EXPECT_EQ(early("a"), Responded::duplicate);
  EXPECT_EQ(early("a", "other"), Responded::late);
  define("other");
  EXPECT_EQ(store::respond(second(), "other", "c", {"", "yes"}, 1h, bounds), Responded::buffered);
  EXPECT_TRUE(expect_response(second(), "calls", "c", waiter("w1", "1")));
  EXPECT_EQ(early("c"), Responded::accepted) << "somebody waits";
  EXPECT_EQ(early("d"), Responded::full);
  EXPECT_TRUE(expect_response(second(), "calls", "a", waiter("w2", "2"))) << "and has it";
  EXPECT_EQ(early("d"), Responded::buffered);
  EXPECT_EQ(early("e"), Responded::full);
  ASSERT_TRUE(store().remove("calls"));
  queue_ = define("calls", 3);
  ResponseBuffer counts_anew;
  EXPECT_TRUE(counts_anew.add(store(), "calls", "e", {store().now() + 1h, 3}, bounds))
      << "another queue of that name";
  EXPECT_THROW(store::respond(store(), "nobody", "k", {"", "yes"}, 1h), Error);
}

TEST_P(Waits, HoweverManyComeAtOnceAProcessKeepsNoMore) {
  constexpr int kThreads = 4, kEach = 5;
  const BufferBounds bounds{.most = 7};
  std::atomic<int> kept = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < kEach; ++j) {
        const auto key = std::to_string(i) + "/" + std::to_string(j);
        const auto result = store::respond(store(), "calls", key, {"", "yes"}, 1h, bounds);
        ++(result == Responded::buffered ? kept : refused);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(kept, 7);  // fewer: counted anew while one was on its way
  EXPECT_GE(kept, 1);
  EXPECT_EQ(kept + refused, kThreads * kEach);
  EXPECT_THAT(listed(), SizeIs(static_cast<std::size_t>(kept)));
}

// ---------------------------------------------------------------------------------------------- by token

/// Waits, and what the token of that wait leads to for somebody else.
class WaitsByToken : public Waits {
 protected:
  std::string expect(const std::string& wait, std::uint64_t fence) {
    EXPECT_TRUE(expect_response(store(), "calls", "bank", waiter(wait, "42", fence)));
    return make_token(store(), "calls", "bank", wait, store().now() + 1h);
  }

  Responded respond_to(const std::string& token, const std::string& body, const std::string& message = {}) {
    const auto lead = find_token(second(), token);
    if (!lead) return Responded::refused;
    return store::respond_to(second(), lead->queue, lead->key, lead->wait, {message, body});
  }
};

TEST_P(WaitsByToken, ATokenAnswersItsWaitOnce) {
  const auto token = expect("w1", 1);
  EXPECT_EQ(respond_to(token, "yes", "m"), Responded::accepted);
  EXPECT_THAT(notes(EntryType::response), ElementsAre(WaitNote{"w1", "bank", "m", "yes"}));
  EXPECT_EQ(respond_to(token, "yes", "m"), Responded::duplicate);
  EXPECT_EQ(respond_to(token, "no", "m2"), Responded::late);
}

TEST_P(WaitsByToken, EachAttemptHasItsOwn) {
  const auto first = expect("w1", 1), second = expect("w2", 2);
  EXPECT_NE(first, second);
  EXPECT_EQ(respond_to(first, "old", "m1"), Responded::late);
  EXPECT_EQ(respond_to(second, "new", "m2"), Responded::accepted);
  EXPECT_EQ(respond_to(first, "new", "m2"), Responded::duplicate) << "the message is known by its id";
  EXPECT_EQ(respond_to(first, "new"), Responded::late);
  EXPECT_THAT(notes(EntryType::response), ElementsAre(WaitNote{"w2", "bank", "m2", "new"}));
}

TEST_P(WaitsByToken, WhatIsOverTakesAndKeepsNothing) {
  const auto token = expect("w1", 1);
  EXPECT_FALSE(close_wait(store(), "calls", "bank", "w1"));
  EXPECT_EQ(respond_to(token, "yes"), Responded::late);
  auto seen = store().wait_row("calls", "bank");
  store().step_rows("calls", {{{"bank", {}, false, Time::min()}, seen, {}}});
  EXPECT_EQ(respond_to(token, "yes"), Responded::late);
  EXPECT_THAT(listed(), IsEmpty());
  EXPECT_EQ(store().wait_row("calls", "bank"), std::nullopt);
}

TEST_P(WaitsByToken, TheyAreRemovedWithTheQueue) {
  const auto token = expect("w1", 1);
  ASSERT_TRUE(store().remove("calls"));
  EXPECT_EQ(respond_to(token, "yes"), Responded::refused);
}

INSTANTIATE_TEST_SUITE_P(on, WaitsByToken, every_store(), backend_name);
INSTANTIATE_TEST_SUITE_P(on, Waits, every_store(), backend_name);

}  // namespace waits_test
}  // namespace ordo::store
