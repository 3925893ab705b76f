#include "domain/wait_record.h"

#include <gtest/gtest.h>

#include "domain/dead_letters.h"
#include "domain/wait_note.h"

namespace ordo::domain {
namespace wait_record_test {

using namespace std::chrono_literals;
using State = WaitRecord::State;

const Time kNow{std::chrono::hours{24 * 20000}};

Waiter waiter(const std::string& wait = "w1", const std::string& id = "42", std::uint64_t fence = 1) {
  return {wait, "calls", "key", id, fence, kNow + 60s};
}

WaitRecord open_wait() { return *expect({}, waiter(), kNow); }
WaitRecord answered(bool is_delivered = true) {
  auto row = *respond(open_wait(), {"m", "yes"}, 1h, kNow).row;
  return is_delivered ? delivered(row, kNow) : row;
}
WaitRecord closed() { return *close(open_wait(), "w1", kNow).row; }
WaitRecord buffered() { return *respond({}, {"m", "yes"}, 1h, kNow).row; }

TEST(WaitRecord, EveryFieldOutlivesItsCodec) {
  for (const auto& row : {open_wait(), answered(), answered(false), closed(), buffered()})
    EXPECT_EQ(*decode_wait_record(encode(row)), row);
  auto newer = open_wait();
  newer.fields = "\x7F\x01" + std::string(3, '\0') + "x";
  EXPECT_EQ(decode_wait_record(encode(newer))->fields, newer.fields);
  EXPECT_FALSE(decode_wait_record("junk"));
  EXPECT_FALSE(decode_wait_record(""));
  const WaitNote note{"w", "k", "m", std::string("a\0b", 3)};
  EXPECT_EQ(*decode_wait_note(encode(note)), note);
  EXPECT_FALSE(decode_wait_note("x"));
}

// Every state, every verb.
TEST(WaitRecord, RespondByState) {
  struct Case {
    Row row;
    Message message;
    Responded result;
    std::optional<State> next;
  };
  const Case cases[] = {
      {{}, {"m", "x"}, Responded::buffered, State::buffered},
      {open_wait(), {"m", "x"}, Responded::accepted, State::answered},
      {answered(), {"m", "x"}, Responded::duplicate, {}},
      {answered(), {"other", "x"}, Responded::late, {}},
      {closed(), {"m", "x"}, Responded::late, {}},
      {buffered(), {"m", "x"}, Responded::duplicate, {}},
      {buffered(), {"other", "x"}, Responded::late, {}},
  };
  for (const auto& each : cases) {
    const auto verdict = respond(each.row, each.message, 1h, kNow);
    EXPECT_EQ(verdict.result, each.result) << static_cast<int>(each.result);
    EXPECT_EQ(verdict.row ? std::optional(verdict.row->state) : std::nullopt, each.next);
  }
  EXPECT_EQ(respond({}, {"m", "x"}, 0s, kNow).result, Responded::unknown);
}

TEST(WaitRecord, RespondToAWaitByState) {
  const auto said = [](const Row& row, const char* wait, const Message& message) {
    const auto verdict = respond_to(row, wait, message, kNow);
    EXPECT_EQ(verdict.row.has_value(), verdict.result == Responded::accepted);
    return verdict.result;
  };
  EXPECT_EQ(said(open_wait(), "w1", {"m", "x"}), Responded::accepted);
  EXPECT_EQ(said(open_wait(), "w0", {"m", "x"}), Responded::late);
  EXPECT_EQ(said(answered(), "w1", {"m", "x"}), Responded::duplicate);
  EXPECT_EQ(said(answered(), "w1", {"other", "x"}), Responded::late);
  EXPECT_EQ(said(answered(), "w0", {"m", "x"}), Responded::duplicate);
  EXPECT_EQ(said(closed(), "w1", {"m", "x"}), Responded::late);
  EXPECT_EQ(said(buffered(), "w1", {"other", "x"}), Responded::late);
  EXPECT_EQ(said({}, "w1", {"m", "x"}), Responded::late);
}

TEST(WaitRecord, ExpectByState) {
  EXPECT_EQ(expect({}, waiter(), kNow)->state, State::expected);
  EXPECT_EQ(expect(closed(), waiter("w2"), kNow)->wait, "w2");
  EXPECT_EQ(expect(answered(), waiter("w2", "another"), kNow)->id, "another");
  const auto taken = *expect(buffered(), waiter(), kNow);
  EXPECT_EQ(taken.state, State::answered);
  EXPECT_FALSE(taken.delivered);
  EXPECT_EQ(taken.body, "yes");
  EXPECT_EQ(expect(open_wait(), waiter("w2"), kNow)->wait, "w2") << "its own";
  EXPECT_FALSE(expect(open_wait(), waiter("w2", "another"), kNow));
  EXPECT_FALSE(expect(open_wait(), waiter("w2", "42", 0), kNow)) << "a run that is over";
}

TEST(WaitRecord, WhatNobodyClosedForLongIsFreeForOthers) {
  EXPECT_FALSE(expect(open_wait(), waiter("w2", "another"), kNow + 1h));
  EXPECT_TRUE(expect(open_wait(), waiter("w2", "another"), kNow + 2h));
}

TEST(WaitRecord, AWaitMayTurnOutShorterWhileItIsOpen) {
  auto earlier = waiter();
  earlier.deadline = kNow + 5s;
  auto expected = open_wait();
  expected.deadline = kNow + 5s;
  EXPECT_EQ(sooner(open_wait(), earlier), expected);
  EXPECT_FALSE(sooner(open_wait(), waiter())) << "it is the same";
  EXPECT_FALSE(sooner(answered(), earlier));
  EXPECT_FALSE(sooner(closed(), earlier));
  EXPECT_FALSE(sooner(buffered(), earlier));
  EXPECT_FALSE(sooner({}, earlier));
  earlier.wait = "w2";
  EXPECT_FALSE(sooner(open_wait(), earlier)) << "of another wait";
}

TEST(WaitRecord, CloseByState) {
  EXPECT_EQ(close(open_wait(), "w1", kNow).row->state, State::closed);
  EXPECT_TRUE(close(answered(), "w1", kNow).is_answered);
  for (const auto& row : {Row{}, Row{closed()}, Row{buffered()}}) {
    EXPECT_FALSE(close(row, "w1", kNow).row);
    EXPECT_FALSE(close(row, "w1", kNow).is_answered);
  }
  EXPECT_FALSE(close(open_wait(), "w0", kNow).row) << "another wait";
  EXPECT_FALSE(close(answered(), "w0", kNow).is_answered);
}

TEST(WaitRecord, AWaitStaysAnsweredWhenAnotherJobGetsItsKey) {
  auto row = *expect(answered(), waiter("w2", "43"), kNow);
  row = *decode_wait_record(encode(row));
  EXPECT_EQ(row.answered, std::vector<std::string>{"w1"});
  EXPECT_TRUE(close(row, "w1", kNow).is_answered) << "its response is in the log";
  EXPECT_FALSE(close(row, "w0", kNow).is_answered);
  row = *expect(close(row, "w2", kNow).row, waiter("w3"), kNow);
  EXPECT_TRUE(close(row, "w1", kNow).is_answered);
  EXPECT_FALSE(close(row, "w2", kNow).is_answered) << "it was closed";
  for (int i = 0; i < 100; ++i)
    row =
        *expect(*respond(row, {std::to_string(i), ""}, 1h, kNow).row, waiter("n" + std::to_string(i)), kNow);
  EXPECT_LE(row.answered.size(), 16U) << "bounded";
}

TEST(WaitRecord, AMessageIsKnownByItsIdForAsLongAsTheKeyIsRemembered) {
  auto row = *expect(answered(), waiter("w2"), kNow);
  EXPECT_EQ(respond(row, {"m", "yes"}, 1h, kNow).result, Responded::duplicate);
  EXPECT_EQ(respond(row, {"m2", "yes"}, 1h, kNow).result, Responded::accepted);
}

TEST(WaitRecord, WithoutAnIdAMessageIsKnownByItsBodyForOneWait) {
  const auto row = delivered(*respond(open_wait(), {"", "yes"}, 1h, kNow).row, kNow);
  EXPECT_EQ(respond(row, {"", "yes"}, 1h, kNow).result, Responded::duplicate);
  EXPECT_EQ(respond(row, {"", "no"}, 1h, kNow).result, Responded::late);
  EXPECT_EQ(respond(*expect(row, waiter("w2"), kNow), {"", "yes"}, 1h, kNow).result, Responded::accepted);
}

TEST(WaitRecord, WhatIsOverIsRememberedForADay) {
  EXPECT_EQ(kept_until(open_wait(), 1h), Time::max());
  EXPECT_EQ(kept_until(answered(false), 1h), Time::max()) << "until it is delivered";
  EXPECT_EQ(kept_until(answered(), 1h), kNow + 24h);
  EXPECT_EQ(kept_until(closed(), 1h), kNow + 24h);
  EXPECT_EQ(kept_until(buffered(), 1h), kNow + 1h + kLetterLife);
  EXPECT_EQ(buffered().deadline, kNow + 1h);
  EXPECT_TRUE(answered().body.empty()) << "the log has it";
}

}  // namespace wait_record_test
}  // namespace ordo::domain
